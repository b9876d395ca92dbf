/* emit_text.c - the report for people: the order of its sections. */
#include "analysis/emit/emit.h"

#include <errno.h>

#include "analysis/emit/sections.h"

static int flush(FILE *out, int rc)
{
    if (rc)
        return rc;
    return fflush(out) || ferror(out) ? -EIO : 0;
}

int emit_text(struct report *report, const struct screen *screen, FILE *out)
{
    static int (*const sections[])(const struct page *) = {
        section_head,    section_verdict, section_breakdown,   section_gpus,        section_kernels,
        section_copies,  section_memory,  section_sites,       section_collectives, section_transports,
        section_workers, section_io,      section_checkpoints, section_findings,    section_quality,
    };
    const struct page page = {report, screen, out};
    int rc = 0;

    for (size_t i = 0; !rc && i < sizeof sections / sizeof *sections; i++) {
        rc = sections[i](&page);
        if (i == 0)
            putc('\n', out);
    }
    return flush(out, rc);
}

int emit_card(struct report *report, const struct screen *screen, FILE *out)
{
    const struct page page = {report, screen, out};

    return flush(out, section_verdict(&page));
}
