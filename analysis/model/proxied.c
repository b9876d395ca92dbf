/* proxied.c - see proxied.h. */
#include "analysis/model/proxied.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/model/communicators.h"

void proxied_done(struct proxied *proxied)
{
    for (struct proxied_pair *pair = proxied->pairs, *next; pair; pair = next) {
        next = pair->next;
        free(pair);
    }
    map_done(&proxied->by_pair);
    *proxied = (struct proxied){0};
}

int proxied_add(struct proxied *proxied, const struct comm_handle *handle, uint32_t host, int32_t peer,
                uint64_t operations, uint64_t bytes)
{
    struct map_key key = {(uintptr_t)handle->comm, (uint64_t)(uint32_t)handle->rank << 32 | (uint32_t)peer};
    struct proxied_pair *pair = map_find(&proxied->by_pair, key);
    if (!pair) {
        pair = calloc(1, sizeof(*pair));
        if (!pair || map_put(&proxied->by_pair, key, pair)) {
            free(pair);
            return -ENOMEM;
        }
        *pair = (struct proxied_pair){
            .next = proxied->pairs, .comm = handle->comm, .from = handle->rank, .to = peer, .host = host};
        proxied->pairs = pair;
    }
    pair->operations += operations;
    pair->bytes += bytes;
    return 0;
}
