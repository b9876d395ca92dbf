/* truth.c - what really happened, by the report's definitions, from the engine's own log of operations, from what the
 * simulated NCCL says of its kernels, and from what the threads say they do: for each step the window on the device,
 * and how its time splits up. Shares nothing with trshim. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "examples/simtrain/intervals.h"
#include "examples/simtrain/job.h"
#include "tests/sim/engine/engine.h"
#include "tests/sim/nccl/truth.h"

struct change { /* from ns on the thread is in this state; delegated: what the backward thread does counts */
    uint64_t ns;
    enum state state;
    bool delegated;
};

struct log {
    struct change *changes;
    size_t nr, max, at; /* at: where the last look-up was; look-ups go forward */
};

static struct log main_log, other_log;
static __thread struct log *own;
static __thread struct change current;
static int anchored = -1;

static void add(struct log *l, struct change c)
{
    if (l->nr == l->max) {
        l->max = l->max ? 2 * l->max : 4096;
        l->changes = realloc(l->changes, l->max * sizeof(*l->changes));
        if (!l->changes)
            abort();
    }
    l->changes[l->nr++] = c;
}

/* The thread that calls this is the training thread. */
void truth_init(void)
{
    own = &main_log;
    sim_log_start();
    sim_nccl_truth_start();
}

void truth_anchor(int step)
{
    anchored = step;
    sim_set_tag((uint32_t)step + 1);
}

static void log_current(void)
{
    current.ns = now_ns();
    add(own, current);
}

enum state truth_enter(enum state s)
{
    enum state before = current.state;
    if (!own) {
        own = &other_log;
        log_current();
    }
    current.state = s > before || s == STATE_HOST ? s : before; /* inside a save everything is the save */
    if (current.state != before)
        log_current();
    return before;
}

void truth_other_thread(bool waiting)
{
    current.delegated = waiting;
    log_current();
}

/* ---- Time by state
 * ------------------------------------------------------------------------------------------------------ */
typedef int64_t state_times[STATE_MAX];

static uint64_t change_end(const struct log *l, size_t i)
{
    return i + 1 < l->nr ? l->changes[i + 1].ns : UINT64_MAX;
}

static void add_states(struct log *l, uint64_t from, uint64_t to, state_times times)
{
    if (!l->nr) {
        times[STATE_HOST] += (int64_t)(to - from);
        return;
    }
    while (l->at && l->changes[l->at].ns > from)
        l->at--;
    while (l->at + 1 < l->nr && l->changes[l->at + 1].ns <= from)
        l->at++;
    if (l->changes[0].ns > from) { /* before the log begins the thread was running */
        uint64_t end = l->changes[0].ns < to ? l->changes[0].ns : to;
        times[STATE_HOST] += (int64_t)(end - from);
        from = end;
    }
    for (size_t i = l->at; i < l->nr && from < to; i++) {
        uint64_t end = change_end(l, i) < to ? change_end(l, i) : to;
        if (end <= from)
            continue;
        if (l->changes[i].delegated)
            add_states(&other_log, from, end, times);
        else
            times[l->changes[i].state] += (int64_t)(end - from);
        from = end;
    }
}

/* ---- What ran on the device
 * ------------------------------------------------------------------------------------------------------ */
struct device {
    struct set kernels, communication, copies;
    struct set moving;    /* a kernel of NCCL has all it depends on, and moves bytes */
    struct set in_stages; /* one that passes on between stages has not */
};

/* What has to be decided by others is a kernel of NCCL. */
static bool communicates(const struct sim_op *op)
{
    return op->kind == SIM_OP_KERNEL && op->decide;
}

static void add_rows(struct device *d, const struct rank *r, const struct sim_nccl_truth *rows, size_t nr)
{
    uint32_t stages = r->pp.comm ? sim_stream_id(sim_stream_of(r->pp.stream)) : UINT32_MAX;
    for (size_t i = 0; i < nr; i++) {
        uint64_t ready = rows[i].all_ready_ns < rows[i].end_ns ? rows[i].all_ready_ns : rows[i].end_ns;
        set_add(&d->moving, ready, rows[i].end_ns);
        if (rows[i].stream_id == stages)
            set_add(&d->in_stages, rows[i].start_ns, ready);
    }
}

static struct device device_of(struct sim_op **ops, size_t nr, const struct rank *r)
{
    struct device d = {0};
    size_t communications = 0;
    for (size_t i = 0; i < nr; i++) {
        bool kernel = ops[i]->kind == SIM_OP_KERNEL;
        communications += communicates(ops[i]);
        set_add(communicates(ops[i]) ? &d.communication : kernel ? &d.kernels : &d.copies, ops[i]->start, ops[i]->end);
    }
    struct sim_nccl_truth *rows;
    size_t nr_rows = sim_nccl_truth_take(&rows);
    if (nr_rows != communications) {
        fprintf(stderr, "simtrain: rank %d: %zu kernels of NCCL ran, it tells of %zu\n", r->rank, communications,
                nr_rows);
        abort(); /* a truth with holes is none */
    }
    add_rows(&d, r, rows, nr_rows);
    free(rows);
    for (struct set *s = &d.kernels; s <= &d.in_stages; s++)
        set_order(s);
    return d;
}

static void device_free(struct device *d)
{
    for (struct set *s = &d->kernels; s <= &d->in_stages; s++)
        free(s->all);
}

struct window {
    uint64_t start, end;
    int64_t compute, exposed, wait, bubble, overlapped, copy_exposed;
    state_times idle, host; /* host: of the whole window, whatever the device did */
};

static void split(struct window *w, const struct device *d)
{
    for (uint64_t at = w->start; at < w->end;) {
        uint64_t until = w->end;
        bool kernel = set_has(&d->kernels, at, &until), communication = set_has(&d->communication, at, &until);
        bool copy = set_has(&d->copies, at, &until), moving = set_has(&d->moving, at, &until);
        bool stages = set_has(&d->in_stages, at, &until);
        int64_t ns = (int64_t)(until - at);
        if (kernel) {
            w->compute += ns;
            w->overlapped += communication ? ns : 0;
        } else if (communication) {
            w->exposed += ns;
            w->wait += moving ? 0 : ns;
            w->bubble += !moving && stages ? ns : 0;
        } else if (copy) {
            w->copy_exposed += ns;
        } else {
            add_states(&main_log, at, until, w->idle);
        }
        at = until;
    }
    add_states(&main_log, w->start, w->end, w->host);
}

/* ---- Windows
 * ------------------------------------------------------------------------------------------------------------------ */
static uint32_t main_stream(struct sim_op **ops, size_t nr)
{
    static uint64_t busy[4096];
    uint32_t best = 0;
    for (size_t i = 0; i < nr; i++)
        if (ops[i]->kind == SIM_OP_KERNEL && !communicates(ops[i]) && ops[i]->stream_id < 4096) {
            busy[ops[i]->stream_id] += ops[i]->end - ops[i]->start;
            if (busy[ops[i]->stream_id] > busy[best])
                best = ops[i]->stream_id;
        }
    return best;
}

/* Starts of steps 0 .. steps, the last being the end of all kernels. */
static uint64_t *window_starts(struct sim_op **ops, size_t nr, int steps)
{
    uint64_t *starts = calloc((size_t)steps + 1, sizeof(*starts)), end = 0;
    if (!starts)
        abort();
    uint32_t stream = main_stream(ops, nr);
    for (size_t i = 0; i < nr; i++) {
        if (ops[i]->kind != SIM_OP_KERNEL)
            continue;
        end = ops[i]->end > end ? ops[i]->end : end;
        if (ops[i]->stream_id == stream && ops[i]->tag && (int)ops[i]->tag <= steps && !starts[ops[i]->tag - 1])
            starts[ops[i]->tag - 1] = ops[i]->start;
    }
    starts[steps] = end;
    return starts;
}

static void write_step(FILE *f, const struct rank *r, int step, const struct window *w)
{
    const struct {
        const char *name;
        int64_t value;
    } fields[] = {{"step", step},
                  {"rank", r->rank},
                  {"start_ns", (int64_t)w->start},
                  {"end_ns", (int64_t)w->end},
                  {"compute_ns", w->compute},
                  {"comm_exposed_ns", w->exposed},
                  {"comm_wait_ns", w->wait},
                  {"comm_transfer_ns", w->exposed - w->wait},
                  {"pp_bubble_ns", w->bubble},
                  {"comm_overlapped_ns", w->overlapped},
                  {"copy_exposed_ns", w->copy_exposed},
                  {"dataloader_ns", w->idle[STATE_DATALOADER]},
                  {"checkpoint_ns", w->idle[STATE_CHECKPOINT]},
                  {"sync_ns", w->idle[STATE_SYNC]},
                  {"host_ns", w->idle[STATE_HOST]},
                  {"other_ns", w->idle[STATE_IDLE]},
                  {"dataloader_host_wait_ns", w->host[STATE_DATALOADER]},
                  {"flop", (int64_t)r->flop}};
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
        fprintf(f, "%s\"%s\":%lld", i ? "," : "{", fields[i].name, (long long)fields[i].value);
    fputs("}\n", f);
}

/* One line per step; the parent makes one document of all ranks'. */
int truth_write(const struct rank *r, const char *path)
{
    struct sim_op **ops;
    size_t nr = sim_log_take(&ops);
    FILE *f = fopen(path, "we");
    if (!f)
        return -1;
    struct device device = device_of(ops, nr, r);
    int steps = anchored + 1;
    uint64_t *starts = window_starts(ops, nr, steps);
    for (int step = 0; step < steps; step++) {
        struct window w = {.start = starts[step], .end = starts[step + 1]};
        split(&w, &device);
        write_step(f, r, step, &w);
    }
    for (size_t i = 0; i < nr; i++)
        sim_op_unref(ops[i]);
    free(ops);
    device_free(&device);
    free(starts);
    return fclose(f);
}
