/* text_form.h - an event as one line of text, and back.
 *
 * For `trshim events`, for tests, and for whoever wants grep and awk. Made from traces/schema.h, so it knows every
 * kind of event without naming any. Pure: no files, no allocation when parsing, any thread.
 *
 *   #! trshim-events 1                                          first line of a file
 *   # a comment; may also end a line
 *   host node-a boot=6f2d... epoch_ns=1700000000000000000       optional, before the first event of that host
 *   1.5s node-a file_io pid=10 op=read name=3 size=64KiB dur=2ms
 *   lost node-a 12                                              events that the recorder dropped there
 *   unknown node-a 3                                            events of kinds the printing program did not know
 *   problem "disk full"                                         something was missing when this was printed
 *
 * An event is `<time> <host> <event> field=value ...`, its fields in any order. What is left out is 0 or "", except:
 * tid is pid, start_ns is the time less dur_ns (or age_ns), at_ns is the time. A field may be written without its
 * unit (dur for dur_ns, size for size_bytes). Numbers: ns or bytes, or with a unit and decimals (1.5ms, 64KiB, 3k,
 * 2M), or 0x hexadecimal; several of them with commas between. Enums by name, or by number. Strings are bare words, or
 * quoted when they are empty or hold blanks, quotes, backslashes, control bytes or bytes that are not UTF-8: \" \\ \n
 * \r \t \xNN (two digits). */
#ifndef TRSHIM_ANALYSIS_TEXT_FORM_H
#define TRSHIM_ANALYSIS_TEXT_FORM_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/event.h"

#define TEXT_HEADER "#! trshim-events"
#define TEXT_VERSION 1

/* ---- printing: appends lines, newline included ---------------------------------------------- */

/* Text that grows at its end. Invariant: data holds len bytes, no NUL after them. Zeroed is empty; owned data. */
struct text_buf {
    char *data;
    size_t len, capacity;
};

void text_buf_done(struct text_buf *buf);

/* `host` is what the lines call the host; 0 or -ENOMEM (buf as before). */
int text_print_header(struct text_buf *buf);
int text_print_host(struct text_buf *buf, const char *host, const char *name, const char *boot, int64_t epoch_ns);
int text_print_event(struct text_buf *buf, const char *host, const struct event *event);
int text_print_count(struct text_buf *buf, const char *word, const char *host, uint64_t count);
int text_print_problem(struct text_buf *buf, const char *problem);

/* ---- parsing -------------------------------------------------------------------------------- */

#define TEXT_WORDS_MAX (2 * TR_SEQ64_MAX) /* of all sequences of an event */

enum text_what { TEXT_NOTHING, TEXT_EVENT, TEXT_HOST, TEXT_LOST, TEXT_UNKNOWN, TEXT_PROBLEM };

struct text_line {
    enum text_what what;
    const char *host;               /* all but NOTHING and PROBLEM; strings are borrowed from the line, never NULL */
    struct event event;             /* EVENT; its host number is left 0 */
    const char *name, *boot;        /* HOST; name is host if not given */
    int64_t epoch_ns;               /* HOST; 0 unknown */
    uint64_t count;                 /* LOST, UNKNOWN */
    const char *problem;            /* PROBLEM */
    uint64_t words[TEXT_WORDS_MAX]; /* EVENT: lent to its sequences */
    size_t nr_words;
};

struct text_error {
    size_t column; /* from 1 */
    char message[200];
};

/* Parses one line without its newline: `line` is changed, and lends the strings of *ret. Returns 0; -EINVAL with
 * *error filled; or -ENOENT with *error filled if it is an event of a kind that is not known. */
int text_parse(char *line, struct text_line *ret, struct text_error *error);

/* The start of a line only: time and host of an event, for whoever wants its place in time and not its fields.
 * Does not change the line. Returns 1 with *ret_ts and the host's word (ret_host, *ret_host_len; as written, that is
 * with its quotes), 0 if the line is not an event or cannot be parsed. */
int text_parse_time(const char *line, size_t len, uint64_t *ret_ts, const char **ret_host, size_t *ret_host_len);

#endif
