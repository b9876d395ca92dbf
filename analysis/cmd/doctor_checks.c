/* doctor_checks.c - the checks of `trshim doctor`, one function each. They try things rather than look for signs. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "analysis/cmd/doctor.h"
#include "analysis/cmd/job_environment.h"
#include "analysis/cmd/primer.h"
#include "analysis/cmd/program.h"
#include "analysis/cmd/record_options.h"
#include "analysis/input/trace.h"
#include "analysis/report/units.h"
#include "traces/clock.h"
#include "traces/session_buffers.h"
#include "traces/session_daemon.h"

static double now_s(void)
{
    return (double)now_ns() * 1e-9;
}

/* ---- the tools and the buffers ---- */

static void check_tools(struct doctor *d)
{
    const char *path = daemon_program();
    if (!path) {
        doctor_say(d, VERDICT_FAIL, "lttng", "apt-get install lttng-tools (Debian, Ubuntu)",
                   "lttng-sessiond is not here");
        return;
    }
    char *const argv[] = {(char *)path, (char *)"--version", NULL};
    char version[256];
    int status = program_run(argv, NULL, NULL, version, sizeof(version));
    version[strcspn(version, "\n ")] = '\0';
    if (status != 0)
        doctor_say(d, VERDICT_FAIL, "lttng", "reinstall lttng-tools and its libraries", "%s does not run", path);
    else if (strncmp(version, "2.", 2) || atoi(version + 2) < 12)
        doctor_say(d, VERDICT_WARN, "lttng", "use LTTng 2.12 or later", "%s %s is untried", path, version);
    else
        doctor_say(d, VERDICT_OK, "lttng", NULL, "%s %s", path, version);
}

static void check_buffers(struct doctor *d)
{
    struct buffer_limits limits;
    struct buffer_plan plan;
    if (buffers_measure(&limits) < 0) {
        doctor_say(d, VERDICT_FAIL, "/dev/shm", "mount -t tmpfs tmpfs /dev/shm", "not there: no room for ring buffers");
        return;
    }
    buffers_plan(&limits, &plan);
    const char *larger = "mount it larger (docker run --shm-size=1g; Kubernetes: an emptyDir of medium Memory)";
    if (plan.total > limits.shm_free)
        doctor_say(d, VERDICT_FAIL, "/dev/shm", larger, "%s free, the smallest buffers for %u CPUs need %s",
                   units_bytes((double)limits.shm_free).text, limits.cpus_possible,
                   units_bytes((double)plan.total).text);
    else if (plan.channel[CH_DATA].subbuf_size < 65536)
        doctor_say(d, VERDICT_WARN, "/dev/shm", larger,
                   "%s free gives %u CPUs buffers of %s each: bursts will lose events",
                   units_bytes((double)limits.shm_free).text, limits.cpus_possible,
                   units_bytes((double)(plan.total / limits.cpus_possible)).text);
    else
        doctor_say(d, VERDICT_OK, "/dev/shm", NULL, "%s free; buffers take %s, for %u CPUs",
                   units_bytes((double)limits.shm_free).text, units_bytes((double)plan.total).text,
                   limits.cpus_possible);
}

/* ---- a recording in small ---- */

struct trial {
    char dir[64];
    struct output output;
    struct job_environment env;
    const char *python;
    int python_status;
    char python_said[512];
};

static int count_python(void *arg, const struct event *event)
{
    unsigned *n = arg;
    *n += event->kind == EV_proc;
    return 0;
}

/* Processes in the trial's trace. */
static unsigned recorded_processes(const char *dir)
{
    char *paths[] = {(char *)dir}, *error = NULL;
    struct trace *trace;
    unsigned n = 0;
    if (trace_open(paths, 1, &trace, &error) == 0) {
        (void)trace_scan(trace, 1u << CH_STATE, count_python, &n);
        trace_free(trace);
    }
    free(error);
    return n;
}

static void run_python(struct trial *t)
{
    char *const argv[] = {(char *)t->python, (char *)"-c", (char *)"open('/proc/self/stat').read()", NULL};
    t->python_status = program_run(argv, job_environment_set, &t->env, t->python_said, sizeof(t->python_said));
}

static void say_session(struct doctor *d, const struct trial *t, const struct keeper_summary *summary, double seconds)
{
    static const char *const how[] = {"as this user", "by a user namespace", "under a uid of its own"};
    if (!summary->complete)
        doctor_say(d, VERDICT_FAIL, "session", "look at the load of this machine, and try again",
                   "a private session daemon ran, but did not end in good order: %s", summary->why);
    else
        doctor_say(d, VERDICT_OK, "session", NULL, "a private session daemon runs here, %s, in %s; began in %.2f s",
                   how[t->env.session.identity], t->env.session.home, seconds);
}

static void say_python(struct doctor *d, const struct trial *t)
{
    unsigned n = recorded_processes(t->dir);
    if (t->python_status == 127)
        doctor_say(d, VERDICT_NOTE, "python", "name the job's: trshim doctor /path/to/python3", "no %s here",
                   t->python);
    else if (t->python_status != 0 || t->python_said[0])
        doctor_say(d, VERDICT_FAIL, "python", "read what it said", "%s under the preload: status %d, \"%s\"", t->python,
                   t->python_status, t->python_said);
    else if (n == 0)
        doctor_say(d, VERDICT_FAIL, "python", "see: TRSHIM_VERBOSE=1 trshim record -- python3 -c pass",
                   "%s ran, but nothing of it was recorded", t->python);
    else
        doctor_say(d, VERDICT_OK, "python", NULL, "%s is recorded: file and socket I/O, waits, forked workers",
                   t->python);
}

static void try_session(struct doctor *d, struct trial *t)
{
    const struct keeper_options options = {.output = &t->output, .level = LEVEL_STANDARD};
    struct keeper_summary summary = {0};
    char *error = NULL;
    bool again;
    pid_t pid;
    int fd;
    double began = now_s();

    if (output_open(&t->output, t->dir, &error) < 0 || output_new_session(&t->output, &again, &error) < 0 ||
        keeper_spawn(&options, &pid, &fd, &t->env.session, &error) < 0) {
        doctor_say(d, VERDICT_FAIL, "session", NULL, "%s", error ? error : "out of memory");
        free(error);
        return;
    }
    primer_run(t->env.core, t->env.session.home);
    double seconds = now_s() - began;
    run_python(t);
    if (keeper_say_leave(fd, false) < 0 || keeper_hear_summary(fd, &summary) < 1)
        snprintf(summary.why, sizeof(summary.why), "its keeper died");
    close(fd);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    say_session(d, t, &summary, seconds);
    say_python(d, t);
    output_close(&t->output);
}

static void check_session(struct doctor *d)
{
    struct trial *t = calloc(1, sizeof(*t));
    char *error = NULL;
    if (!t)
        return;
    t->python = d->python;
    t->output.node_fd = t->output.session_fd = t->output.lock_fd = -1;
    strcpy(t->dir, "/tmp/trshim-doctor.XXXXXX");
    if (job_environment_find(&t->env, &error) < 0) {
        doctor_say(d, VERDICT_FAIL, "preload", NULL, "%s", error);
    } else if (!mkdtemp(t->dir)) {
        doctor_say(d, VERDICT_WARN, "session", "set -o to a writable directory when recording",
                   "not tried: /tmp is not writable");
    } else {
        try_session(d, t);
        tree_remove(AT_FDCWD, t->dir);
    }
    free(error);
    free(t);
}

/* ---- the preload, in a program that is not recorded ---- */

static void set_preload(void *arg)
{
    setenv("LD_PRELOAD", arg, 1);
    setenv("LD_BIND_NOW", "1", 1);
}

static void check_preload(struct doctor *d)
{
    struct job_environment *env = calloc(1, sizeof(*env));
    char said[512], *error = NULL;
    if (env && job_environment_find(env, &error) == 0) {
        char *const argv[] = {(char *)"/bin/true", NULL};
        int status = program_run(argv, set_preload, env->preload, said, sizeof(said));
        if (status != 0 || said[0])
            doctor_say(d, VERDICT_FAIL, "preload", "read what the loader said", "%s: status %d, \"%s\"", env->preload,
                       status, said);
        else if (access(env->core, R_OK) < 0)
            doctor_say(d, VERDICT_FAIL, "preload", "install trshim whole", "%s: %s", env->core, strerror(errno));
        else
            doctor_say(d, VERDICT_OK, "preload", NULL, "%s loads", env->preload);
    }
    free(error);
    free(env);
}

/* ---- PyTorch ---- */

/* Does the library export addGlobalCallback? Its name stands in the string table; loading torch would take seconds. */
static bool has_callback(const char *library)
{
    static const char name[] = "_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE";
    bool found = false;
    struct stat st;
    int fd = open(library, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size > 0) {
        void *bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (bytes != MAP_FAILED) {
            found = memmem(bytes, (size_t)st.st_size, name, sizeof(name) - 1) != NULL;
            munmap(bytes, (size_t)st.st_size);
        }
    }
    if (fd >= 0)
        close(fd);
    return found;
}

static void check_torch(struct doctor *d)
{
    /* Where torch's library is, without importing torch. Debian keeps it in a library directory, wheels beside it. */
    static const char script[] = "import importlib.util as u, glob, os\n"
                                 "s = u.find_spec('torch')\n"
                                 "p = s and s.submodule_search_locations and s.submodule_search_locations[0]\n"
                                 "print(next(iter(glob.glob(os.path.join(p, 'lib', 'libtorch_cpu.so*')) + "
                                 "glob.glob('/usr/lib/*/libtorch_cpu.so*')),\n"
                                 "           '?') if p else '', end='')\n";
    char *const argv[] = {(char *)d->python, (char *)"-c", (char *)script, NULL};
    char library[512];
    int status = program_run(argv, NULL, NULL, library, sizeof(library));

    if (status != 0 || !library[0])
        doctor_say(d, VERDICT_NOTE, "torch", "name the job's Python: trshim doctor /path/to/python3",
                   "%s has no torch: steps are known by marks and by I/O only", d->python);
    else if (!has_callback(library))
        doctor_say(d, VERDICT_WARN, "torch", "use PyTorch 1.9 or later, or mark steps with trshim_step() or NVTX",
                   "%s does not offer its ranges", library);
    else
        doctor_say(d, VERDICT_OK, "torch", NULL, "%s offers its ranges: steps by optimizer and dataloader", library);
}

/* ---- what the kernel tells ---- */

static void check_schedstat(struct doctor *d)
{
    unsigned long long run = 0, delay;
    FILE *f = fopen("/proc/thread-self/schedstat", "re");
    bool there = f && fscanf(f, "%llu %llu", &run, &delay) == 2 && run > 0;
    if (f)
        fclose(f);
    if (there)
        doctor_say(d, VERDICT_OK, "schedstat", NULL, "the kernel tells how long threads wait for a CPU");
    else
        doctor_say(d, VERDICT_WARN, "schedstat", "a kernel with CONFIG_SCHED_INFO",
                   "no run delays: waiting for a CPU cannot be told from waiting for I/O");
}

static void check_clock(struct doctor *d)
{
    char name[64] = "";
    FILE *f = fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "re");
    if (f && fgets(name, sizeof(name), f))
        name[strcspn(name, "\n")] = '\0';
    if (f)
        fclose(f);
    struct timespec t;
    double began = now_s();
    for (int i = 0; i < 10000; i++)
        clock_gettime(CLOCK_MONOTONIC, &t);
    double ns = (now_s() - began) * 1e9 / 10000;
    if (ns > 200)
        doctor_say(d, VERDICT_WARN, "clock", "boot with clocksource=tsc if the CPU's is reliable",
                   "clock source %s takes %.0f ns to read: recording costs more than it should", name, ns);
    else
        doctor_say(d, VERDICT_OK, "clock", NULL, "clock source %s, %.0f ns to read", *name ? name : "unknown", ns);
}

static void check_limits(struct doctor *d)
{
    struct rlimit files, locked;
    getrlimit(RLIMIT_NOFILE, &files);
    getrlimit(RLIMIT_MEMLOCK, &locked);
    if (files.rlim_max < 4096)
        doctor_say(d, VERDICT_WARN, "ulimit -n", "raise the hard limit to 65536",
                   "%llu: enough for about %llu processes at once", (unsigned long long)files.rlim_max,
                   (unsigned long long)files.rlim_max / 16);
    else
        doctor_say(d, VERDICT_OK, "ulimit -n", NULL, "%llu", (unsigned long long)files.rlim_max);
    if (locked.rlim_cur != RLIM_INFINITY && locked.rlim_cur < (1ull << 30))
        doctor_say(d, VERDICT_NOTE, "ulimit -l", NULL, "%s: recording does not mind, RDMA and pinned memory do",
                   units_bytes((double)locked.rlim_cur).text);
    else
        doctor_say(d, VERDICT_OK, "ulimit -l", NULL, "enough");
}

static void check_space(struct doctor *d)
{
    struct statvfs fs;
    if (statvfs(".", &fs) < 0)
        return;
    double free_bytes = (double)fs.f_bavail * (double)fs.f_frsize;
    if (free_bytes < (double)DEFAULT_MAX_SIZE)
        doctor_say(d, VERDICT_WARN, "disk", "record to another place with -o, or less with --max-size",
                   "%s free here, a trace may take %s", units_bytes(free_bytes).text,
                   units_bytes((double)DEFAULT_MAX_SIZE).text);
    else
        doctor_say(d, VERDICT_OK, "disk", NULL, "%s free here", units_bytes(free_bytes).text);
}

/* A library that the loader finds by itself; the job may bring one of its own that it does not. */
static bool loads(const char *name)
{
    return dlopen(name, RTLD_LAZY | RTLD_LOCAL) != NULL;
}

static void check_gpu(struct doctor *d)
{
    static const char *const cupti[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8"};
    if (!loads("libcuda.so.1")) {
        doctor_say(d, VERDICT_NOTE, "gpu", NULL, "no NVIDIA driver here, so no GPU to record");
        return;
    }
    bool found = false;
    for (size_t i = 0; i < sizeof(cupti) / sizeof(*cupti) && !found; i++)
        found = loads(cupti[i]);
    if (found)
        doctor_say(d, VERDICT_OK, "gpu", NULL, "kernels, copies and device memory are recorded; collectives not yet");
    else
        doctor_say(d, VERDICT_NOTE, "gpu", "PyTorch's wheels bring libcupti; else install the toolkit's extras/CUPTI",
                   "the driver is here, libcupti only if the job brings it");
}

const doctor_check_fn doctor_checks[] = {check_tools, check_buffers,   check_preload, check_session,
                                         check_torch, check_schedstat, check_clock,   check_limits,
                                         check_space, check_gpu,       NULL};
