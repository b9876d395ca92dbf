/* memory_sites.c - see memory_sites.h. */
#include "analysis/pass/memory_sites.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/model/names.h"

static struct memory_site *find(const struct memory *memory, const struct callsite *site)
{
    for (size_t i = 0; i < memory->nr_sites; i++)
        if (memory->sites[i].site == site)
            return &memory->sites[i];
    return NULL;
}

int memory_sites_take(struct memory *memory, const struct callsite *site, uint64_t bytes)
{
    struct memory_site *row = site ? find(memory, site) : NULL;
    if (!site)
        return 0;
    if (!row) {
        struct memory_site *sites = realloc(memory->sites, (memory->nr_sites + 1) * sizeof(*sites));
        if (!sites)
            return -ENOMEM;
        memory->sites = sites;
        row = &sites[memory->nr_sites++];
        *row = (struct memory_site){.site = site};
    }
    row->live += bytes;
    row->segments++;
    return 0;
}

void memory_sites_give(struct memory *memory, const struct callsite *site, uint64_t bytes)
{
    struct memory_site *row = site ? find(memory, site) : NULL;
    if (!row)
        return;
    row->live -= bytes < row->live ? bytes : row->live;
    row->segments -= row->segments > 0;
}

void memory_sites_peak(struct memory *memory)
{
    for (size_t i = 0; i < memory->nr_sites; i++) {
        memory->sites[i].at_peak = memory->sites[i].live;
        memory->sites[i].segments_at_peak = memory->sites[i].segments;
    }
}

static int by_bytes(const void *a, const void *b)
{
    const struct memory_site *x = a, *y = b;
    if (x->at_peak != y->at_peak)
        return x->at_peak < y->at_peak ? 1 : -1;
    return x->site->id < y->site->id ? -1 : x->site->id > y->site->id;
}

/* "BUILDID PATH" */
static void tell_frame(const struct callsite_frame *from, struct report_frame *to)
{
    const char *text = from->module ? from->module->text : NULL, *path = text ? strchr(text, ' ') : NULL;
    *to = (struct report_frame){.module = path ? path + 1 : text, .offset = from->offset, .line = TR_UNKNOWN};
    if (path && path > text && *text != '-')
        to->build_id = strndup(text, (size_t)(path - text));
}

static int tell_site(const struct memory_site *from, struct report_site *to)
{
    to->frames = calloc(from->site->nr + 1, sizeof(*to->frames));
    if (!to->frames)
        return -ENOMEM;
    to->bytes = from->at_peak;
    to->segments = from->segments_at_peak;
    to->nr_frames = from->site->nr;
    for (size_t i = 0; i < to->nr_frames; i++)
        tell_frame(&from->site->frames[i], &to->frames[i]);
    return 0;
}

void memory_sites_free(struct report_site *sites, size_t nr)
{
    for (size_t i = 0; sites && i < nr; i++) {
        for (size_t k = 0; k < sites[i].nr_frames; k++)
            free((char *)sites[i].frames[k].build_id);
        free(sites[i].frames);
    }
    free(sites);
}

int memory_sites_tell(const struct memory *memory, struct report_site **ret, size_t *ret_nr)
{
    struct report_site *sites = calloc(REPORT_SITES_MAX, sizeof(*sites));
    size_t nr = 0;
    int rc = sites ? 0 : -ENOMEM;
    if (!rc && memory->nr_sites)
        qsort(memory->sites, memory->nr_sites, sizeof(*memory->sites), by_bytes);
    for (size_t i = 0; i < memory->nr_sites && nr < REPORT_SITES_MAX && memory->sites[i].at_peak && !rc; i++)
        rc = tell_site(&memory->sites[i], &sites[nr++]);
    if (rc) {
        memory_sites_free(sites, nr);
        return rc;
    }
    *ret = sites;
    *ret_nr = nr;
    return 0;
}
