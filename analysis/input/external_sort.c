/* external_sort.c - see external_sort.h.
 *
 * The file holds runs of `in_memory` records each, the last one maybe fewer. Merging maps it whole: a run is a pointer
 * that moves, and reading ahead is the kernel's work. */
#include "analysis/input/external_sort.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SMALL_BYTES = 1 << 20 }; /* what is not worth a file */

/* Invariant: `nr` records are in memory, `spilled` in the file, at the front of which lie whole runs. */
struct sorter {
    size_t record_size, in_memory;
    sorter_compare_fn compare;
    char *records;
    size_t nr, capacity, spilled;
    int fd; /* -1 while nothing was spilled */
};

struct run {
    const char *at, *end;
};

int sorter_new(size_t record_size, size_t in_memory, sorter_compare_fn compare, struct sorter **ret)
{
    struct sorter *sorter = calloc(1, sizeof(*sorter));

    if (!sorter)
        return -ENOMEM;
    *sorter = (struct sorter){.record_size = record_size, .in_memory = in_memory, .compare = compare, .fd = -1};
    *ret = sorter;
    return 0;
}

static void close_file(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
    *fd = -1;
}

void sorter_free(struct sorter *sorter)
{
    if (!sorter)
        return;
    close_file(&sorter->fd);
    free(sorter->records);
    free(sorter);
}

void sorted_done(struct sorted *sorted)
{
    if (sorted->mapped_bytes)
        (void)munmap(sorted->records, sorted->mapped_bytes);
    else
        free(sorted->records);
    *sorted = (struct sorted){0};
}

/* ---- files ---------------------------------------------------------------------------------- */

/* A file without a name; where the file system cannot make one (NFS), one that loses it at once. */
static int open_in(const char *dir)
{
    int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    char *path;

    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR) || asprintf(&path, "%s/trshim-sort-XXXXXX", dir) < 0)
        return fd;
    fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        (void)unlink(path);
    free(path);
    return fd;
}

static int open_nameless(int *ret)
{
    const char *places[] = {getenv("TMPDIR"), "/tmp", "/var/tmp", "/dev/shm"};
    int rc = -ENOENT;

    for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
        if (!places[i] || !*places[i])
            continue;
        int fd = open_in(places[i]);
        if (fd >= 0) {
            *ret = fd;
            return 0;
        }
        rc = -errno;
    }
    return rc;
}

static int write_all(int fd, const char *data, size_t len)
{
    while (len > 0) {
        ssize_t put = write(fd, data, len);
        if (put < 0 && errno != EINTR)
            return -errno;
        data += put > 0 ? put : 0;
        len -= put > 0 ? put : 0;
    }
    return 0;
}

static int map_file(int fd, size_t bytes, void **ret)
{
    void *map = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fd, 0);

    if (map == MAP_FAILED)
        return -errno;
    *ret = map;
    return 0;
}

/* ---- adding --------------------------------------------------------------------------------- */

static int spill(struct sorter *sorter)
{
    int rc = sorter->fd < 0 ? open_nameless(&sorter->fd) : 0;

    if (rc < 0 || sorter->nr == 0)
        return rc;
    qsort(sorter->records, sorter->nr, sorter->record_size, sorter->compare);
    rc = write_all(sorter->fd, sorter->records, sorter->nr * sorter->record_size);
    if (rc < 0)
        return rc;
    sorter->spilled += sorter->nr;
    sorter->nr = 0;
    return 0;
}

static int make_room(struct sorter *sorter)
{
    if (sorter->nr == sorter->in_memory)
        return spill(sorter);
    if (sorter->nr < sorter->capacity)
        return 0;
    size_t capacity = sorter->capacity ? 2 * sorter->capacity : 256;
    capacity = capacity < sorter->in_memory ? capacity : sorter->in_memory;
    char *records = realloc(sorter->records, capacity * sorter->record_size);
    if (!records)
        return -ENOMEM;
    sorter->records = records;
    sorter->capacity = capacity;
    return 0;
}

int sorter_add(struct sorter *sorter, const void *record)
{
    int rc = make_room(sorter);

    if (rc < 0)
        return rc;
    memcpy(sorter->records + sorter->nr++ * sorter->record_size, record, sorter->record_size);
    return 0;
}

/* ---- merging -------------------------------------------------------------------------------- */

static void sift_down(struct run *heap, size_t nr, size_t at, sorter_compare_fn compare)
{
    struct run moved = heap[at];

    for (size_t child; (child = 2 * at + 1) < nr; at = child) {
        child += child + 1 < nr && compare(heap[child + 1].at, heap[child].at) < 0;
        if (compare(heap[child].at, moved.at) >= 0)
            break;
        heap[at] = heap[child];
    }
    heap[at] = moved;
}

/* Writes all runs to `fd` as one, through the sorter's own memory, which holds no records now. */
static int merge_runs(struct sorter *sorter, struct run *heap, size_t nr, int fd)
{
    size_t size = sorter->record_size;

    for (size_t i = nr / 2; i-- > 0;)
        sift_down(heap, nr, i, sorter->compare);
    while (nr > 0) {
        memcpy(sorter->records + sorter->nr++ * size, heap[0].at, size);
        heap[0].at += size;
        if (heap[0].at == heap[0].end)
            heap[0] = heap[--nr];
        sift_down(heap, nr, 0, sorter->compare);
        if (sorter->nr == sorter->capacity || nr == 0) {
            int rc = write_all(fd, sorter->records, sorter->nr * size);
            if (rc < 0)
                return rc;
            sorter->nr = 0;
        }
    }
    return 0;
}

static int merge_file(struct sorter *sorter, const char *data, int fd)
{
    size_t nr = (sorter->spilled + sorter->in_memory - 1) / sorter->in_memory;
    size_t run_bytes = sorter->in_memory * sorter->record_size;
    struct run *heap = malloc(nr * sizeof(*heap));

    if (!heap)
        return -ENOMEM;
    for (size_t i = 0; i < nr; i++)
        heap[i] = (struct run){data + i * run_bytes, data + (i + 1) * run_bytes};
    heap[nr - 1].end = data + sorter->spilled * sorter->record_size;
    int rc = merge_runs(sorter, heap, nr, fd);
    free(heap);
    return rc;
}

/* Replaces the file of runs by one that is sorted. */
static int sort_file(struct sorter *sorter)
{
    size_t bytes = sorter->spilled * sorter->record_size;
    void *data = NULL;
    int fd, rc = map_file(sorter->fd, bytes, &data);

    if (rc < 0)
        return rc;
    rc = open_nameless(&fd);
    if (rc == 0) {
        rc = merge_file(sorter, data, fd);
        close_file(&sorter->fd);
        sorter->fd = fd;
    }
    (void)munmap(data, bytes);
    return rc;
}

/* Hands over the records that are in memory; so also when there is nowhere to put a file. */
static void lend_memory(struct sorter *sorter, struct sorted *ret)
{
    qsort(sorter->records, sorter->nr, sorter->record_size, sorter->compare);
    void *fitting = realloc(sorter->records, sorter->nr * sorter->record_size);
    *ret = (struct sorted){.records = fitting ? fitting : sorter->records, .nr = sorter->nr};
    sorter->records = NULL;
    sorter->nr = sorter->capacity = 0;
}

int sorter_finish(struct sorter *sorter, struct sorted *ret)
{
    bool small = sorter->spilled == 0 && sorter->nr * sorter->record_size <= SMALL_BYTES;

    *ret = (struct sorted){0};
    if (sorter->spilled == 0 && sorter->nr == 0)
        return 0;
    int rc = small ? 0 : spill(sorter);
    if (sorter->spilled == 0) {
        lend_memory(sorter, ret);
        return 0;
    }
    if (rc == 0 && sorter->spilled > sorter->in_memory)
        rc = sort_file(sorter);
    if (rc == 0)
        rc = map_file(sorter->fd, sorter->spilled * sorter->record_size, &ret->records);
    if (rc < 0)
        return rc;
    ret->nr = sorter->spilled;
    ret->mapped_bytes = sorter->spilled * sorter->record_size;
    (void)madvise(ret->records, ret->mapped_bytes, MADV_SEQUENTIAL);
    sorter->spilled = 0;
    close_file(&sorter->fd);
    return 0;
}
