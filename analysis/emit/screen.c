/* screen.c - see screen.h. */
#include "analysis/emit/screen.h"

#include <langinfo.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "analysis/emit/width.h"
#include "analysis/input/utf8.h"

#define WIDTH_ELSEWHERE 100 /* files and pipes */
#define WIDTH_LEAST 40
#define WIDTH_MOST 160 /* longer lines are hard to read */

static unsigned detect_width(FILE *out)
{
    const char *columns = getenv("COLUMNS");
    long width = columns ? strtol(columns, NULL, 10) : 0;
    struct winsize size;

    if (width <= 0)
        width = ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : WIDTH_ELSEWHERE;
    if (width < WIDTH_LEAST)
        width = WIDTH_LEAST;
    return width > WIDTH_MOST ? WIDTH_MOST : (unsigned)width;
}

static bool detect_colour(FILE *out)
{
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

    return isatty(fileno(out)) && !(no_color && *no_color) && term && strcmp(term, "dumb");
}

struct screen screen_of(FILE *out, bool text_is_utf8)
{
    return (struct screen){
        .width = detect_width(out),
        .colour = detect_colour(out),
        .utf8 = text_is_utf8 || !strcmp(nl_langinfo(CODESET), "UTF-8"),
    };
}

const char *screen_glyph(const struct screen *screen, enum glyph glyph)
{
    static const char *const glyphs[G_MAX][2] = {
#define GLYPH(id, utf8, ascii) {ascii, utf8},
        GLYPHS(GLYPH)
#undef GLYPH
    };
    return glyphs[glyph][screen->utf8];
}

static void put_plain(const struct screen *screen, FILE *out, const char *text, const char *end)
{
    while (text < end && *text) {
        size_t length = utf8_printable(text);
        if (!length) {
            putc('?', out);
            text++;
        } else if (length > 1 && !screen->utf8) {
            unsigned cells = width_next(&text);
            for (unsigned i = 0; i < cells; i++)
                putc('?', out);
        } else {
            fwrite(text, 1, length, out);
            text += length;
        }
    }
}

static const char *const style_codes[] = {
    [STYLE_NONE] = "",         [STYLE_BOLD] = "\033[1m",     [STYLE_DIM] = "\033[2m",
    [STYLE_RED] = "\033[31m",  [STYLE_YELLOW] = "\033[33m",  [STYLE_GREEN] = "\033[32m",
    [STYLE_BLUE] = "\033[34m", [STYLE_MAGENTA] = "\033[35m", [STYLE_CYAN] = "\033[36m",
};

void screen_put(const struct screen *screen, FILE *out, enum style style, const char *text)
{
    bool styled = screen->colour && style != STYLE_NONE && *text;

    if (styled)
        fputs(style_codes[style], out);
    put_plain(screen, out, text, text + strlen(text));
    if (styled)
        fputs("\033[0m", out);
}

void screen_pad(FILE *out, unsigned cells)
{
    while (cells--)
        putc(' ', out);
}

/* A number stays with its unit: "2 s", "40 %", "64 KiB". */
static bool glues(const char *text, size_t blank)
{
    size_t letters = 0;

    if (blank == 0 || text[blank - 1] < '0' || text[blank - 1] > '9')
        return false;
    for (const char *at = text + blank + 1;
         *at == '%' || *at == '/' || (*at >= 'A' && *at <= 'Z') || (*at >= 'a' && *at <= 'z'); at++)
        letters++;
    return letters >= 1 && letters <= 4;
}

/* Bytes of text that go on a line of `cells`; *ret_skip: blanks behind them that are dropped. */
static size_t line_length(const char *text, unsigned cells, size_t *ret_skip)
{
    size_t fits = width_prefix(text, cells);

    *ret_skip = 0;
    if (!text[fits])
        return fits;
    size_t best = 0;
    for (size_t at = 0; at <= fits;) {
        if (text[at] == ' ' && !glues(text, at))
            best = at;
        size_t length = utf8_printable(text + at);
        at += length ? length : 1;
        if (at <= fits && width_breaks_between(text + at - (length ? length : 1), text + at))
            best = at;
    }
    if (!best)
        best = fits ? fits : 1;
    while (text[best + *ret_skip] == ' ')
        ++*ret_skip;
    while (best > 1 && text[best - 1] == ' ') {
        best--;
        ++*ret_skip;
    }
    return best;
}

void screen_paragraph(const struct screen *screen, FILE *out, unsigned margin, const char *label,
                      enum style label_style, unsigned indent, const char *text)
{
    unsigned label_width = width_of(label);
    unsigned cells = screen->width > indent + 20 ? screen->width - indent : 20;

    screen_pad(out, margin);
    screen_put(screen, out, label_style, label);
    screen_pad(out, margin + label_width < indent ? indent - margin - label_width : 1);
    while (*text) {
        size_t skip, length = line_length(text, cells, &skip);
        put_plain(screen, out, text, text + length);
        text += length + skip;
        putc('\n', out);
        if (*text)
            screen_pad(out, indent);
    }
}
