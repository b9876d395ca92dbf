/* test_traps.c - each trap that real NCCL is known to set a plugin: handles of other processes, stale, garbage and
 * unwritten ones, missing arguments and stops, types nobody asked for. */
#include "tests/plugin/ranks.h"

#define FOREIGN (getpid() + 1)

/* The progress thread of another process does our work or we do its: the context and the parent are its numbers. */
static void foreign_process(void **state)
{
    struct rank r = join_comm(6, 0, 1);
    void *launch = play_allreduce(&r.p, r.context, 0, 0, 8, 1, -1);
    void *theirs[] = {(void *)0x7f0011223344, launch, r.context, NULL, (void *)~0ull};
    for (unsigned i = 0; i < 5; i++) {
        seen_forget();
        void *op = START(&r.p, theirs[(i + 1) % 5], .type = ProxyOp, .parent = theirs[i], .pid = FOREIGN, .peer = 3,
                         .steps = 2, .is_send = 1);
        assert_non_null(op);
        void *step = START(&r.p, theirs[(i + 1) % 5], .type = ProxyStep, .parent = op);
        r.p.state(r.p.profiler, step, SendWait, 77, true);
        stop(&r, step);
        stop(&r, op);
        assert_int_equal(seen.nr_proxies, 1);
        assert_int_equal(seen.proxies[0].nr, 0);
        assert_int_equal(seen.proxies[0].peer, 3);
        assert_int_equal(seen.proxies[0].size_bytes, 77);
    }
    leave(&r);
}

/* Handles of the same pid, but of another process (another pid namespace): its words differ. */
static void foreign_words(void **state)
{
    struct rank r = join_comm(6, 0, 1);
    void *launch = play_allreduce(&r.p, r.context, 0, 0, 8, 1, -1);
    seen_forget();
    void *like = (void *)((uintptr_t)launch ^ 1ull << 45); /* another process's salt */
    void *op = START(&r.p, r.context, .type = ProxyOp, .parent = like, .pid = getpid(), .peer = 1, .steps = 2);
    stop(&r, op);
    seen_tend(now_ns() + 2 * SECOND, false);
    assert_int_equal(seen.nr_proxies, 1);
    assert_int_equal(seen.proxies[0].op, TR_coll_op_other); /* whose it is is not known */
    assert_int_not_equal(seen.proxies[0].nr, 0);            /* but the context is ours */
    leave(&r);
}

static void nothing_given(void **state)
{
    for (int v = 1; v <= 7; v++) {
        struct rank r = join_comm(v, 0, 1);
        /* No descriptor, no handle to write, no context, no parent, no arguments. */
        const struct profiler_v5 *raw = (const struct profiler_v5 *)r.p.profiler;
        void *handle = UNWRITTEN;
        assert_int_equal(raw->startEvent(r.context, &handle, NULL), 0);
        assert_null(handle);
        assert_int_equal(raw->startEvent(r.context, NULL, NULL), 0);
        handle = START(&r.p, NULL, .type = Coll, .func = NULL, .datatype = NULL, .algo = NULL, .proto = NULL);
        assert_ptr_not_equal(handle, UNWRITTEN);
        stop(&r, handle);
        r.p.state(r.p.profiler, NULL, SendWait, 0, true);
        for (int s = 0; s < 40; s++)
            r.p.state(r.p.profiler, handle, s, 0, false);
        stop(&r, NULL);
        assert_int_equal(r.p.finalize(r.p.profiler, NULL), 0);
        leave(&r);
        /* init without places to write */
        assert_int_equal(r.p.init(r.p.profiler, NULL, NULL, 0, NULL, 0, -1, -1), 0);
    }
}

/* Every type, asked for or not, known or not, writes its handle. */
static void unwritten_handles(void **state)
{
    for (int v = 1; v <= 7; v++) {
        struct rank r = join_comm(v, 0, 1);
        for (int bit = 0; bit < (v >= 5 ? 40 : 8); bit++) {
            void *h = START(&r.p, r.context, .type = 1ull << bit, .pid = getpid(), .timer = 5);
            assert_ptr_not_equal(h, UNWRITTEN);
            void *child = START(&r.p, r.context, .type = 1ull << bit, .parent = h, .pid = getpid(), .timer = 5);
            assert_ptr_not_equal(child, UNWRITTEN);
            for (int s = 0; s < 40; s++)
                r.p.state(r.p.profiler, child, s, 1, true);
            stop(&r, child);
            stop(&r, h);
        }
        assert_null(START(&r.p, r.context, .type = ProxyCtrl));
        assert_null(START(&r.p, r.context, .type = v >= 5 ? 1 << 20 : 0));
        leave(&r);
    }
}

/* A graph's replays name the call that was captured; later calls may still name an earlier one. */
static void stale_parents(void **state)
{
    struct rank r = join_comm(5, 0, 1);
    void *g = START(&r.p, r.context, .type = GroupApi, .captured = true);
    void *api = START(&r.p, r.context, .type = CollApi, .parent = g, .func = "AllGather", .count = 50,
                      .datatype = "ncclFloat32", .captured = true);
    stop(&r, api);
    stop(&r, g);
    assert_int_equal(seen.nr_calls, 1); /* captured: called, not run */
    assert_true(seen.calls[0].captured && !seen.calls[0].ran);
    assert_true(seen.calls[0].ordinal >= 1u << 31);
    for (unsigned replay = 0; replay < 3; replay++)
        stop(&r, START(&r.p, r.context, .type = Coll, .parent = api, .seq = replay, .func = "AllGather", .count = 200,
                       .datatype = "ncclInt8", .algo = "RING", .proto = "LL128"));
    assert_int_equal(seen.nr_calls, 4);
    assert_true(seen.calls[3].captured && seen.calls[3].ran);
    assert_int_equal(seen.calls[3].count, 50);
    assert_int_equal(seen.calls[3].ordinal, 2);

    /* of another operation: not believed */
    seen_forget();
    stop(&r, START(&r.p, r.context, .type = Coll, .parent = api, .func = "AllReduce", .count = 9,
                   .datatype = "ncclFloat64"));
    assert_int_equal(seen.nr_calls, 1);
    assert_int_equal(seen.calls[0].count, 9);
    assert_false(seen.calls[0].captured);
    leave(&r);
}

/* A record is used again after a while: what still refers to its first use finds nothing. */
static void reused_records(void **state)
{
    struct rank r = join_comm(5, 0, 1);
    void *old = play_allreduce(&r.p, r.context, 0, 0, 1, 1, -1);
    for (unsigned i = 0; i < 40000; i++)
        play_allreduce(&r.p, r.context, 0, 1 + i, 1, 1, -1);
    seen_forget();
    stop(&r, old);
    void *op = START(&r.p, r.context, .type = ProxyOp, .parent = old, .pid = getpid(), .peer = 1);
    stop(&r, op);
    seen_tend(now_ns() + 2 * SECOND, false);
    assert_int_equal(seen.nr_calls, 0);
    assert_int_equal(seen.nr_proxies, 1);
    assert_int_equal(seen.proxies[0].op, TR_coll_op_other);
    assert_int_equal(seen.nr_dropped, 0);
    leave(&r);
}

static void child_after_parent(void **state)
{
    struct rank r = join_comm(6, 1, 1);
    void *launch = play_allreduce(&r.p, r.context, 1, 5, 8, 1, -1); /* all of it has stopped */
    assert_int_equal(seen.nr_calls, 1);
    void *op = START(&r.p, r.context, .type = ProxyOp, .parent = launch, .rank = 1, .pid = getpid(), .peer = 0);
    stop(&r, op);
    assert_int_equal(seen.nr_proxies, 1);
    assert_int_equal(seen.proxies[0].ordinal, 5);
    assert_int_equal(seen.proxies[0].op, TR_coll_op_AllReduce);
    assert_int_equal(seen.nr_calls, 1);
    leave(&r);
}

static void stopped_twice(void **state)
{
    struct rank r = join_comm(5, 0, 1);
    void *launch = play_allreduce(&r.p, r.context, 0, 0, 8, 1, -1);
    void *op = START(&r.p, r.context, .type = ProxyOp, .parent = launch, .pid = getpid(), .peer = 0);
    void *step = START(&r.p, r.context, .type = ProxyStep, .parent = op);
    void *kernel = START(&r.p, r.context, .type = KernelCh, .parent = launch, .timer = 100);
    for (int i = 0; i < 2; i++) {
        r.p.state(r.p.profiler, kernel, KernelChStop, 150, true);
        stop(&r, kernel);
        stop(&r, step);
        stop(&r, op);
        stop(&r, launch);
    }
    assert_int_equal(seen.nr_calls, 1);
    assert_int_equal(seen.nr_proxies, 1);
    assert_int_equal(seen.nr_runs, 1);
    assert_null(START(&r.p, r.context, .type = ProxyStep, .parent = op)); /* it is over */
    void *context = r.context;
    leave(&r);
    r.context = context;
    leave(&r);
    assert_int_equal(seen.nr_gone, 1);
}

/* CollNet, and copies by engine: no stop ever comes. Room is found again, and nothing is told that did not happen. */
static void missing_stops(void **state)
{
    struct rank r = join_comm(5, 0, 1);
    void *launch = play_allreduce(&r.p, r.context, 0, 0, 8, 1, -1);
    for (unsigned i = 0; i < 100000; i++)
        START(&r.p, r.context, .type = ProxyOp, .parent = launch, .pid = getpid(), .peer = (int)(i % 7));
    seen_tend(now_ns() + 2 * SECOND, false);
    assert_true(seen.nr_dropped > 0);
    assert_int_equal(seen.nr_proxies, 0);
    seen_tend(now_ns() + 100 * SECOND, false);
    assert_int_equal(seen.nr_proxies, 0);
    leave(&r);

    /* A step's missing stop does not hold up those after it. */
    r = join_comm(5, 0, 2);
    seen_forget();
    ops.next = 0;
    memset(ops.base, 0, (size_t)ops.nr * ops.size); /* as after a minute */
    launch = play_allreduce(&r.p, r.context, 0, 0, 8, 1, -1);
    void *op = START(&r.p, r.context, .type = ProxyOp, .parent = launch, .pid = getpid(), .peer = 1);
    for (int i = 0; i < 100; i++) {
        void *step = START(&r.p, r.context, .type = ProxyStep, .parent = op, .step = i);
        assert_non_null(step);
        r.p.state(r.p.profiler, step, RecvWait, 12345, true); /* a size left over from another step */
        r.p.state(r.p.profiler, step, RecvFlushWait, 10, true);
        if (i % 3)
            stop(&r, step);
    }
    stop(&r, op);
    assert_int_equal(seen.nr_proxies, 1);
    assert_int_equal(seen.proxies[0].size_bytes, 1000);
    leave(&r);
}

static void broadcast_without_launch(void **state)
{
    struct rank r = join_comm(6, 0, 1);
    for (int i = 0; i < 3; i++) {
        void *g = START(&r.p, r.context, .type = GroupApi);
        stop(&r, START(&r.p, r.context, .type = CollApi, .parent = g, .func = "Broadcast", .count = 5,
                       .datatype = "ncclInt32", .peer = 2));
        stop(&r, g);
    }
    assert_int_equal(seen.nr_calls, 0); /* it may yet come, on another thread */
    seen_tend(now_ns() + 10 * SECOND, false);
    assert_int_equal(seen.nr_calls, 3);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(seen.calls[i].op, TR_coll_op_Broadcast);
        assert_int_equal(seen.calls[i].peer, 2);
        assert_false(seen.calls[i].ran);
        assert_int_equal(seen.calls[i].ordinal - seen.calls[0].ordinal, i);
    }
    leave(&r);
}

/* Non-blocking communicators: launched after the group's end was told, on another thread. */
static void launched_late(void **state)
{
    struct rank r = join_comm(5, 0, 1);
    void *g = START(&r.p, r.context, .type = GroupApi);
    void *api = START(&r.p, r.context, .type = CollApi, .parent = g, .func = "Reduce", .count = 5,
                      .datatype = "Unknown", .peer = 1); /* what NCCL calls ncclUint8 */
    stop(&r, api);
    stop(&r, g);
    assert_int_equal(seen.nr_calls, 0);
    stop(&r, START(&r.p, r.context, .type = Coll, .parent = api, .func = "Reduce", .count = 5, .seq = 3,
                   .datatype = "Unknown", .peer = 1, .algo = "TREE", .proto = "LL"));
    assert_int_equal(seen.nr_calls, 1);
    assert_int_equal(seen.calls[0].ordinal, 3);
    assert_int_equal(seen.calls[0].peer, 1);
    assert_int_equal(seen.calls[0].type, 255);
    leave(&r);
}

static void time_of_steps(void **state)
{
    struct rank r = join_comm(5, 0, 1);
    void *launch = play_allreduce(&r.p, r.context, 0, 0, 8, 1, -1);
    void *op = START(&r.p, r.context, .type = ProxyOp, .parent = launch, .pid = getpid(), .peer = 1, .is_send = 1);
    void *a = START(&r.p, r.context, .type = ProxyStep, .parent = op, .step = 0);
    r.p.state(r.p.profiler, a, SendGPUWait, 0, true);
    void *b = START(&r.p, r.context, .type = ProxyStep, .parent = op, .step = 1);
    r.p.state(r.p.profiler, b, SendGPUWait, 0, true);
    usleep(2000);
    r.p.state(r.p.profiler, a, SendPeerWait, 0, true);
    usleep(1000);
    r.p.state(r.p.profiler, a, SendWait, 64, true);
    usleep(1000);
    stop(&r, a);
    r.p.state(r.p.profiler, b, SendWait, 32, true);
    stop(&r, b);
    stop(&r, op);
    assert_int_equal(seen.nr_proxies, 1);
    const struct tr_nccl_proxy *p = &seen.proxies[0];
    assert_int_equal(p->size_bytes, 96);
    assert_true(p->gpu_ns >= 2000000 && p->peer_ns >= 1000000 && p->net_ns >= 1000000);
    assert_true(p->gpu_ns + p->peer_ns + p->net_ns <= p->dur_ns); /* though steps overlap */
    leave(&r);
}

/* The GPU's clock has another zero and drifts; times that make no sense are not told. */
static void gpu_times(void **state)
{
    struct rank r = join_comm(6, 0, 1);
    void *launch = play_allreduce(&r.p, r.context, 0, 7, 8, 1, -1);
    const uint64_t zero = 1796070766254288895ull;
    for (int i = 0; i < 3; i++) {
        uint64_t gpu = now_ns() + zero;
        void *k = START(&r.p, r.context, .type = KernelCh, .parent = launch, .channel = 5, .timer = gpu - 50000);
        if (i == 0)
            usleep(3000); /* looked at late: told late */
        r.p.state(r.p.profiler, k, KernelChStop, gpu, true);
        stop(&r, k);
    }
    assert_int_equal(seen.nr_runs, 3);
    uint64_t now = now_ns();
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(seen.runs[i].dur_ns, 50000);
        assert_int_equal(seen.runs[i].channel, 5);
        assert_int_equal(seen.runs[i].ordinal, 7);
        assert_true(seen.runs[i].start_ns < now && now - seen.runs[i].start_ns < SECOND * 60);
    }
    /* the second and third were told at once: nothing of the first one's delay is in them */
    assert_true(seen.runs[2].start_ns + 50000 <= now);

    seen_forget();
    void *k = START(&r.p, r.context, .type = KernelCh, .parent = launch, .timer = zero);
    r.p.state(r.p.profiler, k, KernelChStop, zero - 5, true); /* another's slot */
    stop(&r, k);
    assert_null(START(&r.p, r.context, .type = KernelCh, .parent = launch, .timer = 0));
    k = START(&r.p, r.context, .type = KernelCh, .parent = launch, .timer = zero);
    r.p.state(r.p.profiler, k, KernelChStop, zero + 1, false);
    stop(&r, k);
    assert_int_equal(seen.nr_runs, 0);
    leave(&r);
}

/* RCCL's version 6: operations have more behind what NVIDIA's have, bit 15 is another type, state 31 comes with more.
 */
static void rccl(void **state)
{
    struct rank r = join_comm(6, 0, 1);
    const struct profiler_v6 *raw = r.p.profiler;
    void *launch = play_allreduce(&r.p, r.context, 0, 3, 8, 1, -1), *op = UNWRITTEN, *diag = UNWRITTEN;
    struct descr_v6 d = {.type = ProxyOp, .parentObj = launch};
    memset(&d.proxyOpRccl, 0xee, sizeof(d.proxyOpRccl));
    d.proxyOp = (struct proxy_op){getpid(), 0, 1, 4, 1 << 17, 1};
    assert_int_equal(raw->startEvent(r.context, &op, &d), 0);
    struct descr_v6 other = {.type = 0x8000, .parentObj = op};
    memset(&other.ceColl, 0xee, sizeof(other.ceColl));
    assert_int_equal(raw->startEvent(r.context, &diag, &other), 0);
    assert_null(diag);
    uint64_t diagnosis[3] = {~0ull, ~0ull, ~0ull};
    for (int i = 0; i < 40; i++)
        assert_int_equal(raw->recordEventState(op, i, (union args_v4 *)diagnosis), 0);
    stop(&r, op);
    assert_int_equal(seen.nr_proxies, 1);
    assert_int_equal(seen.proxies[0].ordinal, 3);
    assert_int_equal(seen.proxies[0].steps, 4);
    assert_int_equal(seen.proxies[0].size_bytes, 0); /* states of operations have no sizes from version 4 on */
    leave(&r);
}

/* A communicator of one rank is made and destroyed; nothing is ever told of its calls. */
static void one_rank(void **state)
{
    struct player p = player_of(5, profilers[4]);
    void *context = NULL;
    unsigned first = atomic_load(&seen.nr_comms);
    p.init(p.profiler, &context, &mask, 9, NULL, 1, 1, 0);
    assert_int_equal(seen.comms[first].nranks, 1);
    assert_null(seen.comms[first].name);
    p.finalize(p.profiler, context);
    assert_int_equal(seen.nr_gone, 1);
    assert_int_equal(seen.nr_calls, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {T(foreign_process),
                                       T(foreign_words),
                                       T(nothing_given),
                                       T(unwritten_handles),
                                       T(stale_parents),
                                       T(reused_records),
                                       T(child_after_parent),
                                       T(stopped_twice),
                                       T(missing_stops),
                                       T(broadcast_without_launch),
                                       T(launched_late),
                                       T(time_of_steps),
                                       T(gpu_times),
                                       T(rccl),
                                       T(one_rank)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
