/* scan_twice.c - a scan that goes wrong half-way, then one that does not: `scan_twice kill|stop PATH`.
 *
 * kill: at the 1000th event the reader processes are killed; stop: the scan is stopped there. Prints what each scan
 * delivered and said. Exits 1 if a child process is left after either, or an event comes out of order. */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analysis/input/trace.h"

enum { AT_EVENT = 1000 };

struct scan {
    enum { KILL, STOP, NOTHING } what;
    unsigned long events;
    uint64_t last_ns;
    bool ordered;
};

static void kill_children(void)
{
    char path[64];
    int pid;

    (void)snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
    FILE *children = fopen(path, "r");
    while (children && fscanf(children, "%d", &pid) == 1)
        (void)kill(pid, SIGKILL);
    if (children)
        (void)fclose(children);
}

static int take(void *arg, const struct event *event)
{
    struct scan *scan = arg;

    scan->ordered &= event->ts_ns >= scan->last_ns;
    scan->last_ns = event->ts_ns;
    if (++scan->events != AT_EVENT)
        return 0;
    if (scan->what == KILL)
        kill_children();
    return scan->what == STOP ? 42 : 0;
}

static bool children_left(void)
{
    return waitpid(-1, NULL, WNOHANG) != -1 || errno != ECHILD;
}

static int run(struct trace *trace, int what)
{
    struct scan scan = {.what = what, .ordered = true};
    int rc = trace_scan(trace, TRACE_ALL_CHANNELS, take, &scan);
    const char *problem = trace_input(trace, 0)->problem;

    printf("rc %d, %lu events%s%s%s\n", rc, scan.events, problem ? ", " : "", problem ? problem : "",
           scan.ordered ? "" : ", OUT OF ORDER");
    if (children_left()) {
        puts("a child is left");
        return 1;
    }
    return !scan.ordered;
}

int main(int argc, char **argv)
{
    struct trace *trace;
    char *error;

    if (argc != 3) {
        fputs("Usage: scan_twice kill|stop PATH\n", stderr);
        return 2;
    }
    if (trace_open(&argv[2], 1, &trace, &error) < 0) {
        fprintf(stderr, "scan_twice: %s\n", error);
        free(error);
        return 2;
    }
    int failed = run(trace, strcmp(argv[1], "kill") == 0 ? KILL : STOP);
    failed |= run(trace, NOTHING);
    trace_free(trace);
    return failed;
}
