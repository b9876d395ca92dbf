/* find_nccl.c - what NCCL's own log shows to be wrong: sockets where something faster is there, GPU Direct off, devices
 * that differ, a plugin that cannot be used, and the like.
 *
 * Hosts are judged one by one, since one good host hides a bad one. "NET/Socket" in a log is no fall-back by itself:
 * only channels that go over it count, and only between hosts. Findings about the calls themselves are at the end. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/model/coll_stats.h"
#include "analysis/model/job.h"
#include "analysis/model/transport.h"
#include "analysis/pass/judge.h"
#include "analysis/pass/nccl_devices.h"
#include "analysis/pass/pass.h"
#include "analysis/pass/thresholds.h"

static const char *name_of(const struct transport *t, uint32_t host)
{
    return host < t->nr_hosts && t->hosts[host].name ? t->hosts[host].name : "?";
}

/* ---- what goes between hosts ---------------------------------------------------------------- */

static bool is_socket(const struct transport_edge *edge)
{
    return strcmp(edge->kind, "NET/Socket") == 0;
}

/* All ranks of the communicator are known to be on one host: its network channels were asked for by variables. */
static bool on_one_host(const struct transport_comm *comm)
{
    for (int32_t i = 0; comm && i < comm->nranks; i++)
        if (comm->hosts[i] == TRANSPORT_NO_HOST || comm->hosts[i] != comm->hosts[0])
            return false;
    return comm != NULL;
}

static bool between_hosts(const struct transport_edge *edge)
{
    return transport_is_net(edge) && !on_one_host(edge->comm);
}

static size_t count_edges(const struct transport *t, uint32_t host, bool (*wanted)(const struct transport_edge *))
{
    size_t nr = 0;

    for (const struct transport_edge *edge = t->edges; edge; edge = edge->next)
        nr += edge->host == host && wanted(edge);
    return nr;
}

static bool socket_edge(const struct transport_edge *edge)
{
    return between_hosts(edge) && is_socket(edge);
}

static bool fast_edge(const struct transport_edge *edge)
{
    return between_hosts(edge) && !is_socket(edge);
}

static bool direct_edge(const struct transport_edge *edge)
{
    return fast_edge(edge) && edge->gdr;
}

static bool p2p_edge(const struct transport_edge *edge)
{
    return edge->kind[0] == 'P';
}

static bool shm_edge(const struct transport_edge *edge)
{
    return edge->kind[0] == 'S';
}

static size_t named_hosts(const struct transport *t)
{
    size_t nr = 0;

    for (size_t i = 0; i < t->nr_hosts; i++)
        nr += t->hosts[i].name != NULL;
    return nr;
}

static bool is_on(const struct transport_host *host, const char *variable)
{
    const char *value = transport_env(host, variable);
    return value && strcmp(value, "0") != 0 && *value;
}

/* ---- sockets -------------------------------------------------------------------------------- */

/* Why sockets though something else could be there: the key of the cause; NULL if nothing says so. */
static const char *socket_reason(const struct transport *t, const struct transport_host *host)
{
    const char *net = transport_env(host, "NCCL_NET");

    if (is_on(host, "NCCL_IB_DISABLE"))
        return "disabled";
    if (net && strcmp(net, "Socket") == 0)
        return "net";
    if (host->plugin_error || transport_plugin_asked(host))
        return "plugin";
    if (host->no_verbs)
        return "verbs";
    if (host->no_device && transport_env(host, "NCCL_IB_HCA"))
        return "hca";
    if (host->devices)
        return "unused";
    for (size_t i = 0; i < t->nr_hosts; i++)
        if (&t->hosts[i] != host && (t->hosts[i].devices || t->hosts[i].plugin))
            return "others";
    if (host->interfaces && strstr(host->interfaces, "]ib"))
        return "ipoib";
    return NULL;
}

/* What of the transfer time goes over sockets. */
static double socket_part(const struct job *job)
{
    const struct coll_stats *stats = job->facts->collectives;
    double all = 0, sockets = 0;
    for (size_t i = 0; stats && i < stats->nr; i++) {
        const struct coll_class *class = &stats->classes[i];
        all += class->transfer_ns;
        sockets += class->transport && !strcmp(class->transport, "NET/Socket") ? class->transfer_ns : 0;
    }
    return all > 0 ? sockets / all : 0;
}

/* Whether the process is on that host, as NCCL tells hosts apart. */
static bool is_on_host(const struct transport *t, uint32_t i, const struct process *process)
{
    const char *id = process_attr(process, "env.NCCL_HOSTID");
    return id && *id ? t->hosts[i].name && !strcmp(t->hosts[i].name, id) : process->host == i;
}

/* At most what ranks of the host spend in exposed transfer over sockets: another network takes time as well. */
static void set_socket_lost(const struct job *job, const struct transport *t, struct finding *finding, uint32_t i)
{
    double part = socket_part(job), lost_ns = 0, window_ns = 0;
    for (size_t r = 0; r < job->facts->nr_ranks; r++) {
        const struct rank_facts *facts = &job->facts->ranks[r];
        if (!facts->comm_windows || !is_on_host(t, i, facts->rank->process))
            continue;
        lost_ns += part * (double)facts->comm_transfer_ns;
        window_ns += (double)facts->comm_window_ns;
    }
    if (lost_ns <= 0)
        return;
    finding_lost(finding, (int64_t)(lost_ns / (double)job->facts->nr_ranks), lost_ns / 1e9); /* hosts add up */
    finding_set_share(finding, "share", lost_ns / window_ns);
    finding_evidence(finding, "transfer");
}

static struct finding *tell_socket(const struct transport *t, struct report *report, uint32_t i, const char *reason)
{
    const struct transport_host *host = &t->hosts[i];
    const char *id = reason ? "nccl-socket-fallback" : "nccl-socket-only";
    struct finding *finding = finding_raise(report, id, reason, reason ? SEVERITY_HIGH : SEVERITY_LOW,
                                            !reason || strcmp(reason, "verbs") == 0 ? 0.7 : 0.9);

    finding_add_host(finding, host->name);
    finding_set(finding, "host", "%s", name_of(t, i));
    finding_set_count(finding, "connections", count_edges(t, i, socket_edge));
    finding_set(finding, "interfaces", "%s", host->interfaces ? host->interfaces : "?");
    if (reason) {
        finding_cause(finding, reason);
        finding_fix(finding, reason);
    }
    const char *plugin = host->plugin_error             ? host->plugin_error
                         : transport_plugin_asked(host) ? host->plugin_absent
                                                        : NULL;
    if (reason && plugin) {
        finding_set(finding, "log", "%s", plugin);
        finding_evidence(finding, "plugin");
    }
    finding_evidence(finding, "channels");
    finding_other(finding, "");
    return finding;
}

/* All hosts must agree on a network: one that has a reason explains those it is connected to. */
static void find_sockets(const struct job *job, const struct transport *t, struct report *report)
{
    const char *shared = NULL;

    for (size_t i = 0; i < t->nr_hosts && !shared; i++)
        shared = count_edges(t, i, socket_edge) ? socket_reason(t, &t->hosts[i]) : NULL;
    for (size_t i = 0; i < t->nr_hosts; i++) {
        const char *reason = socket_reason(t, &t->hosts[i]);
        if (count_edges(t, i, socket_edge))
            set_socket_lost(job, t, tell_socket(t, report, i, reason ? reason : shared), i);
    }
    /* What is said last stands: of the hosts that share a reason, one that has it. */
    for (size_t i = 0; i < t->nr_hosts; i++) {
        const char *reason = socket_reason(t, &t->hosts[i]);
        if (reason && count_edges(t, i, socket_edge))
            tell_socket(t, report, i, reason);
    }
}

/* ---- GPU Direct RDMA ------------------------------------------------------------------------ */

static void find_gdr(const struct transport *t, struct report *report)
{
    size_t direct = 0;

    for (size_t i = 0; i < t->nr_hosts; i++)
        direct += count_edges(t, i, direct_edge) > 0;
    for (size_t i = 0; i < t->nr_hosts; i++) {
        size_t nr = count_edges(t, i, fast_edge);
        if (!nr || count_edges(t, i, direct_edge))
            continue;
        struct finding *finding =
            finding_raise(report, "nccl-gdr-off", NULL, direct ? SEVERITY_HIGH : SEVERITY_LOW, direct ? 0.95 : 0.5);
        finding_add_host(finding, t->hosts[i].name);
        finding_set(finding, "host", "%s", name_of(t, i));
        finding_set_count(finding, "connections", nr);
        finding_what(finding, direct ? "some" : "");
        finding_cause(finding, direct ? "some" : "");
        finding_evidence(finding, "channels");
        if (t->hosts[i].gdr_reason) {
            finding_set(finding, "log", "%s", t->hosts[i].gdr_reason);
            finding_evidence(finding, "log");
        }
        finding_other(finding, "");
    }
}

/* ---- devices -------------------------------------------------------------------------------- */

static void tell_mixed(const struct transport *t, uint32_t i, struct report *report)
{
    const struct transport_host *host = &t->hosts[i];
    struct nccl_devices devices = nccl_devices(host->devices);
    char list[512];

    if (!devices.ib || !devices.roce)
        return;
    nccl_devices_list(host->devices, devices.ib < devices.roce, list, sizeof(list));
    struct finding *finding = finding_raise(report, "nccl-hca-mismatch", "mixed", SEVERITY_MEDIUM,
                                            transport_env(host, "NCCL_IB_HCA") ? 0.6 : 0.8);
    finding_add_host(finding, host->name);
    finding_set(finding, "host", "%s", name_of(t, i));
    finding_set(finding, "devices", "%s", host->devices);
    finding_set(finding, "odd", "%s", list);
    finding_what(finding, "mixed");
    finding_cause(finding, "mixed");
    finding_fix(finding, "mixed");
    finding_evidence(finding, "devices");
    finding_other(finding, "");
}

/* Names may differ between machines; how many there are and of which kind must not. */
static void find_devices(const struct transport *t, struct report *report)
{
    const struct transport_host *first = NULL;

    for (size_t i = 0; i < t->nr_hosts; i++) {
        const struct transport_host *host = &t->hosts[i];
        if (!host->devices)
            continue;
        tell_mixed(t, i, report);
        if (!first) {
            first = host;
            continue;
        }
        struct nccl_devices a = nccl_devices(first->devices), b = nccl_devices(host->devices);
        if (a.ib == b.ib && a.roce == b.roce)
            continue;
        struct finding *finding = finding_raise(report, "nccl-hca-mismatch", NULL, SEVERITY_MEDIUM, 0.9);
        finding_add_host(finding, first->name);
        finding_add_host(finding, host->name);
        finding_set(finding, "host", "%s", first->name ? first->name : "?");
        finding_set(finding, "other", "%s", name_of(t, i));
        finding_set(finding, "devices", "%s", first->devices);
        finding_set(finding, "devices_other", "%s", host->devices);
        finding_evidence(finding, "both");
        finding_other(finding, "");
    }
}

/* ---- interfaces ----------------------------------------------------------------------------- */

/* Begins with the name of an interface that leads to no other host. */
static const char *local_interface(const char *text)
{
    static const char *const names[] = {"lo:", "docker", "virbr", "veth", "cni", "br-"};

    if (text && *text == '[')
        text = strchr(text, ']') ? strchr(text, ']') + 1 : NULL;
    for (size_t i = 0; text && i < sizeof(names) / sizeof(*names); i++)
        if (strncmp(text, names[i], strlen(names[i])) == 0)
            return text;
    return NULL;
}

static void find_interfaces(const struct transport *t, struct report *report)
{
    for (size_t i = 0; i < t->nr_hosts && named_hosts(t) > 1; i++) {
        const struct transport_host *host = &t->hosts[i];
        const char *bad = local_interface(host->bootstrap), *wanted = transport_env(host, "NCCL_SOCKET_IFNAME");
        bad = bad ? bad : local_interface(host->interfaces);
        if (!bad)
            continue;
        struct finding *finding = finding_raise(report, "nccl-wrong-ifname", NULL, SEVERITY_HIGH, 0.9);
        finding_add_host(finding, host->name);
        finding_set(finding, "host", "%s", name_of(t, i));
        finding_set(finding, "interface", "%.*s", (int)strcspn(bad, " "), bad);
        if (wanted) {
            finding_set(finding, "value", "%s", wanted);
            finding_cause(finding, "value");
        }
        finding_evidence(finding, "");
        finding_other(finding, "");
    }
}

/* ---- plugins -------------------------------------------------------------------------------- */

static void find_plugin(const struct transport *t, struct report *report)
{
    for (size_t i = 0; i < t->nr_hosts; i++) {
        const struct transport_host *host = &t->hosts[i];
        const char *error = host->plugin ? NULL : host->plugin_error;
        const char *wanted = host->wanted_net, *asked = transport_plugin_asked(host);
        bool blind = host->plugin_absent && host->no_verbs && count_edges(t, i, socket_edge);
        if (!error && !wanted && !asked && !blind)
            continue;
        bool certain = error || wanted || asked;
        const char *key = error && strstr(error, "GLIBC_") ? "glibc" : error || wanted ? "error" : asked ? "asked" : "";
        struct finding *finding = finding_raise(report, "nccl-net-plugin-failed", certain ? "failed" : NULL,
                                                wanted    ? SEVERITY_HIGH
                                                : certain ? SEVERITY_MEDIUM
                                                          : SEVERITY_LOW,
                                                certain ? 0.9 : 0.4);
        finding_add_host(finding, host->name);
        finding_set(finding, "host", "%s", name_of(t, i));
        finding_what(finding, certain ? "error" : "");
        finding_cause(finding, key);
        finding_fix(finding, strcmp(key, "asked") == 0 ? "" : key);
        if (certain) {
            finding_set(finding, "log", "%s", error ? error : wanted ? wanted : host->plugin_absent);
            finding_set(finding, "asked", "%s", asked ? asked : "");
            finding_evidence(finding, "log");
        }
        if (wanted) {
            finding_set(finding, "wanted", "%s", wanted);
            finding_evidence(finding, "wanted");
        }
        if (!certain)
            finding_evidence(finding, "missing");
        finding_other(finding, "");
    }
}

/* ---- topology, P2P, shared memory ----------------------------------------------------------- */

static void find_topology(const struct transport *t, struct report *report)
{
    for (size_t i = 0; i < t->nr_hosts; i++) {
        const struct transport_host *host = &t->hosts[i];
        uint64_t used = 0, channels = 0;
        for (const struct transport_edge *edge = t->edges; edge; edge = edge->next)
            if (edge->host == i && fast_edge(edge)) {
                used |= 1ull << edge->device % 64;
                channels |= edge->channels;
            }
        int nr_used = __builtin_popcountll(used), nr_devices = nccl_devices(host->devices).nr;
        /* One process tells of its own NIC only; and one channel needs no more than one. */
        bool few = nr_used && host->several && nr_devices >= TH_HCA_MANY && nr_used * TH_HCA_FEW <= nr_devices &&
                   __builtin_popcountll(channels) > 1;
        if (!host->path_warning && !few)
            continue;
        struct finding *finding =
            finding_raise(report, "nccl-topology", host->path_warning ? "path" : NULL,
                          host->path_warning ? SEVERITY_MEDIUM : SEVERITY_LOW, host->path_warning ? 0.9 : 0.5);
        finding_add_host(finding, host->name);
        finding_set(finding, "host", "%s", name_of(t, i));
        finding_set(finding, "version", "%s", host->version ? host->version : "?");
        finding_set_count(finding, "used", nr_used);
        finding_set_count(finding, "devices", nr_devices);
        finding_what(finding, host->path_warning ? "path" : "");
        finding_cause(finding, host->path_warning ? "path" : "");
        if (host->path_warning) {
            finding_set(finding, "log", "%s", host->path_warning);
            finding_set_count(finding, "times", host->path_warnings);
            finding_evidence(finding, "log");
        }
        if (nr_used && nr_devices)
            finding_evidence(finding, "devices");
        finding_other(finding, "");
    }
}

static void find_nvlink(const struct transport *t, struct report *report)
{
    bool elsewhere = false;

    for (size_t i = 0; i < t->nr_hosts; i++)
        elsewhere |= count_edges(t, i, p2p_edge) > 0;
    for (size_t i = 0; i < t->nr_hosts; i++) {
        const struct transport_host *host = &t->hosts[i];
        size_t shm = count_edges(t, i, shm_edge);
        if (shm < TH_SHM_EDGES || count_edges(t, i, p2p_edge) || is_on(host, "NCCL_P2P_DISABLE") ||
            !(host->nvls_off || elsewhere))
            continue;
        struct finding *finding = finding_raise(report, "nvlink-missing", NULL,
                                                elsewhere ? SEVERITY_HIGH : SEVERITY_MEDIUM, elsewhere ? 0.8 : 0.5);
        finding_add_host(finding, host->name);
        finding_set(finding, "host", "%s", name_of(t, i));
        finding_set_count(finding, "connections", shm);
        finding_evidence(finding, "channels");
        if (elsewhere)
            finding_evidence(finding, "others");
        finding_other(finding, "");
    }
}

/* The log ends with each communicator's first collective: it never came back, as far as the log goes. */
static bool ends_in_first_call(const struct transport *t)
{
    return t->nr_calls && t->highest_ordinal == 0 && t->last_call == t->nr_events;
}

static void find_p2p(const struct transport *t, struct report *report)
{
    for (size_t i = 0; i < t->nr_hosts; i++) {
        const struct transport_host *host = &t->hosts[i];
        const char *level = transport_env(host, "NCCL_P2P_LEVEL");
        bool off = is_on(host, "NCCL_P2P_DISABLE") || (level && (!strcmp(level, "LOC") || !strcmp(level, "0")));
        bool hangs = count_edges(t, i, p2p_edge) && ends_in_first_call(t);
        if (!off && !hangs)
            continue;
        struct finding *finding = finding_raise(report, "p2p-disabled", off ? NULL : "hang",
                                                off ? SEVERITY_MEDIUM : SEVERITY_HIGH, off ? 0.9 : 0.4);
        finding_add_host(finding, host->name);
        finding_set(finding, "host", "%s", name_of(t, i));
        finding_what(finding, off ? "" : "hang");
        finding_cause(finding, off ? "" : "hang");
        finding_fix(finding, off ? "" : "hang");
        finding_evidence(finding, off ? "" : "hang");
        finding_other(finding, "");
    }
}

static void find_shm(const struct transport *t, struct report *report)
{
    for (size_t i = 0; i < t->nr_hosts; i++) {
        if (!t->hosts[i].shm_error)
            continue;
        struct finding *finding = finding_raise(report, "shm-limit", NULL, SEVERITY_HIGH, 0.9);
        finding_add_host(finding, t->hosts[i].name);
        finding_set(finding, "host", "%s", name_of(t, i));
        finding_set(finding, "log", "%s", t->hosts[i].shm_error);
        finding_evidence(finding, "");
        finding_other(finding, "");
    }
}

/* ---- variables, versions -------------------------------------------------------------------- */

static void find_env(const struct transport *t, struct report *report)
{
    static const char *const names[] = {"NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE",     "NCCL_IB_DISABLE",
                                        "NCCL_ALGO",        "NCCL_PROTO",           "NCCL_MAX_NCHANNELS",
                                        "NCCL_BUFFSIZE",    "CUDA_LAUNCH_BLOCKING", "NCCL_NET_GDR_DISABLE",
                                        "NCCL_CROSS_NIC",   "NCCL_NTHREADS"};

    for (size_t i = 0; i < t->nr_hosts; i++)
        for (size_t n = 0; n < sizeof(names) / sizeof(*names); n++) {
            const char *value = transport_env(&t->hosts[i], names[n]);
            if (!value || !is_on(&t->hosts[i], names[n]))
                continue;
            bool off = strstr(names[n], "DISABLE") || strstr(names[n], "BLOCKING");
            struct finding *finding =
                finding_raise(report, "harmful-env", names[n], off ? SEVERITY_MEDIUM : SEVERITY_LOW, 0.7);
            finding_add_host(finding, t->hosts[i].name);
            finding_set(finding, "name", "%s", names[n]);
            finding_set(finding, "value", "%s", value);
            finding_evidence(finding, "");
            finding_other(finding, "");
        }
}

static void find_versions(const struct transport *t, struct report *report)
{
    const struct transport_host *first = NULL;

    for (size_t i = 0; i < t->nr_hosts; i++) {
        const struct transport_host *host = &t->hosts[i];
        const struct transport_host *other = host->other_version ? host : first;
        const char *version = host->version, *before = host->other_version;
        if (!version)
            continue;
        first = first ? first : host;
        before = before ? before : first->version;
        if (transport_same_version(before, version))
            continue;
        struct finding *finding = finding_raise(report, "version-mismatch", NULL, SEVERITY_HIGH, 0.95);
        finding_add_host(finding, other->name);
        finding_add_host(finding, host->name);
        finding_set(finding, "host", "%s", other->name ? other->name : "?");
        finding_set(finding, "other", "%s", name_of(t, i));
        finding_set(finding, "version", "%s", before);
        finding_set(finding, "version_other", "%s", version);
        finding_evidence(finding, "");
        finding_other(finding, "");
    }
}

/* ---- InfiniBand, calls ---------------------------------------------------------------------- */

/* Whoever reports port events is the culprit; a time-out alone is seen by the peer of what is broken. */
static void find_ib(const struct transport *t, struct report *report)
{
    bool events = false;

    for (size_t i = 0; i < t->nr_hosts; i++)
        events |= t->hosts[i].port_events > 0;
    for (size_t i = 0; i < t->nr_hosts; i++) {
        const struct transport_host *host = &t->hosts[i];
        if (!host->ib_error || (events && !host->port_events))
            continue;
        bool worked = count_edges(t, i, fast_edge) > 0 || events;
        struct finding *finding = finding_raise(report, "ib-errors", NULL, SEVERITY_HIGH, events ? 0.9 : 0.6);
        finding_add_host(finding, host->name);
        finding_set(finding, "host", "%s", name_of(t, i));
        finding_set_count(finding, "events", host->port_events);
        finding_set_count(finding, "completions", host->completions);
        finding_set(finding, "log", "%s", host->ib_error);
        finding_cause(finding, events ? "port" : worked ? "" : "first");
        finding_evidence(finding, "");
        finding_other(finding, "");
    }
}

static void find_desync(const struct transport *t, struct report *report)
{
    const struct transport_desync *d = &t->desync;

    if (d->found && !(d->by_size && t->ambiguous)) {
        struct finding *finding = finding_raise(report, "collective-desync", NULL, SEVERITY_HIGH, 0.8);
        finding_add_host(finding, t->hosts[d->first_host].name);
        finding_add_host(finding, t->hosts[d->second_host].name);
        finding_set(finding, "host", "%s", name_of(t, d->first_host));
        finding_set(finding, "other", "%s", name_of(t, d->second_host));
        finding_set(finding, "pid", "%" PRIu32, d->first_pid);
        finding_set(finding, "pid_other", "%" PRIu32, d->second_pid);
        finding_set(finding, "call", "%s", d->first);
        finding_set(finding, "call_other", "%s", d->second);
        finding_set_count(finding, "ordinal", d->ordinal);
        finding_what(finding, "calls");
        finding_cause(finding, "calls");
        finding_evidence(finding, "calls");
        finding_other(finding, "");
    }
    for (size_t i = 0; i < t->nr_hosts; i++) {
        if (!t->hosts[i].truncated)
            continue;
        struct finding *finding =
            finding_raise(report, "collective-desync", d->found ? NULL : "truncated", SEVERITY_HIGH, 0.7);
        finding_add_host(finding, t->hosts[i].name);
        finding_set(finding, "at", "%s", name_of(t, i));
        finding_set(finding, "log", "%s", t->hosts[i].truncated);
        finding_evidence(finding, "truncated");
        finding_other(finding, "");
    }
}

static int finish(void *arg, struct report *report)
{
    const struct transport *t = ((struct finder *)arg)->job->facts->transport;

    find_sockets(((struct finder *)arg)->job, t, report);
    find_gdr(t, report);
    find_devices(t, report);
    find_interfaces(t, report);
    find_plugin(t, report);
    find_topology(t, report);
    find_nvlink(t, report);
    find_p2p(t, report);
    find_shm(t, report);
    find_env(t, report);
    find_versions(t, report);
    find_ib(t, report);
    find_desync(t, report);
    return 0;
}

const struct pass find_nccl = {
    "find-nccl", "nccl-*, ib-errors, version-mismatch and the like", finder_new, NULL, finish, free};
