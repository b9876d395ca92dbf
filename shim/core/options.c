/* options.c - reads the environment. Bad values are said once on stderr and taken as not given: never stop a job. */
#include "shim/core/options.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct shim_options options;

void say(int verbosity, const char *format, ...)
{
    if (options.verbose < verbosity)
        return;
    char line[512];
    va_list args;
    va_start(args, format);
    int n = snprintf(line, sizeof(line), "trshim[%d]: ", (int)getpid());
    n += vsnprintf(line + n, sizeof(line) - (size_t)n - 1, format, args);
    va_end(args);
    if (n > (int)sizeof(line) - 2)
        n = sizeof(line) - 2;
    line[n++] = '\n';
    if (write(STDERR_FILENO, line, (size_t)n) < 0)
        return;
}

static uint64_t number(const char *name, uint64_t fallback)
{
    const char *text = getenv(name);
    if (!text || !*text)
        return fallback;
    char *end;
    unsigned long long value = strtoull(text, &end, 10);
    if (*end || *text == '-') {
        say(0, "%s=\"%s\" is no number; %llu is used", name, text, (unsigned long long)fallback);
        return fallback;
    }
    return value;
}

/* "A:B" into two numbers; false, with a word on stderr, if it is something else. */
static bool pair(const char *name, uint64_t *a, uint64_t *b)
{
    const char *text = getenv(name);
    if (!text || !*text)
        return false;
    char *end;
    *a = strtoull(text, &end, 10);
    if (end != text && *end == ':') {
        const char *second = end + 1;
        *b = strtoull(second, &end, 10);
        if (end != second && !*end)
            return true;
        if (!*second) { /* "A:" is from A on */
            *b = UINT64_MAX;
            return true;
        }
    }
    say(0, "%s=\"%s\" is not of the form A:B; all steps are recorded", name, text);
    return false;
}

void options_read(void)
{
    options.verbose = (int)number("TRSHIM_VERBOSE", 0);
    options.control = getenv("TRSHIM_CONTROL");
    options.ranks = getenv("TRSHIM_RANKS");
    options.nccl_log = getenv("TRSHIM_NCCL_LOG");
    const char *node = getenv("TRSHIM_NODE");
    options.node = !node || strcmp(node, "/") == 0 ? "" : strcmp(node, "none") == 0 ? NULL : node;
    options.ranges = number("TRSHIM_RANGES", 1) != 0;
    options.wait_ns = number("TRSHIM_WAIT_US", 100) * 1000;
    const char *graphs = getenv("TRSHIM_GRAPHS");
    options.whole_graphs = graphs && strcmp(graphs, "launches") == 0;
    if (graphs && *graphs && !options.whole_graphs && strcmp(graphs, "nodes") != 0)
        say(0, "TRSHIM_GRAPHS=\"%s\" is neither nodes nor launches; nodes is used", graphs);
    uint64_t site_kib = number("TRSHIM_SITE_KIB", 1024);
    options.site_bytes = site_kib ? site_kib * 1024 : UINT64_MAX;
    options.hang_ns = number("TRSHIM_HANG_S", 30) * 1000000000u;

    options.budget_percent = (unsigned)number("TRSHIM_BUDGET", 1);

    struct step_window *w = &options.window;
    w->from = 0;
    w->to = UINT64_MAX;
    w->set = pair("TRSHIM_STEPS", &w->from, &w->to);
    if (pair("TRSHIM_EVERY", &w->every, &w->take) && w->every)
        w->set = true;
    else
        w->every = 0;
}

bool options_list_has(const char *list, long n)
{
    if (!list || !*list || strcmp(list, "all") == 0)
        return true;
    while (*list) {
        char *end;
        long first = strtol(list, &end, 10), last = first;
        if (end == list)
            return true; /* not a list: better too much than nothing */
        if (*end == '-')
            last = strtol(end + 1, &end, 10);
        if (n >= first && n <= last)
            return true;
        list = *end == ',' ? end + 1 : end + strlen(end);
    }
    return false;
}
