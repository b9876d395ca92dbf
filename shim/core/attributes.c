/* attributes.c - see attributes.h. Reads the environment and /proc; runs at start and from the tender thread (there
 * without the environment: another thread may be changing it). */
#include "shim/core/attributes.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "shim/core/core.h"

extern char **environ;

static void send(const char *key, const char *value)
{
    EMIT(attr, process.pid, .key = key, .value = value);
}

static void send_number(const char *key, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
    send(key, text);
}

/* Prefixes of the variables that may be recorded, and words that forbid it whatever the prefix. */
static bool is_allowed(const char *name, size_t len)
{
    static const char *const prefixes[] = {
        "NCCL_",        "CUDA_",        "PYTORCH_",      "TORCH_",       "TORCHELASTIC_",
        "OMP_",         "MKL_",         "KMP_",          "OPENBLAS_",    "GLOO_",
        "UCX_",         "FI_",          "RDMAV_",        "XLA_",         "JAX_",
        "DS_",          "RANK",         "LOCAL_RANK",    "WORLD_SIZE",   "LOCAL_WORLD_SIZE",
        "GROUP_RANK",   "NODE_RANK",    "MASTER_",       "SLURM_PROCID", "SLURM_NTASKS",
        "SLURM_JOB_ID", "SLURM_NODEID", "SLURM_LOCALID", "PYTHONMALLOC", "MALLOC_"};
    static const char *const forbidden[] = {"TOKEN", "KEY", "SECRET", "PASS"};
    for (size_t i = 0; i < sizeof(forbidden) / sizeof(*forbidden); i++)
        if (memmem(name, len, forbidden[i], strlen(forbidden[i])))
            return false;
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
        if (len >= strlen(prefixes[i]) && strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return false;
}

/* What record has set is not the user's: what he had is told instead. */
static bool is_of_record(const char *variable, size_t len)
{
    const char *level = getenv("NCCL_DEBUG");
    return getenv("TRSHIM_NCCL_DEBUG") && level && strcmp(level, TR_NCCL_LEVEL) == 0 && len >= 10 &&
           strncmp(variable, "NCCL_DEBUG", 10) == 0;
}

static void send_environment(void)
{
    char key[128];
    const char *before = getenv("TRSHIM_NCCL_DEBUG");
    if (before && *before && is_of_record("NCCL_DEBUG", 10))
        send("env.NCCL_DEBUG", before);
    for (char **e = environ; e && *e; e++) {
        const char *equals = strchr(*e, '=');
        size_t len = equals ? (size_t)(equals - *e) : 0;
        if (is_of_record(*e, len))
            continue;
        if (!len || len > sizeof(key) - 5 || !is_allowed(*e, len))
            continue;
        snprintf(key, sizeof(key), "env.%.*s", (int)len, *e);
        send(key, equals + 1);
    }
}

static _Atomic int32_t nccl_version; /* 0: no communicator was made yet */

static void send_nccl(int32_t version)
{
    char text[32];
    int major = version / 10000, minor = version / 100 % 100; /* since 2.9; 2408 was 2.4.8 */
    if (version < 10000)
        major = version / 1000, minor = version / 100 % 10;
    snprintf(text, sizeof(text), "%d.%d.%d", major, minor, version % 100);
    send("version.nccl", text);
}

void attributes_send_nccl(int32_t version)
{
    if (version > 0 && atomic_exchange(&nccl_version, version) != version)
        send_nccl(version);
}

static void send_versions(void)
{
    int32_t nccl = atomic_load(&nccl_version);
    if (nccl)
        send_nccl(nccl);
    struct utsname u;
    send("version.glibc", gnu_get_libc_version());
    if (uname(&u) == 0)
        send("version.kernel", u.release);
    const char *(*python)(void) = (const char *(*)(void))dlsym(RTLD_DEFAULT, "Py_GetVersion");
    if (python) {
        char text[32];
        snprintf(text, sizeof(text), "%s", python());
        text[strcspn(text, " ")] = 0;
        send("version.python", text);
    }
}

/* "0-3,8" */
static void send_affinity(void)
{
    cpu_set_t set;
    char text[1024];
    size_t used = 0;
    if (sched_getaffinity(0, sizeof(set), &set) != 0)
        return;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        int last = cpu;
        if (!CPU_ISSET(cpu, &set))
            continue;
        while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, &set))
            last++;
        int n = snprintf(text + used, sizeof(text) - used, last > cpu ? "%s%d-%d" : "%s%d", used ? "," : "", cpu, last);
        if (n < 0 || used + (size_t)n >= sizeof(text))
            break;
        used += (size_t)n;
        cpu = last;
    }
    text[used] = 0;
    send("cpu.affinity", text);
    send_number("cpu.allowed", (uint64_t)CPU_COUNT(&set));
    send_number("cpu.online", (uint64_t)sysconf(_SC_NPROCESSORS_ONLN));
}

static bool first_line(const char *path, char *buf, size_t room)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, buf, room - 1);
    if (fd >= 0)
        close(fd);
    if (n <= 0)
        return false;
    buf[n] = 0;
    buf[strcspn(buf, "\n")] = 0;
    return true;
}

static void send_limits(void)
{
    struct rlimit rl;
    struct statvfs fs;
    char text[256];
    if (getrlimit(RLIMIT_MEMLOCK, &rl) == 0) {
        if (rl.rlim_cur == RLIM_INFINITY)
            send("limit.memlock", "unlimited");
        else
            send_number("limit.memlock", rl.rlim_cur);
    }
    if (getrlimit(RLIMIT_NOFILE, &rl) == 0)
        send_number("limit.nofile", rl.rlim_cur);
    if (statvfs("/dev/shm", &fs) == 0) {
        send_number("shm.size_bytes", (uint64_t)fs.f_blocks * fs.f_frsize);
        send_number("shm.free_bytes", (uint64_t)fs.f_bavail * fs.f_frsize);
    }
    if (first_line("/sys/fs/cgroup/cpu.max", text, sizeof(text)))
        send("cgroup.cpu_max", text);
    if (first_line("/sys/fs/cgroup/memory.max", text, sizeof(text)))
        send("cgroup.memory_max", text);
    send_number("memory.bytes", (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE));
}

void attributes_send(void)
{
    if (!lttng_ust_tracepoint_enabled(trshim, attr))
        return;
    /* With NCCL's profiler plugin alone nothing else of the process is seen. */
    send("recorder.hooks", process.preload->nccl_ask ? "all" : "none");
    send_environment();
    send_versions();
    send_affinity();
    send_limits();
}

void attributes_send_torch(const char *library_path)
{
    char path[4096], text[1024];
    /* .../torch/lib/libtorch_cpu.so -> .../torch/version.py; a distribution puts the library elsewhere. */
    static const char *const places[] = {"%.*s/../version.py", "/usr/lib/python3/dist-packages/torch/version.py"};
    const char *slash = strrchr(library_path, '/');
    for (size_t i = 0; slash && i < sizeof(places) / sizeof(*places); i++) {
        snprintf(path, sizeof(path), places[i], (int)(slash - library_path), library_path);
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
        if (fd >= 0)
            close(fd);
        text[n > 0 ? n : 0] = 0;
        char *v = strstr(text, "__version__ = '");
        if (v) {
            v += strlen("__version__ = '");
            v[strcspn(v, "'")] = 0;
            send("version.torch", v);
            return;
        }
    }
}
