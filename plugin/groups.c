/* groups.c - what was launched together: from GroupApi events (version 5 and later) or Group events (before).
 *
 * A group's end is the end of its calls: they are given to the core then, on the thread and inside the ncclGroupEnd
 * whose hook, if there is one, has the same calls pending. */
#include "plugin/plugin.h"

#define FORGOTTEN_NS (60 * SECOND) /* an end that was not told by then never will be */

struct pool groups = {"groups", 1024, sizeof(struct group)};

void *group_start(const struct told *t)
{
    static atomic_uint next_nr;
    struct group *g = new_record(&groups, now_ns(), FORGOTTEN_NS);
    if (!g)
        return NULL;
    do
        g->nr = atomic_fetch_add_explicit(&next_nr, 1, memory_order_relaxed);
    while (!g->nr);
    void *handle = handle_make(KIND_GROUP, &groups, &g->record.slot, 0);
    slot_let_go(g);
    return handle;
}

void group_add(const void *handle, struct call *c)
{
    struct group *g = hold_handle(handle, KIND_GROUP);
    if (!g)
        return;
    if (!slot_is_done(g)) {
        struct ref ref = ref_of(&calls, c);
        struct call *last = hold_ref(&calls, g->last);
        if (last) {
            last->next = ref;
            slot_let_go(last);
        } else {
            g->first = ref; /* the first, or those before it are lost */
        }
        g->last = ref;
        g->nr_calls++;
        c->in_group = true;
        c->told.group = g->nr;
    }
    slot_let_go(g);
}

static void end_call(struct call *c, uint64_t end_ns, bool is_alone)
{
    c->ended = true;
    c->told.end_ns = end_ns;
    if (is_alone)
        c->told.group = 0;
    /* A call that NCCL will launch later, on another thread, waits for that. One in a graph is not launched now. */
    if (c->told.ran || c->told.captured)
        call_emit(c);
    else
        slot_let_go(c);
}

void group_stop(struct handle h)
{
    struct group *g = slot_hold(&groups, h.index, h.generation);
    if (!g)
        return;
    bool stopped_before = slot_is_done(g), is_alone = g->nr_calls == 1;
    struct ref next = g->first;
    slot_done(g);
    if (stopped_before)
        return;

    uint64_t end_ns = now_ns();
    for (struct call *c; (c = hold_ref(&calls, next));) {
        next = c->next;
        if (slot_is_done(c))
            slot_let_go(c);
        else
            end_call(c, end_ns, is_alone);
    }
}
