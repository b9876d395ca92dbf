/* lang.c - see lang.h. */
#include "analysis/report/lang.h"

#include <stdlib.h>
#include <string.h>

enum lang lang_find(const char *name)
{
    static const char *const codes[LANG_MAX] = {[LANG_EN] = "en", [LANG_ZH] = "zh"};

    for (int lang = 0; lang < LANG_MAX; lang++)
        if (!strncmp(name, codes[lang], 2) && !strchr("abcdefghijklmnopqrstuvwxyz", name[2] ? name[2] : '_'))
            return (enum lang)lang;
    return LANG_MAX;
}

enum lang lang_default(void)
{
    static const char *const variables[] = {"LC_ALL", "LC_MESSAGES", "LANG"};

    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *value = getenv(variables[i]);
        if (value && *value) {
            enum lang lang = lang_find(value);
            return lang == LANG_MAX ? LANG_EN : lang;
        }
    }
    return LANG_EN;
}
