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

struct rendering {
    text_param_fn param;
    void *arg;
};

#define PLACEHOLDER_MAX 128

/* {name}, or {name:one:many} with a word for each number. `inside` is what the braces hold.
 * Returns false if the value was not given. */
static bool render_placeholder(const struct rendering *rendering, FILE *out, char *inside)
{
    char *one = strchr(inside, ':'), *many = one ? strchr(one + 1, ':') : NULL;

    if (many) {
        *one++ = *many++ = '\0';
        const char *count = rendering->param(rendering->arg, inside);
        fputs(count && !strcmp(count, "1") ? one : many, out);
        return true;
    }
    const char *value = rendering->param(rendering->arg, inside);
    fputs(value ? value : "?", out);
    return value != NULL;
}

static const char *render_part(const struct rendering *rendering, FILE *out, const char *at, bool *complete);

/* An optional part, from behind its bracket to behind the closing one: rendered aside, kept only when complete. */
static const char *render_optional(const struct rendering *rendering, FILE *out, const char *at)
{
    char *text = NULL;
    size_t size;
    bool complete = true;
    FILE *aside = open_memstream(&text, &size);

    if (!aside)
        return strchrnul(at, ']');
    at = render_part(rendering, aside, at, &complete);
    if (!fclose(aside) && complete)
        fputs(text, out);
    free(text);
    return *at ? at + 1 : at;
}

/* Renders up to a closing bracket or the end, and returns where that is. */
static const char *render_part(const struct rendering *rendering, FILE *out, const char *at, bool *complete)
{
    while (*at && *at != ']') {
        size_t length = *at == '{' ? strcspn(at, "}") : 0;
        if (*at == '[') {
            at = render_optional(rendering, out, at + 1);
        } else if (length && at[length] && length < PLACEHOLDER_MAX) {
            char inside[PLACEHOLDER_MAX];
            memcpy(inside, at + 1, length - 1);
            inside[length - 1] = '\0';
            *complete &= render_placeholder(rendering, out, inside);
            at += length + 1;
        } else {
            fputc(*at++, out);
        }
    }
    return at;
}

char *text_render(const char *text, text_param_fn param, void *arg)
{
    const struct rendering rendering = {param, arg};
    char *rendered = NULL;
    size_t size;
    bool complete = true;
    FILE *out = open_memstream(&rendered, &size);

    if (!out)
        return NULL;
    while (*text) {
        text = render_part(&rendering, out, text, &complete);
        if (*text) /* a closing bracket without its partner */
            fputc(*text++, out);
    }
    if (fclose(out)) {
        free(rendered);
        return NULL;
    }
    return rendered;
}
