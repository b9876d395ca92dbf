/* rank_text.c - see rank_text.h. */
#include "analysis/report/rank_text.h"

#include <stdio.h>
#include <string.h>

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
