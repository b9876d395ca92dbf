/* bootstrap.c - how ranks find each other: the unique id names a loopback port on which a thread of the process that
 * made it hands everybody everybody's words, then keeps them until all are ready. A rank that never comes makes the
 * others wait, until they abort. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/sim/nccl/inside.h"

#define MAGIC 0x6c63636e6d6973ull

struct id {
    uint64_t magic, random;
    uint16_t port;
};

struct hello {
    uint64_t random;
    int32_t rank, nranks;
    uint64_t bytes;
};

uint64_t bootstrap_hash(const ncclUniqueId *id)
{
    uint64_t hash = 14695981039346656037ull;
    for (size_t i = 0; i < sizeof(id->internal); i++)
        hash = (hash ^ (unsigned char)id->internal[i]) * 1099511628211ull;
    return hash;
}

/* All of it, or false: the other end is gone or *aborted was set. */
static bool move(int socket, void *buffer, size_t bytes, bool out, const int *aborted)
{
    for (size_t done = 0; done < bytes;) {
        struct pollfd p = {socket, out ? POLLOUT : POLLIN, 0};
        if (poll(&p, 1, 100) == 0) {
            if (aborted && __atomic_load_n(aborted, __ATOMIC_RELAXED))
                return false;
            continue;
        }
        ssize_t n = out ? send(socket, (char *)buffer + done, bytes - done, MSG_NOSIGNAL)
                        : recv(socket, (char *)buffer + done, bytes - done, 0);
        if (n <= 0 && !(n < 0 && (errno == EINTR || errno == EAGAIN)))
            return false;
        done += n > 0 ? (size_t)n : 0;
    }
    return true;
}

/* ---- The root: one thread for each unique id ---- */
struct root {
    int listener;
    uint64_t random;
};

static bool greet(const struct root *r, int socket, struct hello *h)
{
    return move(socket, h, sizeof(*h), false, NULL) && h->random == r->random && h->nranks > 0 && h->rank >= 0 &&
           h->rank < h->nranks && h->bytes < 1u << 16;
}

static int take_one(const struct root *r, struct hello *h)
{
    for (;;) {
        int socket = accept4(r->listener, NULL, NULL, SOCK_CLOEXEC);
        if (socket >= 0 && greet(r, socket, h))
            return socket;
        if (socket >= 0)
            close(socket);
        else if (errno != EINTR && errno != ECONNABORTED)
            return -1;
    }
}

/* Returns what all said, in the order of ranks, and their sockets. */
static char *gather(const struct root *r, int **ret_sockets, struct hello *first)
{
    char *all = NULL;
    int *sockets = NULL;
    for (int nr = 0; !all || nr < first->nranks;) {
        struct hello h;
        int socket = take_one(r, &h);
        if (socket < 0)
            break;
        if (!all) {
            *first = h;
            all = calloc((size_t)h.nranks, h.bytes);
            sockets = malloc((size_t)h.nranks * sizeof(*sockets));
            if (!all || !sockets)
                abort();
            for (int i = 0; i < h.nranks; i++)
                sockets[i] = -1;
        }
        if (h.nranks != first->nranks || h.bytes != first->bytes || sockets[h.rank] >= 0 ||
            !move(socket, all + (size_t)h.rank * h.bytes, h.bytes, false, NULL)) {
            close(socket);
            continue;
        }
        sockets[h.rank] = socket;
        nr++;
    }
    *ret_sockets = sockets;
    return all;
}

static void *run_root(void *arg)
{
    struct root *r = arg;
    struct hello h = {0};
    int *sockets = NULL;
    char *all = gather(r, &sockets, &h), done = 1;
    for (int i = 0; i < h.nranks; i++)
        move(sockets[i], all, (size_t)h.nranks * h.bytes, true, NULL);
    bool ready = true;
    for (int i = 0; i < h.nranks; i++)
        ready &= move(sockets[i], &done, 1, false, NULL);
    for (int i = 0; i < h.nranks; i++) {
        if (ready)
            move(sockets[i], &done, 1, true, NULL);
        close(sockets[i]);
    }
    close(r->listener);
    free(all);
    free(sockets);
    free(r);
    return NULL;
}

ncclResult_t bootstrap_id(ncclUniqueId *ret)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);
    struct root *r = calloc(1, sizeof(*r));
    pthread_t thread;
    if (!r)
        return ncclSystemError;
    r->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (r->listener < 0 || bind(r->listener, (struct sockaddr *)&address, len) < 0 || listen(r->listener, 1024) < 0 ||
        getsockname(r->listener, (struct sockaddr *)&address, &len) < 0 ||
        getrandom(&r->random, sizeof(r->random), 0) != sizeof(r->random)) {
        if (r->listener >= 0)
            close(r->listener);
        free(r);
        return ncclSystemError;
    }
    struct id id = {MAGIC, r->random, ntohs(address.sin_port)};
    memset(ret, 0, sizeof(*ret));
    memcpy(ret, &id, sizeof(id));
    if (pthread_create(&thread, NULL, run_root, r) != 0)
        return ncclSystemError;
    pthread_detach(thread);
    return ncclSuccess;
}

/* ---- The ranks ---- */
ncclResult_t bootstrap_join(const ncclUniqueId *unique, int rank, int nranks, const void *mine, size_t bytes, void *all,
                            const int *aborted, int *ret_socket)
{
    struct id id;
    memcpy(&id, unique, sizeof(id));
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(id.port)};
    struct hello h = {id.random, rank, nranks, bytes};
    if (id.magic != MAGIC)
        return ncclInvalidArgument;
    int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (s < 0)
        return ncclSystemError;
    if (connect(s, (struct sockaddr *)&address, sizeof(address)) < 0 || !move(s, &h, sizeof(h), true, aborted) ||
        !move(s, (void *)mine, bytes, true, aborted) || !move(s, all, bytes * (size_t)nranks, false, aborted)) {
        close(s);
        return aborted && __atomic_load_n(aborted, __ATOMIC_RELAXED) ? ncclInternalError : ncclRemoteError;
    }
    *ret_socket = s;
    return ncclSuccess;
}

ncclResult_t bootstrap_done(int socket, const int *aborted)
{
    char ready = 1;
    bool ok = move(socket, &ready, 1, true, aborted) && move(socket, &ready, 1, false, aborted);
    close(socket);
    return ok ? ncclSuccess : ncclRemoteError;
}
