/* cuda_vmm.h - the driver's calls that map device memory, which nobody calls by name. */
#ifndef TRSHIM_PRELOAD_CUDA_VMM_H
#define TRSHIM_PRELOAD_CUDA_VMM_H

/* After the runtime has looked a driver function up: if it is one of cuMemCreate, cuMemMap and cuMemUnmap, keeps it and
 * puts our own of the same signature into *fn. fn NULL: the look-up failed. */
void vmm_stand_in(const char *symbol, void **fn);

#endif
