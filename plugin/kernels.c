/* kernels.c - channels of collectives on the GPU (KernelCh; only where TRSHIM_NCCL_KERNELCH asks for it).
 *
 * NCCL tells them late, when its thread next looks; the truth is in the GPU's own clock, which runs from another zero
 * and drifts by up to 100 ppm. An event that ended at g by that clock is told at h by ours, never before it ended: so
 * host minus GPU clock is at most h - g, and the smallest of many is close. The best of the last and of the present
 * ten seconds is taken. The clock's slots are reused without care for who reads them, so times that make no sense are
 * dropped. */
#include "plugin/plugin.h"

#define FORGOTTEN_NS (60 * SECOND)
#define INTERVAL_NS (10 * SECOND)

struct kernel {
    struct record record;
    struct ref comm;
    struct tr_nccl_channel_run told; /* start_ns: by the GPU's clock until the end */
};

struct pool kernels = {"channels of kernels", 8192, sizeof(struct kernel)};

void *kernel_start(void *context, const struct told *t)
{
    if (t->version < 4 || !t->timer)
        return NULL; /* no times */
    struct handle comm;
    if (!handle_read(context, &comm) || comm.kind != KIND_COMM)
        return NULL;
    struct call *c = hold_handle(t->parent, KIND_CALL);
    struct nccl_told_call call = {0};
    if (c) {
        call = c->told;
        slot_let_go(c);
    } else {
        call.nr = comm_nr(context, t);
    }
    struct kernel *k = new_record(&kernels, now_ns(), FORGOTTEN_NS);
    if (!k)
        return NULL;
    k->comm = (struct ref){comm.index, comm.generation};
    k->told = (struct tr_nccl_channel_run){
        .tid = own_tid(),
        .nr = call.nr,
        .op = call.op,
        .ordinal = call.ordinal,
        .channel = t->channel,
        .start_ns = t->timer,
    };
    void *handle = handle_make(KIND_KERNEL, &kernels, &k->record.slot, 0);
    slot_let_go(k);
    return handle;
}

/* Host time of a GPU time that is told now. */
static bool map(struct ref ref, uint64_t gpu_ns, uint64_t now, int64_t *ret_offset_ns)
{
    int64_t offset = (int64_t)(now - gpu_ns);
    struct comm *c = hold_ref(&comms, ref);
    if (!c)
        return false;
    if (!c->offset_at_ns || now - c->offset_at_ns > INTERVAL_NS) {
        c->gpu_offset_ns = c->offset_at_ns ? c->next_offset_ns : offset;
        c->next_offset_ns = offset;
        c->offset_at_ns = now;
    }
    if (offset < c->next_offset_ns)
        c->next_offset_ns = offset;
    if (offset < c->gpu_offset_ns)
        c->gpu_offset_ns = offset;
    *ret_offset_ns = c->gpu_offset_ns;
    slot_let_go(c);
    return true;
}

void kernel_state(struct handle h, const struct told_state *t)
{
    if (t->state != ST_KERNEL_STOP || !t->has_args)
        return;
    uint64_t now = now_ns();
    struct kernel *k = slot_hold(&kernels, h.index, h.generation);
    if (!k)
        return;
    struct ref comm = k->comm;
    struct tr_nccl_channel_run told = k->told;
    bool is_over = slot_is_done(k) || !told.start_ns;
    k->told.start_ns = 0; /* told once */
    slot_let_go(k);

    int64_t offset_ns;
    if (is_over || t->timer < told.start_ns || !map(comm, t->timer, now, &offset_ns))
        return;
    told.dur_ns = t->timer - told.start_ns;
    told.start_ns += (uint64_t)offset_ns;
    if (is_on(plugin.sink->channels))
        plugin.sink->channel_run(&told);
}

void kernel_stop(struct handle h)
{
    struct kernel *k = slot_hold(&kernels, h.index, h.generation);
    if (k)
        slot_done(k);
}
