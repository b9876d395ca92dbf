/* environment.c - what must be so before the core is loaded. In the preload and in the plugins of NCCL, for whichever
 * of them loads it; needs libc alone, and nothing of it above GLIBC_2.17. */
#include "shim/preload/environment.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shim/preload/old_libc.h"

static void append_number(char *text, unsigned long n)
{
    char digits[24], *d = digits + sizeof(digits);
    for (*--d = 0; d == digits + sizeof(digits) - 1 || n; n /= 10)
        *--d = (char)('0' + n % 10);
    strcat(text, d);
}

/* stat would need a symbol version of 2.33: ask the kernel. */
static bool is_private(const char *path)
{
    struct statx st;
    if (syscall(SYS_statx, AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_TYPE | STATX_MODE | STATX_UID, &st) != 0)
        return false;
    return S_ISDIR(st.stx_mode) && st.stx_uid == getuid() && !(st.stx_mode & 022);
}

/* Where a daemon of `trshim start` would listen. Made by us if it is missing, so that nobody else can make it; used
 * only if it is ours alone. */
static void meet_at_home(void)
{
    char home[4096] = "/tmp/trshim-";
    const char *told = getenv("TRSHIM_HOME");
    if (getenv("LTTNG_HOME"))
        return;
    if (told && strlen(told) < sizeof(home))
        strcpy(home, told);
    else
        append_number(home, getuid());
    mkdir(home, 0700);
    if (is_private(home))
        setenv("LTTNG_HOME", home, 1);
}

/* What LTTng reads when it is loaded (never wait long for a daemon; never read every library through our hooks), and
 * what NVTX reads at the job's first range. What the user has set stays. */
void environment_set_up(const char *core_path)
{
    setenv("LTTNG_UST_REGISTER_TIMEOUT", "100", 0);
    setenv("LTTNG_UST_WITHOUT_BADDR_STATEDUMP", "1", 0);
    setenv("NVTX_INJECTION64_PATH", core_path, 0); /* ranges the job marks by NVTX: shim/core/nvtx.c */
    setenv("CUDA_INJECTION64_PATH", core_path, 0); /* so that libcuda wakes us: shim/core/cupti.c */
    meet_at_home();
}

void environment_find_core(char *path, size_t room, const void *near)
{
    static const char name[] = "libtrshim-core.so";
    const char *told = getenv("TRSHIM_CORE");
    path[0] = 0;
    if (told) {
        if (strlen(told) < room)
            strcpy(path, told);
        return;
    }
    Dl_info us;
    if (!dladdr(near, &us) || !us.dli_fname)
        return;
    const char *slash = strrchr(us.dli_fname, '/');
    size_t dir = slash ? (size_t)(slash - us.dli_fname) + 1 : 0;
    if (!dir || dir + sizeof(name) > room)
        return;
    memcpy(path, us.dli_fname, dir);
    memcpy(path + dir, name, sizeof(name));
    /* The network plugin has a folder of its own below ours. */
    if (access(path, F_OK) == 0 || dir + 3 + sizeof(name) > room)
        return;
    memcpy(path + dir, "../", 3);
    memcpy(path + dir + 3, name, sizeof(name));
}
