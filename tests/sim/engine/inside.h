/* inside.h - what the engine's own files share. One lock guards everything here; nobody calls out while holding it. */
#ifndef SIM_ENGINE_INSIDE_H
#define SIM_ENGINE_INSIDE_H

#include <pthread.h>

#include "tests/sim/engine/engine.h"

#define STREAM_MAGIC 0x53545245u
#define EVENT_MAGIC 0x4556454eu

struct sim_stream {
    uint32_t magic, id;
    int device, priority;
    unsigned flags;
    struct sim_op *last;       /* referenced; NULL: nothing was ever queued */
    struct sim_op **in_flight; /* ring of the last queue_depth operations: a full queue makes the caller wait */
    unsigned nr_queued;
    struct sim_graph *capture;
    size_t capture_last; /* node the next one follows + 1; 0: none */
    size_t *capture_waits, nr_capture_waits;
    uint64_t capture_id;
    struct sim_stream *next; /* all of the process */
};

struct sim_event {
    uint32_t magic, id;
    unsigned flags;
    struct sim_op *op;         /* the mark it recorded; referenced */
    struct sim_graph *capture; /* recorded while capturing: a node of this graph */
    size_t capture_node;       /* + 1 */
    struct sim_stream *capture_stream;
};

extern pthread_mutex_t sim_lock;
extern pthread_cond_t sim_changed; /* an operation was decided */

void sim_lock_engine(void);
void sim_unlock_engine(void);
extern struct sim_stream *sim_streams; /* guarded by sim_lock */

/* With the lock held. */
void sim_op_try(struct sim_op *op); /* decide it now if that is possible, else remember it */
struct sim_op *sim_log_add(struct sim_op *op);
int sim_account(struct sim_device *d, int64_t bytes); /* SIM_OUT_OF_MEMORY: not that much left */

/* Without it. */
void sim_op_effect(struct sim_op *op);
void sim_device_wait(int device);
int sim_capture_add(struct sim_stream *s, struct sim_op *op);
void sim_tell_memory(bool release, const struct sim_range *r, struct sim_stream *stream);
int sim_range_new(size_t size, size_t mapped, enum sim_place place, int device, int fd, void **ret);
int sim_range_remove(void *p, struct sim_range *ret);
int sim_range_drop(const struct sim_range *r);
int sim_range_again(const struct sim_range *r);
size_t sim_device_size(size_t size); /* what an allocation of this size takes of the device */
int sim_device_range(int device, size_t size, enum sim_place place, struct sim_pool *pool, void **ret);
int sim_device_range_drop(const struct sim_range *r);

#endif
