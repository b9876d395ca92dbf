/* plugin.h - libnccl-profiler-trshim.so: what its parts know of each other.
 *
 *   v1.c .. v7.c   NCCL's side, one per version of its interface     plugin.c   by kind of event, to whom
 *   comms.c, mask.c    communicators; what NCCL is asked for         chain.c    another plugin behind us
 *   groups.c, calls.c  groups and the calls in them                  core.c     finds the core, which emits
 *   proxies.c      work of NCCL's proxy thread                       kernels.c  channels on the GPU
 *
 * Everything is called by NCCL, on its threads and the job's, several at once, and by the core's tender thread. Nothing
 * waits (but the first init, for the core to load), allocates, or changes errno; pointers that come in as handles or
 * contexts are numbers to us (slots.h), never followed. */
#ifndef TRSHIM_PLUGIN_H
#define TRSHIM_PLUGIN_H

#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "plugin/slots.h"
#include "plugin/told.h"
#include "plugin/words.h"
#include "shim/nccl_sink.h"
#include "traces/clock.h"

#define unlikely(x) __builtin_expect(!!(x), 0)
#define SECOND 1000000000ull

/* One version of the interface, as seen from inside: made by adapter.h. `of` is a plugin's struct ncclProfiler_vN. */
struct adapter {
    int version;
    const char *symbol;
    int (*init)(const void *of, void **context, int *mask, const struct told_init *told);
    void (*start)(const void *of, void *context, void **handle, const struct told *told, const void *raw);
    void (*state)(const void *of, void *handle, const struct told_state *told, const void *raw);
    void (*stop)(const void *of, void *handle);
    void (*finalize)(const void *of, void *context);
    size_t descr_size;
};
extern const struct adapter *const adapter_v1,
    *const adapter_v2, *const adapter_v3, *const adapter_v4, *const adapter_v5, *const adapter_v6, *const adapter_v7;

/* ---- plugin.c: what adapters call ------------------------------------------------------------------------------- */

int plugin_init(const struct adapter *a, const struct told_init *told, void **context, int *mask);
void plugin_start(const struct adapter *a, void *context, void **handle, const struct told *told, const void *raw);
void plugin_state(const struct adapter *a, void *handle, const struct told_state *told, const void *raw);
void plugin_stop(void *handle);
void plugin_finalize(void *context);

struct plugin {
    const struct nccl_sink *sink; /* NULL: nothing is recorded here, only the chained plugin is served */
    uint32_t pid;
    atomic_bool dead;    /* this is a fork child: NCCL does not live here */
    bool wants_kernels;  /* TRSHIM_NCCL_KERNELCH */
    atomic_uint dropped; /* events that found no room, not yet told to the core */
};
extern struct plugin plugin;

/* Whether somebody listens: a switch of the core's. */
static inline bool is_on(const int *gate)
{
    return __atomic_load_n(gate, __ATOMIC_RELAXED) != 0;
}

uint32_t own_tid(void);
void count_dropped(void);
/* One line on stderr, if TRSHIM_VERBOSE is set. */
void plugin_warn(const char *what, const char *why);

/* ---- records ----------------------------------------------------------------------------------------------------- */

/* Begins each record; the chained plugin's handles of the same event(s). */
struct record {
    struct slot slot;
    void *chained[2];
};

/* A reference from one record to another; generation 0 is none (the first use of a record is 1). */
struct ref {
    uint32_t index, generation;
};

struct comm {
    struct record record;
    uint32_t nr; /* as the core calls it */
    int32_t rank, nranks;
    int version, mask;
    bool identified;        /* id and rank are known */
    bool is_chained;        /* the chained plugin knows it, by record.chained[0] (which may be NULL) */
    int64_t gpu_offset_ns;  /* kernels.c: host clock minus GPU clock */
    int64_t next_offset_ns; /* the best of the present interval */
    uint64_t offset_at_ns;
};

struct group {
    struct record record;
    uint32_t nr, nr_calls;
    struct ref first, last;
};

#define NR_JOINS 4 /* of one call: ring 2, tree 6; more are emitted unjoined */

struct call {
    struct record record;
    struct nccl_told_call told;
    struct ref next; /* in its group */
    bool in_group;   /* its group's end is its own */
    bool ended;      /* told.end_ns is known */
    struct ref joins[NR_JOINS];
};

extern struct pool comms, groups, calls, ops, joins, kernels, others;

/* The pool of a kind of handle. */
struct pool *pool_of(enum handle_kind kind);

/* The record of a handle of `kind`, held; NULL if it is none or stale. */
void *hold_handle(const void *handle, enum handle_kind kind);
void *hold_ref(struct pool *pool, struct ref ref);
struct ref ref_of(const struct pool *pool, const void *record);
/* A new record, held; counted if there is none. */
void *new_record(struct pool *pool, uint64_t now_ns, uint64_t max_age_ns);

/* ---- subjects. start: returns the handle, NULL none. ------------------------------------------------------------- */

void *comm_start(const struct told_init *told, int *mask);
void comm_stop(void *context);
/* Number of a context's communicator, 0 unknown. Versions 1 to 3 tell who it is only here. */
uint32_t comm_nr(void *context, const struct told *told);

/* Writes what NCCL is to be asked for, there and whenever that changes, until the communicator leaves. lives: false:
 * now only. Returns what to leave by. */
int mask_use(int *where, int version, bool lives);
void mask_leave(int mask);
void masks_update(void);

void *group_start(const struct told *told);
void group_stop(struct handle h);
/* Puts a held new call into the group of this handle. */
void group_add(const void *group, struct call *c);

void *call_api_start(void *context, const struct told *told);
void *call_start(void *context, const struct told *told);
void call_stop(struct handle h);
/* Held call: gives it to the core and lets go of it. */
void call_emit(struct call *c);
void calls_tend(uint64_t now_ns, bool last);
void calls_end(uint32_t comm_nr);

void *op_start(void *context, const struct told *told);
void op_state(struct handle h, const struct told_state *told);
void op_stop(struct handle h);
void *step_start(const struct told *told);
void step_state(struct handle h, const struct told_state *told);
void step_stop(struct handle h);
void proxies_tend(uint64_t now_ns, bool last);
void proxies_end(uint32_t comm_nr); /* tells what there is of this communicator */
/* Where the chained plugin's handle of a step is kept. op: held. */
void **step_chained(void *op, uint8_t step);

void *kernel_start(void *context, const struct told *told);
void kernel_state(struct handle h, const struct told_state *told);
void kernel_stop(struct handle h);

/* Next number of a sequence: of peer and op in a communicator. From 0. */
uint32_t sequence_next(uint32_t comm_nr, uint8_t op, int32_t peer);

/* ---- core.c ------------------------------------------------------------------------------------------------------ */

/* NULL: this process is not recorded. */
const struct nccl_sink *core_find(void);

/* ---- chain.c: the plugin the user had, or wants besides us ------------------------------------------------------- */

/* Before the first communicator. */
void chain_open(int version); /* that NCCL speaks */
bool chain_is_open(void);
/* Its part of the mask; also by a later change of its own. */
int chain_mask(void);
bool chain_init(const struct told_init *told, void **ret_context); /* false: it is not told of this one */
void chain_start(const struct adapter *a, void *context, void **handle, const struct told *told, const void *raw);
void chain_state(const struct adapter *a, void *handle, const struct told_state *told, const void *raw);
void chain_stop(void *handle);
void chain_finalize(void *chained_context);

#endif
