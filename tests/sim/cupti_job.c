/* cupti_job.c - a little CUDA work watched through the libcupti named by the first argument; prints what it was told,
 * one line per record, for cupti.t. Reads records by the offsets of NVIDIA's documentation, not by the simulated node's
 * structs. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "examples/simtrain/cuda_calls.h"
#include "tests/sim/engine/engine.h"

#define BUFFER (16u << 10)

static int (*get_version)(uint32_t *);
static int (*enable)(uint32_t);
static int (*enable_runtime)(uint32_t, uint8_t);
static int (*register_callbacks)(void (*)(uint8_t **, size_t *, size_t *),
                                 void (*)(void *, uint32_t, uint8_t *, size_t, size_t));
static int (*next_record)(uint8_t *, size_t, void **);
static int (*flush)(uint32_t);
static int (*dropped)(void *, uint32_t, size_t *);
static int (*thread_ids)(uint32_t);
static int (*subscribe)(void **, void *, void *);
static int (*enable_callback)(uint32_t, void *, uint32_t, uint32_t);

static void find(void *lib, const char *name, void *ret)
{
    void *f = dlsym(lib, name);
    memcpy(ret, &f, sizeof(f));
}

static pthread_t main_thread;

static void give_buffer(uint8_t **buffer, size_t *size, size_t *max)
{
    printf("request on %s thread\n", pthread_equal(pthread_self(), main_thread) ? "main" : "another");
    *buffer = aligned_alloc(8, BUFFER);
    *size = BUFFER;
    *max = 0;
}

#define AT(type, offset) (*(const type *)((const char *)r + (offset)))

static void show(const void *r)
{
    switch (AT(uint32_t, 0)) {
    case 10:
        printf("kernel name=%s start=%llu length=%llu stream=%u correlation=%u grid=%d graph=%u\n",
               AT(const char *, 104), (unsigned long long)AT(uint64_t, 16),
               (unsigned long long)(AT(uint64_t, 24) - AT(uint64_t, 16)), AT(uint32_t, 48), AT(uint32_t, 92),
               AT(int32_t, 52), AT(uint32_t, 156));
        break;
    case 1:
        printf("copy kind=%d from=%d to=%d bytes=%llu length=%llu\n", AT(uint8_t, 4), AT(uint8_t, 5), AT(uint8_t, 6),
               (unsigned long long)AT(uint64_t, 8), (unsigned long long)(AT(uint64_t, 24) - AT(uint64_t, 16)));
        break;
    case 2:
        printf("set value=%u bytes=%llu\n", AT(uint32_t, 4), (unsigned long long)AT(uint64_t, 8));
        break;
    case 5:
        printf("call cbid=%u correlation=%u thread=%s result=%u\n", AT(uint32_t, 4), AT(uint32_t, 32),
               AT(uint32_t, 28) == (uint32_t)getpid() ? "main" : "another", AT(uint32_t, 36));
        break;
    case 38:
        printf("sync type=%u\n", AT(uint32_t, 4));
        break;
    case 49:
        printf("memory operation=%u kind=%u bytes=%llu process=%s\n", AT(uint32_t, 4), AT(uint32_t, 8),
               (unsigned long long)AT(uint64_t, 24), AT(uint32_t, 48) == (uint32_t)getpid() ? "own" : "other");
        break;
    case 51:
        printf("graph length=%llu\n", (unsigned long long)(AT(uint64_t, 16) - AT(uint64_t, 8)));
        break;
    }
}

static void take_buffer(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    void *record = NULL;
    printf("buffer valid=%zu on %s thread\n", valid, pthread_equal(pthread_self(), main_thread) ? "main" : "another");
    while (next_record(buffer, valid, &record) == 0)
        show(record);
    free(buffer);
}

static void called(void *user, uint32_t domain, uint32_t cbid, const void *data)
{
    const void *r = data;
    printf("callback cbid=%u site=%u name=%s symbol=%s correlation=%u\n", cbid, AT(uint32_t, 0), AT(const char *, 8),
           AT(const char *, 32) ? AT(const char *, 32) : "-", AT(uint32_t, 64));
}

static void stub(void)
{
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    main_thread = pthread_self();
    void *lib = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
    if (!lib) {
        fprintf(stderr, "cupti_job: cannot load %s: %s\n", argc > 1 ? argv[1] : "(nothing)", dlerror());
        return 2;
    }
    find(lib, "cuptiGetVersion", &get_version);
    find(lib, "cuptiActivityEnable", &enable);
    find(lib, "cuptiActivityEnableRuntimeApi", &enable_runtime);
    find(lib, "cuptiActivityRegisterCallbacks", &register_callbacks);
    find(lib, "cuptiActivityGetNextRecord", &next_record);
    find(lib, "cuptiActivityFlushAll", &flush);
    find(lib, "cuptiActivityGetNumDroppedRecords", &dropped);
    find(lib, "cuptiSetThreadIdType", &thread_ids);
    find(lib, "cuptiSubscribe", &subscribe);
    find(lib, "cuptiEnableCallback", &enable_callback);

    uint32_t version = 0;
    void *subscriber, *second;
    int error = get_version(&version);
    printf("version %d %u\n", error, version);
    printf("register %d\n", register_callbacks(give_buffer, take_buffer));
    thread_ids(1);
    static const uint32_t kinds[] = {10, 1, 2, 38, 49};
    for (int i = 0; i < 5; i++)
        printf("enable %u %d\n", kinds[i], enable(kinds[i]));
    if (argc > 2)
        printf("enable 51 %d\n", enable(51));
    printf("enable call %d\n", enable_runtime(211, 1));
    printf("subscribe %d\n", subscribe(&subscriber, called, NULL));
    printf("subscribe again %d\n", subscribe(&second, called, NULL));
    enable_callback(1, subscriber, 2, 211);

    static int binary;
    void **handle = __cudaRegisterFatBinary(&binary);
    __cudaRegisterFunction(handle, (const char *)stub, NULL, "stub", -1, NULL, NULL, NULL, NULL, NULL);
    sim_kernel_told((const void *)stub);
    uint64_t ns = 123456;
    void *args[] = {&ns, NULL}, *p;
    cudaStream_t s;
    char host[64] = "";
    cudaMalloc(&p, 1 << 20);
    cudaStreamCreateWithFlags(&s, 1);
    for (int i = 0; i < 100; i++)
        cudaLaunchKernel((const void *)stub, (dim3){7, 1, 1}, (dim3){32, 1, 1}, args, 0, s);
    cudaStreamSynchronize(s);
    cudaMemcpyAsync(p, host, sizeof(host), cudaMemcpyHostToDevice, s);
    cudaMemsetAsync(p, 3, 1000, s);
    cudaDeviceSynchronize();
    cudaFree(p);
    nanosleep(&(struct timespec){0, 100000000}, NULL); /* what is complete comes by itself */
    printf("flush %d\n", flush(0));
    nanosleep(&(struct timespec){0, 200000000}, NULL);
    size_t lost = 0;
    dropped(NULL, 0, &lost);
    printf("dropped %zu\n", lost);
    return 0;
}
