/* ctf_survey.h - a first look at trace directories: whose they are and which streams they hold.
 *
 * Done in a process of its own, so that a directory on which babeltrace2 crashes costs that directory only. */
#ifndef TRSHIM_ANALYSIS_CTF_SURVEY_H
#define TRSHIM_ANALYSIS_CTF_SURVEY_H

#include <stddef.h>
#include <stdint.h>

struct ctf_stream {
    char *port;        /* as ctf_graph names it */
    char *name;        /* of its first file, or "" */
    uint64_t first_ns; /* of its first event, 0 if it has none */
};

/* Owned. */
struct ctf_surveyed {
    char *problem;    /* NULL: could be opened. Streams that cannot be begun are left out of `streams` */
    char *bad_stream; /* the first such stream and why, or NULL */
    char *hostname;   /* "" unknown */
    char *boot;       /* "" unknown */
    int64_t epoch_ns;
    uint64_t nr_classes, nr_known; /* kinds of events, and those of ours among them */
    struct ctf_stream *streams;
    size_t nr_streams;
};

/* Looks at dirs[0 .. nr) and fills ret[0 .. nr), which was zeroed. Returns 0 or -errno (nothing could be started). */
int ctf_survey(char *const *dirs, size_t nr, struct ctf_surveyed *ret);
void ctf_surveyed_done(struct ctf_surveyed *surveyed);

#endif
