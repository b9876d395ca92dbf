/* record_options.h - the command line of `trshim record`. */
#ifndef TRSHIM_ANALYSIS_RECORD_OPTIONS_H
#define TRSHIM_ANALYSIS_RECORD_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "traces/events.h"

#define DEFAULT_MAX_SIZE (2ull << 30)

struct record_options {
    const char *dir;
    bool default_dir; /* not given: dir was made up */
    enum tr_level level;
    uint64_t buffers, max_size;     /* bytes; 0: default, no limit */
    uint64_t flight;                /* bytes of the ring; 0: all is written as it comes */
    uint64_t delay_ns, duration_ns; /* 0: none */
    const char *ranks, *steps, *every;
    bool with_report, quiet;
    bool no_nccl_log, wrap_net;
    bool takes_command; /* record, not start */
    char **command;     /* NULL-terminated, at least one; NULL for `trshim start` */
};

/* Parse; a wrong command line ends the program with a line and status 2. */
void record_options_parse(struct record_options *ret, int argc, char **argv);
void start_options_parse(struct record_options *ret, int argc, char **argv);

/* The level of that name, or LEVEL_MAX. */
enum tr_level level_from_name(const char *name);

#endif
