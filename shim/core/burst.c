/* burst.c - see burst.h. Runs on every hooked call: short, no syscalls except getrusage after a slow call. */
#include "shim/core/burst.h"

#include <sys/resource.h>

#include "shim/core/name.h"
#include "shim/core/options.h"

#define SLICE_GAP_NS 50000u   /* waits in slices (the GIL: 5 ms each) are one wait if this little lies between */
#define DEVICE_CALL_NS 50000u /* faster calls cannot have gone to a device */

static bool take(struct slot *slot)
{
    int free_ = 0;
    return atomic_compare_exchange_strong_explicit(&slot->taken, &free_, 1, memory_order_acquire, memory_order_relaxed);
}

static void release(struct slot *slot)
{
    atomic_store_explicit(&slot->taken, 0, memory_order_release);
}

static uint32_t at_most_u32(uint64_t v)
{
    return v > UINT32_MAX ? UINT32_MAX : (uint32_t)v;
}

static uint8_t how_of(const struct burst *b)
{
    unsigned eighths = TR_HOW_DEVICE_UNKNOWN;
    if (b->op == TR_io_op_read && b->bytes) {
        uint64_t from_device = b->device_bytes < b->bytes ? b->device_bytes : b->bytes;
        eighths = (unsigned)((from_device * 8 + b->bytes - 1) / b->bytes);
    }
    return (uint8_t)(eighths | (b->random ? TR_HOW_RANDOM : 0));
}

/* A burst's bytes fit 32 bits but for single huge calls: those become several events, the first with all the time. */
static void emit_file_io(const struct thread *t, const struct burst *b)
{
    uint64_t left = b->bytes;
    name_send((uint32_t)b->key, t->tid);
    EMIT(file_io, t->tid, .op = b->op, .how = how_of(b), .count = (uint16_t)b->count, .name = (uint32_t)b->key,
         .size_bytes = at_most_u32(left), .busy_ns = at_most_u32(b->busy_ns), .start_ns = b->start_ns,
         .dur_ns = b->end_ns - b->start_ns);
    for (left -= at_most_u32(left); left; left -= at_most_u32(left))
        EMIT(file_io, t->tid, .op = b->op, .how = how_of(b), .count = 0, .name = (uint32_t)b->key,
             .size_bytes = at_most_u32(left), .start_ns = b->end_ns);
}

static void emit(const struct thread *t, enum slot_kind kind, const struct burst *b)
{
    uint64_t dur = b->end_ns - b->start_ns;
    switch (kind) {
    case SLOT_FILE:
        emit_file_io(t, b);
        break;
    case SLOT_META:
        name_send((uint32_t)b->key, t->tid);
        EMIT(file_meta, t->tid, .count = (uint16_t)b->count, .opens = (uint16_t)b->opens, .failed = (uint16_t)b->failed,
             .name = (uint32_t)b->key, .busy_ns = at_most_u32(b->busy_ns), .start_ns = b->start_ns, .dur_ns = dur);
        break;
    case SLOT_PIPE:
        EMIT(pipe_io, t->tid, .op = b->op, .count = (uint16_t)b->count, .size_bytes = at_most_u32(b->bytes),
             .busy_ns = at_most_u32(b->busy_ns), .inode = b->key, .start_ns = b->start_ns, .dur_ns = dur);
        break;
    case SLOT_SOCK:
        name_send((uint32_t)b->key, t->tid);
        EMIT(sock_io, t->tid, .op = b->op, .count = (uint16_t)b->count, .name = (uint32_t)b->key,
             .size_bytes = at_most_u32(b->bytes), .busy_ns = at_most_u32(b->busy_ns), .start_ns = b->start_ns,
             .dur_ns = dur, .nccl = (b->key & BURST_BY_NCCL) != 0);
        break;
    case SLOT_WAIT:
        EMIT(wait, t->tid, .kind = b->op, .count = (uint16_t)b->count, .waker = b->waker, .obj = b->key,
             .start_ns = b->start_ns, .dur_ns = dur);
        break;
    case SLOT_CUDA:
        EMIT(cuda_call, t->tid, .act = b->op, .count = (uint16_t)b->count, .err = (int32_t)b->key,
             .busy_ns = at_most_u32(b->busy_ns), .start_ns = b->start_ns, .dur_ns = dur);
        break;
    case SLOT_MAX:
        break;
    }
}

/* Whether a call may join a burst. A reader and a writer of the same pipe alternate: op tells them apart. */
static bool joins(const struct burst *b, const struct burst *call, uint64_t gap_ns)
{
    return b->count && b->key == call->key && b->op == call->op && b->waker == call->waker &&
           call->start_ns - b->end_ns <= gap_ns && b->count < UINT16_MAX && b->bytes + call->bytes <= UINT32_MAX;
}

static void join(struct burst *b, const struct burst *call)
{
    b->end_ns = call->end_ns;
    b->busy_ns += call->busy_ns;
    b->bytes += call->bytes;
    b->device_bytes += call->device_bytes;
    b->count += call->count;
    b->opens += call->opens;
    b->failed += call->failed;
    b->random |= call->random;
}

/* What the device gave during a call that was slow enough to have waited for it. Only the thread itself can ask. */
static uint64_t device_bytes(struct thread *t)
{
    struct rusage ru;
    if (getrusage(RUSAGE_THREAD, &ru) != 0)
        return 0;
    uint64_t blocks = (uint64_t)ru.ru_inblock - t->last_inblock;
    t->last_inblock = (uint64_t)ru.ru_inblock;
    return blocks * 512;
}

static void add(struct thread *t, enum slot_kind kind, struct burst *call, uint64_t gap_ns, uint64_t span_ns)
{
    struct slot *slot = &t->slots[kind];
    struct burst done, *b = &slot->burst;
    bool alone =
        call->busy_ns >= (kind == SLOT_CUDA ? BURST_SLOW_CUDA_NS : BURST_SLOW_NS) || level_in_force() == LEVEL_FULL;

    if (!take(slot)) {
        emit(t, kind, call);
        return;
    }
    done.count = 0;
    if (!joins(b, call, gap_ns) || (alone && kind != SLOT_WAIT) || call->end_ns - b->start_ns > span_ns) {
        done = *b;
        *b = *call;
    } else {
        join(b, call);
    }
    if (alone && kind != SLOT_WAIT)
        b->count = 0; /* it goes out by itself, below */
    release(slot);
    if (done.count)
        emit(t, kind, &done);
    if (alone && kind != SLOT_WAIT)
        emit(t, kind, call);
}

static void close_slot(struct thread *t, enum slot_kind kind, uint64_t before_ns)
{
    struct slot *slot = &t->slots[kind];
    struct burst done;
    if (!take(slot))
        return;
    done.count = 0;
    if (slot->burst.count && slot->burst.start_ns <= before_ns) {
        done = slot->burst;
        slot->burst.count = 0;
    }
    release(slot);
    if (done.count)
        emit(t, kind, &done);
}

/* Which batch the work was for is told by the order of pipes and CUDA calls: a burst of one ends with the other. */
static void keep_order(struct thread *t, enum slot_kind kind)
{
    if (kind != SLOT_PIPE && kind != SLOT_CUDA)
        return;
    if (t->in_order != kind && t->in_order != SLOT_FILE)
        close_slot(t, t->in_order, UINT64_MAX);
    t->in_order = kind;
}

void burst_add(struct thread *t, enum slot_kind kind, const struct burst *given)
{
    struct burst call = *given;
    keep_order(t, kind);
    if (kind == SLOT_FILE && call.busy_ns >= DEVICE_CALL_NS && call.op == TR_io_op_read)
        call.device_bytes = device_bytes(t);
    add(t, kind, &call, BURST_GAP_NS, BURST_SPAN_NS);
}

void burst_wait(struct thread *t, enum tr_wait_kind kind, uint64_t obj, uint32_t waker, uint64_t start_ns,
                uint64_t end_ns)
{
    uint64_t dur = end_ns - start_ns;
    if (dur < options.wait_ns) {
        struct slot *slot = &t->slots[SLOT_WAIT];
        if (!take(slot))
            return;
        struct wait_total *w = &t->waits[kind];
        if (!w->count++)
            w->since_ns = start_ns;
        w->total_ns += dur;
        release(slot);
        return;
    }
    struct burst call = {
        .key = obj, .start_ns = start_ns, .end_ns = end_ns, .busy_ns = dur, .count = 1, .waker = waker, .op = kind};
    add(t, SLOT_WAIT, &call, SLICE_GAP_NS, UINT64_MAX);
}

static void send_wait_sums(struct thread *t)
{
    struct wait_total sums[TR_wait_kind_MAX];
    struct slot *slot = &t->slots[SLOT_WAIT];
    if (!take(slot))
        return;
    for (int k = 0; k < TR_wait_kind_MAX; k++) {
        sums[k] = t->waits[k];
        t->waits[k].count = 0;
        t->waits[k].total_ns = 0;
    }
    release(slot);
    for (int k = 0; k < TR_wait_kind_MAX; k++)
        if (sums[k].count)
            EMIT(wait_sum, t->tid, .kind = (uint8_t)k, .count = sums[k].count, .total_ns = sums[k].total_ns,
                 .since_ns = sums[k].since_ns);
}

void burst_flush(struct thread *t)
{
    for (enum slot_kind kind = 0; kind < SLOT_MAX; kind++)
        close_slot(t, kind, UINT64_MAX);
    send_wait_sums(t);
}

void burst_flush_stale(struct thread *t, uint64_t before_ns)
{
    for (enum slot_kind kind = 0; kind < SLOT_MAX; kind++)
        close_slot(t, kind, before_ns);
}
