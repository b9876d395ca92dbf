/* json_stream.h - a JSON file of any size as a sequence of values, each with its place.
 *
 * Parsed by yajl as it is read; never in memory as a whole. More is accepted than JSON allows where trace writers are
 * known to sin: numbers that are none (nan, -inf, Infinity, 1.#IND become ""), backslashes and control characters as
 * they are in strings, bytes that are not UTF-8, a missing ']' at the end of a top-level array (Chrome's format
 * permits it). Nesting and the length of one value have limits, so that a damaged file cannot ask for all memory. */
#ifndef TRSHIM_ANALYSIS_JSON_STREAM_H
#define TRSHIM_ANALYSIS_JSON_STREAM_H

#include <stddef.h>

#include "analysis/input/packed_file.h"

#define JSON_DEPTH_MAX 512        /* deeper is damage */
#define JSON_PLACES 6             /* containers whose keys are kept, from the outermost */
#define JSON_KEY_SIZE 48          /* longer keys are cut off */
#define JSON_STRING_MAX (8 << 20) /* bytes of one string; longer is damage */
#define JSON_WORD_MAX 512         /* bytes of one number; longer is damage */

enum json_type { JSON_null, JSON_bool, JSON_number, JSON_string };

/* Where a value is: inside `depth` containers, the outermost first. In container i it (or what holds it) has the key
 * keys[i], which is "" in an array. */
struct json_place {
    unsigned depth;
    char keys[JSON_PLACES][JSON_KEY_SIZE];
};

/* Each returns 0 to go on, or -errno. Texts are not terminated, borrowed until return. Numbers come as they are
 * written. `place` is that of the value or of the container that begins or ends. */
struct json_handler {
    int (*value)(void *arg, const struct json_place *place, enum json_type type, const char *text, size_t len);
    int (*begin)(void *arg, const struct json_place *place, char bracket); /* '{' or '[' */
    int (*end)(void *arg, const struct json_place *place, char bracket);   /* the same one */
};

/* Reads the file to its end or to where it is damaged. Returns 0, with *ret_problem (owned by the caller) set to what
 * is wrong and where if not all could be read, else NULL; or -errno, also that of a handler. */
int json_read(struct packed_file *file, const struct json_handler *handler, void *arg, char **ret_problem);

#endif
