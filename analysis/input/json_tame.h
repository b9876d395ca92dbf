/* json_tame.h - makes JSON of what trace writers take for it; see json_stream.h. Bytes are changed in place and keep
 * their positions. */
#ifndef TRSHIM_ANALYSIS_JSON_TAME_H
#define TRSHIM_ANALYSIS_JSON_TAME_H

#include <stdbool.h>
#include <stddef.h>

/* Zeroed is the beginning of a file. */
struct json_tame {
    bool in_string;
    size_t string_bytes; /* of the string so far */
};

/* Looks at the next `len` bytes. Returns how many of them are settled; the others must come again, at the front of the
 * next call (or, if this was the end of the file, are settled as they are). -EMSGSIZE with *ret_at set: a value there
 * is too long. */
long json_tame(struct json_tame *tame, char *data, size_t len, bool at_end, size_t *ret_at);

#endif
