/* requests.c - what moves over the wrapped plugin's connections: each request from isend or irecv to the test that says
 * it is done, joined into one burst per connection and kind of memory, told at most half a second late.
 *
 * A connection is used by one of NCCL's proxy threads; the core's tender comes by to end old bursts. What does not fit
 * into the table of open requests is counted as dropped. */
#include "plugin/net/net.h"
#include "plugin/net/table.h"
#include "plugin/plugin.h"

#define NR_OPEN 16384 /* NCCL has 32 a connection, 8 of them in a group */
#define OWNERS_TRIES 200
#define OF_GPU (1ull << 32)
#define INDEX_MASK 0xffffffffull
#define NR_RECEIVES_SHIFT 56

static struct table_entry open_entries[NR_OPEN];
static const struct table open_requests = {open_entries, NR_OPEN};

bool requests_wanted(void)
{
    const struct nccl_sink *sink = watch_sink();
    return sink && is_on(sink->net_ios);
}

static void drop(void)
{
    watch_sink()->dropped(1);
}

/* Requests that ended while somebody else had the lock. */
static void take_unseen(struct connection *c, int gpu, uint64_t now)
{
    uint32_t n = atomic_load_explicit(&c->unseen[gpu], memory_order_relaxed)
                     ? atomic_exchange_explicit(&c->unseen[gpu], 0, memory_order_relaxed)
                     : 0;
    struct burst *b = &c->bursts[gpu];
    if (!n || !b->outstanding)
        return;
    b->outstanding -= n < b->outstanding ? n : b->outstanding;
    if (!b->outstanding)
        b->busy_ns += now - b->busy_since_ns;
}

/* Connection locked: what there is becomes *ret, and a new burst begins. false: nothing. */
static bool burst_take(struct connection *c, int gpu, uint64_t now, struct tr_nccl_net_io *ret)
{
    struct burst *b = &c->bursts[gpu];
    take_unseen(c, gpu, now);
    if (!b->count && !b->failed)
        return false;
    uint64_t end_ns = b->outstanding ? now : b->end_ns;
    if (b->outstanding)
        b->busy_ns += now - b->busy_since_ns;
    *ret = (struct tr_nccl_net_io){.tid = c->tid,
                                   .connection = c->number,
                                   .way = c->way,
                                   .gdr = (uint8_t)gpu,
                                   .count = (uint16_t)b->count,
                                   .failed = b->failed,
                                   .size_bytes = b->bytes,
                                   .busy_ns = b->busy_ns,
                                   .worst_ns = b->worst_ns,
                                   .start_ns = b->start_ns,
                                   .dur_ns = end_ns - b->start_ns};
    *b = (struct burst){.outstanding = b->outstanding, .busy_since_ns = now, .start_ns = b->outstanding ? now : 0};
    return true;
}

void requests_posted(const void *comm, uint64_t begin_ns, size_t size, const void *memory, const void *request)
{
    struct connection *c = connection_of(comm);
    int gpu = watch_is_gpu(memory);
    if (!c)
        return;
    if (!connection_lock(c, OWNERS_TRIES)) {
        drop();
        return;
    }
    struct table_found open = {
        .at_ns = begin_ns, .what = connection_index(c) | (gpu ? OF_GPU : 0), .amount = (uint64_t)size};
    struct burst *b = &c->bursts[gpu];
    c->tid = net_tid();
    bool kept = table_put(&open_requests, request, open);
    if (kept) {
        take_unseen(c, gpu, begin_ns);
        if (b->outstanding++ == 0)
            b->busy_since_ns = begin_ns;
        if (!b->start_ns)
            b->start_ns = begin_ns;
    }
    connection_unlock(c);
    if (!kept)
        drop();
}

void requests_refused(const void *comm)
{
    struct connection *c = connection_of(comm);
    if (!c || !connection_lock(c, OWNERS_TRIES))
        return;
    struct burst *b = &c->bursts[0];
    b->failed++;
    b->end_ns = now_ns();
    if (!b->start_ns)
        b->start_ns = b->end_ns;
    connection_unlock(c);
}

static uint64_t bytes_of(const struct table_found *open, const int *sizes)
{
    unsigned nr = (unsigned)(open->amount >> NR_RECEIVES_SHIFT);
    uint64_t bytes = 0;
    if (!nr)
        return open->amount; /* a send: as asked for */
    for (unsigned i = 0; sizes && i < nr; i++)
        bytes += (uint32_t)sizes[i]; /* an int in every version, though messages may be larger */
    return bytes;
}

void requests_done(const void *request, int result, const int *sizes)
{
    struct table_found open;
    struct tr_nccl_net_io full;
    bool is_full = false;
    if (!table_take(&open_requests, request, &open))
        return; /* a flush, or begun before anybody listened */
    int gpu = (open.what & OF_GPU) != 0;
    struct connection *c = connection_at((uint32_t)(open.what & INDEX_MASK));
    if (!connection_lock(c, OWNERS_TRIES)) {
        atomic_fetch_add_explicit(&c->unseen[gpu], 1, memory_order_relaxed);
        drop();
        return;
    }
    struct burst *b = &c->bursts[gpu];
    uint64_t now = now_ns(), took_ns = now - open.at_ns;
    b->failed += result != 0;
    b->count += result == 0;
    b->bytes += result == 0 ? bytes_of(&open, sizes) : 0;
    b->worst_ns = took_ns > b->worst_ns ? took_ns : b->worst_ns;
    b->end_ns = now;
    if (b->outstanding && --b->outstanding == 0)
        b->busy_ns += now - b->busy_since_ns;
    if (b->count == UINT16_MAX)
        is_full = burst_take(c, gpu, now, &full);
    connection_unlock(c);
    if (is_full)
        watch_sink()->net_io(&full);
}

void requests_flush(struct connection *c, uint64_t now, uint64_t until_ns, unsigned tries)
{
    struct tr_nccl_net_io told[2];
    bool any[2] = {false, false};
    const struct nccl_sink *sink = watch_sink();
    if (!sink || !connection_lock(c, tries))
        return;
    for (int gpu = 0; gpu < 2 && c->used; gpu++)
        any[gpu] = c->bursts[gpu].start_ns <= until_ns && burst_take(c, gpu, now, &told[gpu]);
    connection_unlock(c);
    for (int gpu = 0; gpu < 2; gpu++)
        if (any[gpu])
            sink->net_io(&told[gpu]);
}

void requests_forget(const struct connection *c)
{
    table_forget(&open_requests, INDEX_MASK, connection_index(c));
}
