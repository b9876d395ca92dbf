/* rank_list.c - whose finding it is, in a word: "all", or ranks. */
#include <stdlib.h>

#include "analysis/emit/sections.h"
#include "analysis/emit/words.h"
#include "analysis/report/rank_text.h"

void format_culprits(const struct page *page, const struct report_finding *finding, char *text, size_t size)
{
    const struct report *report = page->report;
    size_t known = 0;

    for (size_t i = 0; i < report->nr_per_rank; i++)
        known += report->per_rank[i].rank >= 0;
    if (!finding->nr_ranks || (known && finding->nr_ranks >= known))
        snprintf(text, size, "%s", word(report->lang, W_all_ranks));
    else
        format_ranks(finding->ranks, finding->nr_ranks, text, size);
}
