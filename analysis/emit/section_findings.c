/* section_findings.c - the ranked list of findings, then what each rests on. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/emit/sections.h"
#include "analysis/emit/table.h"
#include "analysis/emit/words.h"
#include "analysis/report/units.h"

#define INDENT 9 /* of the sentences, behind their labels */

static const struct {
    enum word word;
    enum style style;
} looks[SEVERITY_MAX] = {
    [SEVERITY_LOW] = {W_severity_low, STYLE_DIM},
    [SEVERITY_MEDIUM] = {W_severity_medium, STYLE_YELLOW},
    [SEVERITY_HIGH] = {W_severity_high, STYLE_RED},
};

/* Whose it is, is worth a column where there are several ranks, or where logs and dumps name some. */
static bool names_ranks(const struct report *report)
{
    bool named = false;

    for (size_t i = 0; i < report->nr_findings; i++)
        named |= report->findings[i].nr_ranks > 0;
    return report->nr_per_rank > 1 || (named && !report->nr_per_rank);
}

static int list(const struct page *page)
{
    const struct report *report = page->report;
    enum lang lang = report->lang;
    struct table *table = table_new();

    table_column(table, word(lang, W_severity), ALIGN_LEFT, 0, CUT_NOT);
    table_column(table, word(lang, W_finding), ALIGN_LEFT, 0, CUT_NOT);
    bool ranks_shown = names_ranks(report);
    if (ranks_shown)
        table_column(table, word(lang, W_rank), ALIGN_LEFT, 2, CUT_NOT);
    table_column(table, word(lang, W_lost), ALIGN_RIGHT, 3, CUT_NOT);
    table_column(table, word(lang, W_numbers), ALIGN_LEFT, 1, CUT_END);
    for (size_t i = 0; i < report->nr_findings; i++) {
        const struct report_finding *f = &report->findings[i];
        char ranks[48];
        format_culprits(page, f, ranks, sizeof ranks);
        table_row(table);
        table_cell(table, looks[f->severity].style, word(lang, looks[f->severity].word));
        table_cell(table, STYLE_BOLD, f->id);
        if (ranks_shown)
            table_cell(table, STYLE_NONE, ranks);
        table_cell(table, STYLE_NONE, isnan(f->lost_gpu_seconds) ? "-" : units_time(f->lost_gpu_seconds * 1e9).text);
        table_cell(table, STYLE_NONE, f->brief);
    }
    int rc = table_print(table, page->screen, 2, page->out);
    table_free(table);
    return rc;
}

static void said(const struct page *page, enum word label, const char *text)
{
    screen_paragraph(page->screen, page->out, 2, word(page->report->lang, label), STYLE_DIM, INDENT, text);
}

/* What the verdict has said already is not said again; of low findings, only what and the remedy are. */
static void detail(const struct page *page, const struct report_finding *f, bool told)
{
    char text[128];

    putc('\n', page->out);
    screen_pad(page->out, 2);
    screen_put(page->screen, page->out, STYLE_BOLD, f->id);
    if (f->caused_by) {
        snprintf(text, sizeof text, word(page->report->lang, W_caused_by), f->caused_by);
        screen_pad(page->out, 1);
        screen_put(page->screen, page->out, STYLE_DIM, text);
    }
    putc('\n', page->out);
    if (!told) {
        said(page, W_what, f->what);
        if (f->severity > SEVERITY_LOW)
            said(page, W_why_small, f->cause);
        said(page, W_fix, f->fix);
    }
    if (f->severity == SEVERITY_LOW)
        return;
    for (size_t i = 0; i < f->nr_evidence; i++)
        said(page, i ? W_none : W_evidence, f->evidence[i]);
    for (size_t i = 0; i < f->nr_others; i++)
        said(page, i ? W_none : W_others, f->others[i]);
}

int section_findings(const struct page *page)
{
    const struct report *report = page->report;

    putc('\n', page->out);
    if (!report->nr_findings) {
        screen_put(page->screen, page->out, STYLE_BOLD, word(report->lang, W_no_findings));
        putc('\n', page->out);
        return 0;
    }
    screen_put(page->screen, page->out, STYLE_BOLD, word(report->lang, W_findings));
    putc('\n', page->out);
    int rc = list(page);
    int told = verdict_finding(report);
    for (size_t i = 0; !rc && i < report->nr_findings; i++)
        detail(page, &report->findings[i], told == (int)i);
    return rc;
}
