/* ctf_find.h - which CTF trace directories lie below a path: those that hold a file `metadata`. */
#ifndef TRSHIM_ANALYSIS_CTF_FIND_H
#define TRSHIM_ANALYSIS_CTF_FIND_H

#include <stddef.h>

/* Owned. */
struct ctf_found {
    char **dirs; /* sorted */
    size_t nr;
    char *problem; /* the first directory that could not be looked into, or NULL */
};

/* Symbolic links are followed for `path` itself only. Returns 0 or -errno. */
int ctf_find(const char *path, struct ctf_found *ret);
void ctf_found_done(struct ctf_found *found);

#endif
