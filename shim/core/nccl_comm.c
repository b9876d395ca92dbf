/* nccl_comm.c - the table of communicators (nccl.h). Entries are claimed by compare-and-swap and found by their number,
 * or by their address through an index; called from any thread, no locks. */
#include "shim/core/nccl.h"

#include <string.h>

#define NR_COMMS 4096u /* a power of two; number = 1 + slot + NR_COMMS * uses of the slot */
#define PROBES 64u
#define NR_PEERS (1u << 18)
#define NR_INDEX 8192u
#define ALIKE_NS 10000000000u /* a plugin's communicator is not told of alone while a hook waits for its own */

static struct nccl_comm comms[NR_COMMS]; /* never touched: no memory */
static atomic_uint uses[NR_COMMS];
static atomic_uint next_slot, nr_slots;  /* nr_slots: ever used */
static atomic_uint of_address[NR_INDEX]; /* numbers, by hash of the address; what is gone is found no more */

static uint32_t hash_of(uint64_t key, uint32_t size)
{
    return (uint32_t)((key * 0x9e3779b97f4a7c15u) >> 40) & (size - 1);
}

static bool is_live(const struct nccl_comm *c)
{
    return atomic_load_explicit(&c->state, memory_order_acquire) >= COMM_BEGUN;
}

struct nccl_comm *nccl_comm_new(enum tr_nccl_source source, uint64_t now)
{
    for (uint32_t i = 0; i < NR_COMMS; i++) {
        uint32_t slot = atomic_fetch_add(&next_slot, 1) & (NR_COMMS - 1), used = atomic_load(&nr_slots);
        struct nccl_comm *c = &comms[slot];
        int free_ = COMM_FREE;
        if (!atomic_compare_exchange_strong(&c->state, &free_, COMM_CLAIMED))
            continue;
        memset((char *)c + sizeof(c->state), 0, sizeof(*c) - sizeof(c->state));
        c->nr = 1 + slot + NR_COMMS * atomic_fetch_add(&uses[slot], 1);
        c->begun_ns = now;
        c->source = (uint8_t)source;
        c->rank = c->nranks = c->device = -1;
        while (slot >= used && !atomic_compare_exchange_weak(&nr_slots, &used, slot + 1))
            ;
        return c;
    }
    nccl_lost(1);
    return NULL;
}

void nccl_comm_set(struct nccl_comm *comm, enum nccl_comm_state state)
{
    atomic_store_explicit(&comm->state, state, memory_order_release);
}

void nccl_comm_free(struct nccl_comm *comm)
{
    atomic_store(&comm->address, 0);
    nccl_comm_set(comm, COMM_FREE);
}

struct nccl_comm *nccl_comm_of_nr(uint32_t nr)
{
    struct nccl_comm *c = &comms[(nr - 1) & (NR_COMMS - 1)];
    return nr && is_live(c) && c->nr == nr ? c : NULL;
}

struct nccl_comm *nccl_comm_known_as(uint32_t nr)
{
    struct nccl_comm *c = nccl_comm_of_nr(nr), *hooks = c ? nccl_comm_of_nr(atomic_load(&c->same)) : NULL;
    return hooks ? hooks : c;
}

uint32_t nccl_comm_number(uint32_t nr)
{
    struct nccl_comm *c = nccl_comm_of_nr(nr);
    uint32_t same = c ? atomic_load(&c->same) : 0;
    return same ? same : nr;
}

struct nccl_comm *nccl_comm_of_address(const void *comm)
{
    uint64_t address = (uintptr_t)comm;
    uint32_t at = hash_of(address, NR_INDEX);
    for (uint32_t i = 0; i < PROBES; i++, at = (at + 1) & (NR_INDEX - 1)) {
        uint32_t nr = atomic_load_explicit(&of_address[at], memory_order_acquire);
        struct nccl_comm *c = nccl_comm_of_nr(nr);
        if (!nr)
            return NULL;
        if (c && atomic_load_explicit(&c->address, memory_order_relaxed) == address)
            return c;
    }
    return NULL;
}

static void index_address(const struct nccl_comm *comm, uint64_t address)
{
    uint32_t at = hash_of(address, NR_INDEX);
    for (uint32_t i = 0; i < PROBES; i++, at = (at + 1) & (NR_INDEX - 1)) {
        unsigned nr = atomic_load(&of_address[at]);
        if (!nccl_comm_of_nr(nr) && atomic_compare_exchange_strong(&of_address[at], &nr, comm->nr))
            return;
    }
    nccl_lost(1);
}

void nccl_comm_tie(struct nccl_comm *hooks, struct nccl_comm *plugins)
{
    unsigned none = 0;
    if (!atomic_compare_exchange_strong(&hooks->plugin, &none, plugins->nr))
        return;
    atomic_store(&hooks->id, atomic_load(&plugins->id));
    if (plugins->nodes)
        hooks->nodes = plugins->nodes;
    if (!hooks->name[0])
        memcpy(hooks->name, plugins->name, sizeof(hooks->name));
    atomic_store(&plugins->same, hooks->nr);
    atomic_store(&hooks->sent_epoch, 0); /* what was told of it was not all */
}

/* The other front end's entry of the same rank in a communicator of the same size, if there is just one that could be
 * it: a plugin is told inside the call that makes it, so not before that began. */
void nccl_comm_tie_by_rank(struct nccl_comm *comm)
{
    bool is_plugins = comm->source == TR_nccl_source_plugin;
    struct nccl_comm *found = NULL;
    int32_t rank = atomic_load(&comm->rank), nranks = atomic_load(&comm->nranks);
    if (rank < 0 || nranks <= 0 || atomic_load(&comm->same) || atomic_load(&comm->plugin))
        return;
    for (uint32_t i = 0; i < atomic_load(&nr_slots); i++) {
        struct nccl_comm *c = &comms[i];
        if (!is_live(c) || c->source == comm->source || atomic_load(&c->same) || atomic_load(&c->plugin) ||
            atomic_load(&c->rank) != rank || atomic_load(&c->nranks) != nranks)
            continue;
        if (is_plugins ? c->begun_ns > comm->begun_ns : c->begun_ns < comm->begun_ns)
            continue;
        if (found)
            return; /* two are alike: their calls will tell */
        found = c;
    }
    if (found)
        nccl_comm_tie(is_plugins ? found : comm, is_plugins ? comm : found);
}

void nccl_comm_made(struct nccl_comm *comm, uint64_t address, uint32_t tid)
{
    struct nccl_comm *old = nccl_comm_of_address((const void *)(uintptr_t)address);
    if (old && old != comm)
        nccl_comm_free(old); /* destroyed where we did not see it */
    atomic_store(&comm->address, address);
    nccl_comm_set(comm, COMM_MADE);
    index_address(comm, address);
    nccl_comm_tie_by_rank(comm);
    nccl_comm_send(comm, tid, true);
}

static void emit(struct nccl_comm *c, uint32_t tid, enum tr_nccl_state state)
{
    EMIT(nccl_comm, tid, .state = (uint8_t)state, .rank = atomic_load(&c->rank), .nranks = atomic_load(&c->nranks),
         .device = c->device, .comm = atomic_load(&c->address), .id = atomic_load(&c->id), .nr = c->nr,
         .source = c->source, .how = c->how, .nodes = c->nodes, .parent = c->parent, .name = c->name);
}

void nccl_comm_send(struct nccl_comm *c, uint32_t tid, bool always)
{
    unsigned epoch = atomic_load_explicit(&process.names_epoch, memory_order_relaxed);
    if (atomic_load_explicit(&c->same, memory_order_relaxed))
        return;
    if (!always && atomic_load_explicit(&c->sent_epoch, memory_order_relaxed) == epoch)
        return;
    atomic_store_explicit(&c->sent_epoch, epoch, memory_order_relaxed);
    emit(c, tid, atomic_load(&c->state) == COMM_MADE ? TR_nccl_state_made : TR_nccl_state_begun);
}

void nccl_comm_send_gone(struct nccl_comm *c, uint32_t tid)
{
    emit(c, tid, TR_nccl_state_gone);
}

static bool some_are_being_made(uint32_t used)
{
    for (uint32_t i = 0; i < used; i++)
        if (atomic_load(&comms[i].state) == COMM_BEGUN)
            return true;
    return false;
}

void nccl_comms_send(uint64_t now)
{
    uint32_t used = atomic_load_explicit(&nr_slots, memory_order_relaxed);
    bool unsure = some_are_being_made(used);
    for (uint32_t i = 0; i < used; i++) {
        struct nccl_comm *c = &comms[i];
        if (!is_live(c) || atomic_load(&c->same) ||
            (unsure && c->source == TR_nccl_source_plugin && now - c->begun_ns < ALIKE_NS))
            continue;
        nccl_comm_send(c, process.pid, false);
    }
}

/* ---- ordinals between two ranks -------------------------------------------------------------------------------- */

static struct {
    _Atomic uint64_t key;
    atomic_uint count;
} peers[NR_PEERS];

uint32_t nccl_peer_ordinal(uint32_t nr, int32_t peer, bool receives)
{
    uint64_t key = (uint64_t)nr << 32 | (uint64_t)((uint32_t)peer & 0x7fffffffu) << 1 | receives;
    uint32_t slot = hash_of(key, NR_PEERS);
    for (uint32_t i = 0; i < PROBES; i++, slot = (slot + 1) & (NR_PEERS - 1)) {
        uint64_t seen = atomic_load_explicit(&peers[slot].key, memory_order_relaxed);
        if (!seen && atomic_compare_exchange_strong(&peers[slot].key, &seen, key))
            seen = key;
        if (seen == key)
            return atomic_fetch_add_explicit(&peers[slot].count, 1, memory_order_relaxed);
    }
    nccl_lost(1);
    return 0;
}

void nccl_comms_each(void (*fn)(struct nccl_comm *comm, void *arg), void *arg)
{
    for (uint32_t i = 0; i < atomic_load(&nr_slots); i++)
        if (is_live(&comms[i]) && !atomic_load(&comms[i].same))
            fn(&comms[i], arg);
}

/* NCCL does not work in a fork child: what is there are its parent's. */
void nccl_comms_after_fork(void)
{
    for (uint32_t i = 0; i < atomic_load(&nr_slots); i++)
        if (atomic_load(&comms[i].state) != COMM_FREE)
            nccl_comm_free(&comms[i]);
}
