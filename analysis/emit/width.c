/* width.c - see width.h. */
#include "analysis/emit/width.h"

#include <locale.h>
#include <stdbool.h>
#include <wchar.h>

#include "analysis/input/utf8.h"

/* Code point of a well-formed character of `length` bytes. */
static wchar_t decode(const char *text, size_t length)
{
    const unsigned char *c = (const unsigned char *)text;

    switch (length) {
    case 1:
        return c[0];
    case 2:
        return (c[0] & 0x1f) << 6 | (c[1] & 0x3f);
    case 3:
        return (c[0] & 0x0f) << 12 | (c[1] & 0x3f) << 6 | (c[2] & 0x3f);
    default:
        return (c[0] & 0x07) << 18 | (c[1] & 0x3f) << 12 | (c[2] & 0x3f) << 6 | (c[3] & 0x3f);
    }
}

/* wcwidth() answers for the thread's locale; ours must know Unicode whatever the user's does. */
static int cells_of(wchar_t point)
{
    static locale_t unicode; /* kept to the end of the process */

    if (point < 0x300)
        return 1;
    if (!unicode)
        unicode = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    if (!unicode)
        return point >= 0x2e80 ? 2 : 1;
    locale_t before = uselocale(unicode);
    int cells = wcwidth(point);
    (void)uselocale(before);
    return cells < 0 ? 1 : cells;
}

unsigned width_next(const char **text)
{
    size_t length = utf8_printable(*text);
    if (!length) {
        ++*text;
        return 1;
    }
    int cells = cells_of(decode(*text, length));
    *text += length;
    return (unsigned)cells;
}

unsigned width_of(const char *text)
{
    unsigned cells = 0;
    while (*text)
        cells += width_next(&text);
    return cells;
}

size_t width_prefix(const char *text, unsigned cells)
{
    const char *at = text;
    unsigned used = 0;

    while (*at) {
        const char *next = at;
        used += width_next(&next);
        if (used > cells)
            break;
        at = next;
    }
    return (size_t)(at - text);
}

static wchar_t point_at(const char *text)
{
    size_t length = utf8_printable(text);
    return length ? decode(text, length) : 0;
}

bool width_breaks_between(const char *character, const char *next)
{
    static const wchar_t opening[] = L"（“‘「『《【", closing[] = L"）”’」』》】，。；：、？！…";
    wchar_t before = point_at(character), after = point_at(next);

    return before >= 0x2e80 && !wcschr(opening, before) && !(after && wcschr(closing, after));
}
