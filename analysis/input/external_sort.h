/* external_sort.h - more records than memory should hold, put in order.
 *
 * Records of one size are added in any order and come back as one sorted array. At most `in_memory` of them are in
 * memory at a time: sorted runs go to a temporary file without a name (in TMPDIR, else /tmp, /var/tmp, /dev/shm) and
 * are merged into another, which is mapped: the kernel may drop its pages at any time. Few records stay in memory.
 * The disk space needed is twice the size of the records, once sorted their size. Single thread. */
#ifndef TRSHIM_ANALYSIS_EXTERNAL_SORT_H
#define TRSHIM_ANALYSIS_EXTERNAL_SORT_H

#include <stddef.h>

/* As for qsort. Must never call two records equal: they would come back in any order. */
typedef int (*sorter_compare_fn)(const void *a, const void *b);

struct sorter;

/* Owned. Zeroed is none. */
struct sorted {
    void *records;
    size_t nr;
    size_t mapped_bytes; /* 0: records is from malloc */
};

int sorter_new(size_t record_size, size_t in_memory, sorter_compare_fn compare, struct sorter **ret);
void sorter_free(struct sorter *sorter); /* accepts NULL */

/* Copies the record. 0 or -errno. */
int sorter_add(struct sorter *sorter, const void *record);

/* All records in order; the sorter holds none afterwards. 0 or -errno. */
int sorter_finish(struct sorter *sorter, struct sorted *ret);
void sorted_done(struct sorted *sorted);

#endif
