/* test_plugin.c - what the plugin tells the core of what NCCL does, in all versions of the interface, what it asks for,
 * and how it lives. */
#include "tests/plugin/ranks.h"

/* ---- each version ------------------------------------------------------------------------------------------------ */

static void allreduces(void **state)
{
    for (int v = 1; v <= 7; v++) {
        seen_forget();
        unsigned first = atomic_load(&seen.nr_comms);
        struct rank r[2] = {join_comm(v, 0, 0xabc), join_comm(v, 1, 0xabc)};
        assert_int_equal(atomic_load(&seen.nr_comms) - first, 2);
        if (v >= 4) {
            assert_int_equal(seen.comms[first + 1].id, 0xabc);
            assert_int_equal(seen.comms[first + 1].rank, 1);
            assert_int_equal(seen.comms[first + 1].nranks, 2);
            assert_int_equal(seen.comms[first + 1].nodes, 2);
        } else {
            assert_int_equal(seen.comms[first + 1].rank, -1);
        }
        for (uint64_t seq = 0; seq < 3; seq++)
            for (int i = 0; i < 2; i++)
                play_allreduce(&r[i].p, r[i].context, i, seq, 1024, 2, 1 - i);

        assert_int_equal(seen.nr_calls, 6);
        for (unsigned i = 0; i < 6; i++) {
            const struct nccl_told_call *c = &seen.calls[i];
            assert_int_equal(c->nr, first + 1 + i % 2);
            assert_int_equal(c->op, TR_coll_op_AllReduce);
            assert_int_equal(c->algo, TR_coll_algo_Ring);
            assert_int_equal(c->proto, TR_coll_proto_Simple);
            assert_int_equal(c->type, 7);
            assert_int_equal(c->channels, 2);
            assert_int_equal(c->count, 1024);
            assert_int_equal(c->ordinal, i / 2);
            assert_int_equal(c->peer, -1);
            assert_int_equal(c->group, 0);
            assert_true(c->ran && !c->captured && c->called == (v >= 5));
            assert_true(c->start_ns <= c->end_ns && (v < 5 || c->start_ns < c->end_ns));
            assert_non_null(c->send);
            assert_non_null(c->recv);
        }
        /* Two channels each way to one peer: joined into one event a direction. */
        assert_int_equal(seen.nr_proxies, 12);
        for (unsigned i = 0; i < 12; i++) {
            const struct tr_nccl_proxy *p = &seen.proxies[i];
            assert_int_equal(p->channels, 2);
            assert_int_equal(p->steps, 8);
            assert_int_equal(p->op, TR_coll_op_AllReduce);
            assert_int_equal(p->nr, first + 1 + i / 2 % 2);
            assert_int_equal(p->peer, 1 - (int)(i / 2 % 2));
            assert_int_equal(p->ordinal, i / 4);
            assert_int_equal(p->size_bytes, v <= 3 ? 2000 : 0);
        }
        assert_int_equal(seen.nr_is, v <= 3 ? 2 : 0);
        if (v <= 3) {
            assert_int_equal(seen.is[1].id, 0xc0ffee);
            assert_int_equal(seen.is[1].rank, 1);
        }
        leave(&r[0]);
        leave(&r[1]);
        assert_int_equal(seen.nr_gone, 2);
        assert_int_equal(seen.nr_dropped, 0);
    }
}

static void sends(void **state)
{
    for (int v = 1; v <= 7; v++) {
        seen_forget();
        struct rank r = join_comm(v, 1, 0xabd);
        char buffer[8];
        for (unsigned round = 0; round < 2; round++) {
            void *api_group = NULL, *api[2] = {NULL, NULL}, *group;
            const char *const names[] = {"Send", "Recv"};
            if (v >= 5)
                api_group = START(&r.p, r.context, .type = GroupApi);
            for (int i = 0; v >= 5 && i < 2; i++) {
                api[i] = START(&r.p, r.context, .type = P2pApi, .parent = api_group, .func = names[i], .count = 4,
                               .datatype = "ncclInt64");
                stop(&r, api[i]);
            }
            group = START(&r.p, r.context, .type = Group);
            for (int i = 0; i < 2; i++)
                stop(&r, START(&r.p, r.context, .type = P2p, .parent = v >= 5 ? api[i] : group, .parent_group = group,
                               .rank = 1, .func = names[i], .count = 4, .datatype = "ncclInt64", .recv = buffer,
                               .peer = 0, .channels = 3));
            stop(&r, group);
            stop(&r, api_group);
        }
        assert_int_equal(seen.nr_calls, 4);
        for (unsigned i = 0; i < 4; i++) {
            const struct nccl_told_call *c = &seen.calls[i];
            bool is_send = i % 2 == 0;
            assert_int_equal(c->op, is_send ? TR_coll_op_Send : TR_coll_op_Recv);
            assert_int_equal(c->peer, 0);
            assert_int_equal(c->type, 4);
            assert_int_equal(c->ordinal, i / 2); /* of this peer and way */
            assert_int_equal(c->group, seen.calls[i ^ 1].group);
            assert_int_not_equal(c->group, 0);
            assert_ptr_equal(is_send ? c->send : c->recv, buffer);
            assert_null(is_send ? c->recv : c->send);
            assert_int_equal(c->channels, v >= 5 ? 3 : 0); /* v4: newer NCCL's adaptor does not set it */
        }
        assert_int_not_equal(seen.calls[0].group, seen.calls[2].group);
        leave(&r);
    }
}

/* Count and type as the user gave them, of an operation that NCCL runs in bytes. */
static void users_count(void **state)
{
    struct rank r = join_comm(5, 0, 1);
    void *g = START(&r.p, r.context, .type = GroupApi);
    void *api = START(&r.p, r.context, .type = CollApi, .parent = g, .func = "AllGather", .count = 100,
                      .datatype = "ncclFloat16");
    stop(&r, api);
    stop(&r, START(&r.p, r.context, .type = Coll, .parent = api, .func = "AllGather", .count = 200,
                   .datatype = "ncclInt8", .channels = 1, .algo = "NVLS", .proto = "LL"));
    stop(&r, g);
    assert_int_equal(seen.nr_calls, 1);
    assert_int_equal(seen.calls[0].count, 100);
    assert_int_equal(seen.calls[0].type, 6);
    assert_int_equal(seen.calls[0].algo, TR_coll_algo_NVLS);
    assert_int_equal(seen.calls[0].proto, TR_coll_proto_LL);
    leave(&r);
}

static void copy_engine_and_symmetric(void **state)
{
    struct rank r = join_comm(7, 0, 1);
    void *g = START(&r.p, r.context, .type = GroupApi);
    void *api = START(&r.p, r.context, .type = CollApi, .parent = g, .func = "AlltoAll", .count = 10,
                      .datatype = "ncclFloat32");
    void *ce = START(&r.p, r.context, .type = CeColl, .parent = api, .seq = 4, .func = "AlltoAll", .count = 40,
                     .datatype = "ncclInt8");
    assert_null(START(&r.p, r.context, .type = CeSync, .parent = ce));
    assert_null(START(&r.p, r.context, .type = CeBatch, .parent = ce));
    stop(&r, ce);
    void *api2 = START(&r.p, r.context, .type = CollApi, .parent = g, .func = "AllReduce", .count = 10,
                       .datatype = "ncclFloat32");
    stop(&r, START(&r.p, r.context, .type = Coll, .parent = api2, .func = "AllReduce", .symmetric = true,
                   .algo = "AGxLL_R", .proto = "", .channels = 8));
    stop(&r, g);
    assert_int_equal(seen.nr_calls, 2);
    assert_int_equal(seen.calls[0].algo, TR_coll_algo_CE);
    assert_int_equal(seen.calls[0].op, TR_coll_op_AlltoAll);
    assert_int_equal(seen.calls[0].ordinal, 4);
    assert_int_equal(seen.calls[1].algo, TR_coll_algo_symmetric);
    assert_int_equal(seen.calls[0].group, seen.calls[1].group);
    leave(&r);
}

/* ---- the mask ---------------------------------------------------------------------------------------------------- */

static void asked_for(void **state)
{
    static const int want[] = {0, 0xe, 0xe, 0xe, 0xe, 0x60e, 0x160e, 0x160e};
    seen_channels_on = 0;
    for (int v = 1; v <= 7; v++) {
        mask = 0x55;
        struct rank r = join_comm(v, 0, 1);
        assert_int_equal(mask, want[v]);
        seen_channels_on = 1; /* level full */
        seen_tend(now_ns(), false);
        assert_int_equal(mask, want[v] | 0x10);
        seen_channels_on = seen_calls_on = seen_proxies_on = 0; /* nobody listens: NCCL calls nothing */
        seen_tend(now_ns(), false);
        assert_int_equal(mask, 0);
        seen_calls_on = seen_proxies_on = 1;
        seen_tend(now_ns(), false);
        assert_int_equal(mask, want[v]);
        leave(&r);
        /* libnccl may be unmapped now: its mask is let alone */
        mask = 0x77;
        seen_tend(now_ns(), false);
        assert_int_equal(mask, 0x77);
    }
}

/* Two copies of NCCL, each with a mask; and somebody else who changes one. */
static void two_masks(void **state)
{
    int masks[2] = {0, 0};
    struct player p = player_of(7, profilers[6]), old = player_of(3, profilers[2]);
    void *context[3];
    seen_channels_on = 0;
    p.init(p.profiler, &context[0], &masks[0], 1, NULL, 1, 2, 0);
    old.init(old.profiler, &context[1], &masks[1], 0, NULL, 0, -1, -1);
    p.init(p.profiler, &context[2], &masks[0], 2, NULL, 1, 2, 0);
    assert_int_equal(masks[0], 0x160e);
    assert_int_equal(masks[1], 0xe);
    masks[0] = 0x40; /* NCCL's own client */
    seen_tend(now_ns(), false);
    assert_int_equal(masks[0], 0x40);
    seen_calls_on = 0;
    seen_tend(now_ns(), false);
    assert_int_equal(masks[0], 8);
    assert_int_equal(masks[1], 8);
    p.finalize(p.profiler, context[0]); /* one of its communicators is left */
    old.finalize(old.profiler, context[1]);
    seen_calls_on = 1;
    seen_tend(now_ns(), false);
    assert_int_equal(masks[0], 0x160e);
    assert_int_equal(masks[1], 8);
    p.finalize(p.profiler, context[2]);
}

/* Switched on in the middle: launches without their calls, operations without their launches. */
static void toggled(void **state)
{
    struct rank r = join_comm(5, 0, 1);
    stop(&r, START(&r.p, r.context, .type = Coll, .parent = NULL, .seq = 9, .func = "AllReduce", .count = 4,
                   .datatype = "ncclFloat32", .algo = "TREE", .proto = "LL"));
    assert_int_equal(seen.nr_calls, 1);
    assert_int_equal(seen.calls[0].ordinal, 9);
    assert_false(seen.calls[0].called);
    void *g = START(&r.p, r.context, .type = GroupApi);
    void *api = START(&r.p, r.context, .type = CollApi, .parent = g, .func = "AllReduce", .count = 4,
                      .datatype = "ncclFloat32");
    seen_calls_on = 0; /* off, with a call open */
    stop(&r, api);
    stop(&r, START(&r.p, r.context, .type = Coll, .parent = api, .seq = 10, .func = "AllReduce", .count = 4));
    stop(&r, g);
    assert_int_equal(seen.nr_calls, 1);
    leave(&r);
}

/* ---- lives ------------------------------------------------------------------------------------------------------- */

static void after_finalize(void **state)
{
    struct rank r = join_comm(5, 0, 1), other = join_comm(5, 1, 1);
    void *launch = play_allreduce(&r.p, r.context, 0, 0, 8, 1, -1);
    leave(&r);
    void *op = START(&r.p, r.context, .type = ProxyOp, .parent = launch, .pid = getpid(), .peer = 1);
    stop(&r, op);
    assert_null(START(&r.p, r.context, .type = ProxyCtrl));
    leave(&other);
}

static void fork_child(void **state)
{
    struct rank r = join_comm(5, 0, 1);
    pid_t child = fork();
    if (child == 0) {
        unsigned before = atomic_load(&seen.nr_calls);
        void *h = play_allreduce(&r.p, r.context, 0, 0, 8, 1, 1);
        void *context = UNWRITTEN;
        int its = 1;
        r.p.init(r.p.profiler, &context, &its, 5, NULL, 1, 2, 0);
        seen_tend(now_ns(), true);
        r.p.finalize(r.p.profiler, r.context);
        _exit(h == NULL && context == NULL && its == 0 && atomic_load(&seen.nr_calls) == before ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    play_allreduce(&r.p, r.context, 0, 0, 8, 1, -1);
    assert_int_equal(seen.nr_calls, 1);
    leave(&r);
}

static void errno_kept(void **state)
{
    struct rank r = join_comm(5, 0, 1);
    errno = 4321;
    play_allreduce(&r.p, r.context, 0, 0, 8, 2, 1);
    assert_int_equal(errno, 4321);
    leave(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {T(allreduces), T(sends),     T(users_count), T(copy_engine_and_symmetric),
                                       T(asked_for),  T(two_masks), T(toggled),     T(after_finalize),
                                       T(fork_child), T(errno_kept)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
