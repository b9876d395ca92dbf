/* ctf_repair.h - what can still be read of a trace directory that babeltrace2 refuses as a whole.
 *
 * One stream file that ends within a packet (a full disk, a killed daemon), or metadata that end within a
 * declaration, make babeltrace2 refuse the directory. Here each stream gets a directory of its own below a private
 * temporary one: the metadata, cut to what is complete, and a link to the stream's file, or a copy of its readable
 * beginning. The trace itself is never written to. */
#ifndef TRSHIM_ANALYSIS_CTF_REPAIR_H
#define TRSHIM_ANALYSIS_CTF_REPAIR_H

#include <stddef.h>

/* Owned. */
struct ctf_repaired {
    char *root;  /* the temporary directory, or NULL */
    char **dirs; /* below it, one per stream */
    size_t nr;
    char *note; /* the first thing that had to be left out, or NULL */
};

/* Returns 0, maybe with no directory at all and a note; or -errno. */
int ctf_repair(const char *dir, struct ctf_repaired *ret);

/* Removes the temporary directory. Accepts a zeroed one. */
void ctf_repaired_done(struct ctf_repaired *repaired);

#endif
