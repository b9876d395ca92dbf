/* width.h - how many terminal cells a text takes, and cutting it to fit. Texts are UTF-8; wide Chinese characters take
 * two cells. Works in any locale: it takes C.UTF-8's tables, or, where that is missing, a rule of thumb. */
#ifndef TRSHIM_ANALYSIS_WIDTH_H
#define TRSHIM_ANALYSIS_WIDTH_H

#include <stdbool.h>
#include <stddef.h>

/* Decodes the character at *text and moves on; returns its cells. *text must not be at the end. A wrong byte or a
 * control character counts as one cell (it is shown as one '?'). */
unsigned width_next(const char **text);

unsigned width_of(const char *text);

/* Length in bytes of the longest beginning of text that takes at most `cells`. */
size_t width_prefix(const char *text, unsigned cells);

/* Whether a line may be broken behind `character`, with `next` beginning the next line, though there is no blank:
 * between CJK characters, but not so that a line ends with an opening bracket or begins with punctuation. */
bool width_breaks_between(const char *character, const char *next);

#endif
