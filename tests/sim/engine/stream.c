/* stream.c - in-order queues of a device, with CUDA's rules of the legacy stream: it and the blocking streams of its
 * device wait for each other. */
#include <stdlib.h>

#include "tests/sim/engine/inside.h"

struct sim_stream *sim_streams;
static uint32_t last_id = 6; /* CUPTI shows 7 for the default stream of the first context */
static __thread struct sim_stream *per_thread[SIM_DEVICES_MAX];

static struct sim_stream *stream_new(int device, unsigned flags, int priority)
{
    struct sim_stream *s = calloc(1, sizeof(*s));
    if (!s)
        return NULL;
    s->in_flight = calloc(sim_settings()->queue_depth, sizeof(struct sim_op *));
    if (!s->in_flight) {
        free(s);
        return NULL;
    }
    s->magic = STREAM_MAGIC;
    s->device = device;
    s->flags = flags;
    s->priority = priority;
    sim_lock_engine();
    s->id = ++last_id;
    s->next = sim_streams;
    sim_streams = s;
    sim_unlock_engine();
    return s;
}

static struct sim_stream *legacy_of(struct sim_device *d)
{
    static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&making);
    if (!d->legacy)
        d->legacy = stream_new(d->index, 0, 0);
    pthread_mutex_unlock(&making);
    return d->legacy;
}

struct sim_stream *sim_stream_of(void *handle)
{
    struct sim_device *d = sim_device_at(sim_current());
    if (!d)
        return NULL;
    if ((uintptr_t)handle <= 1)
        return legacy_of(d);
    if ((uintptr_t)handle == 2) {
        if (!per_thread[d->index])
            per_thread[d->index] = stream_new(d->index, 0, 0);
        return per_thread[d->index];
    }
    struct sim_stream *s = handle;
    return s->magic == STREAM_MAGIC ? s : NULL;
}

int sim_stream_create(unsigned flags, int priority, struct sim_stream **ret)
{
    int error = sim_init();
    if (error)
        return error;
    sim_stream_of(NULL); /* the legacy stream has the first number, as in CUPTI's records */
    struct sim_stream *s = stream_new(sim_current(), flags, priority);
    if (!s)
        return SIM_OUT_OF_MEMORY;
    *ret = s;
    return SIM_OK;
}

/* What is queued still runs; operations own themselves. */
int sim_stream_destroy(struct sim_stream *s)
{
    sim_lock_engine();
    struct sim_stream **at = &sim_streams;
    while (*at && *at != s)
        at = &(*at)->next;
    if (*at)
        *at = s->next;
    sim_unlock_engine();
    s->magic = 0;
    for (unsigned i = 0; i < sim_settings()->queue_depth; i++)
        sim_op_unref(s->in_flight[i]);
    sim_op_unref(s->last);
    free(s->in_flight);
    free(s->capture_waits);
    free(s);
    return SIM_OK;
}

static void wait_for_legacy(struct sim_stream *s, struct sim_op *op)
{
    if (s->flags & SIM_STREAM_NON_BLOCKING)
        return;
    struct sim_stream *legacy = sim_device_at(s->device)->legacy;
    if (s != legacy) {
        sim_op_add_wait(op, legacy ? legacy->last : NULL);
        return;
    }
    for (struct sim_stream *other = sim_streams; other; other = other->next)
        if (other->device == s->device && other != s && !(other->flags & SIM_STREAM_NON_BLOCKING))
            sim_op_add_wait(op, other->last);
}

/* Makes room in a full queue: the operation that will be overwritten must have ended. Called without the lock. */
static void wait_for_room(struct sim_stream *s)
{
    sim_lock_engine();
    struct sim_op *oldest = s->in_flight[s->nr_queued % sim_settings()->queue_depth];
    if (oldest)
        sim_op_ref(oldest);
    sim_unlock_engine();
    if (oldest && !sim_op_ended(oldest))
        sim_op_wait(oldest);
    sim_op_unref(oldest);
}

int sim_queue(struct sim_stream *s, struct sim_op *op)
{
    op->device = (uint32_t)s->device;
    op->stream_id = s->id;
    if (s->capture)
        return sim_capture_add(s, op);
    wait_for_room(s);
    sim_lock_engine();
    op->queued = sim_now() + sim_settings()->launch_ns;
    sim_op_add_wait(op, s->last);
    wait_for_legacy(s, op);
    if (op->placed)
        op->placed(op);
    sim_op_try(op);
    bool decided = op->end != SIM_UNKNOWN;
    sim_op_unref(s->last);
    s->last = sim_op_ref(op);
    struct sim_op **slot = &s->in_flight[s->nr_queued++ % sim_settings()->queue_depth];
    sim_op_unref(*slot);
    *slot = sim_op_ref(op);
    sim_log_add(op);
    sim_unlock_engine();
    if (decided)
        sim_op_effect(op);
    const struct sim_observer *o = sim_observer();
    if (o && op->kind != SIM_OP_MARK)
        o->op(op);
    sim_op_unref(op);
    return SIM_OK;
}

static struct sim_op *last_of(struct sim_stream *s)
{
    sim_lock_engine();
    struct sim_op *op = s->last ? sim_op_ref(s->last) : NULL;
    sim_unlock_engine();
    return op;
}

static void tell_sync(enum sim_sync_kind kind, int device, uint32_t stream, uint32_t event, uint64_t start)
{
    const struct sim_observer *o = sim_observer();
    struct sim_call *call = sim_call_current();
    if (!o || !call)
        return;
    struct sim_sync sync = {.kind = kind,
                            .start = start,
                            .end = sim_now(),
                            .device = (uint32_t)device,
                            .stream_id = stream,
                            .event_id = event,
                            .correlation = call->correlation};
    o->sync(&sync);
}

/* The legacy stream also has to wait for the blocking ones: a mark in it does. */
static int mark(struct sim_stream *s)
{
    struct sim_op *op = sim_op_new(SIM_OP_MARK);
    return op ? sim_queue(s, op) : SIM_OUT_OF_MEMORY;
}

int sim_stream_sync(struct sim_stream *s)
{
    if (s->capture)
        return SIM_CAPTURE_UNSUPPORTED;
    uint64_t start = sim_now();
    if (sim_device_at(s->device)->legacy == s)
        mark(s);
    struct sim_op *op = last_of(s);
    if (op)
        sim_op_wait(op);
    sim_op_unref(op);
    tell_sync(SIM_SYNC_STREAM, s->device, s->id, 0, start);
    return SIM_OK;
}

int sim_stream_query(struct sim_stream *s)
{
    if (s->capture)
        return SIM_CAPTURE_UNSUPPORTED;
    struct sim_op *op = last_of(s);
    bool ended = !op || sim_op_ended(op);
    sim_op_unref(op);
    return ended ? SIM_OK : SIM_NOT_READY;
}

/* All that was queued on the device before the call; a stream's later operations are not waited for. */
void sim_device_wait(int device)
{
    uint64_t latest = 0;
    sim_lock_engine();
    for (struct sim_stream *s = sim_streams; s; s = s->next) {
        if (s->device != device || !s->last)
            continue;
        struct sim_op *op = sim_op_ref(s->last);
        bool waited = false;
        while (op->end == SIM_UNKNOWN) {
            pthread_cond_wait(&sim_changed, &sim_lock);
            waited = true;
        }
        latest = op->end > latest ? op->end : latest;
        sim_op_unref(op);
        if (waited) { /* the list may have changed meanwhile */
            s = sim_streams;
            if (!s)
                break;
        }
    }
    sim_unlock_engine();
    sim_sleep_until(latest);
}

int sim_device_sync(int device)
{
    uint64_t start = sim_now();
    sim_device_wait(device);
    tell_sync(SIM_SYNC_DEVICE, device, UINT32_MAX, 0, start);
    return SIM_OK;
}

uint32_t sim_stream_id(const struct sim_stream *s)
{
    return s->id;
}

int sim_stream_device(const struct sim_stream *s)
{
    return s->device;
}

unsigned sim_stream_flags(const struct sim_stream *s)
{
    return s->flags;
}

int sim_stream_priority(const struct sim_stream *s)
{
    return s->priority;
}

/* ---- Events: each recording is a mark in its stream
 * ------------------------------------------------------------------ */
static uint32_t last_event;

int sim_event_create(unsigned flags, struct sim_event **ret)
{
    int error = sim_init();
    if (error)
        return error;
    struct sim_event *e = calloc(1, sizeof(*e));
    if (!e)
        return SIM_OUT_OF_MEMORY;
    e->magic = EVENT_MAGIC;
    e->flags = flags;
    e->id = __atomic_add_fetch(&last_event, 1, __ATOMIC_RELAXED);
    *ret = e;
    return SIM_OK;
}

int sim_event_destroy(struct sim_event *e)
{
    if (!e || e->magic != EVENT_MAGIC)
        return SIM_INVALID_HANDLE;
    e->magic = 0;
    sim_op_unref(e->op);
    free(e);
    return SIM_OK;
}

static struct sim_op *event_op(struct sim_event *e)
{
    sim_lock_engine();
    struct sim_op *op = e->op ? sim_op_ref(e->op) : NULL;
    sim_unlock_engine();
    return op;
}

int sim_event_record(struct sim_event *e, struct sim_stream *s)
{
    if (!e || e->magic != EVENT_MAGIC)
        return SIM_INVALID_HANDLE;
    if (s->capture) {
        e->capture = s->capture;
        e->capture_node = s->capture_last;
        e->capture_stream = s;
        return SIM_OK;
    }
    struct sim_op *op = sim_op_new(SIM_OP_MARK);
    if (!op)
        return SIM_OUT_OF_MEMORY;
    sim_op_ref(op);
    int error = sim_queue(s, op);
    sim_lock_engine();
    struct sim_op *before = e->op;
    e->op = op;
    e->capture = NULL;
    sim_unlock_engine();
    sim_op_unref(before);
    return error;
}

int sim_event_query(struct sim_event *e)
{
    if (!e || e->magic != EVENT_MAGIC)
        return SIM_INVALID_HANDLE;
    struct sim_op *op = event_op(e);
    bool ended = !op || sim_op_ended(op);
    sim_op_unref(op);
    return ended ? SIM_OK : SIM_NOT_READY;
}

int sim_event_sync(struct sim_event *e)
{
    if (!e || e->magic != EVENT_MAGIC)
        return SIM_INVALID_HANDLE;
    uint64_t start = sim_now();
    struct sim_op *op = event_op(e);
    uint32_t stream = op ? op->stream_id : UINT32_MAX, device = op ? op->device : 0;
    if (op)
        sim_op_wait(op);
    sim_op_unref(op);
    tell_sync(SIM_SYNC_EVENT, (int)device, stream, e->id, start);
    return SIM_OK;
}

#define EVENT_DISABLE_TIMING 2u

int sim_event_elapsed(struct sim_event *from, struct sim_event *to, float *ret_ms)
{
    if (!from || !to || from->magic != EVENT_MAGIC || to->magic != EVENT_MAGIC)
        return SIM_INVALID_HANDLE;
    if (((from->flags | to->flags) & EVENT_DISABLE_TIMING) || !from->op || !to->op)
        return SIM_INVALID_HANDLE;
    if (sim_event_query(from) || sim_event_query(to))
        return SIM_NOT_READY;
    *ret_ms = (float)((double)(int64_t)(to->op->end - from->op->end) / 1e6);
    return SIM_OK;
}

int sim_stream_wait_event(struct sim_stream *s, struct sim_event *e)
{
    if (!e || e->magic != EVENT_MAGIC)
        return SIM_INVALID_HANDLE;
    uint64_t start = sim_now();
    if (e->capture) { /* joins the capture that recorded the event */
        if (!s->capture) {
            s->capture = e->capture;
            s->capture_id = e->capture_stream->capture_id;
            s->capture_last = 0;
        } else if (s->capture != e->capture) {
            return SIM_CAPTURE_UNJOINED;
        }
        size_t *waits = realloc(s->capture_waits, (s->nr_capture_waits + 1) * sizeof(*waits));
        if (!waits)
            return SIM_OUT_OF_MEMORY;
        s->capture_waits = waits;
        if (e->capture_node)
            waits[s->nr_capture_waits++] = e->capture_node - 1;
        return SIM_OK;
    }
    struct sim_op *before = event_op(e);
    if (!before || s->capture)
        return SIM_OK;
    struct sim_op *op = sim_op_new(SIM_OP_MARK);
    if (!op)
        return SIM_OUT_OF_MEMORY;
    sim_op_add_wait(op, before); /* queued is still 0: it is kept whatever its end */
    sim_op_unref(before);
    int error = sim_queue(s, op);
    tell_sync(SIM_SYNC_STREAM_WAIT, s->device, s->id, e->id, start);
    return error;
}
