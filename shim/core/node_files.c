/* node_files.c - CPU, pressure and cgroup totals from proc and sys. See node_sources.h. On the sampler's thread; a few
 * small files a round, without allocation. */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/core/node_sources.h"

static bool read_text(const char *root, const char *file, char *ret, size_t size)
{
    char path[512];
    int len = snprintf(path, sizeof(path), "%s%s", root, file);
    int fd = len > 0 && (size_t)len < sizeof(path) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    ssize_t got = fd < 0 ? -1 : read(fd, ret, size - 1);
    if (fd >= 0)
        close(fd);
    ret[got > 0 ? got : 0] = 0;
    return got > 0;
}

/* The number behind `key`, which begins a line or a word of it. */
static bool number_after(const char *text, const char *key, uint64_t *ret)
{
    size_t len = strlen(key);
    for (const char *p = text; (p = strstr(p, key)) != NULL; p += len) {
        char *end;
        if (p > text && p[-1] != '\n' && p[-1] != ' ')
            continue;
        uint64_t value = strtoull(p + len, &end, 10);
        if (end == p + len)
            continue;
        *ret = value;
        return true;
    }
    return false;
}

/* First line of /proc/stat: ticks in user, nice, system, idle, iowait, irq, softirq, steal. Guests are in user. */
static void read_cpus(const char *root, node_value_fn fn, void *arg)
{
    char text[256];
    unsigned long long t[8] = {0};
    uint64_t tick_ms = 1000u / (uint64_t)sysconf(_SC_CLK_TCK);
    if (!read_text(root, "/proc/stat", text, sizeof(text)) ||
        sscanf(text, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &t[0], &t[1], &t[2], &t[3], &t[4], &t[5], &t[6],
               &t[7]) < 5)
        return;
    fn(arg, TR_node_metric_cpu_busy_ms, 0, (t[0] + t[1] + t[2] + t[5] + t[6] + t[7]) * tick_ms);
    fn(arg, TR_node_metric_cpu_idle_ms, 0, (t[3] + t[4]) * tick_ms);
}

/* Directory of the process's own cgroup (v2), below the mount. In a container with a namespace of its own it is "". */
static void own_cgroup(const char *root, char *ret, size_t size)
{
    char text[1024];
    const char *line = read_text(root, "/proc/self/cgroup", text, sizeof(text)) ? strstr(text, "0::/") : NULL;
    ret[0] = 0;
    if (!line)
        return;
    size_t len = strcspn(line + 3, "\n");
    if (len > 1 && len < size && !memmem(line + 3, len, "..", 2))
        snprintf(ret, size, "%.*s", (int)len, line + 3);
}

/* A process may see less of the hierarchy than its path says: then the mount is its own. */
static bool read_cgroup(const char *root, const char *cgroup, const char *file, char *ret, size_t size)
{
    char path[512];
    int len = snprintf(path, sizeof(path), "/sys/fs/cgroup%s/%s", cgroup, file);
    if (len > 0 && (size_t)len < sizeof(path) && read_text(root, path, ret, size))
        return true;
    snprintf(path, sizeof(path), "/sys/fs/cgroup/%s", file);
    return read_text(root, path, ret, size);
}

void node_read_files(const char *root, node_value_fn fn, void *arg)
{
    static const struct {
        bool of_cgroup;
        const char *file, *line, *key;
        enum tr_node_metric metric;
    } totals[] = {
        {true, "cpu.stat", "usage_usec", "usage_usec ", TR_node_metric_own_cpu_us},
        {true, "cpu.stat", "throttled_usec", "throttled_usec ", TR_node_metric_own_throttled_us},
        {true, "memory.events", "oom_kill", "oom_kill ", TR_node_metric_oom_kills},
        {false, "/proc/pressure/cpu", "some", "total=", TR_node_metric_cpu_some_us},
        {false, "/proc/pressure/io", "some", "total=", TR_node_metric_io_some_us},
        {false, "/proc/pressure/memory", "full", "total=", TR_node_metric_memory_full_us},
    };
    char cgroup[384];
    own_cgroup(root, cgroup, sizeof(cgroup));
    read_cpus(root, fn, arg);
    for (size_t i = 0; i < sizeof(totals) / sizeof(*totals); i++) {
        char text[2048];
        uint64_t value;
        bool there = totals[i].of_cgroup ? read_cgroup(root, cgroup, totals[i].file, text, sizeof(text))
                                         : read_text(root, totals[i].file, text, sizeof(text));
        const char *line = there ? strstr(text, totals[i].line) : NULL;
        if (line && number_after(line, totals[i].key, &value))
            fn(arg, totals[i].metric, 0, value);
    }
}
