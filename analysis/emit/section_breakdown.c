/* section_breakdown.c - how long a step takes, and what ranks do meanwhile: ranks that do the same share a row. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/emit/columns.h"
#include "analysis/emit/rank_groups.h"
#include "analysis/emit/sections.h"
#include "analysis/emit/table.h"
#include "analysis/emit/width.h"
#include "analysis/report/rank_text.h"
#include "analysis/report/units.h"

#define SPARKLINE_CELLS 40
#define BAR_CELLS 20
#define GLYPH_BYTES 4 /* of UTF-8, at most */

static const struct {
    enum glyph glyph;
    enum style style;
} class_looks[BC_MAX] = {
    [BC_compute] = {G_compute, STYLE_GREEN},
    [BC_comm_exposed] = {G_comm_exposed, STYLE_RED},
    [BC_copy_exposed] = {G_copy_exposed, STYLE_CYAN},
    [BC_dataloader] = {G_dataloader, STYLE_YELLOW},
    [BC_checkpoint] = {G_checkpoint, STYLE_MAGENTA},
    [BC_sync] = {G_sync, STYLE_CYAN},
    [BC_host] = {G_host, STYLE_BLUE},
    [BC_other] = {G_other, STYLE_DIM},
};

/* ---- step time */

/* Points spread evenly over at most `cells` cells: the longest step of each, against the longest of all. Warm-up steps
 * are left out, as they would make the rest look flat. */
static void sparkline(const struct page *page, unsigned cells)
{
    const struct report_series *series = &page->report->series;
    size_t first = series->stride ? page->report->steps.warmup / series->stride : 0;
    uint64_t longest = 0;

    if (first >= series->nr || !cells)
        return;
    size_t nr = series->nr - first;
    if (cells > nr)
        cells = (unsigned)nr;
    for (size_t i = first; i < series->nr; i++)
        if (longest < series->points[i].max_ns)
            longest = series->points[i].max_ns;
    for (unsigned cell = 0; longest && cell < cells; cell++) {
        uint64_t here = 0;
        for (size_t i = first + cell * nr / cells; i < first + (cell + 1) * nr / cells; i++)
            if (here < series->points[i].max_ns)
                here = series->points[i].max_ns;
        unsigned level = here ? (unsigned)ceil(8.0 * (double)here / (double)longest) : 1;
        fputs(screen_glyph(page->screen, G_level1 + level - 1), page->out);
    }
}

static void step_time(const struct page *page)
{
    const struct report *report = page->report;
    const struct screen *screen = page->screen;
    char p95[64], time[64];

    snprintf(time, sizeof time, " %s", units_time(report_step_mean_ns(report)).text);
    if (!has_steps(report)) {
        screen_put(screen, page->out, STYLE_BOLD, word(report->lang, W_run));
        screen_put(screen, page->out, STYLE_NONE, time);
        putc('\n', page->out);
        return;
    }
    snprintf(p95, sizeof p95, word(report->lang, W_p95), units_time(report_step_percentile_ns(report, 0.95)).text);
    screen_put(screen, page->out, STYLE_BOLD, word(report->lang, W_step));
    screen_put(screen, page->out, STYLE_NONE, time);
    screen_put(screen, page->out, STYLE_NONE, p95);

    unsigned used = width_of(word(report->lang, W_step)) + width_of(time) + width_of(p95) + 3;
    if (report->steps.count > 2 && used + 8 < screen->width) {
        fputs("   ", page->out);
        sparkline(page, screen->width - used < SPARKLINE_CELLS ? screen->width - used : SPARKLINE_CELLS);
    }
    putc('\n', page->out);
    if (report->steps.warmup && !report->mean.all_windows) {
        char text[128];
        if (report->steps.warmup == 1)
            snprintf(text, sizeof text, "%s", word(report->lang, W_warmup_1));
        else
            snprintf(text, sizeof text, word(report->lang, W_warmup_n), units_count(report->steps.warmup).text);
        screen_put(screen, page->out, STYLE_DIM, text);
        putc('\n', page->out);
    }
}

/* ---- ranks */

/* The class a column of columns_breakdown shows, or -1. */
static int class_of(const struct column *column)
{
    size_t offset = column->offset;
    size_t first = offsetof(struct report_breakdown, class_ns);

    if (offset < first || offset >= first + BC_MAX * sizeof(int64_t))
        return -1;
    return (int)((offset - first) / sizeof(int64_t));
}

/* Whether a column tells something: the two everybody asks for always do, the rest when it is not zero everywhere.
 * With arrival data comm is shown in its two parts. */
static bool column_shown(const struct report *report, const struct column *column)
{
    int class = class_of(column);
    bool parts = report->mean.comm_wait_ns != TR_UNKNOWN && report->mean.class_ns[BC_comm_exposed];

    if (column->heading == W_none)
        return false;
    if (class == BC_comm_exposed && parts)
        return false;
    if (class < 0)
        return parts;
    return class == BC_compute || class == BC_dataloader || report->mean.class_ns[class] != 0;
}

/* Cells of the bar for each class, by largest remainder, so that they always fill it. */
static void bar_cells(const struct report_breakdown *row, unsigned cells[BC_MAX])
{
    double rest[BC_MAX];
    unsigned left = BAR_CELLS;

    for (int c = 0; c < BC_MAX; c++) {
        double exact = report_share(row, row->class_ns[c]) * BAR_CELLS;
        cells[c] = (unsigned)exact;
        rest[c] = exact - cells[c];
        left -= cells[c] < left ? cells[c] : left;
    }
    while (left--) {
        int most = 0;
        for (int c = 1; c < BC_MAX; c++)
            if (rest[c] > rest[most])
                most = c;
        cells[most]++;
        rest[most] = -1;
    }
}

/* The bar, with the style of each of its cells. `text` has room for BAR_CELLS glyphs. */
static void bar(const struct page *page, const struct report_breakdown *row, char *text, uint8_t styles[BAR_CELLS])
{
    unsigned cells[BC_MAX], nr = 0;

    *text = '\0';
    if (!row->window_ns)
        return;
    bar_cells(row, cells);
    for (int c = 0; c < BC_MAX; c++)
        for (unsigned i = 0; i < cells[c] && nr < BAR_CELLS; i++) {
            text = stpcpy(text, screen_glyph(page->screen, class_looks[c].glyph));
            styles[nr++] = (uint8_t)class_looks[c].style;
        }
}

static void heading(const struct page *page, struct table *table, const struct column *column)
{
    int class = class_of(column);
    char text[64];

    snprintf(text, sizeof text, "%s%s%s", word(page->report->lang, column->heading), class >= 0 ? " " : "",
             class >= 0 ? screen_glyph(page->screen, class_looks[class].glyph) : "");
    table_column(table, text, ALIGN_RIGHT, column->drop, CUT_NOT);
}

static void rank_row(const struct page *page, struct table *table, const char *ranks,
                     const struct report_breakdown *row)
{
    char text[BAR_CELLS * GLYPH_BYTES + 1];
    uint8_t styles[BAR_CELLS];

    table_row(table);
    table_cell(table, STYLE_NONE, ranks);
    for (size_t i = 0; i < columns_breakdown.nr; i++) {
        const struct column *column = &columns_breakdown.column[i];
        if (!column_shown(page->report, column))
            continue;
        struct cell cell = cell_value(column, row);
        int class = class_of(column);
        bool heavy = class > BC_compute && cell.kind == CELL_REAL && cell.d >= 0.15;
        table_cell(table, heavy ? STYLE_YELLOW : STYLE_NONE, cell.kind == CELL_REAL ? units_share(cell.d).text : "-");
    }
    bar(page, row, text, styles);
    table_cell_painted(table, text, styles);
}

static int rank_table(const struct page *page)
{
    const struct report *report = page->report;
    struct rank_groups groups;
    struct table *table = table_new();
    int rc = rank_groups_init(&groups, report->per_rank, report->nr_per_rank);

    table_column(table, word(report->lang, W_rank), ALIGN_LEFT, 0, CUT_END);
    for (size_t i = 0; i < columns_breakdown.nr; i++)
        if (column_shown(report, &columns_breakdown.column[i]))
            heading(page, table, &columns_breakdown.column[i]);
    table_column(table, "", ALIGN_LEFT, 6, CUT_NOT);

    for (size_t i = 0; !rc && i < groups.nr; i++) {
        char ranks[64];
        format_ranks(groups.group[i].ranks, groups.group[i].nr_ranks, ranks, sizeof ranks);
        bool nameless = groups.group[i].nr_ranks == 1 && groups.group[i].ranks[0] < 0;
        rank_row(page, table, nameless ? "?" : ranks, &groups.group[i].sum);
    }
    if (!rc && groups.nr > 1)
        rank_row(page, table, word(report->lang, W_mean), &report->mean);
    if (!rc)
        rc = table_print(table, page->screen, 0, page->out);
    table_free(table);
    rank_groups_done(&groups);
    return rc;
}

int section_breakdown(const struct page *page)
{
    if (!page->report->mean.steps)
        return 0;
    putc('\n', page->out);
    step_time(page);
    return rank_table(page);
}
