/* own_cost.c - see own_cost.h. Each `self` event holds the totals of its process so far: the last one counts. */
#include "analysis/cmd/own_cost.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/input/trace.h"
#include "analysis/model/map.h"

struct process {
    struct process *next;
    uint64_t cpu_ns, events, calls;
};

struct reading {
    struct map by_pid;
    struct process *all; /* owned */
};

static int on_event(void *arg, const struct event *event)
{
    struct reading *r = arg;
    if (event->kind != EV_self)
        return 0;
    const struct tr_self *self = &event->u.self;
    const struct map_key key = {event->host, self->pid};
    struct process *p = map_find(&r->by_pid, key);
    if (!p) {
        p = calloc(1, sizeof(*p));
        if (!p)
            return -ENOMEM;
        p->next = r->all;
        r->all = p;
        if (map_put(&r->by_pid, key, p) < 0)
            return -ENOMEM;
    }
    p->cpu_ns = self->cpu_ns;
    p->events = self->events;
    p->calls = self->calls;
    return 0;
}

int own_cost_read(const char *dir, struct own_cost *ret)
{
    char *paths[] = {(char *)dir}, *error = NULL;
    struct reading r = {{0}};
    struct trace *trace;
    int rc = trace_open(paths, 1, &trace, &error);
    free(error);
    if (rc < 0)
        return rc;
    rc = trace_scan(trace, 1u << CH_STEPS, on_event, &r);
    trace_free(trace);

    *ret = (struct own_cost){0};
    for (struct process *p = r.all, *next; p; p = next) {
        next = p->next;
        ret->cpu_ns += p->cpu_ns;
        ret->events += p->events;
        ret->calls += p->calls;
        ret->processes++;
        free(p);
    }
    map_done(&r.by_pid);
    return rc;
}
