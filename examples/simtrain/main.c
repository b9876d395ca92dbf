/* main.c - starts one process per rank, as a launcher would, and waits for them. Ranks learn their options from an
 * inherited file, not from arguments or environment; the environment has what a launcher sets. */
#include <errno.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "examples/simtrain/job.h"

#define OPTIONS_FD 7
#define SHARDS 4
#define SHARD_BYTES (16u << 20)
#define RANKS_MAX 256

static int complain(const char *what, const char *path)
{
    fprintf(stderr, "simtrain: cannot %s %s: %s\n", what, path, strerror(errno));
    return 1;
}

/* ---- The work folder: dataset, checkpoints, what the simulated node shares
 * ------------------------------------------------ */
static int write_shard(const char *path)
{
    static char block[1u << 20];
    FILE *f = fopen(path, "we");
    if (!f)
        return complain("create", path);
    for (size_t i = 0; i < sizeof(block); i++)
        block[i] = (char)mix(i, 1);
    for (size_t done = 0; done < SHARD_BYTES; done += sizeof(block))
        if (fwrite(block, 1, sizeof(block), f) != sizeof(block))
            return complain("write", path);
    return fclose(f) ? complain("write", path) : 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *where)
{
    return remove(path);
}

static int make_folder(struct options *o)
{
    char path[700];
    const char *tmp = getenv("TMPDIR");
    if (!o->dir[0]) {
        snprintf(o->dir, sizeof(o->dir), "%s/simtrain.XXXXXX", tmp ? tmp : "/tmp");
        if (!mkdtemp(o->dir))
            return complain("create", o->dir);
    } else if (mkdir(o->dir, 0700) && errno != EEXIST) {
        return complain("create", o->dir);
    }
    snprintf(path, sizeof(path), "%s/data", o->dir);
    if (mkdir(path, 0700) && errno != EEXIST)
        return complain("create", path);
    for (int i = 0; i < SHARDS; i++) {
        snprintf(path, sizeof(path), "%s/data/shard-%02d.bin", o->dir, i);
        if (access(path, F_OK) && write_shard(path))
            return 1;
    }
    snprintf(path, sizeof(path), "%s/store", o->dir);
    nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS); /* of a run before: its ids lead nowhere */
    if (mkdir(path, 0700))
        return complain("create", path);
    for (int host = 0; host < o->hosts; host++) {
        snprintf(path, sizeof(path), "%s/node-%d", o->dir, host);
        if (mkdir(path, 0700) && errno != EEXIST)
            return complain("create", path);
        strncat(path, "/memory", sizeof(path) - strlen(path) - 1);
        unlink(path); /* of a run before */
    }
    return 0;
}

/* ---- Ranks
 * ---------------------------------------------------------------------------------------------------------------------
 */
/* What looks a library up by name (a recorder: libcupti, NVML) finds those that the job uses: beside the program. */
static void set_library_path(void)
{
    char self[4096], text[9000];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (n < 0)
        return;
    self[n] = '\0';
    char *slash = strrchr(self, '/');
    if (slash)
        *slash = '\0';
    const char *before = getenv("LD_LIBRARY_PATH");
    snprintf(text, sizeof(text), "%s/../sim%s%s", self, before ? ":" : "", before ? before : "");
    setenv("LD_LIBRARY_PATH", text, 1);
}

static pid_t start_rank(const struct options *o, int rank, int options_fd, char *name)
{
    pid_t pid = fork();
    if (pid)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    scenario_environment(o, rank);
    lseek(options_fd, 0, SEEK_SET);
    if (options_fd != OPTIONS_FD)
        dup2(options_fd, OPTIONS_FD);
    setenv("SIMTRAIN_RANK", "1", 1);
    execv("/proc/self/exe", (char *[]){name, NULL});
    _exit(127);
}

static volatile sig_atomic_t stopped; /* the signal that asks the job to end */

static void stop(int signal)
{
    stopped = signal;
}

static void end_ranks(const struct options *o, const pid_t *pids)
{
    for (int i = 0; i < o->ranks; i++)
        if (pids[i])
            kill(pids[i], SIGTERM);
}

/* Status of the job: of the first rank that failed; the others are ended then. */
static int wait_for_ranks(const struct options *o, pid_t *pids)
{
    int left = o->ranks, result = 0;
    uint64_t begun = now_ns();
    while (left) {
        if (stopped && !result) {
            result = 128 + stopped;
            end_ranks(o, pids);
        }
        int status;
        pid_t pid = waitpid(-1, &status, WNOHANG);
        if (pid <= 0) {
            nanosleep(&(struct timespec){0, 100000000}, NULL);
            if (o->faults[FAULT_THROTTLED].on)
                scenario_write(o, now_ns() - begun);
            continue;
        }
        left--;
        int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        for (int i = 0; i < o->ranks; i++)
            if (pids[i] == pid)
                pids[i] = 0;
        if (code && !result)
            end_ranks(o, pids);
        result = result ? result : code;
    }
    return result;
}

/* ---- The truth of all ranks, as one document
 * ---------------------------------------------------------------------------------- */
static int merge_truth(const struct options *o)
{
    FILE *out = fopen(o->truth, "we");
    if (!out)
        return complain("write", o->truth);
    const char *comma = "";
    fputs("{\"steps\":[\n", out);
    for (int rank = 0; rank < o->ranks; rank++) {
        char path[600], line[1024];
        snprintf(path, sizeof(path), "%s/truth.%d", o->dir, rank);
        FILE *in = fopen(path, "re");
        if (!in)
            continue;
        while (fgets(line, sizeof(line), in)) {
            line[strcspn(line, "\n")] = '\0';
            fprintf(out, "%s%s", comma, line);
            comma = ",\n";
        }
        fclose(in);
        unlink(path);
    }
    fputs("\n]}\n", out);
    return fclose(out) ? complain("write", o->truth) : 0;
}

static int run_job(struct options *o, char *name)
{
    pid_t pids[RANKS_MAX];
    int fd = memfd_create("options", 0);
    if (o->ranks > RANKS_MAX || make_folder(o) || fd < 0 || write(fd, o, sizeof(*o)) != sizeof(*o))
        return 1;
    scenario_write(o, 0);
    set_library_path();
    signal(SIGINT, stop);
    signal(SIGTERM, stop);
    for (int rank = 0; rank < o->ranks; rank++)
        pids[rank] = start_rank(o, rank, fd, name);
    int result = wait_for_ranks(o, pids);
    if (o->truth[0] && merge_truth(o))
        result = result ? result : 1;
    if (!o->keep)
        nftw(o->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    return result;
}

static int run_rank(void)
{
    struct options o;
    const char *rank = getenv("RANK");
    if (!rank || pread(OPTIONS_FD, &o, sizeof(o), 0) != sizeof(o))
        return 2;
    close(OPTIONS_FD);
    return rank_run(&o, atoi(rank));
}

int main(int argc, char **argv)
{
    if (getenv("SIMTRAIN_RANK"))
        return run_rank();
    struct options o;
    int stop = options_parse(&o, argc, argv);
    return stop ? (stop < 0 ? 2 : 0) : run_job(&o, argv[0]);
}
