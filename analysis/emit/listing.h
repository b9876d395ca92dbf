/* listing.h - rows of the report as a table on the screen: which columns tell something, which rows matter most. */
#ifndef TRSHIM_ANALYSIS_LISTING_H
#define TRSHIM_ANALYSIS_LISTING_H

#include <stdbool.h>
#include <stddef.h>

#include "analysis/emit/columns.h"
#include "analysis/emit/sections.h"
#include "analysis/emit/table.h"

#define LISTING_ROWS_MAX 8

/* A table of report rows: which of the columns are shown, and where they go. */
struct listing {
    const struct page *page;
    struct table *table;
    const struct columns *columns;
    bool shown[24];
};

/* The heading of a section; and how many rows were left out, if any. */
void listing_title(const struct page *page, enum word heading);
void listing_more(const struct page *page, size_t nr, size_t shown);

/* Columns that may be dropped are not shown when they are unknown or zero in all rows. */
void listing_headings(struct listing *listing, const void *rows, size_t nr, size_t row_size);
void listing_cells(const struct listing *listing, const void *row);

/* Indices of rows, the weightiest first; equal ones keep their order. */
struct ranked {
    double weight;
    size_t index;
};

struct ranked *ranked_new(size_t nr);                               /* NULL when memory ran out; the caller frees it */
int ranked_compare(const void *a, const void *b);                   /* for qsort */
size_t ranked_worth_showing(const struct ranked *order, size_t nr); /* of a sorted list */

#endif
