/* rank_text.h - ranks as people write them: "0-6,9". */
#ifndef TRSHIM_ANALYSIS_RANK_TEXT_H
#define TRSHIM_ANALYSIS_RANK_TEXT_H

#include <stddef.h>

/* `ranks` ascending. What has no room ends in ",..". */
void format_ranks(const int *ranks, size_t nr, char *text, size_t size);

#endif
