/* notes.c - see notes.h. */
#include "analysis/input/notes.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void notes_done(struct notes *notes)
{
    free(notes->first);
    *notes = (struct notes){0};
}

void notes_add(struct notes *notes, const char *format, ...)
{
    va_list args;

    if (notes->nr++ > 0)
        return;
    va_start(args, format);
    if (vasprintf(&notes->first, format, args) < 0)
        notes->first = NULL;
    va_end(args);
}

char *notes_line(const struct notes *a, const struct notes *b)
{
    const char *first = a->nr ? a->first : b->first;
    size_t nr = a->nr + b->nr;
    char *line = NULL;
    int len = nr == 0   ? -1
              : nr == 1 ? asprintf(&line, "%s", first ? first : "?")
                        : asprintf(&line, "%s; and %zu more such", first ? first : "?", nr - 1);

    return len < 0 ? NULL : line;
}
