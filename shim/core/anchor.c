/* anchor.c - see anchor.h. At an anchor the thread's bursts are closed and its counters read, so that a step owns what
 * was done in it; the steps asked for are counted here too. */
#include "shim/core/anchor.h"

#include <string.h>

#include "shim/core/burst.h"
#include "shim/core/calls.h"
#include "shim/core/name.h"
#include "shim/core/options.h"
#include "shim/core/process.h"

bool core_begin(struct shim_call *call)
{
    struct shim_tls *tls = process.preload->tls();
    void *frame = __builtin_frame_address(0);
    if (process.excluded || tls->frame || tls->dead ||
        atomic_load_explicit(&process.fork_pending, memory_order_relaxed) == 2)
        return false;
    tls->frame = frame;
    call->tls = tls;
    if (!process_enter(tls)) {
        tls->frame = NULL;
        return false;
    }
    return true;
}

void core_end(struct shim_call *call)
{
    call->tls->frame = NULL;
}

static enum tr_anchor_kind kind_of(const char *name)
{
    if (strncmp(name, "Optimizer.step#", 15) == 0)
        return TR_anchor_kind_optimizer;
    if (strncmp(name, "enumerate(DataLoader)#", 22) == 0)
        return TR_anchor_kind_dataloader;
    return TR_anchor_kind_MAX;
}

/* Whether step nr lies in what --steps and --every ask for. */
static bool is_wanted(uint64_t nr)
{
    const struct step_window *w = &options.window;
    return nr >= w->from && nr <= w->to && (!w->every || nr % w->every < w->take);
}

/* A step ends here: is the next one wanted? Marks come with their number; optimizer steps are counted, unless there
 * are marks. */
static void step_passed(struct thread *t, enum tr_anchor_kind kind, uint64_t nr)
{
    static atomic_bool marked;
    static _Atomic uint64_t counted;
    if (!options.window.set)
        return;
    if (kind == TR_anchor_kind_mark)
        atomic_store(&marked, true);
    else if (kind != TR_anchor_kind_optimizer || atomic_load(&marked))
        return;
    else
        nr = atomic_fetch_add(&counted, 1) + 1;

    bool off = !is_wanted(nr);
    if (off != detail_is_off())
        EMIT(gap, t->tid, .why = TR_gap_why_steps, .on = off);
    atomic_store(&process.outside, off);
    if (process.control && process.local_rank >= 0 && process.local_rank < TR_CONTROL_SLOTS)
        process.control->off[process.local_rank] = off;
}

static void emit_anchor(struct thread *t, enum tr_anchor_kind kind, const char *name, uint64_t nr, uint64_t start_ns,
                        uint64_t dur_ns)
{
    burst_flush(t);
    thread_sample_cpu(t);
    process_refresh_rank();
    atomic_store_explicit(&t->trains, true, memory_order_relaxed);
    uint32_t id = name_of(TR_name_kind_range, name, strlen(name));
    name_send(id, t->tid);
    EMIT(anchor, t->tid, .kind = (uint8_t)kind, .name = id, .nr = nr, .start_ns = start_ns, .dur_ns = dur_ns);
    step_passed(t, kind, nr);
}

void range_begin(struct thread *t, const void *record, const char *name, uint64_t now)
{
    uint32_t depth = t->depth++;
    if (depth >= sizeof(t->ranges) / sizeof(*t->ranges))
        return;
    t->ranges[depth].record = record;
    t->ranges[depth].start_ns = now;
    t->ranges[depth].name = name_of(TR_name_kind_range, name, strlen(name));
    if (kind_of(name) != TR_anchor_kind_MAX) {
        burst_flush(t);
        thread_sample_cpu(t);
    }
}

void range_end(struct thread *t, const void *record, uint64_t now, bool nvtx)
{
    uint32_t depth = t->depth;
    if (depth > sizeof(t->ranges) / sizeof(*t->ranges)) {
        t->depth--; /* too deep: begun without a trace */
        return;
    }
    while (depth && t->ranges[depth - 1].record != record)
        depth--;
    if (!depth)
        return; /* begun before we looked, or on another thread */
    depth--;
    t->depth = depth;

    uint64_t start = t->ranges[depth].start_ns;
    const char *name = name_text(t->ranges[depth].name);
    enum tr_anchor_kind kind = nvtx ? TR_anchor_kind_nvtx : name ? kind_of(name) : TR_anchor_kind_MAX;
    if (kind != TR_anchor_kind_MAX) {
        emit_anchor(t, kind, name ? name : "", 0, start, now - start);
    } else if (!detail_is_off()) {
        name_send(t->ranges[depth].name, t->tid);
        EMIT(range, t->tid, .name = t->ranges[depth].name, .depth = depth, .start_ns = start, .dur_ns = now - start);
    }
}

void anchor_mark(struct thread *t, enum tr_anchor_kind kind, const char *name, uint64_t nr, uint64_t now)
{
    emit_anchor(t, kind, name, nr, now, 0);
}

void call_step(struct shim_call *call, uint64_t nr)
{
    if (!process.excluded)
        anchor_mark(call->tls->self, TR_anchor_kind_mark, "trshim_step", nr, call->end_ns);
}
