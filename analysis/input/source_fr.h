/* source_fr.h - dumps of PyTorch's flight recorder as an input. */
#ifndef TRSHIM_ANALYSIS_SOURCE_FR_H
#define TRSHIM_ANALYSIS_SOURCE_FR_H

#include <stdbool.h>

struct hosts;
struct sources;

/* Whether the file begins as one does, as pickle or as JSON. */
bool fr_looks_like_dump(const char *path);

/* Adds the file, or all dumps of a directory (-ENOENT without an error if there are none; a damaged one becomes an
 * input with a problem). 0, or -errno with *ret_error as trace_open. */
int source_fr_open(const char *path, struct hosts *hosts, struct sources *sources, char **ret_error);
int source_fr_open_dir(const char *dir, struct hosts *hosts, struct sources *sources, char **ret_error);

#endif
