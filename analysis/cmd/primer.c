/* primer.c - see primer.h. */
#include "analysis/cmd/primer.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define TIMEOUT_MS 5000

/* In the child. Loading LTTng is what registers; its constructor returns when that is done. */
static _Noreturn void prime(const char *core, const char *home)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd <= 2 && null_fd >= 0; fd++)
        (void)dup2(null_fd, fd);
    setenv("LTTNG_HOME", home, 1);
    setenv("LTTNG_UST_REGISTER_TIMEOUT", "4000", 1);
    setenv("LTTNG_UST_WITHOUT_BADDR_STATEDUMP", "1", 1);
    _exit(dlopen(core, RTLD_NOW | RTLD_LOCAL) ? 0 : 1);
}

void primer_run(const char *core, const char *home)
{
    pid_t pid = fork();
    if (pid == 0)
        prime(core, home);
    for (int waited_ms = 0; pid > 0; waited_ms += 2) {
        pid_t rc = waitpid(pid, NULL, WNOHANG);
        if (rc == pid || (rc < 0 && errno != EINTR))
            break;
        if (waited_ms == TIMEOUT_MS)
            kill(pid, SIGKILL);
        usleep(2000);
    }
}
