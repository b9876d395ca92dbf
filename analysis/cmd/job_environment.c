/* job_environment.c - see job_environment.h. */
#include "analysis/cmd/job_environment.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/cmd/job_nccl_log.h"
#include "traces/session_error.h"

static int own_directory(char *dir, size_t size)
{
    ssize_t n = readlink("/proc/self/exe", dir, size - 1);
    if (n < 0)
        return -errno;
    dir[n] = '\0';
    char *slash = strrchr(dir, '/');
    if (!slash)
        return -ENOENT;
    *slash = '\0';
    return 0;
}

int job_environment_find(struct job_environment *env, char **ret_error)
{
    static const char *const places[] = {"", "/../lib/trshim", "/../lib"};
    char dir[PATH_MAX], path[PATH_MAX];
    int rc = own_directory(dir, sizeof(dir));
    if (rc < 0)
        return session_fail(ret_error, rc, "cannot tell where trshim itself is: %s; is /proc mounted?", strerror(-rc));
    for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
        if (snprintf(path, sizeof(path), "%s%s/libtrshim.so", dir, places[i]) < (int)sizeof(path) &&
            access(path, R_OK) == 0 && realpath(path, env->preload)) {
            char *slash = strrchr(env->preload, '/');
            snprintf(env->core, sizeof(env->core), "%.*s/libtrshim-core.so", (int)(slash - env->preload), env->preload);
            return 0;
        }
    return session_fail(ret_error, -ENOENT,
                        "libtrshim.so is not beside %s/trshim, nor in ../lib/trshim or ../lib from "
                        "there; build or install trshim whole",
                        dir);
}

/* The loader splits LD_PRELOAD at blanks and colons: such a path is reached by a link in the session's home. */
static const char *speakable_preload(struct job_environment *env, char *link, size_t size)
{
    if (!strpbrk(env->preload, " :"))
        return env->preload;
    snprintf(link, size, "%s/libtrshim.so", env->session.home);
    if (symlink(env->preload, link) < 0 && errno != EEXIST)
        return env->preload;
    setenv("TRSHIM_CORE", env->core, 1);
    return link;
}

static void set_if(const char *name, const char *value)
{
    if (value)
        setenv(name, value, 1);
}

bool job_environment_profiler(const struct job_environment *env, char *ret_path, size_t size)
{
    const char *slash = strrchr(env->preload, '/');
    int n = snprintf(ret_path, size, "%.*s/libnccl-profiler-trshim.so", (int)(slash - env->preload), env->preload);
    return n < (int)size && access(ret_path, R_OK) == 0;
}

/* NCCL takes one profiler plugin: ours, which passes on to the one the job would have had. */
static void set_profiler(const struct job_environment *env)
{
    const char *before = getenv("NCCL_PROFILER_PLUGIN");
    char path[PATH_MAX];
    if (!job_environment_profiler(env, path, sizeof(path)))
        return;
    if (before && strcasecmp(before, "none") == 0)
        return; /* the user wants none */
    if (before && *before && strcmp(before, path) != 0)
        setenv("TRSHIM_NCCL_CHAIN", before, 0);
    setenv("NCCL_PROFILER_PLUGIN", path, 1);
}

/* Our network plugin around the first the job would have; the others of a list stay. It goes by its short name, since
 * NCCL before 2.20 takes no path, from a folder that holds nothing else. */
static void set_net(const struct job_environment *env)
{
    const char *before = getenv("NCCL_NET_PLUGIN"), *path = getenv("LD_LIBRARY_PATH");
    const char *slash = strrchr(env->preload, '/');
    char file[PATH_MAX + 32], *all;
    int dir = (int)(slash - env->preload) + 4;
    snprintf(file, sizeof(file), "%.*s/net/libnccl-net-trshim.so", dir - 4, env->preload);
    if (access(file, R_OK) != 0 || strpbrk(env->preload, ":;"))
        return;
    if (before && (!*before || strcasecmp(before, "none") == 0 || strcasecmp(before, "STATIC_PLUGIN") == 0 ||
                   strncmp(before, "trshim", strcspn(before, ",")) == 0))
        return; /* none, one inside the program, or ours already */
    if (asprintf(&all, "%s%s%.*s", path && *path ? path : "", path && *path ? ":" : "", dir, file) < 0)
        return;
    setenv("LD_LIBRARY_PATH", all, 1); /* freed by exec, as the next */
    if (before && asprintf(&all, "%.*s", (int)strcspn(before, ","), before) >= 0)
        setenv("TRSHIM_NCCL_NET", all, 0);
    if (asprintf(&all, "trshim%s", before ? before + strcspn(before, ",") : "") >= 0)
        setenv("NCCL_NET_PLUGIN", all, 1);
}

void job_environment_set(void *arg)
{
    struct job_environment *env = arg;
    char link[PATH_MAX], text[2 * PATH_MAX + 64], pid[16];
    const char *preload = speakable_preload(env, link, sizeof(link));
    const char *others = getenv("LD_PRELOAD");

    if (others && *others) {
        char *all;
        if (asprintf(&all, "%s:%s", preload, others) >= 0)
            setenv("LD_PRELOAD", all, 1); /* freed by exec */
    } else {
        setenv("LD_PRELOAD", preload, 1);
    }
    setenv("LTTNG_HOME", env->session.home, 1);
    /* A daemon that hangs may cost the start of each recorded program this much. On a busy machine 100 ms were too few:
     * whole DataLoader workers were missing from the trace. */
    setenv("LTTNG_UST_REGISTER_TIMEOUT", "1000", 0);
    /* LTTng would read the headers of every library, through our hooks. */
    setenv("LTTNG_UST_WITHOUT_BADDR_STATEDUMP", "1", 1);
    snprintf(text, sizeof(text), "%s/control", env->session.home);
    setenv("TRSHIM_CONTROL", text, 1);
    snprintf(pid, sizeof(pid), "%d", getpid());
    setenv("TRSHIM_ROOT_PID", pid, 1);
    set_profiler(env);
    if (env->wrap_net)
        set_net(env);
    job_nccl_log_set(env->nccl_log);
    set_if("TRSHIM_RANKS", env->ranks);
    set_if("TRSHIM_STEPS", env->steps);
    set_if("TRSHIM_EVERY", env->every);
}
