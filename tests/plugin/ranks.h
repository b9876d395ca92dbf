/* ranks.h - what tests that play NCCL to the plugin share: all versions' symbols, and ranks that join and leave. */
#ifndef TESTS_PLUGIN_RANKS_H
#define TESTS_PLUGIN_RANKS_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "plugin/plugin.h"
#include "tests/plugin/core_seen.h"
#include "tests/plugin/player.h"

extern const char ncclProfiler_v1, ncclProfiler_v2, ncclProfiler_v3, ncclProfiler_v4, ncclProfiler_v5, ncclProfiler_v6,
    ncclProfiler_v7;
static const void *const profilers[] = {&ncclProfiler_v1, &ncclProfiler_v2, &ncclProfiler_v3, &ncclProfiler_v4,
                                        &ncclProfiler_v5, &ncclProfiler_v6, &ncclProfiler_v7};

struct rank {
    struct player p;
    void *context;
    int rank;
};

static int mask; /* NCCL has one for the process */

static inline struct rank join_comm(int version, int rank, uint64_t hash)
{
    struct rank r = {player_of(version, profilers[version - 1]), UNWRITTEN, rank};
    assert_int_equal(r.p.init(r.p.profiler, &r.context, &mask, hash, "dp0", 2, 2, rank), 0);
    assert_non_null(r.context);
    assert_ptr_not_equal(r.context, UNWRITTEN);
    return r;
}

static inline void leave(struct rank *r)
{
    assert_int_equal(r->p.finalize(r->p.profiler, r->context), 0);
}

static inline void stop(const struct rank *r, void *handle)
{
    assert_int_equal(r->p.stop(r->p.profiler, handle), 0);
}

static inline int forget(void **state)
{
    seen_forget();
    seen_calls_on = seen_proxies_on = seen_channels_on = 1;
    return 0;
}

#define T(f) cmocka_unit_test_setup(f, forget)

#endif
