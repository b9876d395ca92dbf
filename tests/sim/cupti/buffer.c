/* buffer.c - activity buffers: asked of the client on the thread that makes a record, handed back by a worker once all
 * their records are complete. A record's place is taken when its operation is queued, as in the real one. The lock is
 * never held while the client is called. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/cupti/cupti.h"

struct pending { /* a record whose operation had not been decided when it was queued */
    size_t offset;
    struct sim_op *op, *last; /* referenced; last: of a graph, else NULL */
};

struct buffer {
    uint8_t *data;
    size_t size, used;
    uint64_t complete_ns; /* when the last of its records is complete, as far as decided */
    struct pending *pending;
    size_t nr_pending, max_pending;
    bool retired; /* takes no more records */
    struct buffer *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards all below */
static pthread_cond_t changed;
static struct buffer *buffers;
static struct buffer *shared_active;
static uint64_t dropped;
static cupti_request *request;
static cupti_complete *complete;

struct thread_state { /* one per thread that made a record; kept, threads may end */
    struct buffer *active;
    struct thread_state *next;
};
static struct thread_state *threads;
static __thread struct thread_state *own;

static struct buffer **active_slot(void)
{
    if (!cupti_habits()->thread)
        return &shared_active;
    if (!own) {
        own = calloc(1, sizeof(*own));
        if (!own)
            abort();
        own->next = threads;
        threads = own;
    }
    return &own->active;
}

static void retire(struct buffer **slot)
{
    if (*slot)
        (*slot)->retired = true;
    *slot = NULL;
}

static void retire_all(void)
{
    retire(&shared_active);
    for (struct thread_state *t = threads; t; t = t->next)
        retire(&t->active);
}

/* ---- Completion
 * ---------------------------------------------------------------------------------------------------------- */
static void finish_pending(struct buffer *b, bool forced)
{
    uint8_t record[RECORD_MAX];
    size_t kept = 0;
    for (size_t i = 0; i < b->nr_pending; i++) {
        struct pending *p = &b->pending[i];
        const struct sim_op *last = p->last ? p->last : p->op;
        uint64_t end = __atomic_load_n(&last->end, __ATOMIC_ACQUIRE);
        if (end == SIM_UNKNOWN && !forced) {
            b->pending[kept++] = *p;
            continue;
        }
        if (end != SIM_UNKNOWN && p->last) {
            struct record_graph *g = (struct record_graph *)(b->data + p->offset);
            g->start = cupti_stamp(p->op->end);
            g->end = cupti_stamp(p->last->end);
        } else if (end != SIM_UNKNOWN) {
            memcpy(b->data + p->offset, record, cupti_record_op(p->op, record));
        }
        if (end != SIM_UNKNOWN && end > b->complete_ns)
            b->complete_ns = end;
        sim_op_unref(p->op);
        sim_op_unref(p->last);
    }
    b->nr_pending = kept;
}

/* Takes one off the list that can be handed back now. */
static struct buffer *take_complete(bool forced, uint64_t *ret_next)
{
    uint64_t now = sim_now(), late = cupti_habits()->late_ms * 1000000ull;
    for (struct buffer **at = &buffers; *at; at = &(*at)->next) {
        struct buffer *b = *at;
        if (!b->retired)
            continue;
        finish_pending(b, forced);
        uint64_t due = b->nr_pending ? now + 1000000 : b->complete_ns + late;
        if (due <= now || forced) {
            *at = b->next;
            return b;
        }
        if (due < *ret_next)
            *ret_next = due;
    }
    return NULL;
}

static void hand_back(struct buffer *b)
{
    complete(NULL, 0, b->data, b->size, b->used);
    free(b->pending);
    free(b);
}

static void *work(void *unused)
{
    pthread_mutex_lock(&lock);
    for (;;) {
        uint64_t next = sim_now() + 1000000000;
        struct buffer *b = take_complete(false, &next);
        if (b) {
            pthread_mutex_unlock(&lock);
            hand_back(b);
            pthread_mutex_lock(&lock);
            continue;
        }
        struct timespec until = {(time_t)(next / 1000000000), (long)(next % 1000000000)};
        pthread_cond_timedwait(&changed, &lock, &until);
    }
    return unused;
}

static void start_worker(void)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&changed, &attributes);
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, NULL) == 0) {
        pthread_setname_np(thread, "cuda-EvtHandlr");
        pthread_detach(thread);
    }
}

void cupti_set_buffers(cupti_request *r, cupti_complete *c)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, start_worker);
    pthread_mutex_lock(&lock);
    request = r;
    complete = c;
    pthread_mutex_unlock(&lock);
}

void cupti_flush(bool forced)
{
    uint64_t next = UINT64_MAX;
    pthread_mutex_lock(&lock);
    retire_all();
    for (struct buffer *b; (b = take_complete(forced, &next));) {
        pthread_mutex_unlock(&lock);
        hand_back(b);
        pthread_mutex_lock(&lock);
    }
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
}

void cupti_forget_buffers(void)
{
    cupti_flush(true);
    pthread_mutex_lock(&lock);
    request = NULL;
    pthread_mutex_unlock(&lock);
}

uint64_t cupti_take_dropped(void)
{
    pthread_mutex_lock(&lock);
    uint64_t n = dropped;
    dropped = 0;
    pthread_mutex_unlock(&lock);
    return n;
}

/* ---- Writing
 * ------------------------------------------------------------------------------------------------------------- */

/* With the lock held, given up meanwhile: a buffer of the client's, or NULL. */
static struct buffer *ask_for_buffer(void)
{
    cupti_request *ask = request;
    uint8_t *data = NULL;
    size_t size = 0, max_records = 0;
    pthread_mutex_unlock(&lock);
    ask(&data, &size, &max_records);
    if (!data && cupti_habits()->version < 27) {
        fprintf(stderr, "sim: no buffer was given; CUPTI before 12.9 crashes then\n");
        abort();
    }
    struct buffer *b = data ? calloc(1, sizeof(*b)) : NULL;
    if (b) {
        memset(data, 0, size);
        b->data = data;
        b->size = size;
    }
    pthread_mutex_lock(&lock);
    if (b) {
        b->next = buffers;
        buffers = b;
    }
    return b;
}

static bool lost_on_purpose(void)
{
    static unsigned count;
    return cupti_habits()->drop && ++count % cupti_habits()->drop == 0;
}

/* With the lock held: a buffer with room for `size`, or NULL, and the loss is counted. */
static struct buffer *room(size_t size)
{
    struct buffer **slot = active_slot();
    if (!request)
        return NULL;
    if (*slot && (*slot)->used + size > (*slot)->size) {
        retire(slot);
        pthread_cond_signal(&changed);
    }
    if (!*slot) {
        struct buffer *b = ask_for_buffer();
        if (*slot && b) /* another thread was faster: two that take records, one after the other */
            b->retired = true;
        else if (b)
            *slot = b;
    }
    if (!*slot || (*slot)->used + size > (*slot)->size || lost_on_purpose()) {
        dropped++;
        return NULL;
    }
    return *slot;
}

static void *place(struct buffer *b, const void *record, size_t size)
{
    void *at = b->data + b->used;
    memcpy(at, record, size);
    b->used += size;
    return at;
}

static void add_pending(struct buffer *b, size_t offset, struct sim_op *op, struct sim_op *last)
{
    if (b->nr_pending == b->max_pending) {
        b->max_pending = b->max_pending ? 2 * b->max_pending : 64;
        b->pending = realloc(b->pending, b->max_pending * sizeof(*b->pending));
        if (!b->pending)
            abort();
    }
    b->pending[b->nr_pending++] = (struct pending){offset, sim_op_ref(op), last ? sim_op_ref(last) : NULL};
}

static void later(struct buffer *b, uint64_t ns)
{
    if (ns > b->complete_ns)
        b->complete_ns = ns;
}

void cupti_put(const void *record, size_t size)
{
    pthread_mutex_lock(&lock);
    struct buffer *b = size ? room(size) : NULL;
    if (b)
        place(b, record, size);
    pthread_mutex_unlock(&lock);
}

void cupti_put_op(struct sim_op *op)
{
    uint8_t record[RECORD_MAX];
    uint64_t end =
        __atomic_load_n(&op->end, __ATOMIC_ACQUIRE); /* before the record: another thread may decide it now */
    size_t size = cupti_record_op(op, record);
    pthread_mutex_lock(&lock);
    struct buffer *b = size ? room(size) : NULL;
    if (b) {
        if (end == SIM_UNKNOWN)
            add_pending(b, b->used, op, NULL);
        else
            later(b, end);
        place(b, record, size);
    }
    pthread_mutex_unlock(&lock);
}

void cupti_put_graph(struct sim_exec *exec, struct sim_op *first, struct sim_op *last, uint32_t stream)
{
    struct record_graph r = {.kind = KIND_GRAPH_TRACE,
                             .correlation = first->correlation,
                             .device = first->device,
                             .graph_id = sim_exec_id(exec),
                             .context = first->device + 1,
                             .stream = stream,
                             .end_device = first->device,
                             .end_context = first->device + 1};
    size_t size = cupti_record_size(KIND_GRAPH_TRACE);
    pthread_mutex_lock(&lock);
    struct buffer *b = size ? room(size) : NULL;
    if (b) {
        uint64_t end = __atomic_load_n(&last->end, __ATOMIC_ACQUIRE);
        if (end == SIM_UNKNOWN) {
            add_pending(b, b->used, first, last);
        } else {
            r.start = cupti_stamp(first->end);
            r.end = cupti_stamp(end);
            later(b, end);
        }
        place(b, &r, size);
    }
    pthread_mutex_unlock(&lock);
}
