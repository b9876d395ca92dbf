/* section_tables.c - workers, files and checkpoints as tables; the rows that matter most first, the rest counted. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/emit/columns.h"
#include "analysis/emit/sections.h"
#include "analysis/emit/table.h"
#include "analysis/report/units.h"

#define ROWS_MAX 8

static void title(const struct page *page, enum word heading)
{
    putc('\n', page->out);
    screen_put(page->screen, page->out, STYLE_BOLD, word(page->report->lang, heading));
    putc('\n', page->out);
}

static void more(const struct page *page, size_t nr, size_t shown)
{
    char text[96];

    if (nr <= shown)
        return;
    snprintf(text, sizeof text, word(page->report->lang, W_more_rows), units_count(nr - shown).text);
    screen_pad(page->out, 2);
    screen_put(page->screen, page->out, STYLE_DIM, text);
    putc('\n', page->out);
}

static void headings(const struct page *page, struct table *table, const struct columns *columns)
{
    for (size_t i = 0; i < columns->nr; i++) {
        const struct column *column = &columns->column[i];
        if (column->heading != W_none)
            table_column(table, word(page->report->lang, column->heading),
                         column->type == COL_STR ? ALIGN_LEFT : ALIGN_RIGHT, column->drop, false);
    }
}

static double number(const struct cell *cell)
{
    return cell->kind == CELL_REAL ? cell->d : cell->kind == CELL_INT ? (double)cell->i : (double)cell->u;
}

static struct units cell_text(const struct page *page, const struct column *column, const struct cell *cell)
{
    enum lang lang = page->report->lang;
    struct units out;

    switch (cell->kind) {
    case CELL_UNKNOWN:
        snprintf(out.text, sizeof out.text, "-");
        return out;
    case CELL_TEXT:
        snprintf(out.text, sizeof out.text, "%s", cell->s);
        return out;
    case CELL_TRUTH:
        snprintf(out.text, sizeof out.text, "%s", word(lang, cell->b ? W_yes : W_no));
        return out;
    default:
        break;
    }
    switch (column->unit) {
    case UNIT_TIME:
        return units_time(number(cell));
    case UNIT_BYTES:
        return units_bytes(number(cell));
    case UNIT_SHARE:
        return units_share(number(cell));
    case UNIT_COUNT:
        return units_count((uint64_t)number(cell));
    case UNIT_NONE:
        break;
    }
    snprintf(out.text, sizeof out.text, "%.0f", number(cell));
    return out;
}

static void cells(const struct page *page, struct table *table, const struct columns *columns, const void *row)
{
    for (size_t i = 0; i < columns->nr; i++) {
        const struct column *column = &columns->column[i];
        if (column->heading == W_none)
            continue;
        struct cell cell = cell_value(column, row);
        table_cell(table, STYLE_NONE, cell_text(page, column, &cell).text);
    }
}

/* ---- order: indices of rows, the weightiest first; equal ones keep their order */

struct ranked {
    double weight;
    size_t index;
};

static int compare(const void *a_ptr, const void *b_ptr)
{
    const struct ranked *a = a_ptr, *b = b_ptr;
    if (a->weight != b->weight)
        return a->weight < b->weight ? 1 : -1;
    return a->index < b->index ? -1 : 1;
}

static struct ranked *ranked_new(size_t nr)
{
    struct ranked *order = calloc(nr ? nr : 1, sizeof *order);
    for (size_t i = 0; order && i < nr; i++)
        order[i].index = i;
    return order;
}

/* ---- workers */

int section_workers(const struct page *page)
{
    const struct report *report = page->report;

    if (!report->nr_workers)
        return 0;
    struct ranked *order = ranked_new(report->nr_workers);
    struct table *table = table_new();
    if (!order) {
        table_free(table);
        return -ENOMEM;
    }
    /* All of them in their order if they fit, else the busiest. */
    for (size_t i = 0; report->nr_workers > ROWS_MAX && i < report->nr_workers; i++)
        order[i].weight = (double)report->workers[i].reading_ns + (double)report->workers[i].cpu_ns;
    qsort(order, report->nr_workers, sizeof *order, compare);

    title(page, W_workers);
    headings(page, table, &columns_workers);
    for (size_t i = 0; i < report->nr_workers && i < ROWS_MAX; i++) {
        table_row(table);
        cells(page, table, &columns_workers, &report->workers[order[i].index]);
    }
    int rc = table_print(table, page->screen, 2, page->out);
    more(page, report->nr_workers, ROWS_MAX);
    table_free(table);
    free(order);
    return rc;
}

/* ---- files and peers */

/* Where: a peer, or the directory group, which is below its mount. */
static const char *io_place(const struct report_io *row)
{
    return row->peer ? row->peer : row->group ? row->group : row->mount ? row->mount : "?";
}

int section_io(const struct page *page)
{
    const struct report *report = page->report;

    if (!report->nr_io)
        return 0;
    struct ranked *order = ranked_new(report->nr_io);
    struct table *table = table_new();
    if (!order) {
        table_free(table);
        return -ENOMEM;
    }
    for (size_t i = 0; i < report->nr_io; i++)
        order[i].weight =
            (double)report->io[i].read_ns + (double)report->io[i].write_ns + (double)report->io[i].metadata_ns;
    qsort(order, report->nr_io, sizeof *order, compare);

    title(page, W_io);
    table_column(table, word(report->lang, W_place), ALIGN_LEFT, 0, true);
    headings(page, table, &columns_io);
    for (size_t i = 0; i < report->nr_io && i < ROWS_MAX; i++) {
        table_row(table);
        table_cell(table, STYLE_NONE, io_place(&report->io[order[i].index]));
        cells(page, table, &columns_io, &report->io[order[i].index]);
    }
    int rc = table_print(table, page->screen, 2, page->out);
    more(page, report->nr_io, ROWS_MAX);
    table_free(table);
    free(order);
    return rc;
}

/* ---- checkpoints */

int section_checkpoints(const struct page *page)
{
    const struct report *report = page->report;

    if (!report->nr_checkpoints)
        return 0;
    struct table *table = table_new();
    title(page, W_checkpoints);
    table_column(table, word(report->lang, W_path), ALIGN_LEFT, 0, true);
    headings(page, table, &columns_checkpoints);
    table_column(table, word(report->lang, W_mode), ALIGN_LEFT, 2, false);
    for (size_t i = 0; i < report->nr_checkpoints && i < ROWS_MAX; i++) {
        const struct report_checkpoint *row = &report->checkpoints[i];
        table_row(table);
        table_cell(table, STYLE_NONE, row->path ? row->path : "?");
        cells(page, table, &columns_checkpoints, row);
        table_cell(table, STYLE_NONE, word(report->lang, row->sync ? W_mode_sync : W_mode_async));
    }
    int rc = table_print(table, page->screen, 2, page->out);
    more(page, report->nr_checkpoints, ROWS_MAX);
    table_free(table);
    return rc;
}
