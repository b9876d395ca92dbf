/* text.c - see text.h. */
#include "analysis/report/text.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* TEXT(id, part, key, sentence) */
#define TEXT(id, part, key, text) {id, TEXT_##part, key, text},

static const struct text_row en[] = {
#include "analysis/report/text_en.def"
};

static const struct text_row zh[] = {
#include "analysis/report/text_zh.def"
};

#undef TEXT

const struct text_row *text_rows(enum lang lang, size_t *ret_nr)
{
    *ret_nr = lang == LANG_ZH ? sizeof zh / sizeof *zh : sizeof en / sizeof *en;
    return lang == LANG_ZH ? zh : en;
}

const char *text_find(enum lang lang, const char *id, enum text_part part, const char *key)
{
    size_t nr;
    const struct text_row *rows = text_rows(lang, &nr);

    for (size_t i = 0; i < nr; i++)
        if (rows[i].part == part && !strcmp(rows[i].key, key) && !strcmp(rows[i].id, id))
            return rows[i].text;
    return NULL;
}

bool text_has_id(const char *id)
{
    for (size_t i = 0; i < sizeof en / sizeof *en; i++)
        if (!strcmp(en[i].id, id))
            return true;
    return false;
}

/* Renders up to `end`; returns whether every parameter was there. */
static bool render_part(FILE *out, const char *from, const char *end, text_param_fn param, void *arg)
{
    bool complete = true;

    while (from < end) {
        if (*from != '{') {
            fputc(*from++, out);
            continue;
        }
        const char *close = memchr(from, '}', (size_t)(end - from));
        char name[64];
        if (!close || (size_t)(close - from) >= sizeof name) {
            fputc(*from++, out);
            continue;
        }
        memcpy(name, from + 1, (size_t)(close - from - 1));
        name[close - from - 1] = '\0';
        const char *value = param(arg, name);
        fputs(value ? value : "?", out);
        complete &= value != NULL;
        from = close + 1;
    }
    return complete;
}

/* An optional part: rendered aside, kept only when complete. */
static void render_optional(FILE *out, const char *from, const char *end, text_param_fn param, void *arg)
{
    char *text = NULL;
    size_t size;
    FILE *aside = open_memstream(&text, &size);

    if (!aside)
        return;
    bool complete = render_part(aside, from, end, param, arg);
    if (!fclose(aside) && complete)
        fputs(text, out);
    free(text);
}

char *text_render(const char *text, text_param_fn param, void *arg)
{
    char *rendered = NULL;
    size_t size;
    FILE *out = open_memstream(&rendered, &size);

    if (!out)
        return NULL;
    while (*text) {
        size_t plain = strcspn(text, "[");
        render_part(out, text, text + plain, param, arg);
        text += plain;
        if (*text == '[') {
            const char *close = strchrnul(text, ']');
            render_optional(out, text + 1, close, param, arg);
            text = *close ? close + 1 : close;
        }
    }
    if (fclose(out)) {
        free(rendered);
        return NULL;
    }
    return rendered;
}
