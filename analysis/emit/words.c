/* words.c - see words.h. */
#include "analysis/emit/words.h"

static const char *const words[W_MAX][LANG_MAX] = {
#define WORD(id, en, zh) [W_##id] = {[LANG_EN] = en, [LANG_ZH] = zh},
#include "analysis/emit/words.def"
#undef WORD
};

const char *word(enum lang lang, enum word id)
{
    return words[id][lang];
}
