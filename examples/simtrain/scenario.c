/* scenario.c - what the simulated hosts are like, and what the ranks have in their environment: as a launcher, a
 * cluster and its users leave it. The job's processes know nothing of this. Run by the parent, and by each rank before
 * it becomes one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "examples/simtrain/job.h"

#define IB_GBS 48.0
#define NVLINK_GBS 360.0
#define P2P_GBS 24.0

bool fault_on(const struct options *o, enum fault f, int rank)
{
    return o->faults[f].on && (o->faults[f].rank < 0 || o->faults[f].rank == rank);
}

static bool on_host(const struct options *o, enum fault f, int host)
{
    return o->faults[f].on && (o->faults[f].rank < 0 || o->faults[f].rank / (o->ranks / o->hosts) == host);
}

/* A file of the host's folder is replaced whole: it may be read at any time. */
static FILE *replace(const struct options *o, int host, const char *name, char path[600])
{
    char temporary[620];
    snprintf(path, 600, "%s/node-%d/%s", o->dir, host, name);
    snprintf(temporary, sizeof(temporary), "%s.tmp", path);
    return fopen(temporary, "we");
}

static void replaced(FILE *f, const char *path)
{
    char temporary[620];
    snprintf(temporary, sizeof(temporary), "%s.tmp", path);
    fclose(f);
    rename(temporary, path);
}

/* ---- Boards: a throttled one holds its clock down, longer and longer
 * ------------------------------------------------------- */
static void write_boards(const struct options *o, int host, uint64_t elapsed_ns)
{
    int per_host = o->ranks / o->hosts;
    char path[600];
    FILE *f = replace(o, host, "nvml", path);
    if (!f)
        return;
    for (int local = 0; local < per_host; local++)
        if (fault_on(o, FAULT_THROTTLED, host * per_host + local))
            fprintf(f, "%d sm_clock %.0f\n%d throttle_reasons 0x40\n%d temperature 88\n%d violation_thermal_ns %llu\n",
                    local, 1980 / o->faults[FAULT_THROTTLED].size, local, local, local, (unsigned long long)elapsed_ns);
    replaced(f, path);
}

/* ---- The network
 * ------------------------------------------------------------------------------------------------------------------ */
static void number(FILE *f, const char *name, double value)
{
    fprintf(f, "* %s %g\n", name, value);
}

static int cause(const struct options *o, enum fault f)
{
    return o->faults[f].on ? (int)o->faults[f].size : 0;
}

static void write_devices(FILE *f, const struct options *o, int host)
{
    bool hcas = o->faults[FAULT_HCAS].on;
    double slow = o->faults[FAULT_COMM_SLOW].on ? o->faults[FAULT_COMM_SLOW].size : 1;
    int why = cause(o, FAULT_SOCKETS);
    number(f, "ib",
           o->faults[FAULT_NO_FABRIC].on || why >= 4 ? 0
           : on_host(o, FAULT_HCAS, host)            ? o->faults[FAULT_HCAS].size
           : hcas                                    ? 2
                                                     : 1);
    number(f, "ib_gbs", IB_GBS / slow / (hcas ? 2 : 1));
    number(f, "ib_mbps", hcas ? 200000 : 400000);
    number(f, "verbs", why != 3);
    number(f, "gdr", !on_host(o, FAULT_GDR, host));
    if (on_host(o, FAULT_GDR, host))
        number(f, "ib_nogdr_gbs", o->faults[FAULT_GDR].size);
    number(f, "port_events", on_host(o, FAULT_IB_ERRORS, host) ? o->faults[FAULT_IB_ERRORS].size : 0);
    number(f, "no_path", on_host(o, FAULT_TOPOLOGY, host));
    if (o->faults[FAULT_NO_FABRIC].on)
        number(f, "socket_gbs", o->faults[FAULT_NO_FABRIC].size);
}

static void write_board_links(FILE *f, const struct options *o, int host)
{
    double slow = o->faults[FAULT_COMM_SLOW].on ? o->faults[FAULT_COMM_SLOW].size : 1;
    bool apart = on_host(o, FAULT_NVLINK, host), disabled = o->faults[FAULT_P2P].on, full = on_host(o, FAULT_SHM, host);
    number(f, "nvlink", !apart);
    number(f, "nvls", !apart);
    number(f, "p2p", !apart && !full);
    number(f, "shm", !full);
    number(f, "nvlink_gbs", NVLINK_GBS / slow);
    number(f, "p2p_gbs", P2P_GBS / slow);
    if (apart || disabled)
        number(f, "shm_gbs", o->faults[apart ? FAULT_NVLINK : FAULT_P2P].size);
}

static void write_nccl(const struct options *o, int host)
{
    char path[600];
    FILE *f = replace(o, host, "nccl", path);
    if (!f)
        return;
    write_devices(f, o, host);
    write_board_links(f, o, host);
    int version = on_host(o, FAULT_VERSIONS, host) ? cause(o, FAULT_VERSIONS) : cause(o, FAULT_TOPOLOGY);
    if (version)
        fprintf(f, "* version %d.%d.%d\n", version / 10000, version / 100 % 100, version % 100);
    replaced(f, path);
}

/* elapsed_ns: since the job began; what does not change is written at 0. */
void scenario_write(const struct options *o, uint64_t elapsed_ns)
{
    for (int host = 0; host < o->hosts; host++) {
        write_boards(o, host, elapsed_ns);
        if (!elapsed_ns)
            write_nccl(o, host);
    }
}

/* ---- Environment
 * ------------------------------------------------------------------------------------------------------------------ */
static void set_number(const char *name, int value)
{
    char text[32];
    snprintf(text, sizeof(text), "%d", value);
    setenv(name, text, 1);
}

static double products_reach(const struct options *o, int rank)
{
    double reached = fault_on(o, FAULT_MFU, rank) ? o->faults[FAULT_MFU].size : 0.7;
    return fault_on(o, FAULT_THROTTLED, rank) ? reached / o->faults[FAULT_THROTTLED].size : reached;
}

/* What users and clusters set, and leave on. */
static void set_variables(const struct options *o, int rank)
{
    int sockets = fault_on(o, FAULT_SOCKETS, rank) ? cause(o, FAULT_SOCKETS) : 0;
    int left = fault_on(o, FAULT_ENVIRONMENT, rank) ? cause(o, FAULT_ENVIRONMENT) : 0;
    const struct {
        bool on;
        const char *name, *value;
    } all[] = {
        {sockets == 1, "NCCL_IB_DISABLE", "1"},
        {sockets == 2, "NCCL_IB_HCA", "mlx5_bond"},
        {sockets == 4, "NCCL_IB_HCA", "mlx5"},
        {sockets == 5 || fault_on(o, FAULT_PLUGIN, rank), "NCCL_NET_PLUGIN", "ofi"},
        {fault_on(o, FAULT_IFNAME, rank), "NCCL_SOCKET_IFNAME", cause(o, FAULT_IFNAME) == 2 ? "lo" : "docker0"},
        {left == 1, "CUDA_LAUNCH_BLOCKING", "1"},
        {left == 2 || fault_on(o, FAULT_P2P, rank), "NCCL_P2P_DISABLE", "1"},
        {left == 3, "NCCL_ALGO", "Tree"},
    };
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        if (all[i].on)
            setenv(all[i].name, all[i].value, 1);
}

/* As torchrun sets them; and what tells the simulated node which host this is. */
void scenario_environment(const struct options *o, int rank)
{
    int per_host = o->ranks / o->hosts, host = rank / per_host;
    char text[1100];
    set_number("RANK", rank);
    set_number("WORLD_SIZE", o->ranks);
    set_number("LOCAL_RANK", rank % per_host);
    set_number("LOCAL_WORLD_SIZE", per_host);
    set_number("GROUP_RANK", host);
    set_number("GROUP_WORLD_SIZE", o->hosts);
    setenv("MASTER_ADDR", "127.0.0.1", 1);
    setenv("MASTER_PORT", "29500", 1);
    if (o->hosts > 1) {
        snprintf(text, sizeof(text), "node-%d", host);
        setenv("NCCL_HOSTID", text, 1);
    }
    set_variables(o, rank);
    snprintf(text, sizeof(text), "%s/node-%d", o->dir, host);
    setenv("SIM_DIR", text, 1);
    snprintf(text, sizeof(text), "%g", products_reach(o, rank));
    setenv("SIM_GEMM_REACHED", text, 1);
}
