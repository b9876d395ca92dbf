/* hosts.c - see hosts.h. */
#include "analysis/input/hosts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void entry_done(struct host_entry *entry)
{
    if (entry->shown.name != entry->first_name)
        free((char *)entry->shown.name);
    if (entry->shown.boot != entry->first_boot)
        free((char *)entry->shown.boot);
    free(entry->first_name);
    free(entry->first_boot);
}

void hosts_done(struct hosts *hosts)
{
    for (size_t i = 0; i < hosts->nr; i++)
        entry_done(&hosts->list[i]);
    free(hosts->list);
    *hosts = (struct hosts){0};
}

static struct host_entry *find(struct hosts *hosts, const char *name, const char *boot)
{
    for (size_t i = 0; i < hosts->nr; i++)
        if (strcmp(hosts->list[i].first_name, name) == 0 && strcmp(hosts->list[i].first_boot, boot) == 0)
            return &hosts->list[i];
    return NULL;
}

static struct host_entry *append(struct hosts *hosts, const char *name, const char *boot)
{
    struct host_entry *list = realloc(hosts->list, (hosts->nr + 1) * sizeof(*list));
    if (!list)
        return NULL;
    hosts->list = list;

    struct host_entry *entry = &list[hosts->nr];
    *entry = (struct host_entry){.first_name = strdup(name), .first_boot = strdup(boot)};
    entry->shown = (struct trace_host){.name = entry->first_name, .boot = entry->first_boot};
    if (!entry->first_name || !entry->first_boot) {
        entry_done(entry);
        return NULL;
    }
    hosts->nr++;
    return entry;
}

int hosts_add(struct hosts *hosts, const char *name, const char *boot, int64_t epoch_ns, uint32_t *ret_index)
{
    struct host_entry *entry = find(hosts, name, boot);

    if (!entry)
        entry = append(hosts, name, boot);
    if (!entry)
        return -ENOMEM;
    if (entry->shown.epoch_ns == 0)
        entry->shown.epoch_ns = epoch_ns;
    *ret_index = entry - hosts->list;
    return 0;
}

/* Shows `word` instead of *shown, unless it is empty or the same. */
static int replace(const char **shown, const char *word)
{
    if (!*word || strcmp(*shown, word) == 0)
        return 0;
    char *copy = strdup(word);
    if (!copy)
        return -ENOMEM;
    *shown = copy;
    return 0;
}

int hosts_rename(struct hosts *hosts, uint32_t index, const char *name, const char *boot)
{
    struct host_entry *entry = &hosts->list[index];

    if (entry->renamed || !*name)
        return 0;
    entry->renamed = true;
    int rc = replace(&entry->shown.name, name);
    return rc < 0 ? rc : replace(&entry->shown.boot, boot);
}

static int64_t earliest_epoch(const struct hosts *hosts)
{
    int64_t earliest = 0;

    for (size_t i = 0; i < hosts->nr; i++) {
        int64_t epoch = hosts->list[i].shown.epoch_ns;
        if (epoch && (!earliest || epoch < earliest))
            earliest = epoch;
    }
    return earliest;
}

int64_t hosts_axis_ns(const struct hosts *hosts, uint32_t index, uint64_t ts_ns)
{
    int64_t epoch = hosts->list[index].shown.epoch_ns, axis;

    if (epoch == 0)
        epoch = earliest_epoch(hosts);
    if (ts_ns > INT64_MAX || __builtin_add_overflow((int64_t)ts_ns, epoch, &axis))
        return INT64_MAX; /* a damaged time: last, rather than anywhere */
    return axis;
}
