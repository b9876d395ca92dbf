/* test_nccl.c - the simulated NCCL over several processes: every test forks its ranks, which hand back the truth of
 * their kernels; here it is compared with the rule, computed again from all ranks' starts. No test looks at how long
 * anything took in reality. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/sim/abi/nccl_abi.h"
#include "tests/sim/engine/engine.h"
#include "tests/sim/nccl/truth.h"

#define RANKS_MAX 8
#define ROWS_MAX 512

static struct results { /* shared with the ranks */
    int failed[RANKS_MAX];
    size_t nr[RANKS_MAX];
    struct sim_nccl_truth rows[RANKS_MAX][ROWS_MAX];
    char names[RANKS_MAX][ROWS_MAX][64]; /* pointers mean nothing here */
} * results;

/* ---- In a rank ---- */
static int me, nr_ranks, id_pipe[RANKS_MAX][2];
static ncclComm_t comm;
static struct sim_stream *stream;
static void *buffer;

#define MUST(call)                                                                                                     \
    do {                                                                                                               \
        int result_ = (int)(call);                                                                                     \
        if (result_) {                                                                                                 \
            fprintf(stderr, "# rank %d: %s: %d at line %d: %s\n", me, #call, result_, __LINE__,                        \
                    ncclGetLastError(NULL));                                                                           \
            results->failed[me] = __LINE__;                                                                            \
            _exit(1);                                                                                                  \
        }                                                                                                              \
    } while (0)
#define TRUE(condition) MUST(!(condition))

static ncclUniqueId the_id(void)
{
    ncclUniqueId id;
    if (me == 0) {
        MUST(ncclGetUniqueId(&id));
        for (int i = 1; i < nr_ranks; i++)
            TRUE(write(id_pipe[i][1], &id, sizeof(id)) == sizeof(id));
    } else {
        TRUE(read(id_pipe[me][0], &id, sizeof(id)) == sizeof(id));
    }
    return id;
}

static void set_up(void)
{
    sim_set_current(me);
    sim_nccl_truth_start();
    MUST(ncclCommInitRank(&comm, nr_ranks, the_id(), me));
    MUST(sim_stream_create(SIM_STREAM_NON_BLOCKING, 0, &stream));
    MUST(sim_malloc(me, 64u << 20, &buffer));
}

/* Work of its own before: ranks come at different times. */
static void compute(uint64_t ns)
{
    struct sim_launch l = {{1, 1, 1}, {32, 1, 1}, 0, false};
    MUST(sim_launch_named(stream, "work", &l, ns));
}

static void hand_back(void)
{
    struct sim_nccl_truth *rows;
    results->nr[me] = sim_nccl_truth_take(&rows);
    TRUE(results->nr[me] <= ROWS_MAX);
    for (size_t i = 0; i < results->nr[me]; i++) {
        results->rows[me][i] = rows[i];
        snprintf(results->names[me][i], sizeof(results->names[me][i]), "%s", rows[i].name);
        results->rows[me][i].name = results->names[me][i];
    }
    free(rows);
}

static void tear_down(void)
{
    MUST(sim_stream_sync(stream));
    hand_back();
    MUST(ncclCommDestroy(comm));
}

#define S ((nccl_stream_t)stream)
#define B buffer, buffer

/* ---- In the test ---- */
static void run(int ranks, int hosts, void (*body)(void))
{
    pid_t pids[RANKS_MAX];
    memset(results, 0, sizeof(*results));
    for (int i = 0; i < ranks; i++)
        assert_int_equal(pipe(id_pipe[i]), 0);
    for (int i = 0; i < ranks; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            char host[32];
            snprintf(host, sizeof(host), "host-%d", i * hosts / ranks);
            setenv("NCCL_HOSTID", host, 1);
            me = i;
            nr_ranks = ranks;
            alarm(60);
            body();
            _exit(0);
        }
    }
    for (int i = 0; i < ranks; i++) {
        int status;
        close(id_pipe[i][0]);
        close(id_pipe[i][1]);
        waitpid(pids[i], &status, 0);
        if (status || results->failed[i])
            fprintf(stderr, "# rank %d: status 0x%x, line %d\n", i, status, results->failed[i]);
        assert_int_equal(status, 0);
    }
}

static const struct sim_nccl_truth *row(int rank, const char *op, uint64_t launch)
{
    for (size_t i = 0; i < results->nr[rank]; i++) {
        const struct sim_nccl_truth *t = &results->rows[rank][i];
        if (strcmp(t->op, op) == 0 && t->launch == launch)
            return t;
    }
    return NULL;
}

static uint64_t latest(int ranks, const char *op, uint64_t launch)
{
    uint64_t last = 0;
    for (int r = 0; r < ranks; r++) {
        const struct sim_nccl_truth *t = row(r, op, launch);
        assert_non_null(t);
        last = t->start_ns > last ? t->start_ns : last;
    }
    return last;
}

enum rule { ALL, ROOT, ROOT_WAITS };

static void check_rule(int ranks, const char *op, uint64_t launch, enum rule rule, int root)
{
    uint64_t last = latest(ranks, op, launch), root_start = row(root, op, launch)->start_ns;
    uint64_t transfer = row(0, op, launch)->end_ns - row(0, op, launch)->all_ready_ns;
    assert_true(transfer > 0);
    for (int r = 0; r < ranks; r++) {
        const struct sim_nccl_truth *t = row(r, op, launch);
        uint64_t ready = t->start_ns;
        if (rule == ALL || (rule == ROOT_WAITS && r == root))
            ready = last;
        else if (rule == ROOT && root_start > ready)
            ready = root_start;
        assert_int_equal(t->all_ready_ns, ready);
        assert_int_equal(t->end_ns - t->all_ready_ns, transfer);
    }
}

/* ---- Every collective, its rule ---- */
static void body_collectives(void)
{
    set_up();
    size_t n = 1u << 16;
    for (int round = 0; round < 3; round++) {
        compute((uint64_t)((me + round) % nr_ranks) * 3000000);
        MUST(ncclAllReduce(B, n, ncclFloat32, ncclSum, comm, S));
        compute((uint64_t)(me * 7 % 5) * 1000000);
        MUST(ncclAllGather(B, n, ncclBfloat16, comm, S));
        compute((uint64_t)(me * 3 % 5) * 1000000);
        MUST(ncclReduceScatter(B, n, ncclFloat16, ncclAvg, comm, S));
        MUST(ncclAlltoAll(B, n, ncclInt8, comm, S));
        compute((uint64_t)((me + 2) % nr_ranks) * 2000000);
        MUST(ncclBroadcast(B, n, ncclFloat32, 2, comm, S));
        compute((uint64_t)(me % 2) * 2000000);
        MUST(ncclBcast(buffer, n, ncclFloat32, 1, comm, S));
        MUST(ncclReduce(B, n, ncclFloat32, ncclMax, 3, comm, S));
        compute((uint64_t)me * 1000000);
        MUST(ncclGather(B, n, ncclFloat32, 0, comm, S));
        MUST(ncclScatter(B, n, ncclFloat32, 1, comm, S));
    }
    tear_down();
}

static void test_collectives(void **state)
{
    run(4, 2, body_collectives);
    for (uint64_t round = 0; round < 3; round++) {
        uint64_t at = 9 * round;
        check_rule(4, "AllReduce", at, ALL, 0);
        check_rule(4, "AllGather", at + 1, ALL, 0);
        check_rule(4, "ReduceScatter", at + 2, ALL, 0);
        check_rule(4, "AlltoAll", at + 3, ALL, 0);
        check_rule(4, "Broadcast", at + 4, ROOT, 2);
        check_rule(4, "Broadcast", at + 5, ROOT, 1);
        check_rule(4, "Reduce", at + 6, ROOT_WAITS, 3);
        check_rule(4, "Gather", at + 7, ROOT_WAITS, 0);
        check_rule(4, "Scatter", at + 8, ROOT, 1);
    }
    assert_string_equal(row(0, "AllReduce", 0)->name, "ncclDevKernel_AllReduce_Sum_f32_RING_LL");
    assert_string_equal(row(0, "Broadcast", 4)->name, "ncclDevKernel_Broadcast_RING_LL");
    assert_int_equal(row(0, "AllGather", 1)->bytes, 4 * 2 * 65536);
}

/* A stream keeps its order: the next kernel starts when the collective has ended, here and after the last one. */
static void test_order(void **state)
{
    run(4, 2, body_collectives);
    for (int r = 0; r < 4; r++)
        for (size_t i = 1; i < results->nr[r]; i++)
            assert_true(results->rows[r][i].start_ns >= results->rows[r][i - 1].end_ns);
}

/* ---- Send and Recv: a ring, fused ---- */
static void body_pairs(void)
{
    set_up();
    for (int i = 0; i < 5; i++) {
        compute((uint64_t)((me + i) % nr_ranks) * 4000000);
        MUST(ncclGroupStart());
        MUST(ncclSend(buffer, 1000, ncclFloat32, (me + 1) % nr_ranks, comm, S));
        MUST(ncclRecv(buffer, 1000, ncclFloat32, (me + nr_ranks - 1) % nr_ranks, comm, S));
        MUST(ncclGroupEnd());
    }
    tear_down();
}

static void test_pairs(void **state)
{
    run(4, 1, body_pairs);
    for (int r = 0; r < 4; r++)
        for (uint64_t i = 0; i < 5; i++) {
            uint64_t ready = 0;
            for (int d = 3; d <= 5; d++) { /* the one before, itself, the one after */
                uint64_t start = row((r + d) % 4, "Send", i)->start_ns;
                ready = start > ready ? start : ready;
            }
            assert_int_equal(row(r, "Send", i)->nr_calls, 2);
            assert_int_equal(row(r, "Send", i)->all_ready_ns, ready);
        }
    assert_string_equal(row(0, "Send", 0)->name, "ncclDevKernel_SendRecv");
}

/* ---- A pipeline: no group, one way ---- */
static void body_pipeline(void)
{
    set_up();
    for (int i = 0; i < 6; i++) {
        if (me > 0)
            MUST(ncclRecv(buffer, 4096, ncclFloat16, me - 1, comm, S));
        compute(1000000 + (uint64_t)me * 500000);
        if (me + 1 < nr_ranks)
            MUST(ncclSend(buffer, 4096, ncclFloat16, me + 1, comm, S));
    }
    tear_down();
}

static void test_pipeline(void **state)
{
    run(3, 3, body_pipeline);
    for (int r = 0; r < 2; r++)
        for (uint64_t i = 0; i < 6; i++) {
            const struct sim_nccl_truth *send = row(r, "Send", r == 0 ? i : 2 * i + 1),
                                        *recv = row(r + 1, "Recv", r + 1 == 2 ? i : 2 * i);
            uint64_t last = send->start_ns > recv->start_ns ? send->start_ns : recv->start_ns;
            assert_int_equal(send->ordinal, i);
            assert_int_equal(recv->ordinal, i);
            assert_int_equal(send->all_ready_ns, last);
            assert_int_equal(recv->all_ready_ns, last);
            assert_int_equal(send->end_ns, recv->end_ns);
        }
}

/* ---- Two communicators at once, on two streams; fused collectives ---- */
static void body_split(void)
{
    set_up();
    ncclComm_t half;
    struct sim_stream *other;
    int rank, n;
    MUST(ncclCommSplit(comm, me % 2, -me, &half, NULL)); /* keys turn the order round */
    MUST(ncclCommUserRank(half, &rank));
    MUST(ncclCommCount(half, &n));
    TRUE(n == 2 && rank == (me < 2));
    MUST(sim_stream_create(SIM_STREAM_NON_BLOCKING, 0, &other));
    for (int i = 0; i < 20; i++) {
        compute((uint64_t)(me * 5 % 7) * 300000);
        MUST(ncclAllReduce(B, 1u << 20, ncclFloat32, ncclSum, comm, S));
        MUST(ncclAllGather(B, 1u << 18, ncclFloat32, half, (nccl_stream_t)other));
        MUST(ncclGroupStart());
        MUST(ncclAllReduce(B, 1000, ncclFloat32, ncclSum, comm, S));
        MUST(ncclAllReduce(B, 2000, ncclFloat32, ncclSum, comm, S));
        MUST(ncclGroupEnd());
    }
    MUST(sim_stream_sync(other));
    MUST(ncclCommDestroy(half));
    tear_down();
}

static void test_split(void **state)
{
    run(4, 2, body_split);
    for (uint64_t i = 0; i < 20; i++) {
        check_rule(4, "AllReduce", 2 * i, ALL, 0);
        check_rule(4, "AllReduce", 2 * i + 1, ALL, 0);
        assert_int_equal(row(1, "AllReduce", 2 * i + 1)->nr_calls, 2);
        for (int r = 0; r < 2; r++) {
            const struct sim_nccl_truth *a = row(r, "AllGather", i), *b = row(r + 2, "AllGather", i);
            assert_int_equal(a->comm, b->comm);
            assert_int_equal(a->end_ns, b->end_ns);
            assert_int_equal(a->all_ready_ns, a->start_ns > b->start_ns ? a->start_ns : b->start_ns);
        }
    }
    assert_true(row(0, "AllGather", 0)->comm != row(1, "AllGather", 0)->comm);
}

/* ---- One process with several GPUs ---- */
static void body_all_in_one(void)
{
    ncclComm_t comms[4];
    struct sim_stream *streams[4];
    sim_nccl_truth_start();
    MUST(ncclCommInitAll(comms, 4, NULL));
    for (int i = 0; i < 4; i++) {
        sim_set_current(i);
        MUST(sim_stream_create(SIM_STREAM_NON_BLOCKING, 0, &streams[i]));
        MUST(sim_malloc(i, 1u << 20, &buffer));
    }
    for (int round = 0; round < 10; round++) {
        MUST(ncclGroupStart());
        for (int i = 0; i < 4; i++)
            MUST(ncclAllReduce(buffer, buffer, 1000, ncclFloat32, ncclSum, comms[i], (nccl_stream_t)streams[i]));
        MUST(ncclGroupEnd());
    }
    for (int i = 0; i < 4; i++)
        MUST(sim_stream_sync(streams[i]));
    hand_back();
    for (int i = 0; i < 4; i++)
        MUST(ncclCommDestroy(comms[i]));
}

static void test_all_in_one(void **state)
{
    run(1, 1, body_all_in_one);
    assert_int_equal(results->nr[0], 40);
    for (size_t i = 0; i < 40; i++)
        for (size_t j = 0; j < 40; j++)
            if (results->rows[0][i].launch == results->rows[0][j].launch) {
                assert_int_equal(results->rows[0][i].end_ns, results->rows[0][j].end_ns);
                assert_true(results->rows[0][i].all_ready_ns >= results->rows[0][j].start_ns);
            }
}

/* ---- A rank dies: the others wait until they abort; what was queued behind ends then ---- */
static void body_death(void)
{
    set_up();
    MUST(ncclAllReduce(B, 1000, ncclFloat32, ncclSum, comm, S));
    MUST(sim_stream_sync(stream));
    if (me == 1)
        _exit(0);
    MUST(ncclAllReduce(B, 1000, ncclFloat32, ncclSum, comm, S));
    compute(1000);
    sim_sleep_until(sim_now() + 200000000);
    TRUE(sim_stream_query(stream) == SIM_NOT_READY);
    MUST(ncclCommAbort(comm));
    MUST(sim_stream_sync(stream));
}

static void test_death(void **state)
{
    run(3, 2, body_death);
}

/* Ranks that call different things never meet. */
static void body_mismatch(void)
{
    set_up();
    if (me == 0)
        MUST(ncclBroadcast(B, 1000, ncclFloat32, 0, comm, S));
    else
        MUST(ncclAllReduce(B, 1000, ncclFloat32, ncclSum, comm, S));
    sim_sleep_until(sim_now() + 200000000);
    TRUE(sim_stream_query(stream) == (me == 0 ? SIM_OK : SIM_NOT_READY));
    MUST(ncclCommAbort(comm));
}

static void test_mismatch(void **state)
{
    run(2, 1, body_mismatch);
}

/* ---- Wrong use, and the rest of the surface ---- */
static void body_surface(void)
{
    set_up();
    int n;
    void *p, *handle;
    ncclWindow_t window;
    ncclRedOp_t op;
    ncclSimInfo_t info = {.size = sizeof(info)};
    ncclResult_t error;
    MUST(ncclGetVersion(&n));
    TRUE(n == 22809 && pncclGetVersion(&n) == 0);
    MUST(ncclCommCuDevice(comm, &n));
    TRUE(n == me);
    MUST(ncclCommGetAsyncError(comm, &error));
    TRUE(error == ncclSuccess);
    MUST(ncclMemAlloc(&p, 1000));
    MUST(ncclCommRegister(comm, p, 1000, &handle));
    MUST(ncclCommDeregister(comm, handle));
    MUST(ncclCommWindowRegister(comm, p, 1000, &window, 0));
    MUST(ncclCommWindowDeregister(comm, window));
    MUST(ncclMemFree(p));
    MUST(ncclRedOpCreatePreMulSum(&op, p, ncclFloat32, ncclScalarHostImmediate, comm));
    TRUE(op >= ncclNumOps);
    MUST(ncclAllReduce(B, 1000, ncclFloat32, op, comm, S));
    MUST(ncclRedOpDestroy(op, comm));
    MUST(ncclGroupStart());
    MUST(ncclAllReduce(B, 1u << 20, ncclFloat32, ncclSum, comm, S));
    MUST(ncclGroupSimulateEnd(&info));
    TRUE(info.estimatedTime > 0);
    ncclCollConfig_t config = {.size = sizeof(config), .userProfilerTag = 7};
    MUST(ncclAllReduceConfig(B, 1000, ncclFloat32, ncclSum, comm, S, &config));
    MUST(ncclGroupStart());
    MUST(ncclPutSignal(buffer, 100, ncclFloat32, 1 - me, window, 0, 0, 0, 0, comm, S));
    ncclWaitSignalDesc_t wait = {.opCnt = 2, .peer = 1 - me};
    MUST(ncclSignal(1 - me, 0, 0, 0, comm, S));
    MUST(ncclWaitSignal(1, &wait, comm, S));
    MUST(ncclGroupEnd());
    TRUE(ncclAllReduce(B, 1000, ncclNumTypes, ncclSum, comm, S) == ncclInvalidArgument);
    TRUE(ncclAllReduce(B, 1000, ncclFloat32, ncclSum, NULL, S) == ncclInvalidArgument);
    TRUE(ncclBroadcast(B, 1000, ncclFloat32, 2, comm, S) == ncclInvalidArgument);
    TRUE(ncclGroupEnd() == ncclInvalidUsage);
    TRUE(strcmp(ncclGetErrorString(ncclSuccess), "no error") == 0);
    MUST(ncclAllReduce(B, 0, ncclFloat32, ncclSum, comm, S));
    tear_down();
}

static void test_surface(void **state)
{
    run(2, 1, body_surface);
    assert_int_equal(results->nr[0], 3);
    assert_int_equal(results->rows[0][2].nr_calls, 4);
}

/* ---- Shrink, grow, without waiting, in a group ---- */
static void body_family(void)
{
    set_up();
    ncclComm_t small, large, quick, two[2];
    int out = 2, rank, n;
    ncclUniqueId id = the_id();
    if (me != out) {
        MUST(ncclCommShrink(comm, &out, 1, &small, NULL, 0));
        MUST(ncclCommCount(small, &n));
        TRUE(n == nr_ranks - 1);
        MUST(ncclAllReduce(B, 1000, ncclFloat32, ncclSum, small, S));
        MUST(ncclCommGrow(small, nr_ranks, me == 0 ? &id : NULL, -1, &large, NULL));
    } else {
        MUST(ncclCommGrow(NULL, nr_ranks, &id, nr_ranks - 1, &large, NULL));
    }
    MUST(ncclCommUserRank(large, &rank));
    TRUE(rank == (me < out ? me : me == out ? nr_ranks - 1 : me - 1));
    MUST(ncclAllReduce(B, 1000, ncclFloat32, ncclSum, large, S));

    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    ncclResult_t state = ncclInProgress;
    config.blocking = 0;
    TRUE(ncclCommInitRankConfig(&quick, nr_ranks, the_id(), me, &config) == ncclInProgress);
    while (state == ncclInProgress)
        MUST(ncclCommGetAsyncError(quick, &state));
    MUST(state);
    MUST(ncclAllReduce(B, 1000, ncclFloat32, ncclSum, quick, S));

    ncclUniqueId a = the_id(), b = the_id();
    MUST(ncclGroupStart());
    MUST(ncclCommInitRank(&two[0], nr_ranks, a, me));
    MUST(ncclCommInitRank(&two[1], nr_ranks, b, nr_ranks - 1 - me));
    MUST(ncclGroupEnd());
    MUST(ncclAllReduce(B, 1000, ncclFloat32, ncclSum, two[0], S));
    MUST(ncclAllReduce(B, 1000, ncclFloat32, ncclSum, two[1], S));
    MUST(sim_stream_sync(stream));
    MUST(ncclCommFinalize(two[0]));
    TRUE(ncclAllReduce(B, 1000, ncclFloat32, ncclSum, two[0], S) == ncclInvalidUsage);
    MUST(ncclCommRevoke(two[1], 0));
    MUST(ncclCommDestroy(two[0]));
    MUST(ncclCommDestroy(two[1]));
    MUST(ncclCommDestroy(quick));
    MUST(ncclCommDestroy(large));
    if (me != out)
        MUST(ncclCommDestroy(small));
    tear_down();
}

static void test_family(void **state)
{
    run(4, 2, body_family);
    assert_int_equal(results->nr[0], 5);
    assert_int_equal(results->nr[2], 4);
}

/* ---- Who interposes ncclBroadcast sees the one that ncclBcast makes ---- */
static int nr_interposed;

ncclResult_t ncclBroadcast(NCCL_BUFFERS, int root, ncclComm_t c, nccl_stream_t s)
{
    nr_interposed++;
    return pncclBroadcast(send, recv, count, type, root, c, s);
}

static void body_interposed(void)
{
    set_up();
    MUST(ncclBcast(buffer, 1000, ncclFloat32, 0, comm, S));
    TRUE(nr_interposed == 1);
    MUST(ncclBroadcast(B, 1000, ncclFloat32, 0, comm, S));
    TRUE(nr_interposed == 2);
    tear_down();
}

static void test_interposed(void **state)
{
    run(2, 1, body_interposed);
}

/* ---- Captured once, played again: each replay is an instance ---- */
static void body_graph(void)
{
    set_up();
    struct sim_graph *graph;
    struct sim_exec *exec;
    MUST(ncclAllReduce(B, 1000, ncclFloat32, ncclSum, comm, S));
    MUST(sim_capture_begin(stream));
    MUST(ncclAllReduce(B, 1000, ncclFloat32, ncclSum, comm, S));
    MUST(ncclAllGather(B, 1000, ncclFloat32, comm, S));
    MUST(sim_capture_end(stream, &graph));
    MUST(sim_instantiate(graph, &exec));
    for (int i = 0; i < 3; i++) {
        compute((uint64_t)me * 1000000);
        MUST(sim_graph_launch(exec, stream));
    }
    tear_down();
}

static void test_graph(void **state)
{
    run(2, 1, body_graph);
    assert_int_equal(results->nr[0], 7);
    check_rule(2, "AllReduce", 0, ALL, 0);
    for (uint64_t i = 0; i < 3; i++) {
        check_rule(2, "AllReduce", 2 * i + 1, ALL, 0);
        check_rule(2, "AllGather", 2 * i + 2, ALL, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_collectives), cmocka_unit_test(test_order),    cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_pipeline),    cmocka_unit_test(test_split),    cmocka_unit_test(test_all_in_one),
        cmocka_unit_test(test_death),       cmocka_unit_test(test_mismatch), cmocka_unit_test(test_surface),
        cmocka_unit_test(test_family),      cmocka_unit_test(test_graph),    cmocka_unit_test(test_interposed),
    };
    results = mmap(NULL, sizeof(*results), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (results == MAP_FAILED)
        return 1;
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
