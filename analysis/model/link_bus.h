/* link_bus.h - the bus bandwidth that a connection should give to large collectives (link_bus.def). Pure. */
#ifndef TRSHIM_ANALYSIS_MODEL_LINK_BUS_H
#define TRSHIM_ANALYSIS_MODEL_LINK_BUS_H

/* Bytes/s; NAN where nothing is known to expect. `kind` as NCCL names it, `model` of the GPU; NULL unknown. */
double link_bus(const char *kind, const char *model);

#endif
