/* copy_rate.h - the rate that copies of a kind should reach on the GPUs of a job.
 *
 * Between host and device that is what the link gives: as the recorder read it from the node (attr `gpu.N.pcie`), else
 * as the model of the GPU has it. On the device it is the memory's rate, which a copy uses twice. */
#ifndef TRSHIM_ANALYSIS_MODEL_COPY_RATE_H
#define TRSHIM_ANALYSIS_MODEL_COPY_RATE_H

struct job;

/* Bytes/s for copies of `kind` (enum tr_copy_kind), on the slowest of the GPUs that training processes use. NAN: of one
 * of them it is not known, or the kind has no link of its own. */
double copy_rate(const struct job *job, unsigned kind);

/* Bytes/s of a link as pcie.c tells it ("16.0 GT/s x16"), after its coding; 0 for what is none. NULL is accepted. */
double pcie_rate(const char *text);

#endif
