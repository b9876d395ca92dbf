/* section_tables.c - workers, files and checkpoints as tables; the rows that matter most first, the rest counted. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/emit/columns.h"
#include "analysis/emit/save_groups.h"
#include "analysis/emit/sections.h"
#include "analysis/emit/table.h"
#include "analysis/emit/worker_groups.h"
#include "analysis/report/units.h"

#define ROWS_MAX 8
#define ROW_SHARE_LEAST 0.01 /* of the time of all: rows below are counted only */

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

/* A table of report rows: which of the columns are shown, and where they go. */
struct listing {
    const struct page *page;
    struct table *table;
    const struct columns *columns;
    bool shown[24];
};

/* Names, ranks and the like always do, amounts when they are not zero. */
static bool tells_something(const struct column *column, const void *row)
{
    struct cell cell = cell_value(column, row);
    return cell.kind != CELL_UNKNOWN && (column->unit == UNIT_NONE || number(&cell) != 0);
}

/* Columns that may be dropped are not shown when they are unknown or zero in all rows. */
static void headings(struct listing *listing, const void *rows, size_t nr, size_t row_size)
{
    for (size_t i = 0; i < listing->columns->nr; i++) {
        const struct column *column = &listing->columns->column[i];
        if (column->heading == W_none)
            continue;
        listing->shown[i] = !column->drop;
        for (size_t r = 0; !listing->shown[i] && r < nr; r++)
            listing->shown[i] = tells_something(column, (const char *)rows + r * row_size);
        if (listing->shown[i])
            table_column(listing->table, word(listing->page->report->lang, column->heading),
                         column->type == COL_STR ? ALIGN_LEFT : ALIGN_RIGHT, column->drop, CUT_NOT);
    }
}

static void cells(const struct listing *listing, const void *row)
{
    for (size_t i = 0; i < listing->columns->nr; i++) {
        if (!listing->shown[i])
            continue;
        struct cell cell = cell_value(&listing->columns->column[i], row);
        table_cell(listing->table, STYLE_NONE, cell_text(listing->page, &listing->columns->column[i], &cell).text);
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

/* Number of rows to show of a sorted list. */
static size_t rows_worth_showing(const struct ranked *order, size_t nr)
{
    double total = 0;
    size_t shown = 0;

    for (size_t i = 0; i < nr; i++)
        total += order[i].weight;
    while (shown < nr && shown < ROWS_MAX && (shown == 0 || order[shown].weight >= ROW_SHARE_LEAST * total))
        shown++;
    return shown;
}

static struct ranked *ranked_new(size_t nr)
{
    struct ranked *order = calloc(nr ? nr : 1, sizeof *order);
    for (size_t i = 0; order && i < nr; i++)
        order[i].index = i;
    return order;
}

/* ---- workers */

/* Busiest first when they do not all fit, else in their order. */
static void order_workers(const struct worker_groups *groups, struct ranked *order)
{
    for (size_t i = 0; groups->nr > ROWS_MAX && i < groups->nr; i++)
        order[i].weight = (double)groups->group[i].sum.reading_ns + (double)groups->group[i].sum.cpu_ns;
    qsort(order, groups->nr, sizeof *order, compare);
}

static void worker_row(const struct listing *listing, const struct worker_group *group)
{
    char text[64];

    if (group->workers == 1)
        snprintf(text, sizeof text, "%u", group->sum.pid);
    else
        snprintf(text, sizeof text, word(listing->page->report->lang, W_workers_many),
                 units_count(group->workers).text);
    table_row(listing->table);
    table_cell(listing->table, STYLE_NONE, text);
    cells(listing, &group->sum);
}

int section_workers(const struct page *page)
{
    const struct report *report = page->report;
    struct worker_groups groups;

    if (!report->nr_workers)
        return 0;
    int rc = worker_groups_init(&groups, report->workers, report->nr_workers, ROWS_MAX);
    struct ranked *order = rc ? NULL : ranked_new(groups.nr);
    struct table *table = table_new();
    struct listing listing = {page, table, &columns_workers, {false}};

    title(page, W_workers);
    table_column(table, word(report->lang, W_pid), ALIGN_RIGHT, 0, CUT_NOT);
    headings(&listing, report->workers, report->nr_workers, sizeof *report->workers);
    if (order)
        order_workers(&groups, order);
    for (size_t i = 0; order && i < groups.nr && i < ROWS_MAX; i++)
        worker_row(&listing, &groups.group[order[i].index]);
    rc = order ? table_print(table, page->screen, 2, page->out) : -ENOMEM;
    more(page, groups.nr, ROWS_MAX);
    table_free(table);
    free(order);
    worker_groups_done(&groups);
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
    size_t shown = rows_worth_showing(order, report->nr_io);

    title(page, W_io);
    table_column(table, word(report->lang, W_place), ALIGN_LEFT, 0, CUT_MIDDLE);
    struct listing listing = {page, table, &columns_io, {false}};
    headings(&listing, report->io, report->nr_io, sizeof *report->io);
    for (size_t i = 0; i < shown; i++) {
        table_row(table);
        table_cell(table, STYLE_NONE, io_place(&report->io[order[i].index]));
        cells(&listing, &report->io[order[i].index]);
    }
    int rc = table_print(table, page->screen, 2, page->out);
    more(page, report->nr_io, shown);
    table_free(table);
    free(order);
    return rc;
}

/* ---- checkpoints */

static void save_row(const struct listing *listing, const struct save_group *group)
{
    enum lang lang = listing->page->report->lang;

    table_row(listing->table);
    table_cell(listing->table, STYLE_NONE, group->path);
    table_cell(listing->table, STYLE_NONE, units_count(group->saves).text);
    cells(listing, &group->mean);
    table_cell(listing->table, STYLE_NONE, word(lang, group->mean.sync ? W_mode_sync : W_mode_async));
}

int section_checkpoints(const struct page *page)
{
    const struct report *report = page->report;
    struct save_groups groups;

    if (!report->nr_checkpoints)
        return 0;
    int rc = save_groups_init(&groups, report->checkpoints, report->nr_checkpoints);
    struct table *table = table_new();
    struct listing listing = {page, table, &columns_checkpoints, {false}};

    title(page, W_checkpoints);
    table_column(table, word(report->lang, W_path), ALIGN_LEFT, 0, CUT_MIDDLE);
    table_column(table, word(report->lang, W_saves), ALIGN_RIGHT, 0, CUT_NOT);
    headings(&listing, report->checkpoints, report->nr_checkpoints, sizeof *report->checkpoints);
    table_column(table, word(report->lang, W_mode), ALIGN_LEFT, 2, CUT_NOT);
    for (size_t i = 0; !rc && i < groups.nr && i < ROWS_MAX; i++)
        save_row(&listing, &groups.group[i]);
    if (!rc)
        rc = table_print(table, page->screen, 2, page->out);
    more(page, groups.nr, ROWS_MAX);
    table_free(table);
    save_groups_done(&groups);
    return rc;
}
