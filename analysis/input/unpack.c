/* unpack.c - see unpack.h. */
#include "analysis/input/unpack.h"

#include "traces/kernel_batch.h"

bool unpack_next(struct unpack *unpack, struct source *source, const struct event **ret)
{
    if (unpack->at == unpack->nr)
        return false;
    unpack->event.u.kernel = kernel_batch_get(&unpack->batch->u.kernels, unpack->at++);
    source_count(source, &unpack->event);
    *ret = &unpack->event;
    return true;
}

bool unpack_first(struct unpack *unpack, struct source *source, const struct event *event, const struct event **ret)
{
    unpack->at = unpack->nr = 0;
    if (event->kind != EV_kernels) {
        source_count(source, event);
        *ret = event;
        return true;
    }
    int nr = kernel_batch_count(&event->u.kernels);
    if (nr < 0) {
        source->nr_damaged++;
        return false;
    }
    unpack->batch = event;
    unpack->nr = (uint32_t)nr;
    unpack->event = (struct event){.ts_ns = event->ts_ns, .host = event->host, .kind = EV_kernel};
    return unpack_next(unpack, source, ret);
}
