/* emit_comparison.c - two reports side by side, as text and as JSON (schema trshim-compare/1). */
#include "analysis/emit/emit_comparison.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "analysis/emit/json.h"
#include "analysis/emit/screen.h"
#include "analysis/emit/table.h"
#include "analysis/emit/words.h"
#include "analysis/report/units.h"

#define LABEL_CELLS 9
#define RANKS_SHOWN 8
#define EMPTY_SHARE 0.0005   /* of a step: less than a tenth of a percent is not shown */
#define OTHERWISE_SHARE 0.05 /* of a step: by so much a rank's change differs from the mean's to be worth a row */

static const enum word part_words[CMP_MAX] = {
    [CMP_step] = W_cmp_step,
#define CLASS(name, heading) [CMP_##name] = W_long_##name,
    BREAKDOWN_CLASSES(CLASS)
#undef CLASS
        [CMP_comm_wait] = W_comm_wait,
    [CMP_comm_transfer] = W_comm_transfer,
    [CMP_pp_bubble] = W_cmp_pp_bubble,
};

struct page {
    const struct comparison *comparison;
    const struct screen *screen;
    FILE *out;
    enum lang lang;
};

static const char *part_word(const struct page *page, enum comparison_part part)
{
    return word(page->lang, part_words[part]);
}

static void paragraph(const struct page *page, enum word label, const char *text)
{
    screen_paragraph(page->screen, page->out, 0, word(page->lang, label), STYLE_BOLD, LABEL_CELLS, text);
}

/* ---- text ----------------------------------------------------------------------------------- */

static void head(const struct page *page, const char *side, const struct report *report)
{
    char ranks[96], text[512];
    bool one = report->nr_per_rank == 1;

    snprintf(ranks, sizeof ranks, word(page->lang, one ? W_rank_one : W_ranks_many),
             units_count(report->nr_per_rank).text);
    snprintf(text, sizeof text, "%s · %s · ", report->title ? report->title : "-", ranks);
    char line[640];
    snprintf(line, sizeof line, word(page->lang, W_cmp_head), side, text, units_time(report_step_mean_ns(report)).text);
    screen_put(page->screen, page->out, STYLE_NONE, line);
    putc('\n', page->out);
}

static void verdict(const struct page *page)
{
    const struct comparison_row *step = &page->comparison->rows[CMP_step];
    char text[512], range[160] = ".";
    enum word says = isnan(step->low_ns) ? W_cmp_unsure : W_cmp_same;

    if (!step->changed) {
        snprintf(text, sizeof text, word(page->lang, says), units_time(step->a_ns).text, units_time(step->b_ns).text);
    } else {
        char by[UNITS_MAX];
        bool twice = step->b_ns >= 2 * step->a_ns;
        says = step->difference_ns < 0 ? W_cmp_faster : twice ? W_cmp_times : W_cmp_slower;
        if (twice)
            snprintf(by, sizeof by, "%.1f", step->b_ns / step->a_ns);
        else
            snprintf(by, sizeof by, "%s", units_share(fabs(step->difference_ns) / step->a_ns).text);
        snprintf(text, sizeof text, word(page->lang, says), by, units_time(step->b_ns).text,
                 units_time(step->a_ns).text);
    }
    if (!isnan(step->low_ns))
        snprintf(range, sizeof range, word(page->lang, W_cmp_between), units_time(step->low_ns).text,
                 units_time(step->high_ns).text);
    strncat(text, range, sizeof text - strlen(text) - 1);
    paragraph(page, W_verdict, text);
    if (!step->changed)
        return;
    enum comparison_part most = page->comparison->most;
    double change = page->comparison->rows[most].difference_ns;
    snprintf(text, sizeof text,
             word(page->lang, most == CMP_step ? W_cmp_spread_out
                              : change < 0     ? W_cmp_less
                                               : W_cmp_more),
             units_time(fabs(change)).text, part_word(page, most));
    paragraph(page, W_why, text);
}

static void scaling(const struct page *page)
{
    const struct comparison *comparison = page->comparison;
    char text[256];

    if (isnan(comparison->efficiency))
        return;
    snprintf(text, sizeof text, word(page->lang, W_cmp_efficiency), units_count(comparison->b->nr_per_rank).text,
             units_count(comparison->a->nr_per_rank).text, units_share(comparison->efficiency).text);
    paragraph(page, W_cmp_scaling, text);
}

/* Next to nothing on both sides. */
static bool is_empty(const struct comparison_row *row, const struct comparison_row *step)
{
    return !(row->a_ns > EMPTY_SHARE * step->a_ns) && !(row->b_ns > EMPTY_SHARE * step->b_ns);
}

static int parts(const struct page *page)
{
    struct table *table = table_new();
    static const struct {
        enum word heading;
        enum table_align align;
        uint8_t drop;
    } columns[] = {{W_cmp_part, ALIGN_LEFT, 0},    {W_none, ALIGN_RIGHT, 0},      {W_none, ALIGN_RIGHT, 0},
                   {W_cmp_change, ALIGN_RIGHT, 0}, {W_cmp_range, ALIGN_RIGHT, 2}, {W_cmp_sure, ALIGN_LEFT, 1}};

    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        table_column(table,
                     i == 1   ? "A"
                     : i == 2 ? "B"
                              : word(page->lang, columns[i].heading),
                     columns[i].align, columns[i].drop, CUT_NOT);
    for (unsigned part = 0; part < CMP_MAX; part++) {
        const struct comparison_row *row = &page->comparison->rows[part];
        char range[96] = "-";
        if (is_empty(row, &page->comparison->rows[CMP_step]))
            continue;
        if (!isnan(row->low_ns))
            snprintf(range, sizeof range, "%s .. %s", units_time(row->low_ns).text, units_time(row->high_ns).text);
        table_row(table);
        table_cell(table, part == CMP_step ? STYLE_BOLD : STYLE_NONE, part_word(page, part));
        table_cell(table, STYLE_NONE, units_time(row->a_ns).text);
        table_cell(table, STYLE_NONE, units_time(row->b_ns).text);
        table_cell(table,
                   !row->changed            ? STYLE_NONE
                   : row->difference_ns > 0 ? STYLE_RED
                                            : STYLE_GREEN,
                   units_time(row->difference_ns).text);
        table_cell(table, STYLE_DIM, range);
        table_cell(table, STYLE_NONE, row->changed ? word(page->lang, W_cmp_yes) : "");
    }
    putc('\n', page->out);
    int rc = table_print(table, page->screen, 0, page->out);
    table_free(table);
    return rc;
}

static bool is_otherwise(const struct comparison *comparison, const struct comparison_rank *rank)
{
    const struct comparison_row *step = &comparison->rows[CMP_step];

    return fabs(rank->b_ns - rank->a_ns - step->difference_ns) > OTHERWISE_SHARE * step->a_ns;
}

static int ranks(const struct page *page)
{
    const struct comparison *comparison = page->comparison;
    struct table *table = NULL;
    size_t shown = 0;

    for (size_t i = 0; i < comparison->nr_ranks && shown < RANKS_SHOWN; i++) {
        const struct comparison_rank *rank = &comparison->ranks[i];
        char number[16], most[128];
        if (!is_otherwise(comparison, rank))
            continue;
        if (!shown++) {
            fprintf(page->out, "\n");
            screen_put(page->screen, page->out, STYLE_BOLD, word(page->lang, W_cmp_ranks));
            putc('\n', page->out);
            table = table_new();
            table_column(table, word(page->lang, W_rank), ALIGN_RIGHT, 0, CUT_NOT);
            table_column(table, "A", ALIGN_RIGHT, 0, CUT_NOT);
            table_column(table, "B", ALIGN_RIGHT, 0, CUT_NOT);
            table_column(table, word(page->lang, W_cmp_most), ALIGN_LEFT, 0, CUT_NOT);
        }
        snprintf(number, sizeof number, "%d", rank->rank);
        snprintf(most, sizeof most, "%s %s", part_word(page, rank->most), units_time(rank->most_ns).text);
        table_row(table);
        table_cell(table, STYLE_NONE, number);
        table_cell(table, STYLE_NONE, units_time(rank->a_ns).text);
        table_cell(table, STYLE_NONE, units_time(rank->b_ns).text);
        table_cell(table, STYLE_NONE, most);
    }
    int rc = shown ? table_print(table, page->screen, 2, page->out) : 0;
    table_free(table);
    return rc;
}

static int versions(const struct page *page)
{
    const struct comparison *comparison = page->comparison;
    struct table *table = comparison->nr_versions ? table_new() : NULL;

    if (!comparison->nr_versions)
        return 0;
    table_column(table, word(page->lang, W_cmp_differs), ALIGN_LEFT, 0, CUT_NOT);
    table_column(table, "A", ALIGN_LEFT, 0, CUT_NOT);
    table_column(table, "B", ALIGN_LEFT, 0, CUT_END);
    for (size_t i = 0; i < comparison->nr_versions; i++) {
        table_row(table);
        table_cell(table, STYLE_NONE, comparison->versions[i].key);
        table_cell(table, STYLE_NONE, comparison->versions[i].a);
        table_cell(table, STYLE_NONE, comparison->versions[i].b);
    }
    putc('\n', page->out);
    int rc = table_print(table, page->screen, 0, page->out);
    table_free(table);
    return rc;
}

int emit_comparison_text(const struct comparison *comparison, const struct screen *screen, FILE *out)
{
    struct page page = {comparison, screen, out, comparison->a->lang};

    head(&page, "A", comparison->a);
    head(&page, "B", comparison->b);
    putc('\n', out);
    verdict(&page);
    scaling(&page);
    int rc = parts(&page);
    rc = rc ? rc : ranks(&page);
    rc = rc ? rc : versions(&page);
    return rc ? rc : fflush(out) ? -errno : 0;
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static void side(struct json *json, const char *key, const struct report *report)
{
    json_open(json, key, '{');
    json_text(json, "title", report->title);
    json_uint(json, "ranks", report->nr_per_rank);
    json_uint(json, "steps", report->mean.steps);
    json_real(json, "step_ns", report_step_mean_ns(report));
    json_close(json, '}');
}

static void json_parts(struct json *json, const struct comparison *comparison)
{
    json_open(json, "parts", '[');
    for (unsigned part = 0; part < CMP_MAX; part++) {
        const struct comparison_row *row = &comparison->rows[part];
        json_row(json);
        json_open(json, NULL, '{');
        json_text(json, "part", comparison_part_names[part]);
        json_real(json, "a_ns", row->a_ns);
        json_real(json, "b_ns", row->b_ns);
        json_real(json, "difference_ns", row->difference_ns);
        json_real(json, "low_ns", row->low_ns);
        json_real(json, "high_ns", row->high_ns);
        json_bool(json, "changed", row->changed);
        json_close(json, '}');
    }
    json_close(json, ']');
}

int emit_comparison_json(const struct comparison *comparison, FILE *out)
{
    struct json *json;
    int rc = json_begin(out, &json);

    if (rc)
        return rc;
    json_open(json, NULL, '{');
    json_text(json, "schema", "trshim-compare/1");
    side(json, "a", comparison->a);
    side(json, "b", comparison->b);
    json_bool(json, "changed", comparison->rows[CMP_step].changed);
    json_text(json, "most", comparison->most == CMP_step ? NULL : comparison_part_names[comparison->most]);
    json_real(json, "scaling_efficiency", comparison->efficiency);
    json_parts(json, comparison);
    json_open(json, "ranks", '[');
    for (size_t i = 0; i < comparison->nr_ranks; i++) {
        const struct comparison_rank *rank = &comparison->ranks[i];
        json_row(json);
        json_open(json, NULL, '{');
        json_int(json, "rank", rank->rank);
        json_real(json, "a_ns", rank->a_ns);
        json_real(json, "b_ns", rank->b_ns);
        json_text(json, "most", comparison_part_names[rank->most]);
        json_real(json, "most_ns", rank->most_ns);
        json_close(json, '}');
    }
    json_close(json, ']');
    json_open(json, "versions", '[');
    for (size_t i = 0; i < comparison->nr_versions; i++) {
        json_row(json);
        json_open(json, NULL, '{');
        json_text(json, "key", comparison->versions[i].key);
        json_text(json, "a", comparison->versions[i].a);
        json_text(json, "b", comparison->versions[i].b);
        json_close(json, '}');
    }
    json_close(json, ']');
    json_close(json, '}');
    return json_end(json);
}
