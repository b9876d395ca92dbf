/* proxy_events.c - what a profiler plugin hears from the progress thread: operations, their steps, channels of the
 * kernel, and the thread's own sleeping and waking. With what the real one gets wrong: stale handles, stale sizes, and
 * on request other processes' pointers and stops that never come. */
#include <unistd.h>

#include "tests/sim/nccl/proxy_inside.h"

static void state(struct proxy_item *i, void *handle, enum profiler_state s, uint64_t size)
{
    union profiler_args args = {{size, 0}};
    profiler_state(i->comm, handle, s, &args);
}

void event_control(struct ncclComm *c, enum profiler_state s, int appended)
{
    union profiler_args args = {.appended = appended};
    profiler_state(c, c->proxy->control, s, &args);
}

void event_control_start(struct ncclComm *c)
{
    struct profiler_event e = {.type = PROFILE_ProxyCtrl};
    c->proxy->control = NULL;
    if (profiler_mask(c) & PROFILE_ProxyCtrl)
        profiler_start(c, &c->proxy->control, &e);
}

void event_control_stop(struct ncclComm *c)
{
    profiler_stop(c, c->proxy->control);
    c->proxy->control = NULL;
}

/* Up to 2.30 what a handle held before stays in it if the plugin does not write it. */
static void *stale(void *before)
{
    return nccl_version() < 23100 ? before : NULL;
}

/* The operation of another process, by way of PXN: its pid, and pointers that mean nothing here. */
static void make_foreign(struct profiler_event *e)
{
    e->pid = (int)getppid();
    e->parent = (void *)0x7f1234567890;
    e->context = (void *)0x7f0987654320;
}

void event_op_start(struct proxy_item *i, struct proxy_op *o)
{
    struct ncclComm *c = i->comm;
    struct profiler_event e = {.type = PROFILE_ProxyOp,
                               .parent = i->handles[o->work],
                               .rank = c->rank,
                               .pid = (int)getpid(),
                               .channel = (uint8_t)o->channel,
                               .peer = o->peer,
                               .steps = o->nr_steps,
                               .chunk = (int)CHUNK_BYTES,
                               .is_send = o->out};
    if (nccl_settings()->pxn > 0)
        make_foreign(&e);
    o->handle = stale(c->proxy->stale_op[o->out]);
    profiler_start(c, &o->handle, &e);
    c->proxy->stale_op[o->out] = o->handle;
    state(i, o->handle, o->out ? STATE_SendPosted : STATE_RecvPosted, 0);
}

void event_step_start(struct proxy_item *i, struct proxy_op *o)
{
    struct profiler_event e = {.type = PROFILE_ProxyStep, .parent = o->handle, .rank = i->comm->rank, .step = o->done};
    if (nccl_settings()->pxn > 0)
        e.context = (void *)0x7f0987654320;
    o->step = NULL;
    if (profiler_mask(i->comm) & (PROFILE_ProxyStep | PROFILE_NetPlugin))
        profiler_start(i->comm, &o->step, &e);
    state(i, o->step, o->out ? STATE_StepSendGPUWait : STATE_StepRecvWait, 0);
}

static uint64_t step_bytes(const struct proxy_op *o)
{
    uint64_t n = (uint64_t)o->nr_steps;
    return o->bytes / n + ((uint64_t)o->done < o->bytes % n);
}

void event_step_end(struct proxy_item *i, struct proxy_op *o)
{
    struct proxy *p = i->comm->proxy;
    uint64_t size = step_bytes(o);
    if (o->out) {
        state(i, o->step, STATE_StepSendPeerWait, p->last_size); /* of the step before */
        state(i, o->step, STATE_StepSendWait, size);
    } else {
        state(i, o->step, STATE_StepRecvFlushWait, size);
        state(i, o->step, STATE_StepRecvGPUWait, size);
    }
    p->last_size = size;
    profiler_stop(i->comm, o->step);
    o->step = NULL;
    if (++o->done < o->nr_steps)
        event_step_start(i, o);
}

void event_op_stop(struct proxy_item *i, struct proxy_op *o)
{
    state(i, o->handle, o->out ? STATE_SendDone : STATE_RecvDone, o->bytes);
    if (nccl_settings()->lost_stops <= 0 || i->comm->proxy->nr_ops++ % 7 != 6)
        profiler_stop(i->comm, o->handle);
}

void event_runs_start(struct proxy_item *i, uint64_t start)
{
    for (unsigned n = 0; n < i->nr_runs && i->runs; n++) {
        struct channel_run *r = &i->runs[n];
        struct profiler_event e = {.type = PROFILE_KernelCh,
                                   .parent = i->handles[r->work],
                                   .channel = (uint8_t)r->channel,
                                   .ptimer = sim_realtime(start)};
        r->handle = stale(i->comm->proxy->stale_run);
        profiler_start(i->comm, &r->handle, &e);
        i->comm->proxy->stale_run = r->handle;
    }
}

void event_runs_stop(struct proxy_item *i, uint64_t end)
{
    union profiler_args args = {.ptimer = sim_realtime(end)};
    for (unsigned n = 0; n < i->nr_runs && i->runs; n++) {
        profiler_state(i->comm, i->runs[n].handle, STATE_KernelChStop, &args);
        profiler_stop(i->comm, i->runs[n].handle);
    }
}
