/* section_verdict.c - what to know if only three lines are read: the gravest finding, its cause, what to do. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/emit/sections.h"
#include "analysis/emit/words.h"
#include "analysis/report/finding.h"
#include "analysis/report/units.h"

int verdict_finding(const struct report *report)
{
    return report->nr_findings && report->findings[0].severity >= SEVERITY_MEDIUM ? 0 : -1;
}

static void labelled(const struct page *page, enum word label, enum style style, const char *text)
{
    screen_paragraph(page->screen, page->out, 0, word(page->report->lang, label), style, 9, text);
}

/* Fewer steady steps on every rank than shares can be judged by. A profiler is told to take few. */
static bool is_short(const struct report *report)
{
    uint64_t enough = REPORT_SHORT_RUN_STEPS;

    for (size_t i = 0; i < report->nr_inputs; i++)
        if (!strcmp(report->inputs[i].kind, "kineto"))
            enough = REPORT_PROFILE_STEPS;
    for (size_t i = 0; i < report->nr_per_rank; i++)
        if (report->per_rank[i].steps >= enough)
            return false;
    return true;
}

/* The class with most time beside compute. */
static enum breakdown_class biggest_rest(const struct report_breakdown *row)
{
    int biggest = BC_compute + 1;

    for (int c = biggest + 1; c < BC_MAX; c++)
        if (row->class_ns[c] > row->class_ns[biggest])
            biggest = c;
    return (enum breakdown_class)biggest;
}

/* Nothing to complain of, or too little to do so: the numbers that show it. */
static void no_verdict(const struct page *page)
{
    static const enum word names[BC_MAX] = {
#define CLASS(name, heading) [BC_##name] = W_long_##name,
        BREAKDOWN_CLASSES(CLASS)
#undef CLASS
    };
    const struct report *report = page->report;
    const struct report_breakdown *mean = &report->mean;
    char start[192], end[192], text[400];

    if (!mean->window_ns) {
        labelled(page, W_verdict, STYLE_BOLD, word(report->lang, W_no_data));
        return;
    }
    enum breakdown_class rest = biggest_rest(mean);
    double rest_share = report_share(mean, mean->class_ns[rest]);
    enum word verdict = W_healthy;
    if (!has_steps(report))
        verdict = W_no_window;
    else if (mean->all_windows || is_short(report))
        verdict = W_too_short;
    else if (severity_of_share(rest_share) != SEVERITY_LOW)
        verdict = W_unexplained;
    snprintf(start, sizeof start, word(report->lang, verdict),
             units_share(report_share(mean, mean->class_ns[BC_compute])).text);
    snprintf(end, sizeof end, word(report->lang, rest_share > 0 ? W_biggest_rest : W_no_rest),
             word(report->lang, names[rest]), units_share(rest_share).text);
    snprintf(text, sizeof text, "%s%s", start, end);
    labelled(page, W_verdict, verdict == W_healthy ? STYLE_GREEN : STYLE_BOLD, text);
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

/* What would be saved if the finding were gone: its own loss, or that of what follows from it. */
static int64_t lost_by(const struct report *report, const struct report_finding *finding)
{
    int64_t most = finding->lost_ns;

    for (size_t i = 0; finding->lost_ns == TR_UNKNOWN && i < report->nr_findings; i++) {
        const struct report_finding *other = &report->findings[i];
        if (other->caused_by && !strcmp(other->caused_by, finding->id) && other->lost_ns > most)
            most = other->lost_ns;
    }
    return most;
}

int section_verdict(const struct page *page)
{
    const struct report *report = page->report;
    int index = verdict_finding(report);
    char prefix[192], gain[192], *text = NULL;

    if (index < 0) {
        no_verdict(page);
        return 0;
    }

    const struct report_finding *f = &report->findings[index];
    who(page, f, prefix, sizeof prefix);
    if (asprintf(&text, "%s%s", prefix, f->what) < 0)
        return -ENOMEM;
    labelled(page, W_verdict, f->severity == SEVERITY_HIGH ? STYLE_RED : STYLE_YELLOW, text);
    free(text);
    labelled(page, W_why, STYLE_BOLD, f->cause);
    labelled(page, W_next, STYLE_BOLD, f->fix);

    int64_t lost_ns = lost_by(report, f);
    if (lost_ns > 0 && report->last_ns > report->first_ns) {
        snprintf(gain, sizeof gain, word(report->lang, W_gain_of_run), units_time((double)lost_ns).text,
                 units_time((double)(report->last_ns - report->first_ns)).text);
        labelled(page, W_gain, STYLE_BOLD, gain);
    }
    return 0;
}
