/* nccl_job.c - a job whose NCCL is in itself: loads the plugin of NCCL_PROFILER_PLUGIN as NCCL does, and calls it as
 * NCCL does for two ranks in one process.
 *
 *   nccl_job VERSION COUNT [reload] [threads] [quick] [bare] [forks]
 *
 * COUNT all-reduces of 1000 floats on each rank, with proxy work of two channels to the other one, whatever is asked
 * for. reload: all of it twice, with the plugin closed in between. threads: the communicators are made at once. quick:
 * leaves without destroying them. bare: no proxy work. forks: a child in
 * the middle goes on as if it could, and ends by exit(). Prints the masks. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/plugin/player.h"

static int mask;

struct rank {
    struct player player;
    void *context;
    int rank;
};

static void *make_comm(void *arg)
{
    struct rank *r = arg;
    r->context = UNWRITTEN;
    r->player.init(r->player.profiler, &r->context, &mask, 0x1234567890abcdefull, "dp0", 2, 2, r->rank);
    return NULL;
}

static bool is_given(int argc, char **argv, const char *word)
{
    for (int i = 3; i < argc; i++)
        if (strcmp(argv[i], word) == 0)
            return true;
    return false;
}

/* NCCL does not live in a fork child, but its plugin must not mind. */
static int fork_child(struct rank r[2])
{
    int status = 1;
    pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < 2; i++)
            play_allreduce(&r[i].player, r[i].context, i, 0, 1000, 2, 1 - i);
        usleep(600000); /* a tender, if there were one, would look */
        exit(0);
    }
    return child > 0 && waitpid(child, &status, 0) == child ? status : 1;
}

static int run(int version, unsigned count, bool threads, bool quick, bool bare, bool forks)
{
    char symbol[32];
    void *lib = dlopen(getenv("NCCL_PROFILER_PLUGIN"), RTLD_NOW | RTLD_LOCAL);
    snprintf(symbol, sizeof(symbol), "ncclProfiler_v%d", version);
    void *profiler = lib ? dlsym(lib, symbol) : NULL;
    if (!profiler) {
        fprintf(stderr, "nccl_job: %s\n", dlerror());
        return 2;
    }
    struct rank r[2] = {{player_of(version, profiler), NULL, 0}, {player_of(version, profiler), NULL, 1}};
    pthread_t thread[2];
    for (int i = 0; i < 2; i++)
        if (!threads)
            make_comm(&r[i]);
        else if (pthread_create(&thread[i], NULL, make_comm, &r[i]) != 0)
            return 2;
    for (int i = 0; threads && i < 2; i++)
        pthread_join(thread[i], NULL);
    printf("mask %#x\n", (unsigned)mask);

    for (uint64_t seq = 0; seq < count; seq++) {
        if (forks && seq == count / 2 && fork_child(r) != 0)
            return 4;
        for (int i = 0; i < 2; i++)
            play_allreduce(&r[i].player, r[i].context, i, seq, 1000, 2, bare ? -1 : 1 - i);
    }
    if (quick)
        return 0;
    for (int i = 0; i < 2; i++)
        r[i].player.finalize(profiler, r[i].context);
    mask = 0x55; /* libnccl may be gone: nobody writes here */
    usleep(300000);
    if (mask != 0x55)
        return 3;
    dlclose(lib);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 3 || !getenv("NCCL_PROFILER_PLUGIN"))
        return 2;
    int version = atoi(argv[1]), rc = 0;
    unsigned count = (unsigned)atoi(argv[2]);
    for (int round = 0; rc == 0 && round < (is_given(argc, argv, "reload") ? 2 : 1); round++)
        rc = run(version, count, is_given(argc, argv, "threads"), is_given(argc, argv, "quick"),
                 is_given(argc, argv, "bare"), is_given(argc, argv, "forks"));
    fflush(stdout);
    return rc;
}
