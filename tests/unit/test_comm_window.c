/* Waiting and transferring: random collectives of random ranks, told in random order, against a sum over every instant
 * by the definitions; and cases that can be added up by hand. */
#include "tests/unit/analyze_text.h"

static uint32_t seed = 5;

static uint32_t random_below(uint32_t n)
{
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % n;
}

/* ---- against brute force ------------------------------------------------------------------ */

#define RANKS_MAX 4
#define STEPS 8
#define OPS_STEP 6
#define KERNELS_MAX 4096
#define STEP_NS 100000000ull

enum op { ALLREDUCE, BROADCAST, REDUCE, PAIR, GROUP, NR_OPS };

struct call {
    enum op op;
    unsigned comm, root, other; /* PAIR: root sends to other */
};

struct kernel {
    bool comm;
    unsigned rank, bundle; /* bundle: index of the calls it runs */
    uint64_t queued_ns, start_ns, end_ns;
};

struct bundle {
    struct call calls[3];
    unsigned nr;
    uint64_t starts[RANKS_MAX]; /* of its kernel on each rank; 0 none */
};

struct world {
    unsigned nr_ranks, nr_kernels, nr_bundles;
    struct kernel kernels[KERNELS_MAX];
    struct bundle bundles[STEPS * OPS_STEP * 2];
    unsigned ordinals[RANKS_MAX][2], sent[RANKS_MAX][RANKS_MAX], received[RANKS_MAX][RANKS_MAX], groups;
};

/* Lines with their times, to be sorted. */
struct line {
    uint64_t ts_ns;
    unsigned order;
    char text[200];
};
static struct line *lines;
static size_t nr_lines, capacity_lines;

__attribute__((format(printf, 2, 3))) static void line(uint64_t ts_ns, const char *format, ...)
{
    va_list args;
    if (nr_lines == capacity_lines) {
        capacity_lines = capacity_lines ? capacity_lines * 2 : 1024;
        lines = realloc(lines, capacity_lines * sizeof(*lines));
    }
    lines[nr_lines].ts_ns = ts_ns;
    lines[nr_lines].order = (unsigned)nr_lines;
    va_start(args, format);
    vsnprintf(lines[nr_lines].text, sizeof(lines[nr_lines].text), format, args);
    va_end(args);
    nr_lines++;
}

static int by_time(const void *a, const void *b)
{
    const struct line *x = a, *y = b;
    return x->ts_ns != y->ts_ns ? (x->ts_ns < y->ts_ns ? -1 : 1) : x->order < y->order ? -1 : 1;
}

/* Communicator 0 is all ranks, 1 the first two. */
static unsigned size_of(const struct world *world, unsigned comm)
{
    return comm ? 2 : world->nr_ranks;
}

static bool takes_part(const struct world *world, const struct call *call, unsigned rank)
{
    return call->op == PAIR ? rank == call->root || rank == call->other : rank < size_of(world, call->comm);
}

static struct call random_call(const struct world *world)
{
    struct call call = {.op = random_below(4), .comm = random_below(2)};
    unsigned size = size_of(world, call.comm);
    call.root = random_below(size);
    call.other = (call.root + 1 + random_below(size - 1)) % size;
    return call;
}

/* Tells the call of a rank; its launch ends at end_ns. */
static void tell_call(struct world *world, unsigned rank, const struct call *call, unsigned group, uint64_t start_ns,
                      uint64_t end_ns)
{
    static const char *const names[] = {"AllReduce", "Broadcast", "Reduce"};
    bool sends = call->op == PAIR && rank == call->root;
    const char *name = call->op == PAIR ? (sends ? "Send" : "Recv") : names[call->op];
    unsigned ordinal, peer = sends ? call->other : call->root;
    if (call->op == PAIR)
        ordinal = sends ? world->sent[rank][peer]++ : world->received[rank][peer]++;
    else
        ordinal = world->ordinals[rank][call->comm]++;
    /* Communicators of a pair are told apart by their own counts: all pairs run on communicator 0 here. */
    line(end_ns,
         "a coll pid=%u op=%s type=7 how=1 nr=%u ordinal=%u peer=%d group=%u dur_ns=%llu count=1024 start_ns=%llu",
         10 + rank, name, call->op == PAIR ? 1 : call->comm + 1, ordinal, call->op == ALLREDUCE ? -1 : (int)peer, group,
         (unsigned long long)(end_ns - start_ns), (unsigned long long)start_ns);
}

static void add_bundle(struct world *world, uint64_t at_ns)
{
    struct bundle *bundle = &world->bundles[world->nr_bundles];
    *bundle = (struct bundle){.nr = random_below(4) ? 1 : 3};
    unsigned group = bundle->nr > 1 ? ++world->groups : 0;
    for (unsigned i = 0; i < bundle->nr; i++) {
        bundle->calls[i] = random_call(world);
        if (bundle->calls[i].op == PAIR)
            bundle->calls[i].comm = 0;
    }
    for (unsigned rank = 0; rank < world->nr_ranks; rank++) {
        uint64_t start_ns = at_ns, end_ns = at_ns + 90000;
        unsigned told = 0;
        for (unsigned i = 0; i < bundle->nr; i++)
            if (takes_part(world, &bundle->calls[i], rank))
                tell_call(world, rank, &bundle->calls[i], group, start_ns + 10000 * told++, end_ns);
        if (!told)
            continue;
        struct kernel *kernel = &world->kernels[world->nr_kernels++];
        *kernel = (struct kernel){.comm = true, .rank = rank, .bundle = world->nr_bundles};
        kernel->queued_ns = end_ns - random_below(10000);
        kernel->start_ns = kernel->queued_ns + 1000 + random_below(20000000);
        kernel->end_ns = kernel->start_ns + 1 + random_below(20000000);
        bundle->starts[rank] = kernel->start_ns;
    }
    world->nr_bundles++;
}

static void make_world(struct world *world)
{
    *world = (struct world){.nr_ranks = 2 + random_below(RANKS_MAX - 1)};
    nr_lines = 0;
    for (unsigned rank = 0; rank < world->nr_ranks; rank++) {
        unsigned pid = 10 + rank;
        line(1, "a proc pid=%u rank=%u world=%u schema=1 host=a boot=b comm=python3", pid, rank, world->nr_ranks);
        line(2, "a name pid=%u kind=kernel id=1 text=sgemm", pid);
        line(2, "a name pid=%u kind=kernel id=2 text=ncclDevKernel_AllReduce_Sum_f32_RING_LL", pid);
        line(2, "a nccl_comm pid=%u state=made rank=%u nranks=%u nr=1 id=0x77 source=hook", pid, rank, world->nr_ranks);
        if (rank < 2)
            line(2, "a nccl_comm pid=%u state=made rank=%u nranks=2 nr=2 id=0x88 source=hook", pid, rank);
    }
    for (unsigned step = 0; step < STEPS; step++) {
        uint64_t at_ns = 1000000000 + step * STEP_NS;
        for (unsigned rank = 0; rank < world->nr_ranks; rank++) {
            line(at_ns, "a anchor pid=%u kind=mark nr=%u", 10 + rank, step);
            uint64_t run_ns = at_ns + 2000000 + random_below(3000000);
            for (unsigned i = 0; i < 6; i++) {
                struct kernel *kernel = &world->kernels[world->nr_kernels++];
                kernel->rank = rank;
                kernel->queued_ns = at_ns + 1000 + i;
                kernel->start_ns = run_ns + random_below(i ? 9000000 : 1);
                kernel->end_ns = run_ns = kernel->start_ns + 1 + random_below(8000000);
            }
        }
        for (unsigned i = 0; i < OPS_STEP; i++)
            add_bundle(world, at_ns + 100000 + i * (STEP_NS / (OPS_STEP + 1)));
    }
    /* Each rank tells of its kernels in batches, late, each batch in no order. */
    for (unsigned rank = 0; rank < world->nr_ranks; rank++) {
        uint64_t batch_ns = 20000000 + random_below(900000000);
        for (uint64_t from = 1000000000; from < 1000000000 + (STEPS + 10) * STEP_NS; from += batch_ns) {
            uint64_t told_ns = from + batch_ns + random_below(400000000);
            for (unsigned i = 0; i < world->nr_kernels; i++) {
                const struct kernel *kernel = &world->kernels[i];
                if (kernel->rank == rank && kernel->end_ns > from && kernel->end_ns <= from + batch_ns)
                    line(told_ns - random_below(1000),
                         "a kernel pid=%u device=0 stream=%u name=%u queued_ns=%llu start_ns=%llu dur_ns=%llu",
                         10 + rank, kernel->comm ? 20 : 7, kernel->comm ? 2 : 1, (unsigned long long)kernel->queued_ns,
                         (unsigned long long)kernel->start_ns, (unsigned long long)(kernel->end_ns - kernel->start_ns));
            }
            line(told_ns + 1, "a gpu_until pid=%u device=0 until_ns=%llu", 10 + rank,
                 (unsigned long long)(from + batch_ns));
        }
        line(1000000000 + (STEPS + 40) * STEP_NS, "a exit pid=%u start=%llums", 10 + rank,
             (unsigned long long)(1000 + (STEPS + 40) * STEP_NS / 1000000));
    }
}

/* Until when a kernel waits, by the definitions. */
static uint64_t waits_until(const struct world *world, const struct kernel *kernel)
{
    const struct bundle *bundle = &world->bundles[kernel->bundle];
    uint64_t last = 0;
    for (unsigned i = 0; i < bundle->nr; i++) {
        const struct call *call = &bundle->calls[i];
        if (!takes_part(world, call, kernel->rank))
            continue;
        for (unsigned rank = 0; rank < world->nr_ranks; rank++) {
            bool depends = takes_part(world, call, rank) && (call->op == ALLREDUCE || call->op == PAIR ||
                                                             (call->op == BROADCAST && rank == call->root) ||
                                                             (call->op == REDUCE && kernel->rank == call->root));
            if (depends && bundle->starts[rank] > last)
                last = bundle->starts[rank];
        }
    }
    return last < kernel->end_ns ? last : kernel->end_ns;
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static struct world world;
static unsigned nr_rows;
static uint64_t sum_wait_ns;

/* Instants of the row that are exposed, and that are waited in. */
static int check_row(void *arg, const struct report_step *row)
{
    uint64_t bounds[KERNELS_MAX], exposed = 0, wait = 0;
    const struct kernel *mine[KERNELS_MAX];
    size_t nr_bounds = 0, nr = 0;
    (void)arg;
    bounds[nr_bounds++] = row->start_ns;
    bounds[nr_bounds++] = row->end_ns;
    for (unsigned i = 0; i < world.nr_kernels; i++) {
        const struct kernel *kernel = &world.kernels[i];
        if (kernel->rank != (unsigned)row->rank || kernel->end_ns <= row->start_ns || kernel->start_ns >= row->end_ns)
            continue;
        mine[nr++] = kernel;
        bounds[nr_bounds++] = kernel->start_ns;
        bounds[nr_bounds++] = kernel->end_ns;
        if (kernel->comm)
            bounds[nr_bounds++] = waits_until(&world, kernel);
    }
    qsort(bounds, nr_bounds, sizeof(*bounds), by_number);
    for (size_t i = 1; i < nr_bounds; i++) {
        uint64_t from = bounds[i - 1], to = bounds[i];
        bool computes = false, runs = false, waits = true;
        if (from < row->start_ns || to > row->end_ns || from == to)
            continue;
        for (size_t j = 0; j < nr; j++) {
            if (mine[j]->start_ns > from || mine[j]->end_ns <= from)
                continue;
            computes |= !mine[j]->comm;
            runs |= mine[j]->comm;
            waits &= !mine[j]->comm || from < waits_until(&world, mine[j]);
        }
        exposed += runs && !computes ? to - from : 0;
        wait += runs && !computes && waits ? to - from : 0;
    }
    assert_int_equal(row->class_ns[BC_comm_exposed], exposed);
    assert_int_equal(row->comm_wait_ns, wait);
    assert_int_equal(row->comm_transfer_ns, exposed - wait);
    sum_wait_ns += wait;
    nr_rows++;
    return 0;
}

static void sums_are_those_of_every_instant(void **state)
{
    for (unsigned round = 0; round < 60; round++) {
        struct script script;
        script_begin(&script);
        make_world(&world);
        qsort(lines, nr_lines, sizeof(*lines), by_time);
        for (size_t i = 0; i < nr_lines; i++)
            say(&script, "%lluns %s", (unsigned long long)lines[i].ts_ns, lines[i].text);
        struct report *report = script_analyze(&script, &(struct options){.steps = STEP_METHOD_mark});
        nr_rows = 0;
        sum_wait_ns = 0;
        assert_int_equal(report_each_step(report, check_row, NULL), 0);
        assert_int_equal(nr_rows, STEPS * world.nr_ranks);
        assert_true(sum_wait_ns > 0);
        report_free(report);
    }
    free(lines);
    lines = NULL;
    capacity_lines = 0;
}

/* ---- two hosts ---------------------------------------------------------------------------- */

#define DRIFT 80 /* ppm that the second host's clock runs fast */

/* What the second host's clock shows: 5 s ahead, and drifting. */
static uint64_t shown(unsigned host, uint64_t at_ns)
{
    return host ? at_ns + 5000000000ull + at_ns * DRIFT / 1000000 : at_ns;
}

/* Two ranks on two hosts all-reduce for 20 s; rank 0 is 30 ms late in each step, the transfer takes 2 ms. Clocks that
 * are taken as they are would make one rank wait for seconds. */
static void clocks_of_hosts_are_brought_together(void **state)
{
    struct script script;
    struct step_rows rows = {.nr = 0};
    script_begin(&script);
    say(&script, "host a boot=b1");
    say(&script, "host b boot=b2");
    nr_lines = capacity_lines = 0;
    lines = NULL;
    for (unsigned rank = 0; rank < 2; rank++) {
        char host = rank ? 'b' : 'a';
        unsigned pid = 10 + rank;
        line(1, "%c proc pid=%u rank=%u world=2 schema=1 host=%c boot=b%u comm=python3", host, pid, rank, host,
             rank + 1);
        line(2, "%c name pid=%u kind=kernel id=1 text=sgemm", host, pid);
        line(2, "%c name pid=%u kind=kernel id=2 text=ncclDevKernel_AllReduce_Sum_f32_RING_LL", host, pid);
        line(2, "%c nccl_comm pid=%u state=made rank=%u nranks=2 nr=1 id=0x77 source=hook", host, pid, rank);
        for (unsigned step = 0; step < 200; step++) {
            uint64_t at_ns = 10000000000ull + step * 100000000ull, compute_ns = rank ? 40000000 : 70000000;
            uint64_t comm_ns = at_ns + 2000000 + compute_ns, end_ns = at_ns + 2000000 + 72000000;
#define AT(ns) ((unsigned long long)shown(rank, ns))
            line(shown(rank, at_ns), "%c anchor pid=%u kind=mark nr=%u", host, pid, step);
            line(shown(rank, at_ns + 1100000),
                 "%c coll pid=%u op=AllReduce type=7 how=1 nr=1 ordinal=%u peer=-1 dur_ns=100000 count=1024 "
                 "start_ns=%llu",
                 host, pid, step, AT(at_ns + 1000000));
            line(shown(rank, end_ns + 1000000),
                 "%c kernel pid=%u device=0 stream=7 name=1 queued_ns=%llu start_ns=%llu dur_ns=%llu", host, pid,
                 AT(at_ns + 900000), AT(at_ns + 2000000), (unsigned long long)compute_ns);
            line(shown(rank, end_ns + 1000000),
                 "%c kernel pid=%u device=0 stream=20 name=2 queued_ns=%llu start_ns=%llu dur_ns=%llu", host, pid,
                 AT(at_ns + 1050000), AT(comm_ns), AT(end_ns) - AT(comm_ns));
            line(shown(rank, end_ns + 1000001), "%c gpu_until pid=%u device=0 until_ns=%llu", host, pid, AT(end_ns));
        }
        line(shown(rank, 40000000000ull), "%c exit pid=%u start_ns=%llu", host, pid, AT(40000000000ull));
    }
    qsort(lines, nr_lines, sizeof(*lines), by_time);
    for (size_t i = 0; i < nr_lines; i++)
        say(&script, "%lluns %s", (unsigned long long)lines[i].ts_ns, lines[i].text);
    free(lines);
    lines = NULL;
    struct report *report = script_analyze(&script, &(struct options){.steps = STEP_METHOD_mark});
    int64_t error_ns = report->quality.clock_error_ns;
    assert_int_equal(report->nr_hosts, 2);
    assert_true(error_ns > 0 && error_ns < 4000000); /* the transfer's 2 ms leave so much open */
    assert_int_equal(report_each_step(report, step_rows_add, &rows), 0);
    unsigned late = 0, waits = 0;
    for (size_t i = 0; i < rows.nr; i++) {
        const struct report_step *row = &rows.rows[i];
        if (row->incomplete)
            continue;
        assert_true(row->comm_wait_ns != TR_UNKNOWN);
        int64_t expected = row->rank ? 30000000 : 0;
        assert_true(row->comm_wait_ns >= expected - error_ns && row->comm_wait_ns <= expected + error_ns);
        late += !row->rank;
        waits += row->rank;
    }
    assert_true(late > 190 && waits > 190);
    report_free(report);
}

/* ---- what cannot be known ----------------------------------------------------------------- */

/* Rank 1 of the communicator is not in the trace. */
static void without_arrivals_nothing_is_said(void **state)
{
    struct script script;
    struct step_rows rows = {.nr = 0};
    script_begin(&script);
    say(&script, "1ns a proc pid=10 rank=0 world=2 schema=1 host=a boot=b comm=python3");
    say(&script, "2ns a name pid=10 kind=kernel id=1 text=sgemm");
    say(&script, "2ns a name pid=10 kind=kernel id=2 text=ncclDevKernel_AllReduce_Sum_f32_RING_LL");
    say(&script, "2ns a nccl_comm pid=10 state=made rank=0 nranks=2 nr=1 id=0x77 source=hook");
    for (unsigned step = 0; step < 5; step++) {
        uint64_t at = 1000 + step * 100;
        say(&script, "%llums a anchor pid=10 kind=mark nr=%u", (unsigned long long)at, step);
        say(&script,
            "%llums a coll pid=10 op=AllReduce type=7 how=1 nr=1 ordinal=%u peer=-1 dur=1ms count=1024 start=%llums",
            (unsigned long long)at + 2, step, (unsigned long long)at + 1);
        say(&script, "%llums a kernel pid=10 device=0 stream=7 name=1 queued_ns=%llu start=%llums dur=10ms",
            (unsigned long long)at + 90, (unsigned long long)(at * 1000000 + 500000), (unsigned long long)at + 5);
        say(&script, "%llums a kernel pid=10 device=0 stream=20 name=2 queued_ns=%llu start=%llums dur=40ms",
            (unsigned long long)at + 90, (unsigned long long)(at * 1000000 + 1500000), (unsigned long long)at + 15);
    }
    say(&script, "5s a exit pid=10 start=5s");
    struct report *report = script_analyze(&script, &(struct options){.steps = STEP_METHOD_mark});
    assert_int_equal(report_each_step(report, step_rows_add, &rows), 0);
    assert_int_equal(rows.nr, 5);
    for (size_t i = 0; i < rows.nr; i++) {
        assert_int_equal(rows.rows[i].class_ns[BC_comm_exposed], 40000000);
        assert_true(rows.rows[i].comm_wait_ns == TR_UNKNOWN && rows.rows[i].comm_transfer_ns == TR_UNKNOWN);
    }
    assert_int_equal(report->nr_collectives, 1);
    assert_int_equal(report->collectives[0].count, 5);
    assert_int_equal(report->collectives[0].bytes, 4096);
    assert_true(report->collectives[0].wait_ns == TR_UNKNOWN);
    report_free(report);
}

/* Calls of the hook, and of the plugin told apart, are one instance; those of the plugin alone are told by function. */
static void hook_and_plugin_are_counted_once(void **state)
{
    struct script script;
    script_begin(&script);
    for (unsigned rank = 0; rank < 2; rank++) {
        say(&script, "1ns a proc pid=%u rank=%u world=2 schema=1 host=a boot=b comm=python3", 10 + rank, rank);
        say(&script, "2ns a nccl_comm pid=%u state=made rank=%u nranks=2 nr=1 id=0x77 source=hook", 10 + rank, rank);
        say(&script, "2ns a nccl_comm pid=%u state=made rank=%u nranks=2 nr=2 id=0x88 source=plugin", 20 + rank, rank);
    }
    for (unsigned i = 0; i < 3; i++)
        for (unsigned rank = 0; rank < 2; rank++) {
            say(&script,
                "%ums a coll pid=%u op=AllReduce type=7 how=1 nr=1 ordinal=%u peer=-1 dur=1ms count=256 start=%ums",
                10 + i, 10 + rank, i, 9 + i);
            say(&script,
                "%ums a coll pid=%u tid=99 op=AllReduce type=7 algo=Ring proto=LL how=2 nr=1 ordinal=%u peer=-1 dur=0 "
                "count=256 start=%ums",
                10 + i, 10 + rank, i + 7, 9 + i);
            say(&script,
                "%ums a coll pid=%u op=%s type=7 algo=Tree proto=LL how=2 nr=2 ordinal=%u peer=-1 dur=0 count=512 "
                "start=%ums",
                10 + i, 20 + rank, i == 2 ? "AllGather" : "AllReduce", i == 2 ? 0 : i, 9 + i);
        }
    struct report *report = script_analyze(&script, &(struct options){0});
    assert_int_equal(report->nr_communicators, 2);
    assert_int_equal(report->nr_collectives, 3);
    for (size_t i = 0; i < report->nr_collectives; i++) {
        const struct report_collective *row = &report->collectives[i];
        bool hooked = !strcmp(row->comm, "0x77"), gather = !strcmp(row->op, "AllGather");
        assert_int_equal(row->count, hooked ? 3 : gather ? 1 : 2);
        assert_int_equal(row->bytes, hooked ? 1024 : gather ? 4096 : 2048);
        assert_string_equal(row->algo, hooked ? "Ring" : "Tree");
    }
    assert_null(find_finding(report, "collective-desync"));
    report_free(report);
}

/* Rank 1 enters another collective as the last of 30. */
static void another_operation_is_a_desync(void **state)
{
    struct script script;
    script_begin(&script);
    for (unsigned rank = 0; rank < 2; rank++) {
        say(&script, "1ns a proc pid=%u rank=%u world=2 schema=1 host=a boot=b comm=python3", 10 + rank, rank);
        say(&script, "2ns a nccl_comm pid=%u state=made rank=%u nranks=2 nr=1 id=0x77 source=hook", 10 + rank, rank);
    }
    for (unsigned i = 0; i < 30; i++)
        for (unsigned rank = 0; rank < 2; rank++)
            say(&script, "%ums a coll pid=%u op=%s type=7 how=1 nr=1 ordinal=%u peer=-1 dur=1ms count=256 start=%ums",
                10 + i, 10 + rank, rank && i == 29 ? "AllGather" : "AllReduce", i, 9 + i);
    struct report *report = script_analyze(&script, &(struct options){0});
    const struct report_finding *finding = find_finding(report, "collective-desync");
    assert_non_null(finding);
    assert_int_equal(finding->severity, SEVERITY_HIGH);
    report_free(report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_those_of_every_instant),  cmocka_unit_test(clocks_of_hosts_are_brought_together),
        cmocka_unit_test(without_arrivals_nothing_is_said), cmocka_unit_test(hook_and_plugin_are_counted_once),
        cmocka_unit_test(another_operation_is_a_desync),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
