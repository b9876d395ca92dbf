/* section_tables.c - workers, files and checkpoints as tables; the rows that matter most first, the rest counted. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/emit/listing.h"
#include "analysis/emit/save_groups.h"
#include "analysis/emit/sections.h"
#include "analysis/emit/table.h"
#include "analysis/emit/worker_groups.h"
#include "analysis/report/units.h"

/* ---- workers */

/* Busiest first when they do not all fit, else in their order. */
static void order_workers(const struct worker_groups *groups, struct ranked *order)
{
    for (size_t i = 0; groups->nr > LISTING_ROWS_MAX && i < groups->nr; i++)
        order[i].weight = (double)groups->group[i].sum.reading_ns + (double)groups->group[i].sum.cpu_ns;
    qsort(order, groups->nr, sizeof *order, ranked_compare);
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
    listing_cells(listing, &group->sum);
}

int section_workers(const struct page *page)
{
    const struct report *report = page->report;
    struct worker_groups groups;

    if (!report->nr_workers)
        return 0;
    int rc = worker_groups_init(&groups, report->workers, report->nr_workers, LISTING_ROWS_MAX);
    struct ranked *order = rc ? NULL : ranked_new(groups.nr);
    struct table *table = table_new();
    struct listing listing = {page, table, &columns_workers, {false}};

    listing_title(page, W_workers);
    table_column(table, word(report->lang, W_pid), ALIGN_RIGHT, 0, CUT_NOT);
    listing_headings(&listing, report->workers, report->nr_workers, sizeof *report->workers);
    if (order)
        order_workers(&groups, order);
    for (size_t i = 0; order && i < groups.nr && i < LISTING_ROWS_MAX; i++)
        worker_row(&listing, &groups.group[order[i].index]);
    rc = order ? table_print(table, page->screen, 2, page->out) : -ENOMEM;
    listing_more(page, groups.nr, LISTING_ROWS_MAX);
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
    qsort(order, report->nr_io, sizeof *order, ranked_compare);
    size_t shown = ranked_worth_showing(order, report->nr_io);

    listing_title(page, W_io);
    table_column(table, word(report->lang, W_place), ALIGN_LEFT, 0, CUT_MIDDLE);
    struct listing listing = {page, table, &columns_io, {false}};
    listing_headings(&listing, report->io, report->nr_io, sizeof *report->io);
    for (size_t i = 0; i < shown; i++) {
        table_row(table);
        table_cell(table, STYLE_NONE, io_place(&report->io[order[i].index]));
        listing_cells(&listing, &report->io[order[i].index]);
    }
    int rc = table_print(table, page->screen, 2, page->out);
    listing_more(page, report->nr_io, shown);
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
    listing_cells(listing, &group->mean);
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

    listing_title(page, W_checkpoints);
    table_column(table, word(report->lang, W_path), ALIGN_LEFT, 0, CUT_MIDDLE);
    table_column(table, word(report->lang, W_saves), ALIGN_RIGHT, 0, CUT_NOT);
    listing_headings(&listing, report->checkpoints, report->nr_checkpoints, sizeof *report->checkpoints);
    table_column(table, word(report->lang, W_mode), ALIGN_LEFT, 2, CUT_NOT);
    for (size_t i = 0; !rc && i < groups.nr && i < LISTING_ROWS_MAX; i++)
        save_row(&listing, &groups.group[i]);
    if (!rc)
        rc = table_print(table, page->screen, 2, page->out);
    listing_more(page, groups.nr, LISTING_ROWS_MAX);
    table_free(table);
    save_groups_done(&groups);
    return rc;
}
