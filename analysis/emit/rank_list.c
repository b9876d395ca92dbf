/* rank_list.c - ranks as people write them: "0-6,9". */
#include <stdlib.h>
#include <string.h>

#include "analysis/emit/sections.h"
#include "analysis/emit/words.h"

void format_ranks(const int *ranks, size_t nr, char *text, size_t size)
{
    size_t used = 0;

    if (size)
        *text = '\0';
    for (size_t i = 0; i < nr;) {
        size_t end = i;
        while (end + 1 < nr && ranks[end + 1] == ranks[end] + 1)
            end++;
        char one[32];
        int length = end > i ? snprintf(one, sizeof one, "%s%d-%d", used ? "," : "", ranks[i], ranks[end])
                             : snprintf(one, sizeof one, "%s%d", used ? "," : "", ranks[i]);
        if (used + (size_t)length + 4 >= size) { /* room for ",..." stays */
            snprintf(text + used, size - used, ",..");
            return;
        }
        memcpy(text + used, one, (size_t)length + 1);
        used += (size_t)length;
        i = end + 1;
    }
}

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
