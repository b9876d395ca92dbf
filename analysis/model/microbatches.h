/* microbatches.h - how many hand-overs of batches make one step, told from what follows them.
 *
 * Where optimizer ranges tell steps apart nobody needs this. Without them, a job that accumulates gradients still talks
 * to its other ranks only after the last micro-batch of a step: hand-overs that are followed by traffic at a steady
 * distance of k end steps of k micro-batches. A job of one rank says nothing of the kind; there each is a step. */
#ifndef TRSHIM_ANALYSIS_MICROBATCHES_H
#define TRSHIM_ANALYSIS_MICROBATCHES_H

#include <stddef.h>
#include <stdint.h>

#define MICROBATCHES_HAND_OVERS 512
#define MICROBATCHES_TRAFFIC 4096

/* Of one training process: its first hand-overs, and its traffic meanwhile. */
struct microbatches {
    uint64_t hand_overs_ns[MICROBATCHES_HAND_OVERS]; /* ends, ascending */
    size_t nr_hand_overs;
    struct traffic {
        uint64_t at_ns, bytes;
    } traffic[MICROBATCHES_TRAFFIC];
    size_t nr_traffic;
};

/* Makes *micro if there is none. 0 or -ENOMEM. */
int microbatches_hand_over(struct microbatches **micro, uint64_t end_ns);
void microbatches_traffic(struct microbatches *micro, uint64_t at_ns, uint64_t bytes);

/* Micro-batches of a step, 1 if nothing says otherwise; *ret_phase is the number of a hand-over that begins a step,
 * below the result. */
uint32_t microbatches_per_step(const struct microbatches *micro, uint32_t *ret_phase);

#endif
