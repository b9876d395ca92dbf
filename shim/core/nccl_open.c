/* nccl_open.c - see nccl_open.h. Written by the job's threads and by CUPTI's; looked at by the tender. */
#include "shim/core/nccl_open.h"

#include "shim/core/gpu.h"
#include "shim/core/options.h"

#define NR_CALLS 2048u /* a power of two */
#define NR_TOLD 256u   /* open calls told at once */
#define NR_TOGETHER 16u

enum state { CALL_GONE, CALL_INSIDE, CALL_LAUNCHED, CALL_DONE };

static struct open_call {
    _Atomic uint64_t ticket; /* 1 + its place in the order of all calls; 0 while it is being written */
    atomic_int state;        /* enum state */
    atomic_uint nr, ordinal, ran;
    uint32_t tid;
    int32_t peer;
    uint8_t op, type;
    atomic_bool told;
    uint64_t count, start_ns;
    _Atomic uint64_t end_ns; /* UINT64_MAX while it is inside */
} calls[NR_CALLS];

static _Atomic uint64_t newest;       /* ticket */
static _Atomic uint64_t oldest = 1;   /* all before are done */
static _Atomic uint64_t last_call_ns; /* begin of the newest */

static struct open_call *call_of(uint64_t ticket)
{
    struct open_call *c = &calls[ticket & (NR_CALLS - 1)];
    return ticket && atomic_load_explicit(&c->ticket, memory_order_acquire) == ticket ? c : NULL;
}

static bool is_open(const struct open_call *c)
{
    int state = atomic_load_explicit(&c->state, memory_order_acquire);
    return state == CALL_INSIDE || state == CALL_LAUNCHED;
}

static bool is_p2p(const struct open_call *c)
{
    return c->op == TR_coll_op_Send || c->op == TR_coll_op_Recv;
}

/* ---- by the threads that call ----------------------------------------------------------------------------------- */

uint64_t nccl_open_begin(const struct nccl_pending *p, uint32_t tid)
{
    struct nccl_comm *comm = nccl_comm_of_nr(p->nr);
    if (comm && atomic_load_explicit(&comm->nranks, memory_order_relaxed) == 1)
        return 0; /* waits for nobody */
    uint64_t ticket = atomic_fetch_add_explicit(&newest, 1, memory_order_relaxed) + 1;
    struct open_call *c = &calls[ticket & (NR_CALLS - 1)];
    atomic_store_explicit(&c->ticket, 0, memory_order_relaxed);
    atomic_store_explicit(&c->state, CALL_INSIDE, memory_order_release);
    atomic_store_explicit(&c->nr, p->nr, memory_order_relaxed);
    atomic_store_explicit(&c->ordinal, comm ? atomic_load_explicit(&comm->ordinal, memory_order_relaxed) : 0,
                          memory_order_relaxed);
    atomic_store_explicit(&c->ran, 0, memory_order_relaxed);
    atomic_store_explicit(&c->told, false, memory_order_relaxed);
    atomic_store_explicit(&c->end_ns, UINT64_MAX, memory_order_relaxed);
    c->tid = tid;
    c->peer = p->peer;
    c->op = p->op;
    c->type = p->type;
    c->count = p->count;
    c->start_ns = p->start_ns;
    atomic_store_explicit(&last_call_ns, p->start_ns, memory_order_relaxed);
    atomic_store_explicit(&c->ticket, ticket, memory_order_release);
    return ticket;
}

void nccl_open_accepted(const struct nccl_pending *p)
{
    struct open_call *c = call_of(p->open);
    if (!c)
        return;
    atomic_store_explicit(&c->ordinal, p->ordinal, memory_order_relaxed);
    atomic_store_explicit(&c->nr, p->nr, memory_order_release);
}

void nccl_open_returned(const struct nccl_pending *p, uint64_t end_ns, bool is_void)
{
    struct open_call *c = call_of(p->open);
    int inside = CALL_INSIDE;
    if (!c)
        return;
    atomic_store_explicit(&c->end_ns, end_ns, memory_order_relaxed);
    if (is_void)
        atomic_store_explicit(&c->state, CALL_GONE, memory_order_release);
    else
        (void)atomic_compare_exchange_strong(&c->state, &inside, CALL_LAUNCHED); /* else its kernel is done already */
}

/* ---- by those who read CUPTI's records -------------------------------------------------------------------------- */

static uint64_t first_ticket(void)
{
    uint64_t last = atomic_load_explicit(&newest, memory_order_acquire);
    uint64_t first = atomic_load_explicit(&oldest, memory_order_acquire);
    return last >= NR_CALLS && first + NR_CALLS <= last ? last - NR_CALLS + 1 : first;
}

static void raise_to(atomic_uint *at, uint32_t to)
{
    unsigned seen = atomic_load_explicit(at, memory_order_relaxed);
    while (seen < to && !atomic_compare_exchange_weak(at, &seen, to))
        ;
}

static void end_call(struct open_call *c)
{
    struct nccl_comm *comm = nccl_comm_of_nr(atomic_load(&c->nr));
    atomic_store_explicit(&c->state, CALL_DONE, memory_order_release);
    if (comm && !is_p2p(c))
        raise_to(&comm->finished, atomic_load(&c->ordinal) + 1);
}

/* A communicator runs its calls one after the other: with this one all before it are done. */
static void end_all_until(uint64_t ticket, uint32_t nr)
{
    for (uint64_t at = first_ticket(); at <= ticket; at++) {
        struct open_call *c = call_of(at);
        if (c && is_open(c) && atomic_load(&c->nr) == nr)
            end_call(c);
    }
}

static bool holds(const struct open_call *c, uint32_t tid, uint64_t at_ns)
{
    return c->tid == tid && c->start_ns <= at_ns && at_ns <= atomic_load_explicit(&c->end_ns, memory_order_relaxed);
}

/* The communicators of the calls that were under way on that thread then: a group's kernels cannot be told apart. */
static uint32_t together(uint32_t tid, uint64_t at_ns, uint32_t nrs[NR_TOGETHER], uint64_t last[NR_TOGETHER])
{
    uint64_t newest_ = atomic_load_explicit(&newest, memory_order_acquire);
    uint32_t n = 0;
    for (uint64_t at = first_ticket(); at <= newest_; at++) {
        struct open_call *c = call_of(at);
        if (!c || !is_open(c) || !holds(c, tid, at_ns))
            continue;
        uint32_t i = 0, nr = atomic_load(&c->nr);
        while (i < n && nrs[i] != nr)
            i++;
        if (i == NR_TOGETHER)
            continue;
        nrs[i] = nr;
        last[i] = at;
        n = i == n ? n + 1 : n;
    }
    return n;
}

void nccl_open_ran(uint32_t tid, uint64_t launched_ns)
{
    uint32_t nrs[NR_TOGETHER];
    uint64_t last[NR_TOGETHER];
    uint32_t n = together(tid, launched_ns, nrs, last);
    for (uint32_t i = 0; i < n; i++) {
        struct open_call *c = call_of(last[i]);
        struct nccl_comm *comm = nccl_comm_of_nr(nrs[i]);
        if (comm)
            atomic_store_explicit(&comm->ran, true, memory_order_relaxed);
        if (c && atomic_fetch_add(&c->ran, 1) + 1 >= n)
            end_all_until(last[i], nrs[i]);
    }
}

/* ---- by the tender ---------------------------------------------------------------------------------------------- */

/* What is known of the process as a whole. */
struct view {
    uint64_t now;
    bool kernels_told; /* by CUPTI, at present */
    bool gpu_stands;   /* nothing has run there for hang_ns */
    uint64_t wait_ns;  /* since when a thread waits in CUDA or NCCL, for hang_ns or longer; 0 none does */
};

static void look_at_thread(struct thread *t, void *arg)
{
    struct view *v = arg;
    uint64_t since = atomic_load_explicit(&t->api_start_ns, memory_order_acquire);
    if (since && since < v->now && v->now - since >= options.hang_ns && (!v->wait_ns || since < v->wait_ns))
        v->wait_ns = since;
}

static struct view look(uint64_t now)
{
    static uint64_t told, told_ns;
    struct view v = {.now = now, .kernels_told = gpu_is_told()};
    if (gpu_told() != told || !told_ns) {
        told = gpu_told();
        told_ns = now;
    }
    v.gpu_stands = now - told_ns >= options.hang_ns;
    threads_each(look_at_thread, &v);
    return v;
}

/* A later call of the same communicator, or of the same peer. */
static bool is_last(uint64_t ticket, const struct open_call *c)
{
    uint64_t last = atomic_load(&newest);
    for (uint64_t at = ticket + 1; at <= last; at++) {
        const struct open_call *later = call_of(at);
        if (later && atomic_load(&later->nr) == atomic_load(&c->nr) && is_p2p(later) == is_p2p(c) &&
            (!is_p2p(c) || later->peer == c->peer) && atomic_load(&later->state) != CALL_GONE)
            return false;
    }
    return true;
}

/* Whether a call is known to be open still; `since` is what it must have begun before to be worth telling. */
static bool stands(uint64_t ticket, const struct open_call *c, const struct view *v)
{
    struct nccl_comm *comm = nccl_comm_of_nr(atomic_load(&c->nr));
    if (atomic_load(&c->state) == CALL_INSIDE)
        return true;
    if (comm && atomic_load(&comm->ran) && v->kernels_told)
        return v->gpu_stands;
    return v->wait_ns && is_last(ticket, c);
}

static void send_call(struct open_call *c, uint32_t position, uint64_t now, bool done)
{
    struct nccl_comm *comm = nccl_comm_of_nr(atomic_load(&c->nr));
    if (comm)
        nccl_comm_send(comm, c->tid, false);
    atomic_store(&c->told, !done);
    EMIT(open_coll, c->tid, .op = c->op, .type = c->type, .nr = atomic_load(&c->nr),
         .ordinal = atomic_load(&c->ordinal), .peer = c->peer, .position = position, .count = c->count,
         .start_ns = c->start_ns, .age_ns = now - c->start_ns, .what = "", .frames = "", .done = done);
}

static void send_status(struct nccl_comm *comm, void *arg)
{
    const struct view *v = arg;
    uint32_t next = atomic_load(&comm->ordinal), finished = atomic_load(&comm->finished);
    if (!next)
        return;
    nccl_comm_send(comm, process.pid, false);
    EMIT(coll_status, process.pid, .nr = comm->nr, .entered = next - 1,
         .finished = v->kernels_told && finished ? finished - 1 : UINT32_MAX, .at_ns = v->now);
}

/* Says of calls that were told as open that they have ended, and forgets what is done. Of a communicator that shows no
 * kernels, calls before its last are taken as done. */
static bool tidy(const struct view *v)
{
    uint64_t last = atomic_load(&newest), first = first_ticket();
    bool at_front = true, some_ended = false;
    for (uint64_t at = first; at <= last; at++) {
        struct open_call *c = call_of(at);
        struct nccl_comm *comm = c ? nccl_comm_of_nr(atomic_load(&c->nr)) : NULL;
        bool blind = c && (!comm || !atomic_load(&comm->ran) || !v->kernels_told);
        int launched = CALL_LAUNCHED;
        if (c && blind && (!comm || !is_last(at, c)))
            (void)atomic_compare_exchange_strong(&c->state, &launched, CALL_DONE);
        if (c && !is_open(c) && atomic_load(&c->told)) {
            send_call(c, 0, v->now, true);
            some_ended = true;
        }
        at_front &= c && !is_open(c);
        if (at_front)
            atomic_store(&oldest, at + 1);
    }
    return some_ended;
}

static bool tell_open(const struct view *v)
{
    uint64_t last = atomic_load(&newest), first = first_ticket();
    uint32_t nr = 0;
    bool is_late = false;
    for (uint64_t at = first; at <= last && !is_late; at++) {
        struct open_call *c = call_of(at);
        is_late =
            c && is_open(c) && v->now > c->start_ns && v->now - c->start_ns >= options.hang_ns && stands(at, c, v);
    }
    for (uint64_t at = first; is_late && at <= last && nr < NR_TOLD; at++) {
        struct open_call *c = call_of(at);
        if (c && is_open(c) && v->now > c->start_ns && stands(at, c, v))
            send_call(c, nr++, v->now, false);
    }
    return is_late;
}

bool nccl_open_watch(uint64_t now, bool last)
{
    static uint64_t told_ns;
    if (!options.hang_ns || !atomic_load(&newest))
        return false;
    struct view v = look(now);
    bool ended = tidy(&v), due = last || now - told_ns >= options.hang_ns;
    bool is_late = due && tell_open(&v);
    bool is_idle = due && now - atomic_load(&last_call_ns) >= options.hang_ns;
    if (ended || is_late || is_idle || last)
        nccl_comms_each(send_status, &v);
    if (is_late || is_idle)
        told_ns = now;
    return is_late;
}

void nccl_open_after_fork(void)
{
    for (uint32_t i = 0; i < NR_CALLS && atomic_load(&newest); i++)
        atomic_store(&calls[i].ticket, 0);
    atomic_store(&oldest, atomic_load(&newest) + 1);
}
