/* comm_lane.c - see comm_lane.h. */
#include "analysis/model/comm_lane.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/model/communicators.h"
#include "analysis/pass/thresholds.h"

enum { HOW_HOOK = 1, HOW_PLUGIN = 2, HOW_CAPTURED = 4, HOW_FAILED = 8 };

/* ---- bundles ------------------------------------------------------------------------------ */

struct comm_bundle *comm_bundle_keep(struct comm_bundle *bundle)
{
    bundle->refs++;
    return bundle;
}

void comm_bundle_release(struct comm_bundle *bundle, struct instances *instances)
{
    if (!bundle || --bundle->refs)
        return;
    for (size_t i = 0; i < bundle->nr; i++)
        instances_release(instances, bundle->parts[i].instance);
    free(bundle->parts);
    free(bundle);
}

static int add_part(struct comm_bundle *bundle, const struct comm_part *part)
{
    if (bundle->nr == bundle->capacity) {
        size_t capacity = bundle->capacity ? bundle->capacity * 2 : 1;
        struct comm_part *parts = realloc(bundle->parts, capacity * sizeof(*parts));
        if (!parts)
            return -ENOMEM;
        bundle->parts = parts;
        bundle->capacity = capacity;
    }
    bundle->parts[bundle->nr++] = *part;
    return 0;
}

/* The thread's latest call's, if this one was launched with it. */
static struct comm_bundle *bundle_of(struct lane_thread *thread, struct instances *instances, uint32_t group)
{
    if (thread->last && group && thread->last->group == group)
        return thread->last;
    struct comm_bundle *bundle = calloc(1, sizeof(*bundle));
    if (!bundle)
        return NULL;
    bundle->refs = 1;
    bundle->group = group;
    comm_bundle_release(thread->last, instances);
    return thread->last = bundle;
}

enum instance_wait comm_bundle_wait(const struct comm_bundle *bundle, const struct instances *instances,
                                    uint32_t device, uint64_t *ret_ns)
{
    enum instance_wait worst = bundle->nr_unclear ? WAIT_NEVER : WAIT_KNOWN;
    uint64_t last_ns = 0, ns;
    for (size_t i = 0; i < bundle->nr; i++) {
        const struct comm_part *part = &bundle->parts[i];
        if (part->handle->device >= 0 && (uint32_t)part->handle->device != device)
            continue; /* of the same group, on another GPU of the process */
        enum instance_wait wait =
            instances_wait(instances, part->instance, part->handle, part->op == TR_coll_op_Send, &ns);
        worst = wait > worst ? wait : worst;
        last_ns = ns > last_ns ? ns : last_ns;
    }
    *ret_ns = last_ns;
    return worst;
}

bool comm_bundle_is_pipeline(const struct comm_bundle *bundle)
{
    int32_t peers[2] = {-1, -1};
    for (size_t i = 0; i < bundle->nr; i++) {
        const struct comm_part *part = &bundle->parts[i];
        if (part->op != TR_coll_op_Send && part->op != TR_coll_op_Recv)
            return false;
        if (peers[0] < 0 || peers[0] == part->peer)
            peers[0] = part->peer;
        else if (peers[1] < 0 || peers[1] == part->peer)
            peers[1] = part->peer;
        else
            return false;
    }
    return bundle->nr > 0;
}

/* ---- calls -------------------------------------------------------------------------------- */

static struct lane_thread *thread_get(struct comm_lane *lane, uint32_t tid, bool make)
{
    for (struct lane_thread *thread = lane->threads; thread; thread = thread->next)
        if (thread->tid == tid)
            return thread;
    struct lane_thread *thread = make ? calloc(1, sizeof(*thread)) : NULL;
    if (thread) {
        thread->tid = tid;
        thread->next = lane->threads;
        lane->threads = thread;
    }
    return thread;
}

static void drop_calls(struct lane_thread *thread, struct instances *instances, size_t nr)
{
    for (; nr && thread->head < thread->nr; nr--)
        comm_bundle_release(thread->calls[thread->head++].bundle, instances);
    if (thread->head == thread->nr)
        thread->head = thread->nr = 0;
}

static int calls_room(struct lane_thread *thread, struct instances *instances)
{
    if (thread->nr < thread->capacity)
        return 0;
    if (thread->nr - thread->head >= LANE_CALLS_MAX)
        drop_calls(thread, instances, LANE_CALLS_MAX / 2);
    if (thread->head > thread->capacity / 2) {
        thread->nr -= thread->head;
        memmove(thread->calls, thread->calls + thread->head, thread->nr * sizeof(*thread->calls));
        thread->head = 0;
        return 0;
    }
    size_t capacity = thread->capacity ? thread->capacity * 2 : 64;
    struct lane_call *calls = realloc(thread->calls, capacity * sizeof(*calls));
    if (!calls)
        return -ENOMEM;
    thread->calls = calls;
    thread->capacity = capacity;
    return 0;
}

/* Calls of one thread come in order, those told by different sources nearly so. */
static int add_call(struct lane_thread *thread, struct instances *instances, const struct lane_call *call)
{
    if (calls_room(thread, instances))
        return -ENOMEM;
    size_t at = thread->nr++;
    for (; at > thread->head && thread->calls[at - 1].start_ns > call->start_ns; at--)
        thread->calls[at] = thread->calls[at - 1];
    thread->calls[at] = *call;
    comm_bundle_keep(call->bundle);
    return 0;
}

/* `is_first`: the call is the first one of its instance. */
static int count_call(struct coll_stats *stats, const struct instance *instance, const struct tr_coll *coll,
                      bool is_first)
{
    struct coll_class *class = coll_stats_class(stats, instance->comm, instance->op, instance->bytes);
    if (!class)
        return -ENOMEM;
    if (is_first) {
        class->instances++;
        class->bytes += instance->bytes;
    }
    class->algos[coll->algo < TR_coll_algo_MAX ? coll->algo : 0]++;
    class->protos[coll->proto < TR_coll_proto_MAX ? coll->proto : 0]++;
    return 0;
}

#define SUPPLEMENT_MAX 1024

/* The earliest of the thread's latest calls that is of this communicator and operation, and of which nobody has told
 * how it ran; NULL none. Calls of one launch share their bundle. */
static struct instance *untold(const struct lane_thread *thread, const struct comm_handle *handle, uint8_t op)
{
    size_t i = thread->nr - thread->head > SUPPLEMENT_MAX ? thread->nr - SUPPLEMENT_MAX : thread->head;
    const struct comm_bundle *last = NULL;
    for (; i < thread->nr; last = thread->calls[i++].bundle) {
        const struct comm_bundle *bundle = thread->calls[i].bundle;
        for (size_t j = 0; bundle != last && j < bundle->nr; j++)
            if (bundle->parts[j].handle == handle && bundle->parts[j].op == op && !bundle->parts[j].instance->algo)
                return bundle->parts[j].instance;
    }
    return NULL;
}

/* What the plugin says apart of a call that the hook told already: how it ran. It comes soon after the call. */
static int supplement(const struct comm_lane *lane, struct coll_stats *stats, const struct comm_handle *handle,
                      const struct tr_coll *coll)
{
    struct instance *instance = NULL;
    for (const struct lane_thread *thread = lane->threads; thread && !instance; thread = thread->next)
        instance = untold(thread, handle, coll->op);
    if (!instance)
        return 0;
    instance->algo = coll->algo;
    instance->proto = coll->proto;
    instance->channels = coll->channels;
    return count_call(stats, instance, coll, false);
}

int comm_lane_call(struct comm_lane *lane, struct instances *instances, struct coll_stats *stats,
                   const struct comm_handle *handle, const struct tr_coll *coll)
{
    bool by_plugin = !(coll->how & HOW_HOOK);
    if (coll->how & (HOW_FAILED | HOW_CAPTURED))
        return 0; /* nothing was launched */
    if (by_plugin && lane->hooked) {
        if (coll->algo)
            return supplement(lane, stats, handle, coll);
        return 0;
    }
    lane->hooked |= !by_plugin;
    lane->nr_calls++;
    struct lane_thread *thread = thread_get(lane, coll->tid, true);
    struct comm_bundle *bundle = thread ? bundle_of(thread, instances, coll->group) : NULL;
    if (!bundle)
        return -ENOMEM;
    struct instance_call call = {.handle = handle,
                                 .op = coll->op,
                                 .type = coll->type,
                                 .algo = coll->algo,
                                 .proto = coll->proto,
                                 .channels = coll->channels,
                                 .by_plugin = by_plugin,
                                 .peer = coll->peer,
                                 .ordinal = coll->ordinal,
                                 .count = coll->count};
    struct comm_part part = {.handle = handle, .op = coll->op, .peer = coll->peer};
    int rc = instances_call(instances, &call, &part.instance);
    if (rc == -ENOENT)
        bundle->nr_unclear++;
    else if (rc || add_part(bundle, &part) || count_call(stats, part.instance, coll, part.instance->nr_called == 1))
        return -ENOMEM;
    uint64_t dur_ns = coll->dur_ns == UINT32_MAX ? (uint64_t)TH_COLL_LONG_NS : coll->dur_ns;
    return add_call(thread, instances, &(struct lane_call){coll->start_ns, coll->start_ns + dur_ns, bundle});
}

/* ---- kernels ------------------------------------------------------------------------------ */

/* The bundle inside whose launch the kernel was launched. A call that is told as a moment is one just after it. */
static struct comm_bundle *launched_by(const struct comm_lane *lane, const struct lane_kernel *kernel)
{
    for (const struct lane_thread *thread = lane->threads; thread; thread = thread->next) {
        size_t low = thread->head, high = thread->nr;
        if (kernel->tid && thread->tid != kernel->tid)
            continue;
        while (low < high) {
            size_t mid = low + (high - low) / 2;
            if (thread->calls[mid].start_ns <= kernel->queued_ns)
                low = mid + 1;
            else
                high = mid;
        }
        const struct lane_call *calls = thread->calls;
        if (low > thread->head && calls[low - 1].end_ns >= kernel->queued_ns)
            return calls[low - 1].bundle;
        if (low < thread->nr && calls[low].start_ns == calls[low].end_ns &&
            calls[low].start_ns - kernel->queued_ns < (uint64_t)TH_COLL_MOMENT_NS)
            return calls[low].bundle;
    }
    return NULL;
}

static int tie(struct comm_lane *lane, struct instances *instances, struct lane_kernel *kernel)
{
    struct comm_bundle *bundle = kernel->queued_ns ? launched_by(lane, kernel) : NULL;
    int rc = 0;
    if (!bundle)
        return 0;
    kernel->bundle = comm_bundle_keep(bundle);
    lane->nr_tied++;
    /* Of several kernels of one bundle the first one is the arrival. */
    for (size_t i = 0; i < bundle->nr && !rc; i++) {
        struct comm_part *part = &bundle->parts[i];
        if (part->arrived || (part->handle->device >= 0 && (uint32_t)part->handle->device != kernel->device))
            continue;
        part->arrived = true;
        rc = instances_arrive(instances, part->instance, part->handle, kernel->start_ns, kernel->end_ns);
    }
    return rc;
}

/* Nobody takes them: the process has no windows. */
static void drop_kernels(struct comm_lane *lane, struct instances *instances, size_t nr)
{
    for (size_t i = 0; i < nr; i++)
        comm_bundle_release(lane->kernels[i].bundle, instances);
    lane->nr_kernels -= nr;
    memmove(lane->kernels, lane->kernels + nr, lane->nr_kernels * sizeof(*lane->kernels));
}

int comm_lane_kernel(struct comm_lane *lane, struct instances *instances, const struct tr_kernel *told)
{
    if (lane->nr_kernels >= LANE_KERNELS_MAX)
        drop_kernels(lane, instances, LANE_KERNELS_MAX / 2);
    if (lane->nr_kernels == lane->capacity_kernels) {
        size_t capacity = lane->capacity_kernels ? lane->capacity_kernels * 2 : 64;
        struct lane_kernel *kernels = realloc(lane->kernels, capacity * sizeof(*kernels));
        if (!kernels)
            return -ENOMEM;
        lane->kernels = kernels;
        lane->capacity_kernels = capacity;
    }
    struct lane_kernel *kernel = &lane->kernels[lane->nr_kernels++];
    *kernel = (struct lane_kernel){.start_ns = told->start_ns,
                                   .end_ns = told->start_ns + told->dur_ns,
                                   .queued_ns = told->graph ? 0 : told->queued_ns,
                                   .device = told->device,
                                   .tid = told->tid};
    lane->nr_kernels_seen++;
    return tie(lane, instances, kernel);
}

int comm_lane_tie(struct comm_lane *lane, struct instances *instances)
{
    int rc = 0;
    for (size_t i = 0; i < lane->nr_kernels && !rc; i++)
        if (!lane->kernels[i].bundle)
            rc = tie(lane, instances, &lane->kernels[i]);
    return rc;
}

void comm_lane_forget(struct comm_lane *lane, struct instances *instances, uint64_t to_ns, uint64_t launched_ns)
{
    size_t kept = 0;
    for (size_t i = 0; i < lane->nr_kernels; i++) {
        if (lane->kernels[i].end_ns > to_ns)
            lane->kernels[kept++] = lane->kernels[i];
        else
            comm_bundle_release(lane->kernels[i].bundle, instances);
    }
    lane->nr_kernels = kept;
    for (struct lane_thread *thread = lane->threads; thread; thread = thread->next)
        while (thread->head < thread->nr && thread->calls[thread->head].end_ns < launched_ns)
            drop_calls(thread, instances, 1);
}

void comm_lane_done(struct comm_lane *lane, struct instances *instances)
{
    for (struct lane_thread *thread = lane->threads, *next; thread; thread = next) {
        next = thread->next;
        drop_calls(thread, instances, SIZE_MAX);
        comm_bundle_release(thread->last, instances);
        free(thread->calls);
        free(thread);
    }
    for (size_t i = 0; i < lane->nr_kernels; i++)
        comm_bundle_release(lane->kernels[i].bundle, instances);
    free(lane->kernels);
    *lane = (struct comm_lane){0};
}
