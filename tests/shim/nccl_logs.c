/* nccl_logs.c - logs as NCCL does: reads NCCL_DEBUG and NCCL_DEBUG_FILE at its first line, and writes lines by fwrite
 * (as releases to 2.28) or vfprintf (later ones), among what the program itself prints.
 *
 *   nccl_logs fwrite|vfprintf [change LEVEL | close | kill]...
 *     change  sets NCCL_DEBUG before the first line, as scripts do
 *     close   closes what it has no name for, and opens a file of its own in its place, between two lines
 *     kill    dies by SIGKILL after the last line */
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { NONE, VERSION, WARN, INFO };

static int level = -1;
static bool by_format;
static FILE *file;

static void open_file(const char *pattern)
{
    char path[4096], *p = path;
    for (const char *c = pattern; *c && p < path + sizeof(path) - 80; c++) {
        if (*c != '%' || !c[1])
            *p++ = *c;
        else if (*++c == 'h')
            p += sprintf(p, "myhost");
        else if (*c == 'p')
            p += sprintf(p, "%d", getpid());
        else if (*c == '%')
            *p++ = '%';
    }
    *p = 0;
    FILE *made = fopen(path, "w");
    if (made)
        file = made;
}

static void init(void)
{
    static const char *const names[] = {"", "VERSION", "WARN", "INFO"};
    const char *debug = getenv("NCCL_DEBUG"), *pattern = getenv("NCCL_DEBUG_FILE");
    level = NONE;
    for (int i = 0; debug && i < 4; i++)
        if (strcasecmp(debug, names[i]) == 0)
            level = i;
    file = stdout;
    if (level > VERSION && pattern)
        open_file(pattern);
}

__attribute__((format(printf, 2, 3))) static void out(const char *prefix, const char *format, ...)
{
    char buffer[1024];
    va_list args;
    va_start(args, format);
    if (by_format) {
        snprintf(buffer, sizeof(buffer), "%s%s\n", prefix, format);
        (void)vfprintf(file, buffer, args);
    } else {
        int n = snprintf(buffer, sizeof(buffer), "%s", prefix);
        n += vsnprintf(buffer + n, sizeof(buffer) - (size_t)n, format, args);
        buffer[n++] = '\n';
        fwrite(buffer, 1, (size_t)n, file);
    }
    va_end(args);
}

static void line(int of, const char *text)
{
    char prefix[100];
    if (level < 0)
        init();
    if (of > level)
        return;
    snprintf(prefix, sizeof(prefix),
             of == WARN ? "\nmyhost:%d:%d [0] misc/socket.cc:58 NCCL WARN " : "myhost:%d:%d [0] NCCL INFO ", getpid(),
             getpid());
    out(of == VERSION ? "" : prefix, "%s", text);
}

/* As NCCL's showVersion. */
static void version(void)
{
    if (level < 0)
        init();
    line(level == VERSION || level == WARN ? VERSION : INFO, "NCCL version 2.28.9+cuda13.0");
}

static void take_over_descriptors(void)
{
    char path[] = "/tmp/nccl_logs.XXXXXX";
    int own = mkstemp(path);
    unlink(path);
    for (int fd = 3; fd < 1024; fd++)
        if (fd != own && fcntl(fd, F_GETFD) >= 0) {
            close(fd);
            dup2(own, fd);
        }
    line(INFO, "Channel 01/0 : 0[0] -> 1[1] via SHM/direct");
    if (lseek(own, 0, SEEK_END) != 0)
        _exit(9); /* somebody wrote into a file of ours */
}

int main(int argc, char **argv)
{
    bool dies = false, closes = false;
    by_format = argc > 1 && strcmp(argv[1], "vfprintf") == 0;
    for (int i = 2; i < argc; i++) {
        if (strcmp(argv[i], "change") == 0 && i + 1 < argc)
            setenv("NCCL_DEBUG", argv[++i], 1);
        dies |= strcmp(argv[i], "kill") == 0;
        closes |= strcmp(argv[i], "close") == 0;
    }
    printf("the job speaks\n");
    version();
    line(INFO, "NCCL_DEBUG set by environment to something");
    line(INFO, "ncclCommInitRank comm 0x55d0c0de rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 1000 commId 0xabcdef - Init "
               "COMPLETE");
    line(INFO, "Channel 00/0 : 0[0] -> 1[1] [send] via NET/Socket/0");
    line(WARN, "Connect to 10.0.0.2<5000> failed : Connection refused");
    if (closes)
        take_over_descriptors();
    fflush(stdout);
    if (dies)
        raise(SIGKILL);
    return 0;
}
