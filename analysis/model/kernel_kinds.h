/* kernel_kinds.h - what a kernel does, judged by its name (kernel_kinds.def). Pure. */
#ifndef TRSHIM_ANALYSIS_MODEL_KERNEL_KINDS_H
#define TRSHIM_ANALYSIS_MODEL_KERNEL_KINDS_H

enum kernel_kind {
    KERNEL_compute,
    KERNEL_comm, /* NCCL and the like: between GPUs */
    KERNEL_gemm, /* computes; its work is known from the BLAS hooks */
    KERNEL_copy, /* computes, as far as the breakdown goes: a kernel that only moves data on its GPU */
};

enum kernel_kind kernel_kind_of(const char *name); /* NULL: compute */

/* "compute", "comm" or "copy": what the report calls it. */
const char *kernel_kind_name(enum kernel_kind kind);

#endif
