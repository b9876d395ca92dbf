/* columns.h - the tables of a report as data: which columns a row has, what they are called in JSON and in text, and in
 * which unit their values are. All emitters go through these, so that they cannot disagree. */
#ifndef TRSHIM_ANALYSIS_COLUMNS_H
#define TRSHIM_ANALYSIS_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/emit/words.h"

enum column_type {
    COL_U32,
    COL_U64,
    COL_INT,
    COL_I64,
    COL_DOUBLE,
    COL_STR,
    COL_BOOL,
    COL_TRUTH,
    COL_SHARE,
    COL_WORKER_SHARE,
    COL_NULL
};
enum column_unit {
    UNIT_NONE,
    UNIT_COUNT,
    UNIT_TIME,
    UNIT_BYTES,
    UNIT_SHARE,
    UNIT_RATE,  /* bytes/s */
    UNIT_FLOPS, /* FLOP/s */
    UNIT_NUMBER /* three digits */
};

struct column {
    const char *id; /* JSON key; NULL: text only */
    enum column_type type;
    uint16_t offset; /* of the field in the row */
    enum column_unit unit;
    enum word heading; /* W_none: JSON only */
    uint8_t drop;      /* a narrow terminal loses the column with the highest number first; 0 never */
};

struct columns {
    const struct column *column;
    size_t nr;
};

extern const struct columns columns_inputs;        /* struct report_input */
extern const struct columns columns_ranks;         /* struct report_rank */
extern const struct columns columns_steps;         /* struct report_step */
extern const struct columns columns_breakdown;     /* struct report_breakdown, as shares of the window */
extern const struct columns columns_io;            /* struct report_io */
extern const struct columns columns_workers;       /* struct report_worker */
extern const struct columns columns_checkpoints;   /* struct report_checkpoint */
extern const struct columns columns_kernels;       /* struct report_kernel */
extern const struct columns columns_copies;        /* struct report_copy */
extern const struct columns columns_gpus;          /* struct report_gpu */
extern const struct columns columns_memory;        /* struct report_memory, without its arrays */
extern const struct columns columns_communicators; /* struct report_communicator */
extern const struct columns columns_collectives;   /* struct report_collective */
extern const struct columns columns_transports;    /* struct report_transport */
extern const struct columns columns_owners;        /* struct report_owner */
extern const struct columns columns_sites;         /* struct report_site */
extern const struct columns columns_frames;        /* struct report_frame */
extern const struct columns columns_failures;      /* struct report_failure */
extern const struct columns columns_quality;       /* struct report_quality */

/* One value of a row. */
struct cell {
    enum { CELL_UNKNOWN, CELL_INT, CELL_UINT, CELL_REAL, CELL_TEXT, CELL_TRUTH } kind;
    union {
        int64_t i;
        uint64_t u;
        double d;
        const char *s; /* borrowed from the row */
        bool b;
    };
};

struct cell cell_value(const struct column *column, const void *row);

#endif
