/* section_head.c - the first line: whose run this is, how long, cut into steps how, and whether it is whole. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/emit/sections.h"
#include "analysis/emit/width.h"
#include "analysis/emit/words.h"
#include "analysis/report/units.h"

/* Parts joined by separators; a new line where the next one does not fit. */
struct line {
    const struct page *page;
    unsigned used;
};

static void part(struct line *line, const char *text)
{
    const struct page *page = line->page;
    unsigned width = width_of(text);

    if (line->used && line->used + 3 + width > page->screen->width) {
        putc('\n', page->out);
        line->used = 0;
    }
    if (line->used) {
        fprintf(page->out, " %s ", screen_glyph(page->screen, G_separator));
        line->used += 3;
    }
    screen_put(page->screen, page->out, line->used ? STYLE_NONE : STYLE_BOLD, text);
    line->used += width;
}

/* The word with one count in it, in the form for one or for many. */
static void counted(char *text, size_t size, enum lang lang, uint64_t count, enum word one, enum word many)
{
    if (count == 1)
        snprintf(text, size, "%s", word(lang, one));
    else
        snprintf(text, size, word(lang, many), units_count(count).text);
}

static enum word method_word(const char *method)
{
    static const struct {
        const char *method;
        enum word word;
    } words[] = {
        {"mark", W_by_mark},
        {"nvtx", W_by_nvtx},
        {"optimizer", W_by_optimizer},
        {"dataloader", W_by_dataloader},
        {"collective", W_by_collective},
        {"kernel", W_by_kernel},
    };
    for (size_t i = 0; method && i < sizeof words / sizeof *words; i++)
        if (!strcmp(words[i].method, method))
            return words[i].word;
    return W_by_run;
}

bool has_steps(const struct report *report)
{
    return method_word(report->steps.method) != W_by_run;
}

static void ranks_part(struct line *line)
{
    const struct report *report = line->page->report;
    char ranks[96], hosts[64], text[192];

    counted(ranks, sizeof ranks, report->lang, report->nr_per_rank ? report->nr_per_rank : report->nr_ranks, W_rank_one,
            W_ranks_many);
    if (!report->nr_hosts) {
        part(line, ranks);
        return;
    }
    counted(hosts, sizeof hosts, report->lang, report->nr_hosts, W_on_host, W_on_hosts);
    snprintf(text, sizeof text, report->lang == LANG_ZH ? "%s，%s" : "%s %s", ranks, hosts);
    part(line, text);
}

static void steps_part(struct line *line)
{
    const struct report *report = line->page->report;
    enum word by = method_word(report->steps.method);
    char count[96], confidence[96], text[256];

    if (by == W_by_run) {
        part(line, word(report->lang, by));
        return;
    }
    counted(count, sizeof count, report->lang, report->steps.count, W_step_one, W_steps_many);
    snprintf(confidence, sizeof confidence, word(report->lang, W_confidence), report->steps.confidence);
    snprintf(text, sizeof text, report->lang == LANG_ZH ? "%s，%s%s" : "%s %s%s", count, word(report->lang, by),
             confidence);
    part(line, text);
}

static bool is_incomplete(const struct report *report)
{
    for (size_t i = 0; i < report->nr_inputs; i++)
        if (report->inputs[i].problem)
            return true;
    return false;
}

int section_head(const struct page *page)
{
    const struct report *report = page->report;
    struct line line = {.page = page};
    char text[192];

    if (report->title)
        part(&line, report->title);
    if (report->nr_ranks || report->nr_per_rank)
        ranks_part(&line);
    if (report->mean.steps)
        steps_part(&line);
    if (report->last_ns > report->first_ns && (report->nr_ranks || report->nr_per_rank || !report->nr_transports))
        part(&line, units_time((double)(report->last_ns - report->first_ns)).text);
    if (report->quality.lost) {
        double all = (double)report->quality.lost + (double)report->quality.events;
        snprintf(text, sizeof text, word(report->lang, W_events_lost), units_count(report->quality.lost).text,
                 units_share((double)report->quality.lost / all).text);
        part(&line, text);
    } else if (report->quality.gpu_lost) {
        snprintf(text, sizeof text, word(report->lang, W_q_gpu_lost), units_count(report->quality.gpu_lost).text);
        part(&line, text);
    } else {
        part(&line, word(report->lang, is_incomplete(report) ? W_incomplete : W_nothing_lost));
    }
    if (report->nr_machines > 1 && report->quality.clock_error_ns != TR_UNKNOWN) {
        snprintf(text, sizeof text, word(report->lang, W_clocks),
                 units_time((double)report->quality.clock_error_ns).text);
        part(&line, text);
    }
    putc('\n', page->out);
    return 0;
}
