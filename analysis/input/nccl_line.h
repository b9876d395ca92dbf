/* nccl_line.h - one line of a log, and what NCCL says in it.
 *
 * Knows the formats of NCCL 2.3 to 2.32. Whatever a launcher put before the line (ranks, time stamps, colours, host
 * names), and lines that were cut into each other: what counts is the last `host:pid:tid [device] ` before a message,
 * and one line may hold several messages. Pure: no files, no allocation, any thread. */
#ifndef TRSHIM_ANALYSIS_NCCL_LINE_H
#define TRSHIM_ANALYSIS_NCCL_LINE_H

#include <stdbool.h>
#include <stddef.h>

#include "analysis/event.h"

struct nccl_line {
    char *rest; /* where the search goes on */
};

struct nccl_message {
    const char *host;   /* NULL: its prefix is lost */
    bool anonymous;     /* of a kind that NCCL writes without a prefix */
    struct event event; /* without host and time; its strings lie in the line */
};

/* Begins a line: it is changed (colours go), and lends its strings. */
void nccl_line_begin(struct nccl_line *line, char *text);

/* The next message that says something about communicators, transports or their surroundings. */
bool nccl_line_next(struct nccl_line *line, struct nccl_message *ret);

/* Whether the text holds anything NCCL wrote: what makes a file an NCCL log. `text` ends at NUL. */
bool nccl_line_is_nccl(const char *text);

#endif
