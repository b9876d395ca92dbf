/* quantity.h - times and sizes as people write them on a command line. */
#ifndef TRSHIM_ANALYSIS_QUANTITY_H
#define TRSHIM_ANALYSIS_QUANTITY_H

#include <stdint.h>

/* 90, 90s, 1.5m, 2h, 500ms. Returns 0 or -EINVAL. */
int quantity_time_ns(const char *text, uint64_t *ret_ns);

/* 1048576, 64K, 20M, 2G, 20MB, 20MiB: powers of 1024 all. Returns 0 or -EINVAL. */
int quantity_bytes(const char *text, uint64_t *ret_bytes);

/* A:B (A <= B) and N:M (0 < M <= N). Returns 0 or -EINVAL. */
int quantity_step_range(const char *text);
int quantity_every(const char *text);

/* 0,2,8-15. Returns 0 or -EINVAL. */
int quantity_ranks(const char *text);

#endif
