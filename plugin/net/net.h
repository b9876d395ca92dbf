/* net.h - libnccl-net-trshim.so: NCCL's network plugin of the job, wrapped. What its parts know of each other.
 *
 *   wrapped.c      finds the job's plugin; answers NCCL's search for symbols       form.h, v6.c .. v12.c   the calls
 *   watch.c        devices, listeners, connections, memory                         requests.c   what they move
 *   table.h        facts by address
 *
 * Every call is forwarded with what it came with, and answers what the job's plugin answers; its objects stay its own.
 * Called by NCCL on its threads and the job's, several at once, and by the core's tender thread. Nothing here waits
 * (but the first init, for the core to load), allocates, or changes errno. */
#ifndef TRSHIM_PLUGIN_NET_NET_H
#define TRSHIM_PLUGIN_NET_NET_H

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "shim/nccl_sink.h"
#include "traces/clock.h"

/* ---- The interface: a name and functions, whose order never changed ---------------------------------------------- */

enum net_place {
    NET_NAME,
    NET_INIT,
    NET_DEVICES,
    NET_GET_PROPERTIES,
    NET_LISTEN,
    NET_CONNECT,
    NET_ACCEPT,
    NET_REG_MR,
    NET_REG_MR_DMABUF,
    NET_DEREG_MR,
    NET_ISEND,
    NET_IRECV,
    NET_IFLUSH,
    NET_TEST,
    NET_CLOSE_SEND,
    NET_CLOSE_RECV,
    NET_CLOSE_LISTEN,
    NET_END_V6,
    NET_GET_DEVICE_MR = NET_END_V6,
    NET_IRECV_CONSUMED,
    NET_END_V7,
    NET_MAKE_VDEVICE = NET_END_V7,
    NET_END_V9,
    NET_FINALIZE = NET_END_V9,
    NET_SET_NET_ATTR,
    NET_END_V11
};

/* How a device's properties begin, in all versions. Before the speed in Mbps version 8 put one number (whether memory
 * is registered for all connections), version 9 another (whether receives must be flushed). */
struct net_properties {
    const char *name, *pci;
    uint64_t guid;
    int memory; /* NET_MEMORY_... */
    int numbers[3];
};
#define NET_MEMORY_HOST 1
#define NET_MEMORY_GPU 2
#define NET_MEMORY_DMABUF 4

/* What NCCL is given for the plugin's structure of this version. */
void *net_v6(void *const *real), *net_v7(void *const *real), *net_v8(void *const *real), *net_v9(void *const *real),
    *net_v10(void *const *real), *net_v11(void *const *real), *net_v12(void *const *real);

/* ---- watch.c ------------------------------------------------------------------------------------------------------
 */

/* Before each init is forwarded; finds the core the first time. */
void watch_begin(void);
/* NULL: this process is not recorded. */
const struct nccl_sink *watch_sink(void);

/* A device as it is told to NCCL. name, pci NULL: as before. */
struct watch_device {
    const char *net, *name, *pci;
    int memory; /* NET_MEMORY_... */
    uint32_t speed_mbps;
};
void watch_device(int device, const struct watch_device *told);

void watch_listen(const void *listening, int device);
void watch_listen_gone(const void *listening);
/* An attempt that began at begin_ns; comm NULL: to be tried again, with the same handle or listener. */
void watch_connect(const void *handle, int device, const void *comm, int result, uint64_t begin_ns);
void watch_accept(const void *listening, const void *comm, int result, uint64_t begin_ns);
/* Before it is forwarded: the address may be somebody else's right after. */
void watch_close(const void *comm);

void watch_memory(const void *handle, int type);
void watch_memory_gone(const void *handle);
bool watch_is_gpu(const void *handle);

/* ---- requests.c ---------------------------------------------------------------------------------------------------
 */

struct burst {
    uint32_t count, failed, outstanding;
    uint64_t bytes, busy_ns, worst_ns;
    uint64_t start_ns, busy_since_ns, end_ns;
};

struct connection {
    atomic_int lock; /* held for a few stores only: by the proxy thread that uses it, and by the tender */
    bool used;       /* the rest is valid */
    uint32_t number, device, tid;
    uint8_t way; /* enum tr_nccl_way */
    uint64_t start_ns, dur_ns;
    struct burst bursts[2]; /* [1]: of GPU memory */
    atomic_uint unseen[2];  /* requests that ended while the lock was taken */
};

bool connection_lock(struct connection *connection, unsigned tries);
void connection_unlock(struct connection *connection);
struct connection *connection_of(const void *comm);
struct connection *connection_at(uint32_t index);
uint32_t connection_index(const struct connection *connection);

/* Whether anybody wants to know of requests. */
bool requests_wanted(void);
void requests_posted(const void *comm, uint64_t begin_ns, size_t size, const void *memory, const void *request);
void requests_refused(const void *comm);
void requests_done(const void *request, int result, const int *sizes);
/* Ends what is older than until_ns and tells it. tries: to get the lock. */
void requests_flush(struct connection *connection, uint64_t now, uint64_t until_ns, unsigned tries);
/* Its open requests will not be asked for any more. */
void requests_forget(const struct connection *connection);

uint32_t net_tid(void);

#endif
