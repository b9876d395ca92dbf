/* nccl_devices.h - NCCL's list of InfiniBand devices: "[0]mlx5_0:1/IB [1]mlx5_1:1/RoCE". Pure. */
#ifndef TRSHIM_ANALYSIS_NCCL_DEVICES_H
#define TRSHIM_ANALYSIS_NCCL_DEVICES_H

#include <stdbool.h>
#include <stddef.h>

struct nccl_devices {
    int nr, ib, roce;
};

struct nccl_devices nccl_devices(const char *list); /* NULL: none */

/* Names of those of one kind, with commas: what NCCL_IB_HCA takes. */
void nccl_devices_list(const char *list, bool ib, char *text, size_t size);

#endif
