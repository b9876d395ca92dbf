/* merge.c - a binary heap of the streams' next events. */
#include "analysis/input/merge.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "analysis/input/hosts.h"

struct head {
    int64_t axis_ns; /* of event */
    size_t order;    /* of merge_add: breaks ties */
    const struct event *event;
    struct event_stream *stream;
};

/* Invariant: heap[0 .. nr) is a heap by `before`; while `taken`, heap[0].event is lent to the caller and its stream
 * is to be advanced at the next call. */
struct merge {
    const struct hosts *hosts;
    struct head *heap;
    size_t nr, capacity, added;
    bool taken;
};

int merge_new(const struct hosts *hosts, struct merge **ret)
{
    struct merge *merge = calloc(1, sizeof(*merge));

    if (!merge)
        return -ENOMEM;
    merge->hosts = hosts;
    *ret = merge;
    return 0;
}

void merge_free(struct merge *merge)
{
    if (!merge)
        return;
    free(merge->heap);
    free(merge);
}

static bool before(const struct head *a, const struct head *b)
{
    return a->axis_ns != b->axis_ns ? a->axis_ns < b->axis_ns : a->order < b->order;
}

static void sift_up(struct merge *merge, size_t at)
{
    struct head moved = merge->heap[at];

    while (at > 0 && before(&moved, &merge->heap[(at - 1) / 2])) {
        merge->heap[at] = merge->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    merge->heap[at] = moved;
}

static void sift_down(struct merge *merge)
{
    struct head moved = merge->heap[0];
    size_t at = 0;

    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= merge->nr)
            break;
        if (child + 1 < merge->nr && before(&merge->heap[child + 1], &merge->heap[child]))
            child++;
        if (!before(&merge->heap[child], &moved))
            break;
        merge->heap[at] = merge->heap[child];
        at = child;
    }
    merge->heap[at] = moved;
}

/* Fetches the stream's next event into its head. As `next`. */
static int advance(struct merge *merge, struct head *head)
{
    int rc = head->stream->next(head->stream, &head->event);

    if (rc > 0)
        head->axis_ns = hosts_axis_ns(merge->hosts, head->event->host, head->event->ts_ns);
    return rc;
}

int merge_add(struct merge *merge, struct event_stream *stream)
{
    if (merge->nr == merge->capacity) {
        size_t capacity = merge->capacity ? 2 * merge->capacity : 16;
        struct head *heap = realloc(merge->heap, capacity * sizeof(*heap));
        if (!heap)
            return -ENOMEM;
        merge->heap = heap;
        merge->capacity = capacity;
    }

    struct head *head = &merge->heap[merge->nr];
    *head = (struct head){.order = merge->added++, .stream = stream};
    int rc = advance(merge, head);
    if (rc <= 0)
        return rc;
    sift_up(merge, merge->nr++);
    return 0;
}

int merge_next(struct merge *merge, const struct event **ret)
{
    if (merge->taken) {
        merge->taken = false;
        int rc = advance(merge, &merge->heap[0]);
        if (rc < 0)
            return rc;
        if (rc == 0)
            merge->heap[0] = merge->heap[--merge->nr];
        if (merge->nr > 0)
            sift_down(merge);
    }
    if (merge->nr == 0)
        return 0;
    merge->taken = true;
    *ret = merge->heap[0].event;
    return 1;
}
