/* section_gpu.c - GPUs, their kernels and copies, their memory, and what connects them as tables. */
#include <errno.h>
#include <stdlib.h>

#include "analysis/emit/listing.h"

/* Rows that are in the order in which they are shown; `name` of a row is its first column if there is a heading. */
struct listed {
    const struct columns *columns;
    const void *rows;
    size_t nr, size;
    enum word title, heading;
    const char *(*name)(const void *row);
};

static int list(const struct page *page, const struct listed *listed)
{
    size_t shown = listed->nr < LISTING_ROWS_MAX ? listed->nr : LISTING_ROWS_MAX;
    struct table *table = table_new();
    struct listing listing = {page, table, listed->columns, {false}};

    if (!listed->nr) {
        table_free(table);
        return 0;
    }
    listing_title(page, listed->title);
    if (listed->name)
        table_column(table, word(page->report->lang, listed->heading), ALIGN_LEFT, 0, CUT_MIDDLE);
    listing_headings(&listing, listed->rows, listed->nr, listed->size);
    for (size_t i = 0; i < shown; i++) {
        const void *row = (const char *)listed->rows + i * listed->size;
        table_row(table);
        if (listed->name)
            table_cell(table, STYLE_NONE, listed->name(row));
        listing_cells(&listing, row);
    }
    int rc = table_print(table, page->screen, 2, page->out);
    listing_more(page, listed->nr, shown);
    table_free(table);
    return rc;
}

static const char *kernel_name(const void *row)
{
    const struct report_kernel *kernel = row;
    return kernel->name ? kernel->name : "?";
}

int section_gpus(const struct page *page)
{
    const struct report *report = page->report;
    return list(page, &(struct listed){.columns = &columns_gpus,
                                       .rows = report->gpus,
                                       .nr = report->nr_gpus,
                                       .size = sizeof *report->gpus,
                                       .title = W_gpus});
}

int section_kernels(const struct page *page)
{
    const struct report *report = page->report;
    return list(page, &(struct listed){.columns = &columns_kernels,
                                       .rows = report->kernels,
                                       .nr = report->nr_kernels,
                                       .size = sizeof *report->kernels,
                                       .title = W_kernels,
                                       .heading = W_name,
                                       .name = kernel_name});
}

int section_copies(const struct page *page)
{
    const struct report *report = page->report;
    return list(page, &(struct listed){.columns = &columns_copies,
                                       .rows = report->copies,
                                       .nr = report->nr_copies,
                                       .size = sizeof *report->copies,
                                       .title = W_copies});
}

int section_memory(const struct page *page)
{
    const struct report *report = page->report;
    return list(page, &(struct listed){.columns = &columns_memory,
                                       .rows = report->memory,
                                       .nr = report->nr_memory,
                                       .size = sizeof *report->memory,
                                       .title = W_gpu_memory});
}

static const char *collective_op(const void *row)
{
    const struct report_collective *collective = row;
    return collective->op ? collective->op : "?";
}

int section_collectives(const struct page *page)
{
    const struct report *report = page->report;
    return list(page, &(struct listed){.columns = &columns_collectives,
                                       .rows = report->collectives,
                                       .nr = report->nr_collectives,
                                       .size = sizeof *report->collectives,
                                       .title = W_collectives,
                                       .heading = W_operation,
                                       .name = collective_op});
}

static const char *transport_host(const void *row)
{
    const struct report_transport *transport = row;
    return transport->host ? transport->host : "?";
}

int section_transports(const struct page *page)
{
    const struct report *report = page->report;
    return list(page, &(struct listed){.columns = &columns_transports,
                                       .rows = report->transports,
                                       .nr = report->nr_transports,
                                       .size = sizeof *report->transports,
                                       .title = W_transports,
                                       .heading = W_own_host,
                                       .name = transport_host});
}
