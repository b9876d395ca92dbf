/* transport.h - what NCCL said about its communicators, their connections and its network, kept per host.
 *
 * Filled by pass_transport from events in the order in which NCCL wrote them; judged by find_nccl.c. Everything is
 * kept per host, since one good host hides a bad one. Memory grows with ranks, communicators and pairs of ranks that
 * are connected, not with the length of a log. Owns its strings. One thread. */
#ifndef TRSHIM_ANALYSIS_MODEL_TRANSPORT_H
#define TRSHIM_ANALYSIS_MODEL_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/event.h"
#include "analysis/model/map.h"
#include "analysis/model/net_speed.h"

struct transport_env {
    struct transport_env *next;
    char *name, *value;
};

struct transport_host {
    char *name;
    char *devices, *interfaces, *bootstrap, *chosen, *version, *other_version, *plugin; /* NULL: not said */
    char *plugin_error;  /* why its net plugin cannot be used */
    char *plugin_absent; /* what it says of the one it did not find */
    char *wanted_net;    /* asked for, not found */
    char *gdr_reason;
    char *shm_error, *ib_error, *path_warning, *truncated;
    bool no_device, no_verbs, nvls_off;
    uint64_t port_events, completions; /* of InfiniBand, with an error */
    uint64_t path_warnings;
    struct transport_env *env;
    uint32_t last_pid;
    bool several; /* more than one process wrote */
};

/* A communicator: by its id, or (before 2.18) all those of one size. */
struct transport_comm {
    struct transport_comm *next;
    uint64_t id;
    int32_t nranks;
    uint32_t *hosts; /* by rank; TRANSPORT_NO_HOST not known */
};
#define TRANSPORT_NO_HOST UINT32_MAX
#define TRANSPORT_RANKS_MAX (1 << 20)

/* Channels of one kind from one rank to another, as one of the two told. */
struct transport_edge {
    struct transport_edge *next;
    struct transport_comm *comm;     /* NULL until the communicator is complete */
    struct transport_thread *thread; /* that made it */
    uint32_t host;
    int32_t from, to, proxy;
    enum tr_nccl_way way;
    bool gdr;
    uint32_t device;
    uint64_t channels, lines; /* channels: bit i for channel i mod 64 */
    char *kind;
};

/* A collective that two ranks entered as different ones. */
struct transport_desync {
    bool found;
    bool by_size; /* their communicator is known by its size only */
    uint64_t ordinal;
    char *first, *second; /* op and count */
    uint32_t first_host, second_host, first_pid, second_pid;
};

struct transport {
    struct transport_host *hosts;
    size_t nr_hosts;
    struct transport_comm *comms;
    struct transport_edge *edges;
    struct net_speed *speeds;
    struct map by_edge, by_thread, by_process;
    struct transport_thread *threads;
    struct transport_process *processes;
    struct transport_call *calls; /* ring of CALLS_MAX */
    struct transport_desync desync;
    bool ambiguous; /* a process has several communicators of one size that have no id */
    uint64_t nr_events, nr_calls, highest_ordinal, last_call; /* last_call: how many events came up to it */
};

int transport_event(struct transport *transport, const struct event *event); /* 0 or -ENOMEM */
void transport_done(struct transport *transport);

/* The host that the other end of the edge is on, as far as known. */
uint32_t transport_peer(const struct transport_edge *edge);

/* The value of a variable on that host; NULL. */
const char *transport_env(const struct transport_host *host, const char *name);

/* The net plugin that the user asks for and the host does not have; NULL: none is asked for, or it is there. */
const char *transport_plugin_asked(const struct transport_host *host);

/* Whether two versions of NCCL are the same, for whichever CUDA: "2.28.9" is "2.28.9+cuda13.0". */
bool transport_same_version(const char *a, const char *b);

static inline bool transport_is_net(const struct transport_edge *edge)
{
    return edge->kind[0] == 'N';
}

#endif
