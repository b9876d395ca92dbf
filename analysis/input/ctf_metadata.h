/* ctf_metadata.h - the text of a CTF 1.8 metadata file, as far as it can be had.
 *
 * For traces whose daemon was killed: the file then ends within a packet or within a declaration. */
#ifndef TRSHIM_ANALYSIS_CTF_METADATA_H
#define TRSHIM_ANALYSIS_CTF_METADATA_H

#include <stdbool.h>
#include <stddef.h>

/* From the bytes of the file (packets, or plain text) makes the text up to the last declaration that is complete.
 * *ret_cut tells whether anything had to be left out. Returns 0; -ENODATA if no declaration is left; -ENOMEM. The
 * text is owned by the caller and NUL-terminated. */
int ctf_metadata_salvage(const void *bytes, size_t size, char **ret_text, bool *ret_cut);

/* Does the file at `path` end within a packet? babeltrace2 2.0 reads such a file for ever. */
bool ctf_metadata_ends_early(const char *path);

#endif
