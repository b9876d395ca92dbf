/* table.h - what is known of an object of the wrapped plugin's, by its address: memory, listeners, connections,
 * requests.
 *
 * Fixed size, no locks, no allocation; used by any of NCCL's threads. An entry lies within WINDOW places of where its
 * address leads; when they are all taken nothing is kept. An address may be in twice for a moment: a plugin may give a
 * request's address to another thread before the first has told us that it is done. The older one goes first. */
#ifndef TRSHIM_PLUGIN_NET_TABLE_H
#define TRSHIM_PLUGIN_NET_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct table_entry {
    _Atomic uintptr_t key;  /* 0 free, 1 being written */
    _Atomic uint64_t at_ns; /* when it began */
    _Atomic uint64_t what;  /* two numbers of the user's */
    _Atomic uint64_t amount;
};

struct table {
    struct table_entry *entries;
    uint32_t nr; /* a power of 2 */
};

struct table_found {
    uint64_t at_ns, what, amount;
};

/* false: no room, or what is no address (NULL, flags). */
bool table_put(const struct table *table, const void *key, struct table_found value);
bool table_get(const struct table *table, const void *key, struct table_found *ret);
bool table_take(const struct table *table, const void *key, struct table_found *ret);
/* Forgets all whose `what` masked is this. */
void table_forget(const struct table *table, uint64_t mask, uint64_t what);

#endif
