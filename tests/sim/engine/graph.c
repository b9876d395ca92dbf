/* graph.c - graphs: captured or built node by node, instantiated, launched. A node starts when those it depends on have
 * ended, so branches run beside each other; the launch as a whole keeps its place in the stream. */
#include <stdlib.h>
#include <string.h>

#include "tests/sim/engine/inside.h"

struct node {
    struct sim_op *op; /* pattern; never queued itself */
    size_t *waits, nr_waits;
};

struct sim_graph {
    struct node *nodes;
    size_t nr, max;
    uint32_t id;
};

struct sim_exec {
    struct sim_graph *graph; /* a copy, owned */
    uint32_t id;
};

static uint32_t last_id;
static uint64_t last_capture;

struct sim_graph *sim_graph_new(void)
{
    struct sim_graph *g = calloc(1, sizeof(*g));
    if (g)
        g->id = __atomic_add_fetch(&last_id, 1, __ATOMIC_RELAXED);
    return g;
}

void sim_graph_free(struct sim_graph *g)
{
    if (!g)
        return;
    for (size_t i = 0; i < g->nr; i++) {
        sim_op_unref(g->nodes[i].op);
        free(g->nodes[i].waits);
    }
    free(g->nodes);
    free(g);
}

size_t sim_graph_nodes(const struct sim_graph *g)
{
    return g->nr;
}

int sim_graph_add(struct sim_graph *g, struct sim_op *op, const size_t *waits, size_t nr_waits, size_t *ret_index)
{
    if (g->nr == g->max) {
        size_t max = g->max ? 2 * g->max : 32;
        struct node *larger = realloc(g->nodes, max * sizeof(*larger));
        if (!larger)
            return SIM_OUT_OF_MEMORY;
        g->nodes = larger;
        g->max = max;
    }
    size_t *copy = nr_waits ? malloc(nr_waits * sizeof(*copy)) : NULL;
    if (nr_waits && !copy)
        return SIM_OUT_OF_MEMORY;
    if (nr_waits)
        memcpy(copy, waits, nr_waits * sizeof(*copy));
    g->nodes[g->nr] = (struct node){op, copy, nr_waits};
    if (ret_index)
        *ret_index = g->nr;
    g->nr++;
    return SIM_OK;
}

/* ---- Capture
 * ---------------------------------------------------------------------------------------------------------- */
int sim_capture_begin(struct sim_stream *s)
{
    if (s->capture || s == sim_device_at(s->device)->legacy)
        return s->capture ? SIM_INVALID_VALUE : SIM_CAPTURE_UNSUPPORTED;
    s->capture = sim_graph_new();
    s->capture_last = s->nr_capture_waits = 0;
    s->capture_id = __atomic_add_fetch(&last_capture, 1, __ATOMIC_RELAXED);
    return s->capture ? SIM_OK : SIM_OUT_OF_MEMORY;
}

int sim_capture_add(struct sim_stream *s, struct sim_op *op)
{
    size_t waits[64], nr_waits = 0;
    if (op->kind == SIM_OP_MARK) { /* an event wait or record: edges only */
        sim_op_unref(op);
        return SIM_OK;
    }
    if (s->capture_last)
        waits[nr_waits++] = s->capture_last - 1;
    for (size_t i = 0; i < s->nr_capture_waits && nr_waits < 64; i++)
        waits[nr_waits++] = s->capture_waits[i];
    s->nr_capture_waits = 0;
    size_t index;
    int error = sim_graph_add(s->capture, op, waits, nr_waits, &index);
    if (!error)
        s->capture_last = index + 1;
    return error;
}

int sim_capture_end(struct sim_stream *s, struct sim_graph **ret)
{
    struct sim_graph *g = s->capture;
    if (!g)
        return SIM_INVALID_VALUE;
    sim_lock_engine();
    for (struct sim_stream *other = sim_streams; other; other = other->next)
        if (other->capture == g) { /* streams that joined leave with the one that began */
            other->capture = NULL;
            other->capture_last = other->nr_capture_waits = 0;
        }
    sim_unlock_engine();
    *ret = g;
    return SIM_OK;
}

struct sim_graph *sim_capturing(struct sim_stream *s)
{
    return s->capture;
}

uint64_t sim_capture_id(struct sim_stream *s)
{
    return s->capture_id;
}

/* ---- Instantiation and launch
 * ------------------------------------------------------------------------------------------ */
static struct sim_op *op_copy(const struct sim_op *pattern)
{
    struct sim_op *op = sim_op_new(pattern->kind);
    if (!op)
        return NULL;
    struct sim_op fresh = *op;
    *op = *pattern;
    op->refs = 1;
    op->start = op->end = SIM_UNKNOWN;
    op->correlation = fresh.correlation;
    op->tag = fresh.tag;
    op->waits = NULL;
    op->nr_waits = op->max_waits = 0;
    op->next = NULL;
    op->effect_done = false;
    if (op->work.state && (op->work.state = malloc(op->work.state_bytes)))
        memcpy(op->work.state, pattern->work.state, op->work.state_bytes);
    if (pattern->work.state && !op->work.state) {
        free(op);
        return NULL;
    }
    return op;
}

int sim_instantiate(const struct sim_graph *g, struct sim_exec **ret)
{
    struct sim_exec *x = calloc(1, sizeof(*x));
    if (!x || !(x->graph = sim_graph_new())) {
        free(x);
        return SIM_OUT_OF_MEMORY;
    }
    x->id = x->graph->id;
    for (size_t i = 0; i < g->nr; i++)
        if (sim_graph_add(x->graph, op_copy(g->nodes[i].op), g->nodes[i].waits, g->nodes[i].nr_waits, NULL)) {
            sim_exec_free(x);
            return SIM_OUT_OF_MEMORY;
        }
    *ret = x;
    return SIM_OK;
}

void sim_exec_free(struct sim_exec *x)
{
    if (x)
        sim_graph_free(x->graph);
    free(x);
}

uint32_t sim_exec_id(const struct sim_exec *x)
{
    return x->id;
}

/* With the lock held: node i, after the begin mark and those it depends on. */
static struct sim_op *queue_node(struct sim_exec *x, size_t i, struct sim_op **queued, struct sim_op *begin,
                                 struct sim_stream *s)
{
    const struct node *n = &x->graph->nodes[i];
    struct sim_op *op = op_copy(n->op);
    if (!op)
        abort();
    op->graph_id = x->id;
    op->graph_node = ((uint64_t)x->id << 32) + i + 1;
    op->device = (uint32_t)s->device;
    op->stream_id = s->id;
    op->queued = begin->queued;
    sim_op_add_wait(op, begin);
    for (size_t w = 0; w < n->nr_waits; w++)
        sim_op_add_wait(op, queued[n->waits[w]]);
    if (op->placed)
        op->placed(op);
    sim_op_try(op);
    return sim_log_add(op);
}

int sim_graph_launch(struct sim_exec *x, struct sim_stream *s)
{
    struct sim_op **queued = calloc(x->graph->nr + 1, sizeof(*queued));
    struct sim_op *begin = sim_op_new(SIM_OP_MARK), *end = sim_op_new(SIM_OP_MARK);
    if (!queued || !begin || !end)
        return SIM_OUT_OF_MEMORY;
    sim_op_ref(begin);
    sim_op_ref(end);
    sim_queue(s, begin);
    sim_lock_engine();
    for (size_t i = 0; i < x->graph->nr; i++)
        queued[i] = queue_node(x, i, queued, begin, s);
    for (size_t i = 0; i < x->graph->nr; i++)
        sim_op_add_wait(end, queued[i]);
    sim_unlock_engine();
    int error = sim_queue(s, end);
    const struct sim_observer *o = sim_observer();
    if (o)
        o->graph(x, begin, end, s->id);
    for (size_t i = 0; i < x->graph->nr; i++) {
        if (queued[i]->end != SIM_UNKNOWN)
            sim_op_effect(queued[i]);
        if (o)
            o->op(queued[i]);
        sim_op_unref(queued[i]);
    }
    sim_op_unref(begin);
    sim_op_unref(end);
    free(queued);
    return error;
}
