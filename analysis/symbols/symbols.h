/* symbols.h - names of functions for addresses in files, by the files of this machine: the one that was recorded, if it
 * is still the same, else its debugging symbols under /usr/lib/debug. Nothing is fetched from anywhere. */
#ifndef TRSHIM_ANALYSIS_SYMBOLS_H
#define TRSHIM_ANALYSIS_SYMBOLS_H

#include <stdint.h>

struct report;
struct symbols;

struct symbol {
    const char *function, *file; /* NULL unknown; valid as long as the symbols */
    int64_t line;                /* TR_UNKNOWN */
};

struct symbols *symbols_new(void); /* NULL when memory ran out */
void symbols_free(struct symbols *symbols);

/* What is at `address` of the file as linked. build_id: in hex; NULL, then the path is all there is. All unknown if the
 * file is not there, is another one, or says nothing of it. */
struct symbol symbols_find(struct symbols *symbols, const char *path, const char *build_id, uint64_t address);

/* Fills in the call sites of a report. 0 or -ENOMEM. */
int symbols_resolve(struct report *report);

#endif
