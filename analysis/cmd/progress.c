/* progress.c - see progress.h. */
#include "analysis/cmd/progress.h"

#include <time.h>
#include <unistd.h>

#define QUIET_NS 1000000000ull
#define BAR_CELLS 30

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void progress_init(struct progress *progress, FILE *out)
{
    *progress = (struct progress){.out = isatty(fileno(out)) ? out : NULL, .begin_ns = now_ns(), .shown = -1};
}

void progress_show(void *arg, double done)
{
    struct progress *progress = arg;
    int percent = done >= 1 ? 100 : done > 0 ? (int)(done * 100) : 0;

    if (!progress->out || percent == progress->shown || now_ns() - progress->begin_ns < QUIET_NS)
        return;
    progress->shown = percent;
    fputs("\r[", progress->out);
    for (int i = 0; i < BAR_CELLS; i++)
        putc(i * 100 < percent * BAR_CELLS ? '#' : ' ', progress->out);
    fprintf(progress->out, "] %3d %%", percent);
    fflush(progress->out);
}

void progress_done(struct progress *progress)
{
    if (progress->shown < 0)
        return;
    fputs("\r\033[K", progress->out);
    fflush(progress->out);
}
