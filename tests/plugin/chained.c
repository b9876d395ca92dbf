/* chained.c - a profiler plugin to chain to: built by chain.t for the versions that CHAINED_VN are defined for. Writes
 * what it is told to the file CHAINED_LOG and checks that every handle and context it gets back is one of its own. Asks
 * for what CHAINED_MASK says. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/plugin/abi.h"

#define MAGIC 0x7368696dabcdull

struct event {
    uint64_t magic;
    uint64_t type;
    int stopped;
};

static FILE *out(void)
{
    static FILE *file;
    if (!file)
        file = fopen(getenv("CHAINED_LOG"), "a");
    setvbuf(file, NULL, _IOLBF, 0);
    return file;
}

static const char *name_of(const void *event)
{
    static const char *const names[] = {"Group",    "Coll",   "P2p",      "ProxyOp", "ProxyStep", "ProxyCtrl",
                                        "KernelCh", "Net",    "GroupApi", "CollApi", "P2pApi",    "KernelLaunch",
                                        "CeColl",   "CeSync", "CeBatch",  "Phase"};
    const struct event *e = event;
    if (!e)
        return "-";
    if (e->magic != MAGIC)
        return "FOREIGN";
    return e->type && __builtin_ctzll(e->type) < 16 ? names[__builtin_ctzll(e->type)] : "?";
}

static int open_context(void **context, int *mask, int rank)
{
    struct event *e = calloc(1, sizeof(*e));
    e->magic = MAGIC;
    *context = e;
    *mask = (int)strtol(getenv("CHAINED_MASK"), NULL, 0);
    fprintf(out(), "init rank=%d\n", rank);
    return 0;
}

static int start(void *context, void **handle, uint64_t type, void *parent, const char *func, uint64_t count)
{
    struct event *e = calloc(1, sizeof(*e)), *c = context;
    e->magic = MAGIC;
    e->type = type;
    *handle = e;
    fprintf(out(), "start %s parent=%s func=%s count=%llu%s\n", name_of(e), name_of(parent), func ? func : "-",
            (unsigned long long)count, !c || c->magic != MAGIC ? " FOREIGN CONTEXT" : "");
    return 0;
}

static int state(void *handle, int nr, uint64_t value, int has_args)
{
    fprintf(out(), "state %s %d %s\n", name_of(handle), nr, has_args ? "args" : "none");
    return 0;
}

static int stop(void *handle)
{
    struct event *e = handle;
    fprintf(out(), "stop %s%s\n", name_of(handle), e->stopped++ ? " TWICE" : "");
    return 0;
}

static int finalize(void *context)
{
    const struct event *c = context;
    fprintf(out(), "finalize%s\n", c->magic == MAGIC ? "" : " FOREIGN");
    return 0;
}

#ifdef CHAINED_V3
static int init3(INIT_V1)
{
    return open_context(context, mask, -1);
}
static int start3(void *context, void **handle, struct descr_v3 *d)
{
    return start(context, handle, d->type, d->parentObj, d->type == Coll ? d->coll.func : NULL,
                 d->type == Coll ? d->coll.count : 0);
}
static int state3(void *handle, int nr, union args_v1 *args)
{
    return state(handle, nr, args ? args->proxyOp.transSize : 0, args != NULL);
}
const struct profiler_v3 ncclProfiler_v3 = {"chained", init3, start3, stop, state3, finalize};
#endif

#ifdef CHAINED_V5
static int init5(INIT_V5)
{
    return open_context(context, mask, rank);
}
static int start5(void *context, void **handle, struct descr_v5 *d)
{
    const char *func = d->type == Coll ? d->coll.func : d->type == CollApi ? d->collApi.func : NULL;
    return start(context, handle, d->type, d->parentObj, func,
                 d->type == Coll      ? d->coll.count
                 : d->type == CollApi ? d->collApi.count
                                      : 0);
}
static int state5(void *handle, int nr, union args_v4 *args)
{
    return state(handle, nr, args ? args->proxyStep.transSize : 0, args != NULL);
}
const struct profiler_v5 ncclProfiler_v5 = {"chained", init5, start5, stop, state5, finalize};
#endif

#ifdef CHAINED_FAILS
static int init5(INIT_V5)
{
    *mask = 0xfff;
    return 3;
}
static int start5(void *context, void **handle, struct descr_v5 *d)
{
    fprintf(out(), "start of what was not made\n");
    return start(context, handle, d->type, d->parentObj, NULL, 0);
}
static int state5(void *handle, int nr, union args_v4 *args)
{
    return state(handle, nr, 0, args != NULL);
}
const struct profiler_v5 ncclProfiler_v5 = {"chained", init5, start5, stop, state5, finalize};
#endif
