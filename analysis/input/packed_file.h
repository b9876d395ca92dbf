/* packed_file.h - the bytes of a file that may be compressed by gzip, from its beginning to its end. */
#ifndef TRSHIM_ANALYSIS_PACKED_FILE_H
#define TRSHIM_ANALYSIS_PACKED_FILE_H

#include <stddef.h>
#include <sys/types.h>

struct packed_file;

/* 0 or -errno. */
int packed_file_open(const char *path, struct packed_file **ret);
void packed_file_close(struct packed_file *file); /* accepts NULL */

/* The next bytes, at most `size`. Returns how many; 0 at the end, also at one that comes too early because the file is
 * damaged: see packed_file_problem; or -errno when it cannot be read at all. */
ssize_t packed_file_read(struct packed_file *file, void *data, size_t size);

/* Why the bytes ended too early (a sentence that may go on), NULL if they did not. */
const char *packed_file_problem(const struct packed_file *file);

#endif
