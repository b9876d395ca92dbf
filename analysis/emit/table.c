/* table.c - see table.h. */
#include "analysis/emit/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/emit/width.h"

#define COLUMNS_MAX 24
#define GAP 2
#define MIDDLE_LEAST 16 /* cells that a cut text keeps */
#define END_LEAST 32

struct table_cell {
    char *text; /* owned */
    enum style style;
    uint8_t *styles; /* owned; one for each character instead of `style`, or NULL */
};

struct table_head {
    char *heading; /* owned */
    enum table_align align;
    uint8_t drop;
    enum table_cut cut;
};

struct table {
    struct table_head columns[COLUMNS_MAX];
    size_t nr_columns;
    struct table_cell *cells; /* owned; nr_rows * nr_columns, row by row */
    size_t nr_rows, nr_cells;
    bool failed;
};

struct table *table_new(void)
{
    return calloc(1, sizeof(struct table));
}

void table_free(struct table *table)
{
    if (!table)
        return;
    for (size_t i = 0; i < table->nr_columns; i++)
        free(table->columns[i].heading);
    for (size_t i = 0; i < table->nr_rows * table->nr_columns; i++) {
        free(table->cells[i].text);
        free(table->cells[i].styles);
    }
    free(table->cells);
    free(table);
}

static char *copy(struct table *table, const char *text)
{
    char *text_copy = strdup(text);
    table->failed |= !text_copy;
    return text_copy;
}

void table_column(struct table *table, const char *heading, enum table_align align, uint8_t drop, enum table_cut cut)
{
    if (!table || table->nr_columns == COLUMNS_MAX)
        return;
    table->columns[table->nr_columns++] = (struct table_head){copy(table, heading), align, drop, cut};
}

void table_row(struct table *table)
{
    if (!table || table->failed)
        return;
    size_t nr = (table->nr_rows + 1) * table->nr_columns;
    struct table_cell *cells = reallocarray(table->cells, nr, sizeof *cells);
    if (!cells) {
        table->failed = true;
        return;
    }
    memset(cells + table->nr_rows * table->nr_columns, 0, table->nr_columns * sizeof *cells);
    table->cells = cells;
    table->nr_cells = table->nr_rows * table->nr_columns;
    table->nr_rows++;
}

void table_cell(struct table *table, enum style style, const char *text)
{
    if (!table || table->failed || table->nr_cells == table->nr_rows * table->nr_columns)
        return;
    table->cells[table->nr_cells++] = (struct table_cell){.text = copy(table, text), .style = style};
}

static size_t nr_characters(const char *text)
{
    size_t nr = 0;
    for (; *text; nr++)
        (void)width_next(&text);
    return nr;
}

void table_cell_painted(struct table *table, const char *text, const uint8_t *styles)
{
    if (!table || table->failed || table->nr_cells == table->nr_rows * table->nr_columns)
        return;
    size_t nr = nr_characters(text);
    uint8_t *own = malloc(nr ? nr : 1);
    if (own)
        memcpy(own, styles, nr);
    table->failed |= !own;
    table->cells[table->nr_cells++] = (struct table_cell){.text = copy(table, text), .styles = own};
}

/* ---- layout */

struct layout {
    unsigned width[COLUMNS_MAX]; /* 0: dropped */
};

static unsigned total_width(const struct table *table, const struct layout *layout)
{
    unsigned total = 0;
    for (size_t c = 0; c < table->nr_columns; c++)
        if (layout->width[c])
            total += layout->width[c] + (total ? GAP : 0);
    return total;
}

static void natural_widths(const struct table *table, struct layout *layout)
{
    for (size_t c = 0; c < table->nr_columns; c++) {
        layout->width[c] = width_of(table->columns[c].heading);
        for (size_t r = 0; r < table->nr_rows; r++) {
            const char *text = table->cells[r * table->nr_columns + c].text;
            unsigned width = text ? width_of(text) : 0;
            if (layout->width[c] < width)
                layout->width[c] = width;
        }
    }
}

/* Shortens the flexible column as far as is bearable; returns whether the table fits. */
static bool shrink(const struct table *table, struct layout *layout, unsigned room)
{
    for (size_t c = 0; c < table->nr_columns; c++) {
        unsigned total = total_width(table, layout);
        if (total <= room)
            return true;
        if (table->columns[c].cut == CUT_NOT || !layout->width[c])
            continue;
        unsigned over = total - room, least = table->columns[c].cut == CUT_END ? END_LEAST : MIDDLE_LEAST;
        least = layout->width[c] < least ? layout->width[c] : least;
        layout->width[c] = layout->width[c] > over + least ? layout->width[c] - over : least;
    }
    return total_width(table, layout) <= room;
}

/* Drops one column; returns false if none may go. */
static bool drop_one(const struct table *table, struct layout *layout)
{
    size_t victim = COLUMNS_MAX;
    for (size_t c = 0; c < table->nr_columns; c++)
        if (layout->width[c] && table->columns[c].drop &&
            (victim == COLUMNS_MAX || table->columns[c].drop >= table->columns[victim].drop))
            victim = c;
    if (victim == COLUMNS_MAX)
        return false;
    layout->width[victim] = 0;
    return true;
}

static void lay_out(const struct table *table, struct layout *layout, unsigned room)
{
    struct layout natural;

    natural_widths(table, &natural);
    for (;;) {
        *layout = natural;
        if (shrink(table, layout, room) || !drop_one(table, &natural))
            return;
    }
}

/* ---- printing */

/* Text with a part left out so that it takes `width` cells: of its end, or of its middle, as what tells paths apart is
 * mostly at their end. */
static void put_cut(const struct screen *screen, FILE *out, enum style style, const char *text, unsigned width,
                    enum table_cut cut)
{
    unsigned head = cut == CUT_MIDDLE ? (width - 1) / 3 : width - 1, tail = width - 1 - head, rest = width_of(text);
    char *start = strndup(text, width_prefix(text, head));
    unsigned used = start ? width_of(start) : 0;
    const char *end = text;

    while (rest > tail)
        rest -= width_next(&end);
    if (start)
        screen_put(screen, out, style, start);
    free(start);
    screen_put(screen, out, style, screen_glyph(screen, G_ellipsis));
    screen_put(screen, out, style, end);
    screen_pad(out, width - 1 - used - rest);
}

/* Characters of the same style go out together. */
static void put_painted(const struct screen *screen, FILE *out, const char *text, const uint8_t *styles)
{
    while (*text) {
        const char *end = text;
        enum style style = (enum style) * styles;
        while (*end && (enum style) * styles == style) {
            (void)width_next(&end);
            styles++;
        }
        char *run = strndup(text, (size_t)(end - text));
        screen_put(screen, out, style, run ? run : "");
        free(run);
        text = end;
    }
}

/* The last cell of a line gets no blanks behind it. */
static void put_cell(const struct screen *screen, FILE *out, const struct table_cell *cell, unsigned width,
                     const struct table_head *column, bool last)
{
    unsigned used = width_of(cell->text);

    if (used > width && !cell->styles) {
        put_cut(screen, out, cell->style, cell->text, width, column->cut);
        return;
    }
    if (column->align == ALIGN_RIGHT)
        screen_pad(out, width - used);
    if (cell->styles)
        put_painted(screen, out, cell->text, cell->styles);
    else
        screen_put(screen, out, cell->style, cell->text);
    if (column->align == ALIGN_LEFT && !last)
        screen_pad(out, width - used);
}

/* What stands in a column of a line: the heading's, or that of a row, where cells that were not given are empty. */
static struct table_cell cell_at(const struct table *table, size_t row, size_t column, bool heading)
{
    if (heading)
        return (struct table_cell){.text = table->columns[column].heading, .style = STYLE_DIM};
    struct table_cell cell = table->cells[row * table->nr_columns + column];
    if (!cell.text)
        cell = (struct table_cell){.text = ""};
    return cell;
}

static void put_row(const struct table *table, const struct layout *layout, const struct screen *screen,
                    unsigned indent, FILE *out, size_t row, bool heading)
{
    size_t last = 0;
    bool first = true;

    for (size_t c = 0; c < table->nr_columns; c++)
        if (layout->width[c] && *cell_at(table, row, c, heading).text)
            last = c;
    screen_pad(out, indent);
    for (size_t c = 0; c <= last; c++) {
        if (!layout->width[c])
            continue;
        if (!first)
            screen_pad(out, GAP);
        first = false;
        struct table_cell cell = cell_at(table, row, c, heading);
        put_cell(screen, out, &cell, layout->width[c], &table->columns[c], c == last);
    }
    putc('\n', out);
}

int table_print(const struct table *table, const struct screen *screen, unsigned indent, FILE *out)
{
    struct layout layout;

    if (!table || table->failed)
        return -ENOMEM;
    lay_out(table, &layout, screen->width - indent);
    put_row(table, &layout, screen, indent, out, 0, true);
    for (size_t r = 0; r < table->nr_rows; r++)
        put_row(table, &layout, screen, indent, out, r, false);
    return 0;
}
