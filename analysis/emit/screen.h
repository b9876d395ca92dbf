/* screen.h - what the report is shown on: its width, whether it has colours and more than ASCII. */
#ifndef TRSHIM_ANALYSIS_SCREEN_H
#define TRSHIM_ANALYSIS_SCREEN_H

#include <stdbool.h>
#include <stdio.h>

struct screen {
    unsigned width; /* cells */
    bool colour;
    bool utf8;
};

enum style {
    STYLE_NONE,
    STYLE_BOLD,
    STYLE_DIM,
    STYLE_RED,
    STYLE_YELLOW,
    STYLE_GREEN,
    STYLE_BLUE,
    STYLE_MAGENTA,
    STYLE_CYAN
};

/* GLYPH(id, UTF-8, ASCII): both take one cell. The class glyphs stand in bars and behind the column headings. */
#define GLYPHS(GLYPH)                                                                                                  \
    GLYPH(separator, "·", "|")                                                                                         \
    GLYPH(ellipsis, "…", "~")                                                                                          \
    GLYPH(compute, "█", "#")                                                                                           \
    GLYPH(comm_exposed, "▓", "=")                                                                                      \
    GLYPH(copy_exposed, "▚", "c")                                                                                      \
    GLYPH(dataloader, "░", ".")                                                                                        \
    GLYPH(checkpoint, "▒", "+")                                                                                        \
    GLYPH(sync, "▞", "s")                                                                                              \
    GLYPH(host, "▖", "h")                                                                                              \
    GLYPH(other, "·", "-")                                                                                             \
    GLYPH(level1, "▁", "_")                                                                                            \
    GLYPH(level2, "▂", "_")                                                                                            \
    GLYPH(level3, "▃", ".")                                                                                            \
    GLYPH(level4, "▄", "-")                                                                                            \
    GLYPH(level5, "▅", "=")                                                                                            \
    GLYPH(level6, "▆", "+")                                                                                            \
    GLYPH(level7, "▇", "*")                                                                                            \
    GLYPH(level8, "█", "#")

enum glyph {
#define GLYPH(id, utf8, ascii) G_##id,
    GLYPHS(GLYPH)
#undef GLYPH
        G_MAX
};

/* From COLUMNS or the terminal behind `out` (100 cells if it is none), NO_COLOR, TERM, and the locale's character set.
 * `text_is_utf8`: the texts themselves need UTF-8, whatever the locale says. */
struct screen screen_of(FILE *out, bool text_is_utf8);

const char *screen_glyph(const struct screen *screen, enum glyph glyph);

/* Prints text: control characters and wrong bytes as '?'. Styles only where there are colours. */
void screen_put(const struct screen *screen, FILE *out, enum style style, const char *text);
void screen_pad(FILE *out, unsigned cells);

/* Prints text in lines of the screen's width: the first behind `label` (padded to `indent` cells), the others indented
 * as deep. Ends with a newline. Breaks at blanks and between Chinese characters. */
void screen_paragraph(const struct screen *screen, FILE *out, unsigned margin, const char *label,
                      enum style label_style, unsigned indent, const char *text);

#endif
