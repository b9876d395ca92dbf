/* table.h - a table of texts on a screen: columns as wide as they need, fewer of them where there is no room. */
#ifndef TRSHIM_ANALYSIS_TABLE_H
#define TRSHIM_ANALYSIS_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "analysis/emit/screen.h"

struct table;

/* NULL when memory ran out; all calls accept it. */
struct table *table_new(void);
void table_free(struct table *table);

enum table_align { ALIGN_LEFT, ALIGN_RIGHT };

/* What gives way before columns are dropped, in at most one column: paths lose their middle, sentences their end. */
enum table_cut { CUT_NOT, CUT_MIDDLE, CUT_END };

/* Columns come before rows. `drop`: the highest goes first when there is no room, 0 never. */
void table_column(struct table *table, const char *heading, enum table_align align, uint8_t drop, enum table_cut cut);
void table_row(struct table *table);
/* The next cell of the row. The text is copied. */
void table_cell(struct table *table, enum style style, const char *text);

/* The same with a style for each character; such cells are never cut. */
void table_cell_painted(struct table *table, const char *text, const uint8_t *styles);

/* -ENOMEM if any call failed for it; else 0. */
int table_print(const struct table *table, const struct screen *screen, unsigned indent, FILE *out);

#endif
