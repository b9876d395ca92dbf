/* control.h - the page that `trshim record` and the processes of its job share.
 *
 * A file in the session's own directory, named by TRSHIM_CONTROL and mapped shared by each. record writes level;
 * the training process of a rank writes its slot of `off`, its workers read it (they cannot count steps). */
#ifndef TRSHIM_TRACES_CONTROL_H
#define TRSHIM_TRACES_CONTROL_H

#include <stdint.h>

#define TR_CONTROL_MAGIC 0x74725348u
#define TR_CONTROL_SLOTS 4000

struct tr_control {
    uint32_t magic;
    uint32_t level;                /* enum tr_level in force */
    uint8_t off[TR_CONTROL_SLOTS]; /* by local rank: 1 while the rank is outside the steps asked for */
    uint32_t alarms;               /* raised by processes in which something does not go on: time for a snapshot */
    uint64_t sampled_ns; /* CLOCK_MONOTONIC: when a process last read the state of the host for all; 0 none does */
};

_Static_assert(sizeof(struct tr_control) <= 4096, "one page");

/* NCCL_DEBUG as record sets it. NCCL takes any case; in this one it is known for ours, and a job that sets the variable
 * itself later is known too. */
#define TR_NCCL_LEVEL "INFo"

#endif
