/* nccl_job.c - a job of a few ranks for tests in shell: nccl_job RANKS HOSTS CALL[:COUNT[:TIMES]]...
 * CALL is a collective, SendRecv (to the next, from the one before), Group (two AllReduce), Split (halves by host, one
 * AllGather there), Single (a communicator of one rank), Tagged (an AllReduce with a
 * user's tag), Graph (an AllReduce captured once, played TIMES times) or Absent (an AllReduce that the last rank stays
 * out of; after TIMES seconds all die).
 * Ranks are processes; their hosts have the names node-0, ... and are told apart by NCCL_HOSTID. Prints one line for
 * each kernel: what really happened. Exits with 1 if a call failed. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/sim/abi/cuda_abi.h"
#include "tests/sim/abi/nccl_abi.h"
#include "tests/sim/nccl/truth.h"

cudaError_t cudaSetDevice(int device);
cudaError_t cudaMalloc(void **p, size_t size);
cudaError_t cudaStreamCreate(cudaStream_t *s);
cudaError_t cudaStreamSynchronize(cudaStream_t s);
cudaError_t cudaStreamBeginCapture(cudaStream_t s, int mode);
cudaError_t cudaStreamEndCapture(cudaStream_t s, cudaGraph_t *graph);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags);
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t s);

static int rank, nr_ranks, id_pipe[64][2];
static ncclComm_t comm;
static cudaStream_t stream;
static void *buffer;

static void must(int result, const char *what)
{
    if (!result)
        return;
    fprintf(stderr, "rank %d: %s: %d (%s)\n", rank, what, result, ncclGetLastError(NULL));
    exit(1);
}
#define MUST(call) must((int)(call), #call)

static void make_communicator(void)
{
    ncclUniqueId id;
    if (rank == 0) {
        MUST(ncclGetUniqueId(&id));
        for (int i = 1; i < nr_ranks; i++)
            MUST(write(id_pipe[i][1], &id, sizeof(id)) != sizeof(id));
    } else {
        MUST(read(id_pipe[rank][0], &id, sizeof(id)) != sizeof(id));
    }
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.commName = "world";
    MUST(ncclCommInitRankConfig(&comm, nr_ranks, id, rank, &config));
}

static void split(size_t count, int hosts)
{
    ncclComm_t half;
    MUST(ncclCommSplit(comm, rank * hosts / nr_ranks, rank, &half, NULL));
    MUST(ncclAllGather(buffer, buffer, count, ncclFloat32, half, stream));
    MUST(cudaStreamSynchronize(stream));
    MUST(ncclCommDestroy(half));
}

static void alone(size_t count)
{
    ncclComm_t one;
    ncclUniqueId id;
    MUST(ncclGetUniqueId(&id));
    MUST(ncclCommInitRank(&one, 1, id, 0));
    MUST(ncclAllReduce(buffer, buffer, count, ncclFloat32, ncclSum, one, stream));
    MUST(ncclCommDestroy(one));
}

static void graph(size_t count, int times)
{
    cudaGraph_t g;
    cudaGraphExec_t exec;
    MUST(cudaStreamBeginCapture(stream, 0));
    MUST(ncclAllReduce(buffer, buffer, count, ncclFloat32, ncclSum, comm, stream));
    MUST(cudaStreamEndCapture(stream, &g));
    MUST(cudaGraphInstantiate(&exec, g, 0));
    for (int i = 0; i < times; i++)
        MUST(cudaGraphLaunch(exec, stream));
    MUST(cudaStreamSynchronize(stream));
}

static void tagged(size_t n)
{
    ncclCollConfig_t config = {.size = sizeof(config), .userProfilerTag = 77};
    MUST(ncclAllReduceConfig(buffer, buffer, n, ncclFloat32, ncclSum, comm, stream, &config));
}

static void absent(size_t n, int seconds)
{
    alarm((unsigned)seconds);
    if (rank == nr_ranks - 1)
        sleep((unsigned)seconds * 2);
    MUST(ncclAllReduce(buffer, buffer, n, ncclFloat32, ncclSum, comm, stream));
    MUST(cudaStreamSynchronize(stream));
}

static void collective(const char *name, size_t n)
{
    void *b = buffer;
    int next = (rank + 1) % nr_ranks, previous = (rank + nr_ranks - 1) % nr_ranks;
    if (strcmp(name, "AllReduce") == 0)
        MUST(ncclAllReduce(b, b, n, ncclFloat32, ncclSum, comm, stream));
    else if (strcmp(name, "AllGather") == 0)
        MUST(ncclAllGather(b, b, n, ncclFloat32, comm, stream));
    else if (strcmp(name, "ReduceScatter") == 0)
        MUST(ncclReduceScatter(b, b, n, ncclFloat32, ncclSum, comm, stream));
    else if (strcmp(name, "AlltoAll") == 0)
        MUST(ncclAlltoAll(b, b, n, ncclFloat32, comm, stream));
    else if (strcmp(name, "Broadcast") == 0)
        MUST(ncclBroadcast(b, b, n, ncclFloat32, 0, comm, stream));
    else if (strcmp(name, "Bcast") == 0)
        MUST(ncclBcast(b, n, ncclFloat32, 0, comm, stream));
    else if (strcmp(name, "Reduce") == 0)
        MUST(ncclReduce(b, b, n, ncclFloat32, ncclSum, 0, comm, stream));
    else if (strcmp(name, "Gather") == 0)
        MUST(ncclGather(b, b, n, ncclFloat32, 0, comm, stream));
    else if (strcmp(name, "Scatter") == 0)
        MUST(ncclScatter(b, b, n, ncclFloat32, 0, comm, stream));
    else
        must(strcmp(name, "SendRecv") != 0 && strcmp(name, "Group") != 0, name);
    if (strcmp(name, "SendRecv") != 0 && strcmp(name, "Group") != 0)
        return;
    MUST(ncclGroupStart());
    if (strcmp(name, "Group") == 0) {
        MUST(ncclAllReduce(b, b, n, ncclFloat32, ncclSum, comm, stream));
        MUST(ncclAllReduce(b, b, n, ncclBfloat16, ncclMax, comm, stream));
    } else {
        MUST(ncclSend(b, n, ncclFloat32, next, comm, stream));
        MUST(ncclRecv(b, n, ncclFloat32, previous, comm, stream));
    }
    MUST(ncclGroupEnd());
}

static void call(const char *what, int hosts)
{
    char name[32] = "";
    unsigned long long count = 1024;
    int times = 1;
    sscanf(what, "%31[^:]:%llu:%d", name, &count, &times);
    if (strcmp(name, "Graph") == 0) {
        graph(count, times);
        return;
    }
    if (strcmp(name, "Absent") == 0) {
        absent(count, times);
        return;
    }
    for (int i = 0; i < times; i++) {
        if (strcmp(name, "Split") == 0)
            split(count, hosts);
        else if (strcmp(name, "Single") == 0)
            alone(count);
        else if (strcmp(name, "Tagged") == 0)
            tagged(count);
        else
            collective(name, count);
    }
}

static void tell(void)
{
    struct sim_nccl_truth *rows;
    size_t nr = sim_nccl_truth_take(&rows);
    for (size_t i = 0; i < nr; i++)
        printf(
            "kernel rank=%d comm=%llx op=%s calls=%u bytes=%llu ordinal=%llu name=%s start=%llu ready=%llu end=%llu\n",
            rows[i].rank, (unsigned long long)rows[i].comm, rows[i].op, rows[i].nr_calls,
            (unsigned long long)rows[i].bytes, (unsigned long long)rows[i].ordinal, rows[i].name,
            (unsigned long long)rows[i].start_ns, (unsigned long long)rows[i].all_ready_ns,
            (unsigned long long)rows[i].end_ns);
    free(rows);
}

static void run(int hosts, char **calls)
{
    char host[32];
    snprintf(host, sizeof(host), "node-%d", rank * hosts / nr_ranks);
    setenv("NCCL_HOSTID", host, 1);
    MUST(cudaSetDevice(rank % 8));
    MUST(cudaMalloc(&buffer, 256u << 20));
    MUST(cudaStreamCreate(&stream));
    sim_nccl_truth_start();
    make_communicator();
    for (; *calls; calls++)
        call(*calls, hosts);
    MUST(cudaStreamSynchronize(stream));
    MUST(ncclCommDestroy(comm));
    tell();
}

/* $NCCL_JOB_CLOCK_NS: each rank's monotonic clock is so much ahead of the one's before, by a time namespace. */
static void set_clock(int of_rank)
{
    const char *step = getenv("NCCL_JOB_CLOCK_NS");
    long long ahead = step ? atoll(step) * of_rank : 0;
    if (!ahead)
        return;
    FILE *f = unshare(CLONE_NEWTIME) == 0 ? fopen("/proc/self/timens_offsets", "we") : NULL;
    if (!f || fprintf(f, "monotonic %lld %lld\n", ahead / 1000000000, ahead % 1000000000) < 0 || fclose(f) != 0) {
        fprintf(stderr, "nccl_job: no time namespaces\n");
        exit(77);
    }
}

int main(int argc, char **argv)
{
    int failed = 0, status;
    if (argc < 3 || (nr_ranks = atoi(argv[1])) < 1 || nr_ranks > 64) {
        fprintf(stderr, "usage: nccl_job RANKS HOSTS CALL[:COUNT[:TIMES]]...\n");
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (rank = 0; rank < nr_ranks; rank++)
        if (pipe(id_pipe[rank]) < 0)
            return 2;
    for (rank = 0; rank < nr_ranks; rank++) {
        set_clock(rank);
        if (fork() == 0) {
            run(atoi(argv[2]), argv + 3);
            exit(0);
        }
    }
    while (wait(&status) > 0)
        failed |= status != 0;
    return failed;
}
