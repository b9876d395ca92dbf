/* log.c - lines of the log. One write each, so that those of many processes do not cut into each other more than the
 * real ones do. */
#include "tests/sim/nccl/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tests/sim/nccl/inside.h"

enum level { LEVEL_NONE, LEVEL_VERSION, LEVEL_WARN, LEVEL_INFO, LEVEL_ABORT, LEVEL_TRACE };

static enum level level;
static unsigned subsystems;
static FILE *file;

static const char *const subsystem_names[] = {"INIT",  "COLL", "P2P",   "SHM",  "NET",       "GRAPH", "TUNING", "ENV",
                                              "ALLOC", "CALL", "PROXY", "NVLS", "BOOTSTRAP", "REG",   "PROFILE"};

static unsigned parse_subsystems(const char *text)
{
    bool without = *text == '^';
    unsigned set = without ? ~0u : 0;
    char *copy = strdup(text + without), *rest = NULL;
    for (char *word = strtok_r(copy, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
        unsigned bits = strcasecmp(word, "ALL") == 0 ? ~0u : 0;
        for (size_t i = 0; i < sizeof(subsystem_names) / sizeof(subsystem_names[0]); i++)
            bits |= strcasecmp(word, subsystem_names[i]) == 0 ? 1u << i : 0;
        set = without ? set & ~bits : set | bits;
    }
    free(copy);
    return set;
}

/* %h the host, %p the process. */
static void expand(const char *pattern, char *ret, size_t size)
{
    size_t len = 0;
    for (; *pattern && len + 1 < size; pattern++) {
        if (pattern[0] == '%' && pattern[1] == 'h')
            len += (size_t)snprintf(ret + len, size - len, "%s", nccl_host());
        else if (pattern[0] == '%' && pattern[1] == 'p')
            len += (size_t)snprintf(ret + len, size - len, "%d", (int)getpid());
        else {
            ret[len++] = *pattern;
            continue;
        }
        pattern++;
    }
    ret[len < size ? len : size - 1] = '\0';
}

static void open_log(void)
{
    static const char *const names[] = {"NONE", "VERSION", "WARN", "INFO", "ABORT", "TRACE"};
    const char *debug = nccl_variable("NCCL_DEBUG"), *which = nccl_variable("NCCL_DEBUG_SUBSYS"),
               *pattern = nccl_variable("NCCL_DEBUG_FILE");
    for (size_t i = 0; debug && i < sizeof(names) / sizeof(names[0]); i++)
        if (strcasecmp(debug, names[i]) == 0)
            level = (enum level)i;
    subsystems = which ? parse_subsystems(which) : LOG_INIT | LOG_BOOTSTRAP | LOG_ENV;
    file = stdout;
    if (!pattern || level <= LEVEL_VERSION)
        return;
    char path[4096];
    expand(pattern, path, sizeof(path));
    FILE *f = fopen(path, "we");
    if (!f)
        return;
    setvbuf(f, NULL, _IOLBF, 0);
    file = f;
}

static pthread_once_t once = PTHREAD_ONCE_INIT;

static size_t prefix(char *line, size_t size)
{
    int device = sim_current();
    return (size_t)snprintf(line, size, "%s:%d:%d [%d] ", nccl_host(), (int)getpid(), (int)syscall(SYS_gettid), device);
}

static void finish(char *line, size_t size, size_t len, const char *format, va_list args)
{
    int n = vsnprintf(line + len, size - len - 1, format, args);
    len += n > 0 ? (size_t)n : 0;
    len = len < size - 2 ? len : size - 2;
    line[len++] = '\n';
    fwrite(line, 1, len, file);
}

static void info(unsigned of, const char *format, va_list args)
{
    char line[2048];
    pthread_once(&once, open_log);
    if (level < LEVEL_INFO || !(of & subsystems))
        return;
    size_t len = prefix(line, sizeof(line));
    len += (size_t)snprintf(line + len, sizeof(line) - len, "NCCL INFO ");
    finish(line, sizeof(line), len, format, args);
}

static void warn(const char *place, const char *format, va_list args)
{
    char line[2048] = "\n";
    size_t len = 1;
    pthread_once(&once, open_log);
    if (level < LEVEL_WARN)
        return;
    if (nccl_version() >= 22600) {
        time_t now = time(NULL);
        struct tm tm;
        localtime_r(&now, &tm);
        len += strftime(line + len, sizeof(line) - len, "[%Y-%m-%d %H:%M:%S] ", &tm);
    }
    len += prefix(line + len, sizeof(line) - len);
    len += (size_t)snprintf(line + len, sizeof(line) - len, "%s NCCL WARN ", place);
    finish(line, sizeof(line), len, format, args);
}

void log_info(unsigned of, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    info(of, format, args);
    va_end(args);
}

void log_warn_at(const char *place, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    warn(place, format, args);
    va_end(args);
}

void log_for_plugins(int of_level, unsigned long flags, const char *in_file, int in_line, const char *format, ...)
{
    char place[128];
    va_list args;
    snprintf(place, sizeof(place), "%s:%d", in_file, in_line);
    va_start(args, format);
    if (of_level == LEVEL_WARN)
        warn(place, format, args);
    else if (of_level == LEVEL_INFO)
        info((unsigned)flags, format, args);
    va_end(args);
}

/* Up to 2.22 rank 0 alone, without a prefix; then every process, once. */
void log_version(int rank)
{
    static int said;
    pthread_once(&once, open_log);
    const struct nccl_settings *s = nccl_settings();
    if (level < LEVEL_VERSION)
        return;
    if (nccl_version() < 22300) {
        if (rank == 0 && !__atomic_exchange_n(&said, 1, __ATOMIC_RELAXED))
            fprintf(file, "NCCL version %s+cuda%s\n", s->version, s->cuda), fflush(file);
        return;
    }
    if (!__atomic_exchange_n(&said, 1, __ATOMIC_RELAXED))
        log_info(LOG_INIT, "NCCL version %s+cuda%s", s->version, s->cuda);
}
