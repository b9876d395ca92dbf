/* inside.h - what the files of the simulated NCCL share: communicators, the memory its ranks share, queued calls.
 * Locks: a communicator belongs to one thread at a time, as in NCCL; what the engine's callbacks touch (launches,
 * slots) is guarded by the engine's lock or atomic. */
#ifndef SIM_NCCL_INSIDE_H
#define SIM_NCCL_INSIDE_H

#include <pthread.h>
#include <stdbool.h>

#include "tests/sim/abi/cuda_abi.h"
#include "tests/sim/abi/nccl_abi.h"
#include "tests/sim/engine/engine.h"

/* A public function: pncclName, and ncclName as its weak twin. */
#define NCCL(result, name, arguments)                                                                                  \
    __attribute__((weak, alias("pnccl" #name))) result nccl##name arguments;                                           \
    result pnccl##name arguments

/* ---- Settings (settings.c) ---- */
struct nccl_settings {
#define TEXT(name, otherwise, what) const char *name;
#define NUMBER(name, otherwise, what) double name;
#include "tests/sim/nccl/settings.def"
#undef TEXT
#undef NUMBER
};
const struct nccl_settings *nccl_settings(void);
int nccl_version(void);                      /* 22809 */
const char *nccl_variable(const char *name); /* of the environment; NULL: unset or empty */
int64_t nccl_variable_number(const char *name, int64_t otherwise);
const char *nccl_host(void); /* name of this host: NCCL_HOSTID, or the host's */

/* ---- Operations ---- */
enum nccl_func { /* NCCL's own numbers for the first eight */
                 FUNC_Broadcast,
                 FUNC_Reduce,
                 FUNC_AllGather,
                 FUNC_ReduceScatter,
                 FUNC_AllReduce,
                 FUNC_SendRecv,
                 FUNC_Send,
                 FUNC_Recv,
                 FUNC_AlltoAll,
                 FUNC_Gather,
                 FUNC_Scatter,
                 FUNC_PutSignal,
                 FUNC_Signal,
                 FUNC_WaitSignal,
                 NR_FUNCS
};
extern const char *const nccl_func_name[NR_FUNCS];
size_t nccl_type_size(ncclDataType_t type);
const char *nccl_type_name(ncclDataType_t type); /* "f32", as in kernels' names */

enum nccl_algo { ALGO_TREE, ALGO_RING };
enum nccl_proto { PROTO_LL, PROTO_LL128, PROTO_SIMPLE };

/* ---- What a rank tells the others of itself ---- */
enum nccl_link { LINK_P2P, LINK_SHM, LINK_IB, LINK_SOCKET, LINK_PLUGIN };

struct nccl_peer {
    int rank, device, pid, version;
    uint64_t host_hash, bus;
    char host[64], address[32], net[32];
    int net_kind; /* enum nccl_link: what it uses between hosts */
    int nr_net;   /* its network devices */
    bool gdr, no_p2p, no_shm, nvlink;
    double net_gbs, net_us; /* of all its devices together */
    double p2p_gbs, p2p_us, shm_gbs, shm_us, base_us;
    int tcp_port; /* where it takes connections of NET/Socket */
};

/* ---- Shared memory of a communicator's ranks (shared.c) ---- */
#define COLL_RING 1024u
#define PAIR_RING 512u
#define BOX_BYTES 512u

struct slot {        /* a rank's start of one call */
    uint64_t number; /* ordinal + 1 once `start` and `func` are there */
    uint64_t start;
    uint32_t func, root;
};

struct shared_rank {
    uint32_t bell;  /* futex: something this rank waits for may be there */
    uint32_t gone;  /* it has aborted or left */
    uint64_t done;  /* collectives whose end it knows */
    uint64_t round; /* exchanges it has put its box for */
    char box[2][BOX_BYTES];
};

struct shared {
    int nranks;
    size_t bytes;
    struct shared_rank *ranks; /* these three lie in the mapping */
    struct slot *colls, *pairs;
    struct contact *contacts;
};

/* How `from` reaches `to` over the network: put there by the one that listens. */
struct contact {
    uint32_t there;
    char handle[128];
};

int shared_open(struct shared *s, uint64_t hash, int nranks); /* 0 or -errno; any rank may be the first */
void shared_unlink(uint64_t hash);
void shared_close(struct shared *s);
void shared_ring(struct shared *s, int rank);
void shared_wait(struct shared *s, int rank, uint32_t seen, uint64_t timeout_ns);
struct slot *shared_coll(struct shared *s, int rank, uint64_t ordinal);
struct contact *shared_contact(struct shared *s, int from, int to);
struct slot *shared_pair(struct shared *s, int from, int to, bool receiver, uint64_t ordinal);

/* ---- Communicators (comm.c, init.c) ---- */
#define COMM_MAGIC 0x4e43434cu

struct plugin_comm; /* profiler.h */

struct ncclComm {
    uint32_t magic;
    int refs; /* atomic: handle, launches, thread */
    int rank, nranks, device, nr_nodes;
    uint64_t hash;
    char name[64];
    const char *api; /* that made it */
    uint64_t begun;  /* when that was */
    struct nccl_peer *peers;
    struct shared shared;
    uint64_t nr_exchanges;
    bool blocking, finalized;
    int aborted;       /* atomic */
    int forgotten;     /* atomic: revoked, or shrunk away from: its launches end */
    int async_error;   /* atomic ncclResult_t */
    uint32_t children; /* splits of it so far */

    pthread_t progress;
    bool progress_runs;
    int stopping; /* atomic */

    /* Guarded by the engine's lock. */
    uint64_t nr_launches, nr_colls;
    uint64_t *nr_sends, *nr_receives; /* by peer */
    struct sim_op *last;              /* referenced: launches of one communicator follow each other */
    int nr_open;                      /* atomic: launches not decided */

    uint64_t op_count; /* as told in its log */
    uint64_t sequence[NR_FUNCS];
    struct plugin_comm *plugin;
    struct proxy *proxy; /* proxy.h */
    void *net_context;   /* of an external network plugin */
    char error[256];
};

struct ncclComm *comm_new(void);
void comm_ref(struct ncclComm *c);
void comm_unref(struct ncclComm *c);
ncclResult_t comm_check(struct ncclComm *c);
void comm_start_progress(struct ncclComm *c);
void comm_stop(struct ncclComm *c, bool abort);

/* All ranks give `bytes` (at most BOX_BYTES) and get everybody's, in the order of ranks; `members` NULL: all. */
ncclResult_t comm_exchange(struct ncclComm *c, const void *mine, size_t bytes, void *all, const bool *members);

/* A communicator being made, perhaps on a thread of its own. */
struct init_job {
    struct ncclComm *comm, *parent, **ret;
    ncclUniqueId id;
    bool has_id;
    int color, key, flags, grow_ranks;
    int *excluded, nr_excluded;
    ncclResult_t result;
    ncclResult_t (*run)(struct init_job *job);
    struct init_job *next;
};
ncclResult_t init_run(struct init_job *job); /* now, in the group, or on a thread; takes the job over */
ncclResult_t init_jobs(struct init_job *jobs);
/* A job from its public call: `job` has run and what that needs. */
ncclResult_t init_start(ncclComm_t *ret, struct ncclComm *parent, const ncclConfig_t *config, const char *api,
                        struct init_job job);
ncclResult_t init_begin(struct ncclComm *c);  /* rank, nranks and hash are known: this rank's own part */
ncclResult_t init_finish(struct ncclComm *c); /* peers and shared memory are there: the rest */
ncclResult_t init_by_id(struct init_job *job);

/* ---- Rendezvous by unique id (bootstrap.c) ------------------------------------------------------------------------
 */
ncclResult_t bootstrap_id(ncclUniqueId *ret);
uint64_t bootstrap_hash(const ncclUniqueId *id);
/* Gives `mine`, gets all; then a barrier by bootstrap_done(). *ret_socket stays open in between. */
ncclResult_t bootstrap_join(const ncclUniqueId *id, int rank, int nranks, const void *mine, size_t bytes, void *all,
                            const int *aborted, int *ret_socket);
ncclResult_t bootstrap_done(int socket, const int *aborted);

/* ---- Calls and groups (group.c) ------------------------------------------------------------------------------------
 */
struct call {
    enum nccl_func func;
    struct ncclComm *comm;
    struct sim_stream *stream;
    void *stream_handle;
    const void *send;
    void *recv;
    size_t count;
    ncclDataType_t type;
    int op, root;    /* root: or peer; -1 neither */
    const char *api; /* as called, "AllReduce" */
    uint64_t tag;
    void **api_events; /* of the profiler plugin; owned, NULL: none */
    struct call *next;
};
/* The Sends and Receives that AlltoAll, Gather, Scatter, Send and Recv are; room for 2 * nranks. Others have none. */
struct call_part {
    bool is_send;
    int peer;
};
unsigned call_parts(const struct ncclComm *c, enum nccl_func func, int root, struct call_part *ret);
ncclResult_t group_start(void);
ncclResult_t group_end(void);
ncclResult_t group_simulate(ncclSimInfo_t *info);
ncclResult_t group_add(const struct call *call); /* launched at once outside groups */
bool group_add_job(struct init_job *job);        /* false: not in a group */

/* ---- Launches (launch.c) and how long they take (model.c) ----------------------------------------------------------
 */
struct work {
    enum nccl_func func;
    int root; /* or peer */
    uint64_t ordinal, bytes;
};

struct launch {
    struct ncclComm *comm;
    const char *kernel;
    unsigned nr_works;
    bool posted;
    uint64_t number, transfer_ns, bytes;
    struct proxy_item *item; /* proxy.h; referenced, NULL: nothing for the progress thread to do */
    bool captured;
    struct work works[];
};
/* depend.c: a kernel's start is told to the others, once their slots are free; then the last start it depends on. */
bool depend_may_tell(struct ncclComm *c, const struct launch *l);
void depend_tell(struct ncclComm *c, const struct launch *l, uint64_t start);
uint64_t depend_ready(struct ncclComm *c, const struct launch *l, uint64_t start); /* SIM_UNKNOWN: not yet */
bool depend_is_pair(enum nccl_func f);                                             /* between two ranks */
bool depend_receives(enum nccl_func f);
uint64_t depend_later(uint64_t a, uint64_t b); /* SIM_UNKNOWN is the latest of all */

/* All calls are of one communicator. */
ncclResult_t launch_calls(struct call *calls, unsigned nr);
void launch_forget(struct ncclComm *c); /* all of its undecided launches end */

struct plan {
    enum nccl_algo algo;
    enum nccl_proto proto;
    unsigned channels, threads;
    uint64_t ns; /* from the last start to the end */
};
uint64_t call_bytes(const struct call *call); /* S of nccl-tests */
struct plan plan_calls(const struct call *calls, unsigned nr);
double work_share(const struct ncclComm *c, enum nccl_func func); /* of S, over each link of the ring */
enum nccl_link link_between(const struct ncclComm *c, int a, int b);

/* ---- The rest ------------------------------------------------------------------------------------------------------
 */
/* The driver's functions, as cuGetProcAddress of libcuda.so.1 gives them. */
struct nccl_driver {
    CUresult (*launch_kernel_ex)(const CUlaunchConfig *, CUfunction, void **, void **);
    CUresult (*memcpy_dtod_async)(CUdeviceptr, CUdeviceptr, size_t, CUstream);
    CUresult (*event_create)(CUevent *, unsigned);
    CUresult (*event_record)(CUevent, CUstream);
    CUresult (*event_destroy)(CUevent);
    CUresult (*stream_wait_event)(CUstream, CUevent, unsigned);
};
const struct nccl_driver *nccl_driver(void); /* NULL: there is none */

ncclResult_t nccl_error(struct ncclComm *c, ncclResult_t result, const char *format, ...)
    __attribute__((format(printf, 3, 4))); /* remembers it for GetLastError, WARN in the log; returns result */
void truth_add(const struct launch *l, const struct sim_op *op, uint64_t ready, uint64_t end);

#endif
