/* truth.c - what really happened, by the report's definitions, from the engine's own log of operations and from what
 * the threads say they do: for each step the window on the device, and how its time splits up. Shares nothing with
 * trshim. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "examples/simtrain/job.h"
#include "tests/sim/engine/engine.h"

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

/* ---- Intervals on the device
 * ---------------------------------------------------------------------------------------------- */
struct interval {
    uint64_t start, end;
};

struct set { /* ascending, apart from each other */
    struct interval *all;
    size_t nr;
};

static int by_start(const void *a, const void *b)
{
    const struct interval *x = a, *y = b;
    return x->start < y->start ? -1 : x->start > y->start;
}

static struct set set_of(struct sim_op **ops, size_t nr, bool kernels)
{
    struct set s = {calloc(nr + 1, sizeof(struct interval)), 0};
    if (!s.all)
        abort();
    for (size_t i = 0; i < nr; i++)
        if ((ops[i]->kind == SIM_OP_KERNEL) == kernels && ops[i]->end > ops[i]->start)
            s.all[s.nr++] = (struct interval){ops[i]->start, ops[i]->end};
    qsort(s.all, s.nr, sizeof(s.all[0]), by_start);
    size_t kept = 0;
    for (size_t i = 0; i < s.nr; i++)
        if (kept && s.all[i].start <= s.all[kept - 1].end)
            s.all[kept - 1].end = s.all[i].end > s.all[kept - 1].end ? s.all[i].end : s.all[kept - 1].end;
        else
            s.all[kept++] = s.all[i];
    s.nr = kept;
    return s;
}

/* First interval that ends after ns. */
static size_t first_after(const struct set *s, uint64_t ns)
{
    size_t low = 0, high = s->nr;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (s->all[middle].end <= ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Whether ns lies in the set; *ret_until: how long that stays so. */
static bool inside(const struct set *s, uint64_t ns, uint64_t *ret_until)
{
    size_t i = first_after(s, ns);
    if (i == s->nr) {
        *ret_until = UINT64_MAX;
        return false;
    }
    bool in = s->all[i].start <= ns;
    *ret_until = in ? s->all[i].end : s->all[i].start;
    return in;
}

struct window {
    uint64_t start, end;
    int64_t compute, copy_exposed;
    state_times idle, host; /* host: of the whole window, whatever the device did */
};

static void split(struct window *w, const struct set *kernels, const struct set *copies)
{
    for (uint64_t at = w->start; at < w->end;) {
        uint64_t until_kernel, until_copy;
        bool kernel = inside(kernels, at, &until_kernel), copy = inside(copies, at, &until_copy);
        uint64_t until = until_kernel < until_copy ? until_kernel : until_copy;
        until = until < w->end ? until : w->end;
        if (kernel)
            w->compute += (int64_t)(until - at);
        else if (copy)
            w->copy_exposed += (int64_t)(until - at);
        else
            add_states(&main_log, at, until, w->idle);
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
        if (ops[i]->kind == SIM_OP_KERNEL && ops[i]->stream_id < 4096) {
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
    fprintf(f,
            "{\"step\":%d,\"rank\":%d,\"start_ns\":%llu,\"end_ns\":%llu,\"compute_ns\":%lld,\"comm_exposed_ns\":0,"
            "\"comm_overlapped_ns\":0,\"copy_exposed_ns\":%lld,\"dataloader_ns\":%lld,\"checkpoint_ns\":%lld,\"sync_"
            "ns\":%lld,"
            "\"host_ns\":%lld,\"other_ns\":%lld,\"dataloader_host_wait_ns\":%lld,\"flop\":%llu}\n",
            step, r->rank, (unsigned long long)w->start, (unsigned long long)w->end, (long long)w->compute,
            (long long)w->copy_exposed, (long long)w->idle[STATE_DATALOADER], (long long)w->idle[STATE_CHECKPOINT],
            (long long)w->idle[STATE_SYNC], (long long)w->idle[STATE_HOST], (long long)w->idle[STATE_IDLE],
            (long long)w->host[STATE_DATALOADER], (unsigned long long)r->flop);
}

/* One line per step; the parent makes one document of all ranks'. */
int truth_write(const struct rank *r, const char *path)
{
    struct sim_op **ops;
    size_t nr = sim_log_take(&ops);
    FILE *f = fopen(path, "we");
    if (!f)
        return -1;
    struct set kernels = set_of(ops, nr, true), copies = set_of(ops, nr, false);
    int steps = anchored + 1;
    uint64_t *starts = window_starts(ops, nr, steps);
    for (int step = 0; step < steps; step++) {
        struct window w = {.start = starts[step], .end = starts[step + 1]};
        split(&w, &kernels, &copies);
        write_step(f, r, step, &w);
    }
    for (size_t i = 0; i < nr; i++)
        sim_op_unref(ops[i]);
    free(ops);
    free(kernels.all);
    free(copies.all);
    free(starts);
    return fclose(f);
}
