/* notes.h - several things that went wrong, told as one line: the first, and how many more there are. */
#ifndef TRSHIM_ANALYSIS_NOTES_H
#define TRSHIM_ANALYSIS_NOTES_H

#include <stddef.h>

/* Owned; zeroed is none. */
struct notes {
    char *first;
    size_t nr;
};

void notes_done(struct notes *notes);
void notes_add(struct notes *notes, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The line, owned by the caller; NULL if there are none (or no memory). `a` may be followed by `b`. */
char *notes_line(const struct notes *a, const struct notes *b);

#endif
