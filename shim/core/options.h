/* options.h - the environment variables of traces/environment.def, read once at start. */
#ifndef TRSHIM_CORE_OPTIONS_H
#define TRSHIM_CORE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

struct step_window {
    bool set;
    uint64_t from, to;    /* --steps A:B, both included */
    uint64_t every, take; /* --every N:M */
};

struct shim_options {
    const char *control; /* borrowed from the environment */
    const char *ranks;
    const char *nccl_log; /* directory of NCCL's logs; NULL none */
    const char *node;     /* root of proc and sys, "" the real one; NULL: not read */
    struct step_window window;
    bool ranges;
    uint64_t wait_ns;        /* shorter waits are summed */
    bool whole_graphs;       /* one record for each launch of a graph */
    uint64_t site_bytes;     /* device memory from this size on is told with its call stack */
    uint64_t hang_ns;        /* 0: no watchdog */
    unsigned budget_percent; /* of a core; 0: no limit */
    int verbose;
};

extern struct shim_options options;

void options_read(void);

/* Whether a list such as "0,2,8-15" holds n. An empty or missing list holds all. */
bool options_list_has(const char *list, long n);

/* Says something on stderr if TRSHIM_VERBOSE is at least `verbosity`; allocates nothing. */
void say(int verbosity, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
