/* activity.c - the activity API. Version 1 of it is global to the process: whoever registers last has the buffers, and
 * anybody can turn a kind off. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/sim/cupti/cupti.h"

#define CBIDS 1024
static bool kinds[KIND_MAX];
static bool calls[3][CBIDS]; /* by domain: single calls asked for */
static bool system_threads;

bool cupti_wants(enum cupti_kind kind)
{
    return __atomic_load_n(&kinds[kind], __ATOMIC_RELAXED);
}

bool cupti_wants_call(enum sim_domain domain, uint32_t cbid)
{
    return cupti_wants(domain == SIM_RUNTIME_API ? KIND_RUNTIME : KIND_DRIVER) || (cbid < CBIDS && calls[domain][cbid]);
}

uint32_t cupti_thread_id(void)
{
    return system_threads ? (uint32_t)gettid() : (uint32_t)pthread_self();
}

CUPTI_PUBLIC int cuptiGetVersion(uint32_t *version);
CUPTI_PUBLIC int cuptiGetTimestamp(uint64_t *ns);
CUPTI_PUBLIC int cuptiActivityRegisterCallbacks(cupti_request *request, cupti_complete *complete);
CUPTI_PUBLIC int cuptiActivityRegisterTimestampCallback(cupti_clock *clock);
CUPTI_PUBLIC int cuptiActivityEnable(uint32_t kind);
CUPTI_PUBLIC int cuptiActivityDisable(uint32_t kind);
CUPTI_PUBLIC int cuptiActivityEnableContext(void *context, uint32_t kind);
CUPTI_PUBLIC int cuptiActivityDisableContext(void *context, uint32_t kind);
CUPTI_PUBLIC int cuptiActivityEnableAndDump(uint32_t kind);
CUPTI_PUBLIC int cuptiActivityEnableRuntimeApi(uint32_t cbid, uint8_t enable);
CUPTI_PUBLIC int cuptiActivityEnableDriverApi(uint32_t cbid, uint8_t enable);
CUPTI_PUBLIC int cuptiActivityEnableAllSyncRecords(uint8_t enable);
CUPTI_PUBLIC int cuptiActivityEnableLatencyTimestamps(uint8_t enable);
CUPTI_PUBLIC int cuptiActivityEnableAllocationSource(uint8_t enable);
CUPTI_PUBLIC int cuptiActivityFlushAll(uint32_t flag);
CUPTI_PUBLIC int cuptiActivityFlushPeriod(uint32_t ms);
CUPTI_PUBLIC int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, void **record);
CUPTI_PUBLIC int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *ret);
CUPTI_PUBLIC int cuptiActivitySetAttribute(uint32_t attribute, size_t *size, void *value);
CUPTI_PUBLIC int cuptiActivityGetAttribute(uint32_t attribute, size_t *size, void *value);
CUPTI_PUBLIC int cuptiSetThreadIdType(uint32_t type);
CUPTI_PUBLIC int cuptiGetThreadIdType(uint32_t *type);
CUPTI_PUBLIC int cuptiActivityPushExternalCorrelationId(uint32_t kind, uint64_t id);
CUPTI_PUBLIC int cuptiActivityPopExternalCorrelationId(uint32_t kind, uint64_t *last);
CUPTI_PUBLIC int cuptiGetDeviceId(void *context, uint32_t *device);
CUPTI_PUBLIC int cuptiGetContextId(void *context, uint32_t *id);
CUPTI_PUBLIC int cuptiGetStreamIdEx(void *context, void *stream, uint8_t per_thread, uint32_t *id);
CUPTI_PUBLIC int cuptiGetResultString(int result, const char **text);
CUPTI_PUBLIC int cuptiFinalize(void);

/* ---- What works without a driver
 * -------------------------------------------------------------------------------------- */
int cuptiGetVersion(uint32_t *version)
{
    if (!version)
        return CUPTI_INVALID_PARAMETER;
    *version = cupti_habits()->version;
    return CUPTI_OK;
}

int cuptiGetTimestamp(uint64_t *ns)
{
    if (!ns)
        return CUPTI_INVALID_PARAMETER;
    *ns = cupti_stamp(sim_now());
    return CUPTI_OK;
}

int cuptiActivityRegisterCallbacks(cupti_request *request, cupti_complete *complete)
{
    if (!request || !complete)
        return CUPTI_INVALID_PARAMETER;
    cupti_set_buffers(request, complete);
    return CUPTI_OK;
}

int cuptiFinalize(void)
{
    if (cupti_usable())
        return CUPTI_OK;
    cupti_unwatch();
    memset(kinds, 0, sizeof(kinds));
    memset(calls, 0, sizeof(calls));
    cupti_forget_buffers();
    cupti_forget_subscriber();
    return CUPTI_OK;
}

int cuptiGetResultString(int result, const char **text)
{
    *text = result == CUPTI_OK                     ? "CUPTI_SUCCESS"
            : result == CUPTI_MULTIPLE_SUBSCRIBERS ? "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"
            : result == CUPTI_NOT_SUPPORTED        ? "CUPTI_ERROR_NOT_SUPPORTED"
                                                   : "CUPTI_ERROR_UNKNOWN";
    return CUPTI_OK;
}

/* ---- Kinds
 * --------------------------------------------------------------------------------------------------------------- */
static int set_kind(uint32_t kind, bool on)
{
    int error = cupti_usable();
    if (error)
        return error;
    if (!kind || kind >= KIND_MAX)
        return CUPTI_INVALID_KIND;
    if (kind == KIND_GRAPH_TRACE && !cupti_record_size(kind))
        return CUPTI_INVALID_KIND;
    if (on && !cupti_record_size(kind))
        sim_say_missing("CUPTI activity of another kind");
    cupti_watch();
    __atomic_store_n(&kinds[kind], on, __ATOMIC_RELAXED);
    return CUPTI_OK;
}

int cuptiActivityEnable(uint32_t kind)
{
    return set_kind(kind, true);
}

int cuptiActivityDisable(uint32_t kind)
{
    return set_kind(kind, false);
}

int cuptiActivityEnableContext(void *context, uint32_t kind)
{
    return set_kind(kind, true);
}

int cuptiActivityDisableContext(void *context, uint32_t kind)
{
    return set_kind(kind, false);
}

int cuptiActivityEnableAndDump(uint32_t kind)
{
    return set_kind(kind, true); /* of the kinds that are simulated none has anything to dump */
}

static int set_call(enum sim_domain domain, uint32_t cbid, bool on)
{
    int error = cupti_usable();
    if (error)
        return error;
    if (cupti_habits()->version < 23)
        return CUPTI_NOT_SUPPORTED; /* 12.5 brought it; older libraries do not even have the name */
    if (!cbid || cbid >= CBIDS)
        return CUPTI_INVALID_PARAMETER;
    cupti_watch();
    calls[domain][cbid] = on;
    return CUPTI_OK;
}

int cuptiActivityEnableRuntimeApi(uint32_t cbid, uint8_t enable)
{
    return set_call(SIM_RUNTIME_API, cbid, enable);
}

int cuptiActivityEnableDriverApi(uint32_t cbid, uint8_t enable)
{
    return set_call(SIM_DRIVER_API, cbid, enable);
}

int cuptiActivityEnableAllSyncRecords(uint8_t enable)
{
    return cupti_usable();
}

int cuptiActivityEnableLatencyTimestamps(uint8_t enable)
{
    return cupti_usable();
}

int cuptiActivityEnableAllocationSource(uint8_t enable)
{
    return cupti_usable();
}

int cuptiActivityRegisterTimestampCallback(cupti_clock *clock)
{
    int error = cupti_usable();
    if (!error)
        cupti_set_clock(clock);
    return error;
}

/* ---- Buffers
 * ---------------------------------------------------------------------------------------------------------------- */
int cuptiActivityFlushAll(uint32_t flag)
{
    int error = cupti_usable();
    if (error)
        return error;
    struct record_overhead r = {
        .kind = KIND_OVERHEAD, .overhead_kind = OVERHEAD_BUFFER_FLUSH, .start = cupti_stamp(sim_now())};
    cupti_flush(flag & 1);
    r.end = cupti_stamp(sim_now());
    if (cupti_wants(KIND_OVERHEAD) && !(flag & 1))
        cupti_put(&r, cupti_record_size(KIND_OVERHEAD));
    return CUPTI_OK;
}

/* Full buffers are always handed back as soon as they are complete, which is all that the period promises. */
int cuptiActivityFlushPeriod(uint32_t ms)
{
    return cupti_usable();
}

int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, void **record)
{
    int error = cupti_usable();
    if (error)
        return error;
    if (!buffer || !record)
        return CUPTI_INVALID_PARAMETER;
    uint8_t *next = *record ? (uint8_t *)*record + cupti_record_size(*(uint32_t *)*record) : buffer;
    if (next >= buffer + valid)
        return CUPTI_MAX_LIMIT_REACHED;
    if (!cupti_record_size(*(uint32_t *)next))
        return CUPTI_INVALID_KIND;
    *record = next;
    return CUPTI_OK;
}

int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *ret)
{
    int error = cupti_usable();
    if (!error && ret)
        *ret = cupti_take_dropped();
    return !error && !ret ? CUPTI_INVALID_PARAMETER : error;
}

static struct {
    size_t size;
    uint8_t value[8];
} attributes[16];

int cuptiActivitySetAttribute(uint32_t attribute, size_t *size, void *value)
{
    int error = cupti_usable();
    if (error)
        return error;
    if (attribute >= sizeof(attributes) / sizeof(attributes[0]) || !size || !value || *size > 8)
        return CUPTI_INVALID_PARAMETER;
    attributes[attribute].size = *size;
    memcpy(attributes[attribute].value, value, *size);
    return CUPTI_OK;
}

int cuptiActivityGetAttribute(uint32_t attribute, size_t *size, void *value)
{
    int error = cupti_usable();
    if (error)
        return error;
    if (attribute >= sizeof(attributes) / sizeof(attributes[0]) || !size || !value ||
        *size < attributes[attribute].size)
        return CUPTI_INVALID_PARAMETER;
    *size = attributes[attribute].size;
    memcpy(value, attributes[attribute].value, *size);
    return CUPTI_OK;
}

int cuptiSetThreadIdType(uint32_t type)
{
    int error = cupti_usable();
    if (!error)
        system_threads = type == 1;
    return error;
}

int cuptiGetThreadIdType(uint32_t *type)
{
    *type = system_threads;
    return cupti_usable();
}

/* ---- Ids that the job pushes for other tools
 * --------------------------------------------------------------------------- */
#define STACK 32
static __thread struct {
    uint64_t ids[STACK];
    unsigned depth;
} external[8];

int cuptiActivityPushExternalCorrelationId(uint32_t kind, uint64_t id)
{
    int error = cupti_usable();
    if (error)
        return error;
    if (kind >= 8 || external[kind].depth == STACK)
        return CUPTI_INVALID_PARAMETER;
    external[kind].ids[external[kind].depth++] = id;
    return CUPTI_OK;
}

int cuptiActivityPopExternalCorrelationId(uint32_t kind, uint64_t *last)
{
    int error = cupti_usable();
    if (error)
        return error;
    if (kind >= 8 || !external[kind].depth)
        return CUPTI_QUEUE_EMPTY;
    external[kind].depth--;
    if (last)
        *last = external[kind].ids[external[kind].depth];
    return CUPTI_OK;
}

void cupti_put_external(uint32_t correlation);

void cupti_put_external(uint32_t correlation)
{
    for (uint32_t kind = 0; kind < 8; kind++) {
        if (!external[kind].depth)
            continue;
        struct record_external r = {KIND_EXTERNAL_CORRELATION, kind, external[kind].ids[external[kind].depth - 1],
                                    correlation, 0};
        cupti_put(&r, sizeof(r));
    }
}

/* ---- Ids
 * --------------------------------------------------------------------------------------------------------------------
 */
int cuptiGetDeviceId(void *context, uint32_t *device)
{
    int error = cupti_usable();
    if (!error)
        *device = context ? (uint32_t)((struct sim_device *)context)->index : (uint32_t)sim_current();
    return error;
}

int cuptiGetContextId(void *context, uint32_t *id)
{
    int error = cuptiGetDeviceId(context, id);
    if (!error)
        ++*id;
    return error;
}

int cuptiGetStreamIdEx(void *context, void *stream, uint8_t per_thread, uint32_t *id)
{
    int error = cupti_usable();
    struct sim_stream *s = error ? NULL : sim_stream_of(stream ? stream : (void *)(uintptr_t)(per_thread ? 2 : 0));
    if (s)
        *id = sim_stream_id(s);
    return error ? error : s ? CUPTI_OK : CUPTI_INVALID_PARAMETER;
}
