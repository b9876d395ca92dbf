/* callsites.c - see callsites.h. A list per process: call stacks that take device memory are few. */
#include "analysis/model/callsites.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/model/job.h"

const struct callsite *callsite_find(const struct process *process, uint32_t id)
{
    for (const struct callsite *site = process->callsites; site && id; site = site->next)
        if (site->id == id)
            return site;
    return NULL;
}

/* "MODULE:OFFSET MODULE:OFFSET ...": what is not of that form ends it. */
static void parse(const struct job *job, const char *text, struct callsite *site)
{
    while (site->nr < CALLSITE_FRAMES) {
        char *end;
        unsigned long module = strtoul(text, &end, 10);
        if (end == text || *end != ':')
            return;
        const char *hex = end + 1;
        uint64_t offset = strtoull(hex, &end, 16);
        if (end == hex)
            return;
        site->frames[site->nr++] = (struct callsite_frame){job_name(job, job->process, (uint32_t)module), offset};
        text = end;
    }
}

int callsites_learn(struct job *job, const struct tr_callsite *event)
{
    if (!event->id || callsite_find(job->process, event->id))
        return 0;
    struct callsite *site = calloc(1, sizeof(*site));
    if (!site)
        return -ENOMEM;
    site->id = event->id;
    parse(job, event->frames, site);
    site->next = job->process->callsites;
    job->process->callsites = site;
    return 0;
}

void callsites_free(struct callsite *site)
{
    while (site) {
        struct callsite *next = site->next;
        free(site);
        site = next;
    }
}
