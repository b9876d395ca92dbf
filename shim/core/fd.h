/* fd.h - what is behind a file descriptor: looked up at its first use, kept until it is closed.
 *
 * One table for the process, grown by mapping, without locks. The job may use a descriptor from several threads; the
 * fields are then written by several, each write being one word: an offset may be guessed wrong, never a name. */
#ifndef TRSHIM_CORE_FD_H
#define TRSHIM_CORE_FD_H

#include "shim/core/core.h"

enum fd_kind { FD_UNKNOWN, FD_FILE, FD_PIPE, FD_SOCK, FD_OTHER };

struct fd_entry {
    _Atomic uint8_t kind;  /* enum fd_kind; written last */
    _Atomic bool writes;   /* opened for writing: its end is told */
    _Atomic uint32_t dir;  /* name id of the directory */
    _Atomic uint32_t name; /* name id of file or peer; 0: small so far, its directory stands for it */
    _Atomic uint64_t inode;
    _Atomic uint64_t next_offset;
    _Atomic uint64_t moved; /* bytes so far */
    _Atomic int error;      /* errno of the first write that failed, told with its end */
};

/* The entry, filled if it was not. NULL: beyond the table, or a negative fd. */
struct fd_entry *fd_lookup(int fd);

/* Notes the result of an open. path may be relative to dirfd. name_it: under its own name from the first byte on. */
struct fd_entry *fd_opened(int fd, int dirfd, const char *path, int flags, bool name_it);

void fd_forget(int fd);
void fd_forget_all(void);

/* Name id for bytes moved on a file: the file itself if it has its name or is large by now, else its directory. */
uint32_t fd_file_name(struct fd_entry *e, int fd, uint64_t bytes);

/* An absolute path for (dirfd, path) in buf; NULL if it cannot be had. */
const char *fd_absolute(int dirfd, const char *path, char *buf, size_t room);

#define FD_LARGE_BYTES (1u << 20) /* a file is named for itself once this much has been moved */

/* Kernel interfaces and devices: never recorded. */
bool path_is_dull(const char *path);

#endif
