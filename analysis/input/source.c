/* source.c - what all sources share; see source.h. */
#include "analysis/input/source.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

int sources_add(struct sources *sources, struct source *source)
{
    struct source **list = realloc(sources->list, (sources->nr + 1) * sizeof(*list));

    if (!list) {
        source->ops->free(source);
        return -ENOMEM;
    }
    sources->list = list;
    list[sources->nr++] = source;
    return 0;
}

void sources_done(struct sources *sources)
{
    for (size_t i = 0; i < sources->nr; i++)
        sources->list[i]->ops->free(sources->list[i]);
    free(sources->list);
    *sources = (struct sources){0};
}

void source_problem(struct source *source, const char *format, ...)
{
    va_list args;

    if (source->input.problem)
        return;
    va_start(args, format);
    if (vasprintf(&source->input.problem, format, args) < 0)
        source->input.problem = NULL;
    va_end(args);
}
