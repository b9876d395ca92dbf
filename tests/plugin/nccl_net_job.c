/* nccl_net_job.c - does what NCCL does with a network plugin, through our wrapping one, and compares with the plugin.
 *
 *   nccl_net_job symbols WRAPPER PLUGIN     each symbol NCCL may ask for: there, or not, as in PLUGIN; prints what
 * differs nccl_net_job move WRAPPER PLUGIN N      interface N: properties byte for byte, then 200 messages of random
 * bytes and sizes over one connection, compared bit for bit; prints how many bytes
 *
 * WRAPPER is loaded as NCCL loads it; TRSHIM_NCCL_NET names the same PLUGIN. One thread. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin/net/net.h"

#define NR_MESSAGES 200
#define LARGEST (1u << 20)
#define CALL(place, takes) ((int(*) takes)net[place])

static void **net, **plugin;
static int version;

static void fail(const char *what)
{
    printf("v%d: %s\n", version, what);
    exit(1);
}

static void logger(int level, unsigned long flags, const char *file, int line, const char *format, ...)
{
}

static int places(void)
{
    return version >= 11 ? NET_END_V11 : version >= 9 ? NET_END_V9 : version >= 7 ? NET_END_V7 : NET_END_V6;
}

/* ---- Symbols ---- */

static int compare_symbols(void *wrapper, void *real)
{
    static const char *const families[] = {"ncclNetPlugin", "ncclCollNetPlugin", "ncclTunerPlugin", "ncclProfiler",
                                           "ncclEnvPlugin", "ncclGinPlugin",     "ncclRmaPlugin"};
    int nr = 0;
    for (size_t f = 0; f < sizeof(families) / sizeof(families[0]); f++)
        for (int v = 1; v <= 20; v++) {
            char name[64];
            snprintf(name, sizeof(name), "%s_v%d", families[f], v);
            void *ours = dlsym(wrapper, name), *its = real ? dlsym(real, name) : NULL;
            bool wrapped = f == 0 && v >= 6 && v <= 12 && its;
            if (!ours != !its || (!wrapped && ours != its) || (wrapped && ours == its))
                printf("%s: %p, in the plugin %p\n", name, ours, its);
            nr += ours != NULL;
        }
    printf("%d symbols\n", nr);
    return 0;
}

/* ---- Calls, in the form of the version ---- */

static int begin(void **context)
{
    int traffic = -1;
    *context = NULL;
    if (version >= 11)
        return CALL(NET_INIT, (void **, uint64_t, int *, void *, void *))(context, 7, &traffic, (void *)logger, NULL);
    if (version == 10)
        return CALL(NET_INIT, (void *, void *))((void *)logger, NULL);
    return CALL(NET_INIT, (void *))((void *)logger);
}

static void compare_properties(int device)
{
    unsigned char ours[1024], its[1024];
    memset(ours, 0xa5, sizeof(ours));
    memset(its, 0xa5, sizeof(its));
    int result = CALL(NET_GET_PROPERTIES, (int, void *))(device, ours);
    if (result != ((int (*)(int, void *))plugin[NET_GET_PROPERTIES])(device, its) || memcmp(ours, its, sizeof(its)))
        fail("properties differ");
}

static int try_connect(void *context, char *handle, void **send)
{
    void *offload = NULL;
    int traffic = -1;
    if (version >= 11)
        return CALL(NET_CONNECT, (void *, int, void *, void **, void **))(context, 1, handle, send, &offload);
    if (version == 10)
        return CALL(NET_CONNECT, (int, int *, void *, void **, void **))(1, &traffic, handle, send, &offload);
    if (version >= 7)
        return CALL(NET_CONNECT, (int, void *, void **, void **))(1, handle, send, &offload);
    return CALL(NET_CONNECT, (int, void *, void **))(1, handle, send);
}

static void connect_both(void *context, void **send, void **receive)
{
    char handle[128] = {0};
    void *listening = NULL, *offload = NULL;
    int result = version >= 11 ? CALL(NET_LISTEN, (void *, int, void *, void **))(context, 1, handle, &listening)
                               : CALL(NET_LISTEN, (int, void *, void **))(1, handle, &listening);
    while (!result && (!*send || !*receive)) {
        if (!*send)
            result = try_connect(context, handle, send);
        if (!result && !*receive)
            result = version >= 7 ? CALL(NET_ACCEPT, (void *, void **, void **))(listening, receive, &offload)
                                  : CALL(NET_ACCEPT, (void *, void **))(listening, receive);
    }
    if (result || CALL(NET_CLOSE_LISTEN, (void *))(listening))
        fail("no connection");
}

static void *memory_of(void *comm, void *data, int type)
{
    void *memory = NULL;
    int result = version >= 8
                     ? CALL(NET_REG_MR, (void *, void *, size_t, int, void **))(comm, data, LARGEST, type, &memory)
                     : CALL(NET_REG_MR, (void *, void *, int, int, void **))(comm, data, LARGEST, type, &memory);
    if (result)
        fail("memory not registered");
    return memory;
}

static int post_send(void *comm, void *data, size_t size, void *memory, void **request)
{
    if (version >= 10)
        return CALL(NET_ISEND, (void *, void *, size_t, int, void *, void *, void **))(comm, data, size, 3, memory,
                                                                                       NULL, request);
    if (version == 9)
        return CALL(NET_ISEND, (void *, void *, size_t, int, void *, void **))(comm, data, size, 3, memory, request);
    return CALL(NET_ISEND, (void *, void *, int, int, void *, void **))(comm, data, (int)size, 3, memory, request);
}

static int post_receive(void *comm, void *data, size_t size, void *memory, void **request)
{
    int tag = 3, small = (int)size;
    void *profiled = NULL;
    if (version >= 10)
        return CALL(NET_IRECV, (void *, int, void **, size_t *, int *, void **, void **, void **))(
            comm, 1, &data, &size, &tag, &memory, &profiled, request);
    if (version == 9)
        return CALL(NET_IRECV, (void *, int, void **, size_t *, int *, void **, void **))(comm, 1, &data, &size, &tag,
                                                                                          &memory, request);
    return CALL(NET_IRECV, (void *, int, void **, int *, int *, void **, void **))(comm, 1, &data, &small, &tag,
                                                                                   &memory, request);
}

static void poll(void **request, size_t size)
{
    int done = 0, got = -1;
    if (!*request)
        return;
    if (CALL(NET_TEST, (void *, int *, int *))(*request, &done, &got))
        fail("a request failed");
    if (done && (size_t)got != size)
        fail("a wrong size");
    if (done)
        *request = NULL;
}

static size_t move(void *send, void *receive)
{
    unsigned char *from = malloc(LARGEST), *to = malloc(LARGEST);
    void *from_memory = memory_of(send, from, NET_MEMORY_HOST), *to_memory = memory_of(receive, to, NET_MEMORY_GPU);
    size_t total = 0;
    srandom(version);
    for (int i = 0; i < NR_MESSAGES; i++) {
        size_t size = 1 + (size_t)random() % LARGEST;
        void *out = NULL, *in = NULL;
        for (size_t b = 0; b < size; b++)
            from[b] = (unsigned char)random();
        memset(to, 0, size);
        if (post_receive(receive, to, size, to_memory, &in) || post_send(send, from, size, from_memory, &out))
            fail("a request was refused");
        while (out || in)
            poll(&out, size), poll(&in, size);
        if (memcmp(from, to, size) != 0)
            fail("bytes differ");
        total += size;
    }
    CALL(NET_DEREG_MR, (void *, void *))(send, from_memory);
    CALL(NET_DEREG_MR, (void *, void *))(receive, to_memory);
    free(from);
    free(to);
    return total;
}

static int run(void)
{
    void *context, *send = NULL, *receive = NULL;
    int devices = 0, result = begin(&context);
    if (net[NET_NAME] != plugin[NET_NAME])
        fail("another name");
    if (result) {
        printf("init %d\n", result);
        return 0;
    }
    for (int i = 0; i < places(); i++)
        if (!net[i] != !plugin[i])
            fail("a function is missing, or there is one too many");
    if (CALL(NET_DEVICES, (int *))(&devices) || devices <= 0) {
        printf("%d devices\n", devices);
        return 0;
    }
    for (int i = 0; i < devices; i++)
        compare_properties(i);
    connect_both(context, &send, &receive);
    size_t total = move(send, receive);
    if (CALL(NET_CLOSE_SEND, (void *))(send) || CALL(NET_CLOSE_RECV, (void *))(receive))
        fail("not closed");
    if (version >= 11 && CALL(NET_FINALIZE, (void *))(context))
        fail("not finalized");
    printf("%zu bytes\n", total);
    return 0;
}

int main(int argc, char **argv)
{
    char symbol[32];
    void *wrapper = argc > 3 ? dlopen(argv[2], RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!wrapper) {
        fprintf(stderr, "%s\n", argc > 3 ? dlerror() : "see the head of nccl_net_job.c");
        return 2;
    }
    void *real = dlopen(argv[3], RTLD_NOW | RTLD_LOCAL);
    if (strcmp(argv[1], "symbols") == 0)
        return compare_symbols(wrapper, real);
    version = argc > 4 ? atoi(argv[4]) : 0;
    snprintf(symbol, sizeof(symbol), "ncclNetPlugin_v%d", version);
    net = dlsym(wrapper, symbol);
    plugin = real ? dlsym(real, symbol) : NULL;
    if (!net || !plugin) {
        printf("no %s\n", symbol);
        return 0;
    }
    return run();
}
