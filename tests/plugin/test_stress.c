/* test_stress.c - eight threads that do to the plugin what NCCL does and what it should not, at random: any type,
 * parents that are stale, of other kinds, garbage or another process's, stops that are missing or come twice or from
 * another thread, communicators that come and go, listeners that come and go, the tender at its work all the while.
 * Nothing may crash (the sanitizers look too), what is told must make sense, and afterwards all must work as before.
 *
 * test_stress [EVENTS [SEED]] */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "plugin/plugin.h"
#include "tests/plugin/core_seen.h"
#include "tests/plugin/player.h"

#define NR_THREADS 8
#define NR_SHARED 512 /* handles that threads take from each other */

extern const char ncclProfiler_v1, ncclProfiler_v2, ncclProfiler_v3, ncclProfiler_v4, ncclProfiler_v5, ncclProfiler_v6,
    ncclProfiler_v7;
static const void *const profilers[] = {&ncclProfiler_v1, &ncclProfiler_v2, &ncclProfiler_v3, &ncclProfiler_v4,
                                        &ncclProfiler_v5, &ncclProfiler_v6, &ncclProfiler_v7};

static unsigned long nr_events = 1000000, seed = 1;
static _Atomic(void *) shared[NR_SHARED];
static atomic_bool over;
static atomic_uint started, launches, sane_handles;
static int mask;

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* A handle from anywhere: one of somebody's, nothing, an address, garbage, one with a bit wrong. */
static void *any_handle(uint64_t *random)
{
    uint64_t r = next_random(random);
    void *h = atomic_load(&shared[r % NR_SHARED]);
    switch (r >> 32 & 15) {
    case 0:
        return NULL;
    case 1:
        return (void *)(uintptr_t)next_random(random);
    case 2:
        return (void *)((uintptr_t)h ^ 1ull << (r >> 40 & 63));
    case 3:
        return random; /* an address that is mapped */
    default:
        return h;
    }
}

static void *start_any(const struct player *p, void *context, uint64_t *random)
{
    static const char *const funcs[] = {"AllReduce", "AllGather", "Broadcast", "Send", "Recv", NULL, "New", "Reduce"};
    static const char *const types[] = {"ncclFloat32", "ncclInt8", "Unknown", NULL};
    static const uint64_t kinds[] = {Group,     Coll,         P2p,      ProxyOp,   ProxyOp,  ProxyStep,
                                     ProxyStep, ProxyCtrl,    KernelCh, NetPlugin, GroupApi, CollApi,
                                     P2pApi,    KernelLaunch, CeColl,   1 << 20};
    uint64_t r = next_random(random);
    struct play e = {
        .type = kinds[r % 16],
        .parent = any_handle(random),
        .parent_group = any_handle(random),
        .seq = r >> 8 & 1023,
        .count = r >> 16,
        .func = funcs[r >> 4 & 7],
        .datatype = types[r >> 7 & 3],
        .algo = "RING",
        .proto = "LL",
        .peer = (int)(r >> 20 & 7),
        .channels = r >> 24 & 3,
        .captured = (r >> 26 & 7) == 0,
        .pid = (r >> 29 & 3) ? getpid() : getpid() + 1,
        .channel = (int)(r >> 31 & 31),
        .steps = (int)(r >> 36 & 15),
        .is_send = r >> 40 & 1,
        .step = (int)(r >> 41 & 15),
        .timer = r >> 45 & 255, /* a stop has up to 2^24 */
    };
    if (p->version < 5)
        e.type &= 0xff;
    if (e.type == Coll || e.type == P2p || e.type == CeColl || e.type == CollApi || e.type == P2pApi)
        atomic_fetch_add(&launches, 1);
    return play_start(p, context, e);
}

static void *play_at_random(void *arg)
{
    uint64_t random = seed * 0x9E3779B97F4A7C15ull + (uintptr_t)arg * 0xBF58476D1CE4E5B9ull + 1;
    int version = 1 + (int)((uintptr_t)arg % 7);
    struct player p = player_of(version, profilers[version - 1]);
    void *context = NULL;
    p.init(p.profiler, &context, &mask, 5, "stress", 2, 8, (int)(uintptr_t)arg);
    while (atomic_fetch_add(&started, 1) < nr_events) {
        uint64_t r = next_random(&random);
        void *h;
        switch (r & 7) {
        case 0:
        case 1:
        case 2:
            h = start_any(&p, (r >> 8 & 15) ? context : any_handle(&random), &random);
            if (h != UNWRITTEN)
                atomic_fetch_add(&sane_handles, 1);
            atomic_store(&shared[r >> 16 & (NR_SHARED - 1)], h);
            break;
        case 3:
        case 4:
            p.state(p.profiler, any_handle(&random), (int)(r >> 8 & 31), next_random(&random) >> 40, r >> 16 & 3);
            break;
        case 5:
        case 6:
            p.stop(p.profiler, any_handle(&random));
            break;
        default:
            if ((r >> 8 & 511) == 0) { /* another communicator */
                p.finalize(p.profiler, (r >> 20 & 3) ? context : any_handle(&random));
                p.init(p.profiler, &context, &mask, r, (r >> 21 & 1) ? "again" : NULL, 2, 8, 3);
            } else if ((r >> 8 & 15) == 1) {
                atomic_fetch_add(&launches, 2);
                play_allreduce(&p, context, 1, r, 8, (int)(r >> 40 & 7), (int)(r >> 50 & 3));
            }
        }
    }
    p.finalize(p.profiler, context);
    return NULL;
}

static void *tend_at_random(void *arg)
{
    uint64_t random = seed + 77, now = now_ns();
    while (!atomic_load(&over)) {
        uint64_t r = next_random(&random);
        __atomic_store_n(&seen_calls_on, (r & 7) != 0, __ATOMIC_RELAXED);
        __atomic_store_n(&seen_proxies_on, (r >> 3 & 7) != 0, __ATOMIC_RELAXED);
        __atomic_store_n(&seen_channels_on, (r >> 6 & 1) != 0, __ATOMIC_RELAXED);
        now += r >> 32; /* its clock runs ahead: a minute passes in no time */
        seen_tend(now, false);
        usleep(200);
    }
    return NULL;
}

static void stress(void **state)
{
    pthread_t threads[NR_THREADS], tender;
    uint64_t begin_ns = now_ns();
    struct player first = player_of(7, profilers[6]); /* decides which version a chained plugin is spoken to in */
    void *context = NULL;
    first.init(first.profiler, &context, &mask, 4, NULL, 1, 1, 0);
    first.finalize(first.profiler, context);
    assert_int_equal(pthread_create(&tender, NULL, tend_at_random, NULL), 0);
    for (uintptr_t i = 0; i < NR_THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, play_at_random, (void *)i), 0);
    for (int i = 0; i < NR_THREADS; i++)
        pthread_join(threads[i], NULL);
    atomic_store(&over, true);
    pthread_join(tender, NULL);
    uint64_t end_ns = now_ns();

    assert_true(atomic_load(&sane_handles) > nr_events / 4); /* every start wrote its handle */
    assert_true(seen.nr_calls <= atomic_load(&launches));    /* none twice; how many depends on who listened when */
    for (unsigned i = 0; i < seen.nr_calls && i < NR_SEEN; i++) {
        const struct nccl_told_call *c = &seen.calls[i];
        assert_true(c->start_ns >= begin_ns && c->end_ns <= end_ns && c->start_ns <= c->end_ns);
        assert_true(c->op < TR_coll_op_MAX && c->algo < TR_coll_algo_MAX && c->proto < TR_coll_proto_MAX);
        assert_true(c->nr <= seen.nr_comms);
    }
    for (unsigned i = 0; i < seen.nr_proxies && i < NR_SEEN; i++) {
        const struct tr_nccl_proxy *p = &seen.proxies[i];
        assert_true(p->start_ns >= begin_ns && p->start_ns + p->dur_ns <= end_ns);
        assert_true(p->channels > 0 && p->nr <= seen.nr_comms);
        assert_true(p->gpu_ns + p->peer_ns + p->net_ns <= p->dur_ns);
    }
    print_message("# %lu events: %u calls, %u proxy works, %u channels told, %u dropped\n", nr_events, seen.nr_calls,
                  seen.nr_proxies, seen.nr_runs, seen.nr_dropped);
}

static void works_as_before(void **state)
{
    __atomic_store_n(&seen_calls_on, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&seen_proxies_on, 1, __ATOMIC_RELAXED);
    for (int v = 1; v <= 7; v++) {
        struct player p = player_of(v, profilers[v - 1]);
        void *context = NULL;
        p.init(p.profiler, &context, &mask, 6, "after", 2, 2, 0);
        seen_forget();
        for (uint64_t i = 0; i < 100; i++)
            play_allreduce(&p, context, 0, i, 64, 2, 1);
        seen_tend(now_ns() + SECOND * 10, false);
        assert_int_equal(seen.nr_calls, 100);
        for (unsigned i = 0; i < 100; i++)
            assert_int_equal(seen.calls[i].ordinal, i);
        p.finalize(p.profiler, context);
    }
}

int main(int argc, char **argv)
{
    if (argc > 1)
        nr_events = strtoul(argv[1], NULL, 10);
    if (argc > 2)
        seed = strtoul(argv[2], NULL, 10);
    const struct CMUnitTest tests[] = {cmocka_unit_test(stress), cmocka_unit_test(works_as_before)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
