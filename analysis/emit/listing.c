/* listing.c - see listing.h. */
#include "analysis/emit/listing.h"

#include <stdlib.h>

#include "analysis/report/units.h"

#define ROW_SHARE_LEAST 0.01 /* of the time of all: rows below are counted only */

void listing_title(const struct page *page, enum word heading)
{
    putc('\n', page->out);
    screen_put(page->screen, page->out, STYLE_BOLD, word(page->report->lang, heading));
    putc('\n', page->out);
}

void listing_more(const struct page *page, size_t nr, size_t shown)
{
    char text[96];

    if (nr <= shown)
        return;
    snprintf(text, sizeof text, word(page->report->lang, W_more_rows), units_count(nr - shown).text);
    screen_pad(page->out, 2);
    screen_put(page->screen, page->out, STYLE_DIM, text);
    putc('\n', page->out);
}

static double number(const struct cell *cell)
{
    return cell->kind == CELL_REAL ? cell->d : cell->kind == CELL_INT ? (double)cell->i : (double)cell->u;
}

static struct units cell_text(const struct page *page, const struct column *column, const struct cell *cell)
{
    enum lang lang = page->report->lang;
    struct units out;

    switch (cell->kind) {
    case CELL_UNKNOWN:
        snprintf(out.text, sizeof out.text, "-");
        return out;
    case CELL_TEXT:
        snprintf(out.text, sizeof out.text, "%s", cell->s);
        return out;
    case CELL_TRUTH:
        snprintf(out.text, sizeof out.text, "%s", word(lang, cell->b ? W_yes : W_no));
        return out;
    default:
        break;
    }
    switch (column->unit) {
    case UNIT_TIME:
        return units_time(number(cell));
    case UNIT_BYTES:
        return units_bytes(number(cell));
    case UNIT_SHARE:
        return units_share(number(cell));
    case UNIT_COUNT:
        return units_count((uint64_t)number(cell));
    case UNIT_RATE:
        return units_rate(number(cell));
    case UNIT_FLOPS:
        return units_flops(number(cell));
    case UNIT_NUMBER:
        snprintf(out.text, sizeof out.text, "%.3g", number(cell));
        return out;
    case UNIT_NONE:
        break;
    }
    snprintf(out.text, sizeof out.text, "%.0f", number(cell));
    return out;
}

/* Names, ranks and the like always do, amounts when they are not zero. */
static bool tells_something(const struct column *column, const void *row)
{
    struct cell cell = cell_value(column, row);
    return cell.kind != CELL_UNKNOWN && (column->unit == UNIT_NONE || number(&cell) != 0);
}

/* Columns that may be dropped are not shown when they are unknown or zero in all rows. */
void listing_headings(struct listing *listing, const void *rows, size_t nr, size_t row_size)
{
    for (size_t i = 0; i < listing->columns->nr; i++) {
        const struct column *column = &listing->columns->column[i];
        if (column->heading == W_none)
            continue;
        listing->shown[i] = !column->drop;
        for (size_t r = 0; !listing->shown[i] && r < nr; r++)
            listing->shown[i] = tells_something(column, (const char *)rows + r * row_size);
        if (listing->shown[i])
            table_column(listing->table, word(listing->page->report->lang, column->heading),
                         column->type == COL_STR ? ALIGN_LEFT : ALIGN_RIGHT, column->drop, CUT_NOT);
    }
}

void listing_cells(const struct listing *listing, const void *row)
{
    for (size_t i = 0; i < listing->columns->nr; i++) {
        if (!listing->shown[i])
            continue;
        struct cell cell = cell_value(&listing->columns->column[i], row);
        table_cell(listing->table, STYLE_NONE, cell_text(listing->page, &listing->columns->column[i], &cell).text);
    }
}

/* ---- order */

int ranked_compare(const void *a_ptr, const void *b_ptr)
{
    const struct ranked *a = a_ptr, *b = b_ptr;
    if (a->weight != b->weight)
        return a->weight < b->weight ? 1 : -1;
    return a->index < b->index ? -1 : 1;
}

/* Number of rows to show of a sorted list. */
size_t ranked_worth_showing(const struct ranked *order, size_t nr)
{
    double total = 0;
    size_t shown = 0;

    for (size_t i = 0; i < nr; i++)
        total += order[i].weight;
    while (shown < nr && shown < LISTING_ROWS_MAX && (shown == 0 || order[shown].weight >= ROW_SHARE_LEAST * total))
        shown++;
    return shown;
}

struct ranked *ranked_new(size_t nr)
{
    struct ranked *order = calloc(nr ? nr : 1, sizeof *order);
    for (size_t i = 0; order && i < nr; i++)
        order[i].index = i;
    return order;
}
