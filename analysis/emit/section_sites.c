/* section_sites.c - which call stacks held the memory of GPUs when most was taken. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/emit/listing.h"
#include "analysis/report/units.h"

#define FRAMES_SHOWN 6
#define SITES_SHOWN 3 /* of a device */

static const char *base(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    return slash && slash[1] ? slash + 1 : path;
}

/* "allocate (pool.c:41)", "allocate [libfoo.so]", "libfoo.so+0x1b2c" */
static void print_frame(FILE *out, const struct report_frame *frame)
{
    if (frame->function)
        fputs(frame->function, out);
    if (frame->file && frame->line != TR_UNKNOWN)
        fprintf(out, "%s%s:%lld%s", frame->function ? " (" : "", base(frame->file), (long long)frame->line,
                frame->function ? ")" : "");
    else if (frame->function && frame->module)
        fprintf(out, " [%s]", base(frame->module));
    else if (!frame->function)
        fprintf(out, "%s+0x%llx", frame->module ? base(frame->module) : "?", (unsigned long long)frame->offset);
}

/* The same in every stack, and not what the reader looks for. */
static bool is_allocator(const struct report_frame *frame)
{
    return frame->module && strncmp(base(frame->module), "libc10", 6) == 0;
}

static char *stack_text(const struct report_site *site)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    size_t first = 0;
    while (first < site->nr_frames && is_allocator(&site->frames[first]))
        first++;
    if (first == site->nr_frames)
        first = 0;
    for (size_t i = first; i < site->nr_frames && i < first + FRAMES_SHOWN; i++) {
        if (i > first)
            fputs(" < ", out);
        print_frame(out, &site->frames[i]);
    }
    if (fclose(out)) {
        free(text);
        return NULL;
    }
    return text;
}

static int row(struct table *table, const struct report_memory *memory, const struct report_site *site)
{
    char number[32], *stack = stack_text(site);
    if (!stack)
        return -ENOMEM;
    table_row(table);
    snprintf(number, sizeof number, "%d", memory->rank);
    table_cell(table, STYLE_NONE, memory->rank < 0 ? "-" : number);
    table_cell(table, STYLE_NONE, units_bytes((double)site->bytes).text);
    table_cell(table, STYLE_NONE, units_count(site->segments).text);
    table_cell(table, STYLE_NONE, stack);
    free(stack);
    return 0;
}

int section_sites(const struct page *page)
{
    const struct report *report = page->report;
    enum lang lang = report->lang;
    size_t nr = 0, shown = 0;
    int rc = 0;
    for (size_t i = 0; i < report->nr_memory; i++)
        nr += report->memory[i].nr_sites < SITES_SHOWN ? report->memory[i].nr_sites : SITES_SHOWN;
    if (!nr)
        return 0;
    struct table *table = table_new();
    listing_title(page, W_sites);
    table_column(table, word(lang, W_rank), ALIGN_RIGHT, 0, CUT_NOT);
    table_column(table, word(lang, W_at_peak), ALIGN_RIGHT, 0, CUT_NOT);
    table_column(table, word(lang, W_segments), ALIGN_RIGHT, 1, CUT_NOT);
    table_column(table, word(lang, W_call_stack), ALIGN_LEFT, 0, CUT_END);
    for (size_t i = 0; i < report->nr_memory && !rc; i++)
        for (size_t k = 0; k < report->memory[i].nr_sites && k < SITES_SHOWN && shown < LISTING_ROWS_MAX && !rc; k++) {
            rc = row(table, &report->memory[i], &report->memory[i].sites[k]);
            shown++;
        }
    rc = rc ? rc : table_print(table, page->screen, 2, page->out);
    listing_more(page, nr, shown);
    table_free(table);
    return rc;
}
