/* wire.c - sockets: the receiver listens on loopback and puts the port where the sender looks, the sender connects. */
#include "tests/sim/nccl/wire.h"

#include "tests/sim/nccl/net_plugin.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CHUNK (128u << 10)

struct wire {
    int peer, listener, fd;
    bool out, lost, by_plugin;
    struct net_plugin_wire plugin;
    struct wire *next;
};

static struct sockaddr_in loopback(uint16_t port)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static void listen_by_plugin(struct ncclComm *c, struct wire *w)
{
    struct contact *contact = shared_contact(&c->shared, w->peer, c->rank);
    w->lost = net_plugin_listen(c, &w->plugin, contact->handle) != 0;
    __atomic_store_n(&contact->there, !w->lost, __ATOMIC_SEQ_CST);
    shared_ring(&c->shared, w->peer);
}

static size_t move_by_plugin(struct ncclComm *c, struct wire *w, size_t bytes, void *step)
{
    struct contact *contact = shared_contact(&c->shared, c->rank, w->peer);
    int error = 0;
    size_t moved = 0;
    if (!w->plugin.comm && w->out && __atomic_load_n(&contact->there, __ATOMIC_SEQ_CST))
        error = net_plugin_connect(c, &w->plugin, contact->handle);
    else if (!w->plugin.comm && !w->out)
        error = net_plugin_accept(c, &w->plugin);
    if (!error && w->plugin.comm)
        error = net_plugin_move(c, &w->plugin, bytes, step, &moved);
    w->lost |= error != 0;
    return moved;
}

static void listen_for(struct ncclComm *c, struct wire *w)
{
    struct sockaddr_in address = loopback(0);
    socklen_t len = sizeof(address);
    struct contact *contact = shared_contact(&c->shared, w->peer, c->rank);
    w->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (w->listener < 0 || bind(w->listener, (struct sockaddr *)&address, len) < 0 || listen(w->listener, 1) < 0 ||
        getsockname(w->listener, (struct sockaddr *)&address, &len) < 0) {
        w->lost = true;
        return;
    }
    memcpy(contact->handle, &address.sin_port, sizeof(address.sin_port));
    __atomic_store_n(&contact->there, 1, __ATOMIC_SEQ_CST);
    shared_ring(&c->shared, w->peer);
}

struct wire *wire_find(struct ncclComm *c, struct wire **list, int peer, bool out)
{
    struct wire *w = *list;
    while (w && (w->peer != peer || w->out != out))
        w = w->next;
    if (w)
        return w;
    w = calloc(1, sizeof(*w));
    if (!w)
        abort();
    *w = (struct wire){.peer = peer, .out = out, .listener = -1, .fd = -1, .next = *list};
    *list = w;
    w->by_plugin = link_between(c, c->rank, peer) == LINK_PLUGIN;
    if (!out && w->by_plugin)
        listen_by_plugin(c, w);
    else if (!out)
        listen_for(c, w);
    return w;
}

static void connect_to(struct ncclComm *c, struct wire *w)
{
    struct contact *contact = shared_contact(&c->shared, c->rank, w->peer);
    uint16_t port;
    if (!__atomic_load_n(&contact->there, __ATOMIC_SEQ_CST))
        return;
    memcpy(&port, contact->handle, sizeof(port));
    struct sockaddr_in address = loopback(ntohs(port));
    w->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (w->fd < 0 || connect(w->fd, (struct sockaddr *)&address, sizeof(address)) < 0)
        w->lost = true;
    else
        fcntl(w->fd, F_SETFL, O_NONBLOCK);
}

static void accept_from(struct wire *w)
{
    w->fd = accept4(w->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (w->fd < 0 && errno != EAGAIN && errno != EINTR)
        w->lost = true;
    if (w->fd < 0)
        return;
    close(w->listener);
    w->listener = -1;
}

bool wire_lost(const struct wire *w)
{
    return w->lost;
}

size_t wire_move(struct ncclComm *c, struct wire *w, size_t bytes, void *step)
{
    static char data[CHUNK]; /* nobody looks at it */
    if (w->by_plugin)
        return w->lost ? 0 : move_by_plugin(c, w, bytes, step);
    if (w->fd < 0 && !w->lost && w->out)
        connect_to(c, w);
    else if (w->fd < 0 && !w->lost)
        accept_from(w);
    if (w->fd < 0 || w->lost)
        return 0;
    size_t part = bytes < CHUNK ? bytes : CHUNK;
    ssize_t n = w->out ? send(w->fd, data, part, MSG_NOSIGNAL) : recv(w->fd, data, part, 0);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        w->lost = true;
    return n > 0 ? (size_t)n : 0;
}

void wire_free(struct wire *list)
{
    for (struct wire *next; list; list = next) {
        next = list->next;
        if (list->by_plugin)
            net_plugin_close(&list->plugin);
        if (list->fd >= 0)
            close(list->fd);
        if (list->listener >= 0)
            close(list->listener);
        free(list);
    }
}
