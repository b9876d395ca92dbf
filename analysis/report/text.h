/* text.h - the sentences of findings and notes, in each language, and how parameters get into them.
 *
 * Rows are in text_en.def and text_zh.def; a test proves that both have the same ids, parts, keys and placeholders. */
#ifndef TRSHIM_ANALYSIS_TEXT_H
#define TRSHIM_ANALYSIS_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "analysis/report/lang.h"

enum text_part { TEXT_what, TEXT_brief, TEXT_cause, TEXT_fix, TEXT_evidence, TEXT_other, TEXT_note, TEXT_MAX };

struct text_row {
    const char *id;
    enum text_part part;
    const char *key; /* "" is the one used when none is chosen */
    const char *text;
};

/* All rows of a language. */
const struct text_row *text_rows(enum lang lang, size_t *ret_nr);

/* The sentence, or NULL. */
const char *text_find(enum lang lang, const char *id, enum text_part part, const char *key);

/* Whether any row has this id. */
bool text_has_id(const char *id);

/* Value of a parameter, or NULL if it was not given. */
typedef const char *(*text_param_fn)(void *arg, const char *name);

/* Replaces {name}, and {name:one:many} by the word for that number; drops [parts] with a parameter that was not given
 * (they may be nested); one outside brackets becomes "?".
 * Returns a malloced string, or NULL when memory ran out. */
char *text_render(const char *text, text_param_fn param, void *arg);

#endif
