/* nccl_cost.c - what the profiler plugin's callbacks cost, in ns: the plugin of NCCL_PROFILER_PLUGIN against callbacks
 * that do nothing, in turns; the best of several rounds of each. One line a case: its name, callbacks of one round's
 * unit, ns of a unit with empty callbacks, ns with the plugin.
 *
 *   nccl_cost LOOPS
 *
 * bench/nccl.py runs it without a session, recorded, and recorded in full. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "tests/plugin/player.h"

enum { ROUNDS = 7 };
static pid_t own_pid;

static int empty_init(INIT_V5)
{
    *context = context;
    *mask = 0;
    return 0;
}
static int empty_start(void *context, void **handle, struct descr_v5 *descr)
{
    *handle = handle;
    return 0;
}
static int empty_state(void *handle, int state, union args_v4 *args)
{
    return 0;
}
static int empty_stop(void *handle)
{
    return 0;
}
static const struct profiler_v5 empty = {"empty", empty_init, empty_start, empty_stop, empty_state, empty_stop};

static uint64_t now_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* A collective's calls and launch, and nothing of the proxy's. */
static void play_call(const struct player *p, void *context, void *unused, uint64_t i)
{
    play_allreduce(p, context, 0, i, 1000, 1, -1);
}

/* The proxy's work on one channel, both ways, steps apart. */
static void play_ops(const struct player *p, void *context, void *launch, uint64_t i)
{
    for (int is_send = 0; is_send < 2; is_send++) {
        void *op = START(p, context, .type = ProxyOp, .parent = launch, .pid = own_pid, .peer = 1, .steps = 4,
                         .is_send = is_send);
        p->state(p->profiler, op, OpInProgress, 0, true);
        p->stop(p->profiler, op);
    }
}

static void *open_op;

static void play_step(const struct player *p, void *context, void *launch, uint64_t i)
{
    if (i % 64 == 0) {
        if (i)
            p->stop(p->profiler, open_op);
        open_op = START(p, context, .type = ProxyOp, .parent = launch, .pid = own_pid, .peer = 1, .is_send = 1);
    }
    void *step = START(p, context, .type = ProxyStep, .parent = open_op, .step = (int)i);
    p->state(p->profiler, step, SendGPUWait, 0, true);
    p->state(p->profiler, step, SendPeerWait, 0, true);
    p->state(p->profiler, step, SendWait, 4096, true);
    p->stop(p->profiler, step);
}

struct side {
    struct player player;
    void *context;
    double best_ns;
};

static void measure(const char *what, int callbacks, unsigned loops, struct side side[2],
                    void (*play)(const struct player *, void *, void *, uint64_t))
{
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < 2; i++) {
            struct side *s = &side[(i + round) % 2];
            void *launch = play_allreduce(&s->player, s->context, 0, 0, 1000, 1, -1);
            uint64_t begin_ns = now_ns();
            for (unsigned n = 0; n < loops; n++)
                play(&s->player, s->context, launch, n);
            double ns = (double)(now_ns() - begin_ns) / loops;
            if (round == 0 || ns < s->best_ns)
                s->best_ns = ns;
            usleep(20000); /* the consumer empties the buffers */
        }
    printf("%s %d %.1f %.1f\n", what, callbacks, side[0].best_ns, side[1].best_ns);
}

int main(int argc, char **argv)
{
    const char *path = getenv("NCCL_PROFILER_PLUGIN");
    void *lib = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    void *profiler = lib ? dlsym(lib, "ncclProfiler_v5") : NULL;
    unsigned loops = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 1000;
    int mask[2] = {0, 0};
    own_pid = getpid();
    if (!profiler)
        return 2;
    struct side side[2] = {{player_of(5, &empty), NULL, 0}, {player_of(5, profiler), NULL, 0}};
    for (int i = 0; i < 2; i++)
        side[i].player.init(side[i].player.profiler, &side[i].context, &mask[i], 1, "bench", 2, 2, 0);
    measure("call", 14, loops, side, play_call);
    measure("ops", 6, loops, side, play_ops);
    measure("step", 5, loops, side, play_step);
    for (int i = 0; i < 2; i++)
        side[i].player.finalize(side[i].player.profiler, side[i].context);
    return 0;
}
