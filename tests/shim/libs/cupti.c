/* cupti.c - as much of CUPTI as the collector needs to be tested, with its habits: buffers asked for on the caller's
 * thread, given back on another; kernels before the calls that launched them; a record without times; CLOCK_REALTIME
 * (libcupti.so.13 of cuda.t). Layouts are written down here once more, from the published ones. */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PUBLIC __attribute__((visibility("default")))
#define KERNEL_BYTES 216 /* CUpti_ActivityKernel10 */
#define COPY_BYTES 96    /* CUpti_ActivityMemcpy6 */
#define SET_BYTES 88     /* CUpti_ActivityMemset4 */
#define API_BYTES 40

static void (*requested)(uint8_t **, size_t *, size_t *);
static void (*completed)(void *, uint32_t, uint8_t *, size_t, size_t);
static int enabled[64], single_calls;

PUBLIC int cuptiGetVersion(uint32_t *version)
{
    *version = 130001;
    return 0;
}

PUBLIC int cuptiSetThreadIdType(uint32_t type)
{
    return type == 1 ? 0 : 1;
}

PUBLIC int cuptiActivityRegisterCallbacks(void (*r)(uint8_t **, size_t *, size_t *),
                                          void (*c)(void *, uint32_t, uint8_t *, size_t, size_t))
{
    requested = r;
    completed = c;
    return getenv("FAKE_CUPTI_ERROR") ? atoi(getenv("FAKE_CUPTI_ERROR")) : 0;
}

PUBLIC int cuptiActivityEnable(uint32_t kind)
{
    enabled[kind & 63] = 1;
    return 0;
}

PUBLIC int cuptiActivityDisable(uint32_t kind)
{
    enabled[kind & 63] = 0;
    return 0;
}

PUBLIC int cuptiActivityEnableRuntimeApi(uint32_t cbid, uint8_t on)
{
    single_calls |= on && cbid == 211 ? 1 : 0;
    return 0;
}

PUBLIC int cuptiActivityEnableDriverApi(uint32_t cbid, uint8_t on)
{
    single_calls |= on && cbid == 307 ? 2 : 0;
    return 0;
}

PUBLIC int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, void **record)
{
    static const size_t bytes[] = {[1] = COPY_BYTES, [2] = SET_BYTES, [5] = API_BYTES, [10] = KERNEL_BYTES};
    uint8_t *next = *record ? (uint8_t *)*record + bytes[**(uint8_t **)record] : buffer;
    if (next >= buffer + valid)
        return 12; /* CUPTI_ERROR_MAX_LIMIT_REACHED */
    *record = next;
    return 0;
}

PUBLIC int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *n)
{
    *n = 0;
    return 0;
}

static uint64_t realtime(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

struct pending {
    uint8_t *buffer;
    size_t size, valid;
};

static struct pending pending[64];
static int nr_pending;

static struct pending *begin_buffer(void)
{
    struct pending *p = &pending[nr_pending++];
    size_t max = 0;
    requested(&p->buffer, &p->size, &max);
    p->valid = 0;
    return p;
}

/* Room for one more record of a kind: in *p, or in a new buffer that takes its place. */
static uint8_t *record(struct pending **at, uint32_t kind, size_t bytes)
{
    if ((*at)->valid + bytes > (*at)->size)
        *at = begin_buffer();
    struct pending *p = *at;
    uint8_t *r = p->buffer + p->valid;
    memset(r, 0, bytes);
    memcpy(r, &kind, 4);
    p->valid += bytes;
    return r;
}

#define PUT(r, at, type, value) memcpy((r) + (at), &(type){value}, sizeof(type))

/* n kernels of 1 us each, launched by this thread just now; a copy, a memset, and a kernel that lost its times. */
PUBLIC void fake_cupti_run(int n);
PUBLIC void fake_cupti_run(int n)
{
    static const char name[] = "void gemm<float>(int)";
    uint64_t now = realtime();
    if (!requested || !enabled[10] || !enabled[1] || !enabled[2] || single_calls != 3)
        exit(50);
    struct pending *kernels = begin_buffer(), *calls = begin_buffer();
    for (int i = 0; i < n; i++) {
        uint8_t *k = record(&kernels, 10, KERNEL_BYTES), *a = record(&calls, 5, API_BYTES);
        PUT(k, 16, uint64_t, now + (uint64_t)i * 2000);
        PUT(k, 24, uint64_t, now + (uint64_t)i * 2000 + 1000);
        PUT(k, 40, uint32_t, 1);
        PUT(k, 48, uint32_t, 7);
        PUT(k, 52, int32_t, 4);
        PUT(k, 56, int32_t, 5);
        PUT(k, 60, int32_t, 6);
        PUT(k, 92, uint32_t, (uint32_t)i + 1);
        PUT(k, 104, const char *, name);
        PUT(a, 4, uint32_t, 211);
        PUT(a, 8, uint64_t, now - 50000);
        PUT(a, 16, uint64_t, now - 45000);
        PUT(a, 28, uint32_t, (uint32_t)syscall(SYS_gettid));
        PUT(a, 32, uint32_t, (uint32_t)i + 1);
    }
    uint8_t *lost = record(&kernels, 10, KERNEL_BYTES);
    PUT(lost, 104, const char *, name);
    uint8_t *c = record(&kernels, 1, COPY_BYTES);
    c[4] = 1, c[5] = 1, c[6] = 3; /* host to device, from pageable memory */
    PUT(c, 8, uint64_t, 1048576);
    PUT(c, 16, uint64_t, now);
    PUT(c, 24, uint64_t, now + 80000);
    PUT(c, 32, uint32_t, 1);
    uint8_t *s = record(&kernels, 2, SET_BYTES);
    PUT(s, 8, uint64_t, 4096);
    PUT(s, 16, uint64_t, now);
    PUT(s, 24, uint64_t, now + 500);
    /* a call whose kernel has not run yet */
    uint8_t *open = record(&calls, 5, API_BYTES);
    PUT(open, 4, uint32_t, 211);
    PUT(open, 8, uint64_t, now - 40000);
    PUT(open, 32, uint32_t, 99999);
}

static void *give_back(void *unused)
{
    for (int i = 0; i < nr_pending; i++)
        completed(NULL, 0, pending[i].buffer, pending[i].size, pending[i].valid);
    nr_pending = 0;
    return NULL;
}

PUBLIC int cuptiActivityFlushAll(uint32_t forced)
{
    pthread_t worker;
    if (pthread_create(&worker, NULL, give_back, NULL) != 0)
        return 1;
    pthread_join(worker, NULL);
    return 0;
}
