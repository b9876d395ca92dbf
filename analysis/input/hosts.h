/* hosts.h - the hosts (boots of a machine) that events come from, numbered, and their clocks on one axis.
 *
 * A host is known by its name and boot id: two boots of one machine are two clocks, hence two hosts. Owned by the
 * trace; sources add to it while they are opened. */
#ifndef TRSHIM_ANALYSIS_HOSTS_H
#define TRSHIM_ANALYSIS_HOSTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/input/trace.h"

struct host_entry {
    struct trace_host shown;       /* what trace_host() returns; strings owned here */
    char *first_name, *first_boot; /* as added: what it is recognised by, kept since callers may still hold them */
    bool renamed;
};

struct hosts {
    struct host_entry *list;
    size_t nr;
};

void hosts_done(struct hosts *hosts);

/* Finds or adds a host. A known epoch replaces an unknown one. Returns 0 or -ENOMEM. */
int hosts_add(struct hosts *hosts, const char *name, const char *boot, int64_t epoch_ns, uint32_t *ret_index);

/* A recorded process knows its host better than the daemon that wrote its trace: the first such word stands.
 * Empty strings change nothing. Returns 0 or -ENOMEM. */
int hosts_rename(struct hosts *hosts, uint32_t index, const char *name, const char *boot);

/* The place on the common axis of a time on this host's clock: ns since 1970 where that is known. A host of unknown
 * epoch among known ones is taken to have booted with the earliest; when none is known all share one clock. */
int64_t hosts_axis_ns(const struct hosts *hosts, uint32_t index, uint64_t ts_ns);

#endif
