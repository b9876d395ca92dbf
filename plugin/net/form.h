/* form.h - the calls of one version of NCCL's network interface; included by v6.c .. v12.c, which define NET_V.
 *
 * NCCL gets an array of our own in which those functions are ours that tell something; the others are the plugin's
 * themselves, so that those calls do not pass here at all. What the plugin lacks is missing from it too. The plugin's
 * structure is read anew for each call and after each init, since there are plugins that fill it in there. */
#include <stddef.h>

#include "plugin/net/net.h"

#if NET_V >= 11
#define NR_PLACES NET_END_V11
#elif NET_V >= 9
#define NR_PLACES NET_END_V9
#elif NET_V >= 7
#define NR_PLACES NET_END_V7
#else
#define NR_PLACES NET_END_V6
#endif

static void *const *real_net;
static void *ours[NR_PLACES];

#define REAL(place, takes) ((int(*) takes)__atomic_load_n(&real_net[place], __ATOMIC_RELAXED))
#define NAME_OF(version) NAME_OF_(version)
#define NAME_OF_(version) net_v##version

/* ---- What changed between versions ---- */
#if NET_V >= 11
#define INIT_TAKES void **context, uint64_t id, void *config, void *log, void *profile
#define INIT_GIVES context, id, config, log, profile
#define CONTEXT_TAKES void *context,
#define CONTEXT_GIVES context,
#elif NET_V >= 10
#define INIT_TAKES void *log, void *profile
#define INIT_GIVES log, profile
#else
#define INIT_TAKES void *log
#define INIT_GIVES log
#endif
#ifndef CONTEXT_TAKES
#define CONTEXT_TAKES
#define CONTEXT_GIVES
#endif
#if NET_V == 10
#define CONFIG_TAKES int *config,
#define CONFIG_GIVES config,
#else
#define CONFIG_TAKES
#define CONFIG_GIVES
#endif
#if NET_V >= 7
#define DEVICE_TAKES , void **offload
#define DEVICE_GIVES , offload
#else
#define DEVICE_TAKES
#define DEVICE_GIVES
#endif
#if NET_V >= 8
typedef size_t memory_size;
#else
typedef int memory_size;
#endif
#if NET_V >= 9
typedef size_t message_size;
#else
typedef int message_size;
#endif
#if NET_V >= 10
#define PROFILE_TAKES(pointer) pointer profiled,
#define PROFILE_GIVES profiled,
#else
#define PROFILE_TAKES(pointer)
#define PROFILE_GIVES
#endif
#define SPEED_PLACE (NET_V >= 9 ? 2 : NET_V >= 8 ? 1 : 0)

static void refresh(void);

static int net_init(INIT_TAKES)
{
    watch_begin();
    int result = REAL(NET_INIT, (INIT_TAKES))(INIT_GIVES);
    refresh();
    return result;
}

/* NCCL gives no cleared memory: what the plugin does not write is no text. */
static int net_get_properties(int device, struct net_properties *properties)
{
    const char *old_name = properties->name, *old_pci = properties->pci;
    int result = REAL(NET_GET_PROPERTIES, (int, void *))(device, properties);
    if (result == 0 && watch_sink())
        watch_device(device,
                     &(struct watch_device){real_net[NET_NAME], properties->name != old_name ? properties->name : NULL,
                                            properties->pci != old_pci ? properties->pci : NULL, properties->memory,
                                            (uint32_t)properties->numbers[SPEED_PLACE]});
    return result;
}

static int net_listen(CONTEXT_TAKES int device, void *handle, void **listening)
{
    int result = REAL(NET_LISTEN, (CONTEXT_TAKES int, void *, void **))(CONTEXT_GIVES device, handle, listening);
    if (result == 0 && watch_sink())
        watch_listen(*listening, device);
    return result;
}

static int net_connect(CONTEXT_TAKES int device, CONFIG_TAKES void *handle, void **comm DEVICE_TAKES)
{
    uint64_t begin_ns = watch_sink() ? now_ns() : 0;
    int result = REAL(NET_CONNECT, (CONTEXT_TAKES int, CONFIG_TAKES void *, void **DEVICE_TAKES))(
        CONTEXT_GIVES device, CONFIG_GIVES handle, comm DEVICE_GIVES);
    if (begin_ns)
        watch_connect(handle, device, result ? NULL : *comm, result, begin_ns);
    return result;
}

static int net_accept(void *listening, void **comm DEVICE_TAKES)
{
    uint64_t begin_ns = watch_sink() ? now_ns() : 0;
    int result = REAL(NET_ACCEPT, (void *, void **DEVICE_TAKES))(listening, comm DEVICE_GIVES);
    if (begin_ns)
        watch_accept(listening, result ? NULL : *comm, result, begin_ns);
    return result;
}

static int net_reg_mr(void *comm, void *data, memory_size size, int type, void **memory)
{
    int result = REAL(NET_REG_MR, (void *, void *, memory_size, int, void **))(comm, data, size, type, memory);
    if (result == 0 && watch_sink())
        watch_memory(*memory, type);
    return result;
}

static int net_reg_mr_dmabuf(void *comm, void *data, size_t size, int type, uint64_t offset, int fd, void **memory)
{
    int result = REAL(NET_REG_MR_DMABUF, (void *, void *, size_t, int, uint64_t, int, void **))(comm, data, size, type,
                                                                                                offset, fd, memory);
    if (result == 0 && watch_sink())
        watch_memory(*memory, type);
    return result;
}

static int net_dereg_mr(void *comm, void *memory)
{
    if (watch_sink())
        watch_memory_gone(memory);
    return REAL(NET_DEREG_MR, (void *, void *))(comm, memory);
}

static int net_isend(void *comm, void *data, message_size size, int tag, void *memory,
                     PROFILE_TAKES(void *) void **request)
{
    uint64_t begin_ns = requests_wanted() ? now_ns() : 0;
    int result = REAL(NET_ISEND, (void *, void *, message_size, int, void *, PROFILE_TAKES(void *) void **))(
        comm, data, size, tag, memory, PROFILE_GIVES request);
    if (begin_ns && result)
        requests_refused(comm);
    else if (begin_ns && *request)
        requests_posted(comm, begin_ns, (size_t)size, memory, *request);
    return result;
}

static int net_irecv(void *comm, int nr, void **data, message_size *sizes, int *tags, void **memories,
                     PROFILE_TAKES(void **) void **request)
{
    uint64_t begin_ns = requests_wanted() ? now_ns() : 0;
    int result =
        REAL(NET_IRECV, (void *, int, void **, message_size *, int *, void **, PROFILE_TAKES(void **) void **))(
            comm, nr, data, sizes, tags, memories, PROFILE_GIVES request);
    if (begin_ns && result)
        requests_refused(comm);
    else if (begin_ns && *request)
        requests_posted(comm, begin_ns, (size_t)nr << 56, memories ? memories[0] : NULL, *request);
    return result;
}

static int net_test(void *request, int *done, int *sizes)
{
    int result = REAL(NET_TEST, (void *, int *, int *))(request, done, sizes);
    if ((result || *done) && requests_wanted())
        requests_done(request, result, sizes);
    return result;
}

static int net_close_send(void *comm)
{
    if (watch_sink())
        watch_close(comm);
    return REAL(NET_CLOSE_SEND, (void *))(comm);
}

static int net_close_recv(void *comm)
{
    if (watch_sink())
        watch_close(comm);
    return REAL(NET_CLOSE_RECV, (void *))(comm);
}

static int net_close_listen(void *listening)
{
    if (watch_sink())
        watch_listen_gone(listening);
    return REAL(NET_CLOSE_LISTEN, (void *))(listening);
}

static void *const in_place[NR_PLACES] = {
    [NET_INIT] = (void *)net_init,
    [NET_GET_PROPERTIES] = (void *)net_get_properties,
    [NET_LISTEN] = (void *)net_listen,
    [NET_CONNECT] = (void *)net_connect,
    [NET_ACCEPT] = (void *)net_accept,
    [NET_REG_MR] = (void *)net_reg_mr,
    [NET_REG_MR_DMABUF] = (void *)net_reg_mr_dmabuf,
    [NET_DEREG_MR] = (void *)net_dereg_mr,
    [NET_ISEND] = (void *)net_isend,
    [NET_IRECV] = (void *)net_irecv,
    [NET_TEST] = (void *)net_test,
    [NET_CLOSE_SEND] = (void *)net_close_send,
    [NET_CLOSE_RECV] = (void *)net_close_recv,
    [NET_CLOSE_LISTEN] = (void *)net_close_listen,
};

/* Other threads may be reading: each place is written once, and again only if it changes. */
static void refresh(void)
{
    for (int i = 0; i < NR_PLACES; i++) {
        void *real = __atomic_load_n(&real_net[i], __ATOMIC_RELAXED);
        void *now = real && in_place[i] ? in_place[i] : real;
        if (__atomic_load_n(&ours[i], __ATOMIC_RELAXED) != now)
            __atomic_store_n(&ours[i], now, __ATOMIC_RELAXED);
    }
}

void *NAME_OF(NET_V)(void *const *real)
{
    real_net = real;
    refresh();
    return ours;
}
