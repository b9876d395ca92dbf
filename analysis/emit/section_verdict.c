/* section_verdict.c - what to know if only three lines are read: the gravest finding, its cause, what to do. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/emit/sections.h"
#include "analysis/emit/words.h"
#include "analysis/report/units.h"

int verdict_finding(const struct report *report)
{
    return report->nr_findings && report->findings[0].severity >= SEVERITY_MEDIUM ? 0 : -1;
}

static void labelled(const struct page *page, enum word label, enum style style, const char *text)
{
    screen_paragraph(page->screen, page->out, 0, word(page->report->lang, label), style, 9, text);
}

/* Where there is nothing to complain of, the numbers that show it. */
static int healthy(const struct page *page)
{
    const struct report *report = page->report;
    static const enum word names[BC_MAX] = {
#define CLASS(name, heading) [BC_##name] = W_long_##name,
        BREAKDOWN_CLASSES(CLASS)
#undef CLASS
    };
    int biggest = BC_compute + 1;
    char first[192], second[192], text[400];

    if (!report->mean.window_ns) {
        labelled(page, W_verdict, STYLE_BOLD, word(report->lang, W_no_data));
        return 0;
    }
    for (int c = biggest + 1; c < BC_MAX; c++)
        if (report->mean.class_ns[c] > report->mean.class_ns[biggest])
            biggest = c;
    snprintf(first, sizeof first, word(report->lang, W_healthy),
             units_share(report_share(&report->mean, report->mean.class_ns[BC_compute])).text);
    snprintf(second, sizeof second, word(report->lang, W_healthy_biggest), word(report->lang, names[biggest]),
             units_share(report_share(&report->mean, report->mean.class_ns[biggest])).text);
    snprintf(text, sizeof text, report->lang == LANG_ZH ? "%s%s" : "%s %s", first,
             report->mean.class_ns[biggest] ? second : "");
    labelled(page, W_verdict, STYLE_GREEN, text);
    return 0;
}

/* "Rank 7: " where not all ranks are meant. */
static void who(const struct page *page, const struct report_finding *finding, char *text, size_t size)
{
    enum lang lang = page->report->lang;
    char ranks[128];

    format_culprits(page, finding, ranks, sizeof ranks);
    if (!finding->nr_ranks || !strcmp(ranks, word(lang, W_all_ranks)))
        snprintf(text, size, "%s", "");
    else
        snprintf(text, size, word(lang, finding->nr_ranks == 1 ? W_rank_prefix : W_ranks_prefix), ranks);
}

int section_verdict(const struct page *page)
{
    const struct report *report = page->report;
    int index = verdict_finding(report);
    char prefix[192], gain[192] = "", *text = NULL;

    if (index < 0)
        return healthy(page);

    const struct report_finding *f = &report->findings[index];
    who(page, f, prefix, sizeof prefix);
    if (asprintf(&text, "%s%s", prefix, f->what) < 0)
        return -ENOMEM;
    labelled(page, W_verdict, f->severity == SEVERITY_HIGH ? STYLE_RED : STYLE_YELLOW, text);
    free(text);
    labelled(page, W_why, STYLE_BOLD, f->cause);

    if (f->lost_ns != TR_UNKNOWN && f->lost_ns > 0 && report->last_ns > report->first_ns)
        snprintf(gain, sizeof gain, word(report->lang, W_gain), units_time((double)f->lost_ns).text,
                 units_time((double)(report->last_ns - report->first_ns)).text);
    if (asprintf(&text, "%s%s%s", f->fix, *gain && report->lang != LANG_ZH ? "  " : "", gain) < 0)
        return -ENOMEM;
    labelled(page, W_next, STYLE_BOLD, text);
    free(text);
    return 0;
}
