/* section_quality.c - what the reader must know about the data itself: notes, unreadable inputs, counters. */
#include <stdlib.h>
#include <string.h>

#include "analysis/emit/columns.h"
#include "analysis/emit/sections.h"
#include "analysis/emit/width.h"
#include "analysis/report/units.h"

static void labelled(const struct page *page, enum word label, const char *text)
{
    const char *label_text = word(page->report->lang, label);
    unsigned indent = width_of(label_text) + 2;

    screen_paragraph(page->screen, page->out, 0, label_text, STYLE_BOLD, indent < 9 ? 9 : indent, text);
}

static void problems(const struct page *page)
{
    const struct report *report = page->report;

    for (size_t i = 0; i < report->nr_inputs; i++) {
        if (!report->inputs[i].problem)
            continue;
        char *text = NULL;
        if (asprintf(&text, "%s: %s", report->inputs[i].path, report->inputs[i].problem) < 0)
            continue;
        labelled(page, W_incomplete, text);
        free(text);
    }
}

/* The counters that are not zero, in the order of the columns. */
static void counters(const struct page *page)
{
    const struct report *report = page->report;
    char *text = NULL;
    size_t size;
    FILE *line = open_memstream(&text, &size);

    if (!line)
        return;
    for (size_t i = 0; i < columns_quality.nr; i++) {
        const struct column *column = &columns_quality.column[i];
        struct cell cell = cell_value(column, &report->quality);
        if (column->heading == W_none || cell.kind != CELL_UINT || (!cell.u && i))
            continue;
        if (ftell(line) > 0)
            fprintf(line, " %s ", screen_glyph(page->screen, G_separator));
        fprintf(line, word(report->lang, column->heading),
                column->unit == UNIT_TIME ? units_time((double)cell.u).text : units_count(cell.u).text);
    }
    if (!fclose(line))
        labelled(page, W_quality, text);
    free(text);
}

int section_quality(const struct page *page)
{
    const struct report *report = page->report;

    putc('\n', page->out);
    for (size_t i = 0; i < report->nr_notes; i++)
        labelled(page, W_note, report->notes[i].text);
    problems(page);
    counters(page);
    return 0;
}
