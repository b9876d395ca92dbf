/* preload.c - the constructor of libtrshim.so: finds the real functions and decides whether this process is recorded.
 *
 * Children such as sh, gcc or ldconfig get the preload too. For them all this must cost next to nothing and can never
 * fail: no threads, no allocation, no library beyond libc. */
#include "shim/preload/hook.h"

#include <elf.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shim/preload/environment.h"
#include "shim/preload/fork.h"
#include "shim/preload/library.h"
#include "shim/preload/nccl.h"
#include "shim/preload/nccl_log.h"
#include "shim/preload/old_libc.h"
#include "shim/preload/stubs.h"

_Static_assert(offsetof(struct shim_tls, in_vfork) == SHIM_TLS_IN_VFORK, "stubs.S writes here");
_Static_assert(offsetof(struct shim_tls, after_dlopen) == SHIM_TLS_AFTER_DLOPEN, "stubs.S writes here");

static const int closed_gate;

__thread struct shim_tls shim_tls __attribute__((tls_model("initial-exec")));
const struct shim_core *core;
const int *volatile shim_gate[GATE_MAX] = {[0 ... GATE_MAX - 1] = &closed_gate};
volatile char shim_attention;

static char core_path[4096]; /* empty: never load it */
static bool constructed;

bool shim_in_vfork_child(struct shim_tls *tls)
{
    if (tls->tid && (uint32_t)syscall(SYS_gettid) != tls->tid)
        return true;
    tls->in_vfork = 0;
    return false;
}

static struct shim_tls *own_tls(void)
{
    return &shim_tls;
}

static void set_gate(enum shim_gate gate, const int *to)
{
    __atomic_store_n(&shim_gate[gate], to, __ATOMIC_RELEASE);
}

static const struct shim_preload preload = {own_tls, set_gate, nccl_ask};

/* Loads the core, once. The path is absolute, so that the RUNPATH of our caller does not matter. */
static void load_core(int late)
{
    static char tried;
    if (!core_path[0] || __atomic_exchange_n(&tried, 1, __ATOMIC_ACQ_REL))
        return;

    int saved_errno = errno;
    shim_tls.frame = __builtin_frame_address(0); /* what loading does is not the job's */
    environment_set_up(core_path);
    void *(*open_library)(const char *, int) = (void *(*)(const char *, int))real_dlopen;
    void *lib = open_library(core_path, RTLD_NOW | RTLD_LOCAL);
    shim_core_start_fn start = lib ? (shim_core_start_fn)dlsym(lib, "trshim_core_start") : NULL;
    if (!start)
        (void)dlerror();
    const struct shim_core *loaded = start ? start(late, &preload) : NULL;
    shim_tls.frame = NULL;
    errno = saved_errno;

    if (!loaded || loaded->version != SHIM_CORE_VERSION)
        return;
    __atomic_store_n(&core, loaded, __ATOMIC_RELEASE);
    for (int i = 0; i < GATE_MAX; i++)
        set_gate((enum shim_gate)i, loaded->gate[i]);
}

/* Libraries that make a process one of ours. */
static int is_interesting(struct dl_phdr_info *info, size_t size, void *found)
{
    static const char *const prefixes[] = {"libpython3",   "libtorch_cpu.so", "libcuda.so",
                                           "libcudart.so", "libnccl.so",      "librccl.so"};
    const char *slash = strrchr(info->dlpi_name, '/');
    const char *base = slash ? slash + 1 : info->dlpi_name;
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
        if (strncmp(base, prefixes[i], strlen(prefixes[i])) == 0)
            *(bool *)found = true;
    return *(bool *)found;
}

static bool maps_something_interesting(void)
{
    bool found = false;
    dl_iterate_phdr(is_interesting, &found);
    return found;
}

/* File name of the program, in buf. */
static const char *program(char *buf, size_t room)
{
    ssize_t n = readlink("/proc/self/exe", buf, room - 1);
    buf[n > 0 ? n : 0] = 0;
    const char *slash = strrchr(buf, '/');
    return slash ? slash + 1 : buf;
}

static bool is_python(const char *name)
{
    return strncmp(name, "python", 6) == 0;
}

/* Shells and launchers: they only start the job, and each command they start would pay for the core. */
static bool is_starter(const char *name)
{
    static const char *const starters[] = {"sh",    "bash", "dash",   "zsh",  "ksh",    "busybox", "env",    "timeout",
                                           "nohup", "nice", "setsid", "srun", "mpirun", "mpiexec", "numactl"};
    for (size_t i = 0; i < sizeof(starters) / sizeof(*starters); i++)
        if (strcmp(name, starters[i]) == 0)
            return true;
    return false;
}

static bool is_recorded_command(void)
{
    const char *root = getenv("TRSHIM_ROOT_PID");
    unsigned long pid = 0;
    for (; root && *root >= '0' && *root <= '9'; root++)
        pid = pid * 10 + (unsigned long)(*root - '0');
    return pid && pid == (unsigned long)getpid();
}

static void construct(void)
{
    if (constructed)
        return;
    constructed = true;
    real_resolve();
    if (getauxval(AT_SECURE))
        return; /* another user's rights: stay out */
    fork_watch();
    nccl_log_set_up();
    environment_find_core(core_path, sizeof(core_path), (const void *)construct);
    char exe[4096];
    const char *name = program(exe, sizeof(exe));
    if (is_python(name) || (is_recorded_command() && !is_starter(name)) || maps_something_interesting())
        load_core(0);
}

__attribute__((constructor)) static void constructor(void)
{
    construct();
}

void shim_attend(void)
{
    if (!constructed)
        return; /* another library's constructor came first */
    if (shim_tls.in_vfork && shim_in_vfork_child(&shim_tls))
        return; /* the mark is our parent's to see */
    atomic_fetch_add(&library_generation, 1);
    if (core) {
        shim_attention = 0; /* the core looks at after_dlopen itself, when no dlopen can be under way */
        return;
    }
    /* Without a core it is for the thread that called dlopen to look: another would wait for the loader's lock. */
    if (!shim_tls.after_dlopen)
        return;
    shim_attention = 0;
    shim_tls.after_dlopen = 0;
    if (maps_something_interesting()) {
        load_core(1);
        shim_tls.after_dlopen = 1; /* for the core */
    }
}
