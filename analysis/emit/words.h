/* words.h - the words of the text report in each language; the table is words.def. */
#ifndef TRSHIM_ANALYSIS_WORDS_H
#define TRSHIM_ANALYSIS_WORDS_H

#include "analysis/report/lang.h"

enum word {
#define WORD(id, en, zh) W_##id,
#include "analysis/emit/words.def"
#undef WORD
    W_MAX
};

/* Never NULL. Some hold one or two printf conversions (the same in all languages). */
const char *word(enum lang lang, enum word id);

#endif
