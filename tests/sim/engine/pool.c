/* pool.c - stream-ordered allocation: freed memory stays with its pool and is handed out again to the same stream, or
 * to others once the device has passed the point of the free. What exceeds the release threshold goes back at the next
 * call. */
#include <stdlib.h>

#include "tests/sim/engine/inside.h"

struct cached {
    struct sim_range range;
    struct sim_op *freed; /* referenced: the memory is free when this mark has ended */
    uint32_t stream_id;
    struct cached *next;
};

struct sim_pool {
    int device;
    uint64_t threshold;
    uint64_t reserved, reserved_high, used, used_high;
    struct cached *cache; /* guarded by pool_lock, as all here */
};

static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;

int sim_pool_create(int device, struct sim_pool **ret)
{
    struct sim_pool *pool = sim_device_at(device) ? calloc(1, sizeof(*pool)) : NULL;
    if (!pool)
        return SIM_INVALID_DEVICE;
    pool->device = device;
    *ret = pool;
    return SIM_OK;
}

static void drop_cached(struct sim_pool *pool, struct cached **at)
{
    struct cached *c = *at;
    *at = c->next;
    pool->reserved -= sim_device_size(c->range.size);
    sim_device_range_drop(&c->range);
    sim_op_unref(c->freed);
    free(c);
}

/* Gives back what the device is done with until at most `keep` bytes are reserved. */
static void trim(struct sim_pool *pool, uint64_t keep)
{
    for (struct cached **at = &pool->cache; *at && pool->reserved > keep;)
        if (sim_op_ended((*at)->freed))
            drop_cached(pool, at);
        else
            at = &(*at)->next;
}

int sim_pool_trim(struct sim_pool *pool, size_t keep)
{
    pthread_mutex_lock(&pool_lock);
    trim(pool, keep);
    pthread_mutex_unlock(&pool_lock);
    return SIM_OK;
}

int sim_pool_destroy(struct sim_pool *pool)
{
    sim_device_wait(pool->device);
    sim_pool_trim(pool, 0);
    free(pool);
    return SIM_OK;
}

static struct cached **find_cached(struct sim_pool *pool, size_t size, const struct sim_stream *stream)
{
    for (struct cached **at = &pool->cache; *at; at = &(*at)->next)
        if ((*at)->range.size == size && ((*at)->stream_id == stream->id || sim_op_ended((*at)->freed)))
            return at;
    return NULL;
}

static int take(struct sim_pool *pool, size_t size, struct sim_stream *stream, void **ret)
{
    struct cached **at = find_cached(pool, size, stream);
    if (at) {
        struct cached *c = *at;
        *at = c->next;
        *ret = (void *)c->range.base;
        int error = sim_range_again(&c->range);
        sim_op_unref(c->freed);
        free(c);
        return error;
    }
    int error = sim_device_range(pool->device, size, SIM_DEVICE, pool, ret);
    if (error == SIM_OUT_OF_MEMORY) {
        trim(pool, 0);
        error = sim_device_range(pool->device, size, SIM_DEVICE, pool, ret);
    }
    if (!error)
        pool->reserved += sim_device_size(size);
    return error;
}

static void count(struct sim_pool *pool, int64_t bytes)
{
    pool->used += (uint64_t)bytes;
    pool->used_high = pool->used > pool->used_high ? pool->used : pool->used_high;
    pool->reserved_high = pool->reserved > pool->reserved_high ? pool->reserved : pool->reserved_high;
}

int sim_malloc_async(struct sim_pool *pool, size_t size, struct sim_stream *stream, void **ret)
{
    int error = sim_init();
    if (error)
        return error;
    struct sim_device *d = sim_device_at(stream->device);
    if (!pool)
        pool = d->pool;
    if (!pool) {
        if ((error = sim_pool_create(d->index, &pool)))
            return error;
        d->pool = d->default_pool = pool;
    }
    pthread_mutex_lock(&pool_lock);
    error = take(pool, size, stream, ret);
    if (!error)
        count(pool, (int64_t)sim_device_size(size));
    pthread_mutex_unlock(&pool_lock);
    struct sim_range r;
    if (!error && sim_find_range(*ret, &r))
        sim_tell_memory(false, &r, stream);
    return error;
}

int sim_free_async(void *p, struct sim_stream *stream)
{
    struct sim_range r;
    if (!p)
        return SIM_OK;
    if (!sim_find_range(p, &r) || r.place != SIM_DEVICE)
        return SIM_INVALID_VALUE;
    if (!r.pool)
        return sim_free(p);
    struct sim_op *mark = sim_op_new(SIM_OP_MARK);
    struct cached *c = calloc(1, sizeof(*c));
    if (!mark || !c || sim_range_remove(p, &r)) {
        sim_op_unref(mark);
        free(c);
        return SIM_OUT_OF_MEMORY;
    }
    sim_tell_memory(true, &r, stream);
    *c = (struct cached){.range = r, .freed = sim_op_ref(mark), .stream_id = stream->id};
    int error = sim_queue(stream, mark);
    pthread_mutex_lock(&pool_lock);
    count(r.pool, -(int64_t)sim_device_size(r.size));
    c->next = r.pool->cache;
    r.pool->cache = c;
    trim(r.pool, r.pool->threshold);
    pthread_mutex_unlock(&pool_lock);
    return error;
}

/* cudaMemPoolAttr: 1..3 reuse policies (int), 4 threshold, 5 reserved, 6 its peak, 7 used, 8 its peak. */
int sim_pool_attribute(struct sim_pool *pool, int attribute, void *value, bool set)
{
    if (attribute >= 1 && attribute <= 3) {
        if (!set)
            *(int *)value = 1;
        return SIM_OK;
    }
    uint64_t *fields[] = {&pool->threshold, &pool->reserved, &pool->reserved_high, &pool->used, &pool->used_high};
    if (attribute < 4 || attribute > 8)
        return SIM_INVALID_VALUE;
    bool may_set = attribute == 4 || (*(uint64_t *)value == 0 && (attribute == 6 || attribute == 8));
    if (set && !may_set)
        return SIM_INVALID_VALUE;
    pthread_mutex_lock(&pool_lock);
    if (set)
        *fields[attribute - 4] = *(uint64_t *)value;
    else
        *(uint64_t *)value = *fields[attribute - 4];
    pthread_mutex_unlock(&pool_lock);
    return SIM_OK;
}
