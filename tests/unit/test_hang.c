/* Who is to blame for a standing job: schedules of nested groups (TP in DP in PP) are run to where they stand, by a
 * model of ranks that queue calls and GPUs that run them in order; the verdict must name who was stopped, and nobody
 * else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/model/hang.h"

#define TP 2
#define DP 3
#define PP 2
#define RANKS (TP * DP * PP)
#define CALLS 120
#define AHEAD 7 /* calls a host queues before it waits */
#define NEVER 10000

static uint32_t seed;

static uint32_t random_below(uint32_t n)
{
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % n;
}

/* rank = (pp * DP + dp) * TP + tp */
static int tp_of(int rank)
{
    return rank % TP;
}
static int dp_of(int rank)
{
    return rank / TP % DP;
}
static int pp_of(int rank)
{
    return rank / TP / DP;
}

enum axis { AXIS_tp, AXIS_dp, AXIS_pp, AXIS_all, AXIS_max };

/* Which group of the axis a rank is in, and its place there. */
static int group_of(enum axis axis, int rank, int *place)
{
    *place = axis == AXIS_tp ? tp_of(rank) : axis == AXIS_dp ? dp_of(rank) : axis == AXIS_pp ? pp_of(rank) : rank;
    return axis == AXIS_tp   ? rank / TP
           : axis == AXIS_dp ? pp_of(rank) * TP + tp_of(rank)
           : axis == AXIS_pp ? rank % (TP * DP)
                             : 0;
}

static int size_of(enum axis axis)
{
    static const int sizes[] = {TP, DP, PP, RANKS};
    return sizes[axis];
}

/* A call of all members of one group, or a Send in one and a Recv in the other of a pipeline. */
struct call {
    enum axis axis;
    int group;
    bool p2p;
    uint32_t ordinal; /* in its group; of p2p, among p2p */
};

struct plan {
    struct call calls[CALLS];
    int queued[RANKS], done[RANKS]; /* how many of all calls each rank has passed (those of others count as passed) */
    int stop_at[RANKS];             /* the host stops before this call */
    int gpu_stops_at[RANKS];        /* its GPU does not finish this call, though others see it done */
};

static bool is_member(const struct call *call, int rank)
{
    int place;
    return group_of(call->axis, rank, &place) == call->group;
}

static void make_plan(struct plan *plan)
{
    uint32_t next[AXIS_max][RANKS][2] = {0};
    memset(plan, 0, sizeof(*plan));
    for (int i = 0; i < CALLS; i++) {
        struct call *call = &plan->calls[i];
        call->axis = random_below(AXIS_max);
        call->group = (int)random_below(RANKS / size_of(call->axis));
        call->p2p = call->axis == AXIS_pp;
        call->ordinal = ++next[call->axis][call->group][call->p2p];
    }
    for (int rank = 0; rank < RANKS; rank++)
        plan->stop_at[rank] = plan->gpu_stops_at[rank] = NEVER;
}

static int open_calls(const struct plan *plan, int rank)
{
    int nr = 0;
    for (int i = plan->done[rank]; i < plan->queued[rank]; i++)
        nr += is_member(&plan->calls[i], rank);
    return nr;
}

/* Whether the GPU of a rank has reached the call: it is queued, and all its earlier ones are done. */
static bool has_reached(const struct plan *plan, int rank, int i)
{
    return plan->queued[rank] > i && plan->done[rank] >= i;
}

static bool advance(struct plan *plan, int rank)
{
    int i = plan->done[rank];
    bool moved = false;
    while (plan->queued[rank] < CALLS && plan->queued[rank] < plan->stop_at[rank] && open_calls(plan, rank) < AHEAD) {
        plan->queued[rank]++;
        moved = true;
    }
    if (i >= plan->queued[rank])
        return moved;
    const struct call *call = &plan->calls[i];
    if (is_member(call, rank)) {
        if (i >= plan->gpu_stops_at[rank])
            return moved;
        for (int other = 0; other < RANKS; other++)
            if (is_member(call, other) && plan->done[other] <= i && !has_reached(plan, other, i))
                return moved;
    }
    plan->done[rank]++;
    return true;
}

static void run(struct plan *plan)
{
    bool moved = true;
    while (moved) {
        moved = false;
        for (int rank = 0; rank < RANKS; rank++)
            moved |= advance(plan, rank);
    }
}

/* ---- what a recorder would say of it -------------------------------------------------------- */

static struct event event_of(int rank, enum event_kind kind)
{
    struct event event = {.kind = kind};
    event.u.who.pid = event.u.who.tid = 100 + (uint32_t)rank;
    return event;
}

static uint32_t nr_of(enum axis axis)
{
    return axis + 1;
}

static void tell_groups(struct hang *hang, int rank)
{
    struct event event = event_of(rank, EV_proc);
    event.u.proc.rank = rank;
    assert_int_equal(hang_event(hang, &event), 0);
    for (enum axis axis = 0; axis < AXIS_max; axis++) {
        int place, group = group_of(axis, rank, &place);
        char ranks[128] = "";
        for (int other = 0, ignored; other < RANKS; other++)
            if (group_of(axis, other, &ignored) == group)
                snprintf(ranks + strlen(ranks), sizeof(ranks) - strlen(ranks), "%s%d", *ranks ? "," : "", other);
        event = event_of(rank, EV_nccl_group);
        event.u.nccl_group.nr = nr_of(axis);
        event.u.nccl_group.id = 1000 + 100 * axis + group;
        event.u.nccl_group.name = "group";
        event.u.nccl_group.ranks = ranks;
        assert_int_equal(hang_event(hang, &event), 0);
        event = event_of(rank, EV_nccl_comm);
        event.u.nccl_comm.state = TR_nccl_state_made;
        event.u.nccl_comm.rank = place;
        event.u.nccl_comm.nranks = size_of(axis);
        event.u.nccl_comm.id = 1000 + 100 * axis + group;
        event.u.nccl_comm.nr = nr_of(axis);
        event.u.nccl_comm.name = "";
        assert_int_equal(hang_event(hang, &event), 0);
    }
}

static void tell_rank(struct hang *hang, const struct plan *plan, int rank)
{
    uint32_t entered[AXIS_max] = {0}, finished[AXIS_max] = {0}, position = 0;
    struct event event;

    for (int i = 0; i < plan->queued[rank]; i++) {
        const struct call *call = &plan->calls[i];
        int place;
        if (!is_member(call, rank))
            continue;
        (void)group_of(call->axis, rank, &place);
        if (!call->p2p)
            entered[call->axis] = call->ordinal;
        if (!call->p2p && i < plan->done[rank])
            finished[call->axis] = call->ordinal;
        if (i < plan->done[rank])
            continue;
        event = event_of(rank, EV_open_coll);
        event.u.open_coll.op = !call->p2p ? TR_coll_op_AllReduce : place == 0 ? TR_coll_op_Send : TR_coll_op_Recv;
        event.u.open_coll.nr = nr_of(call->axis);
        event.u.open_coll.ordinal = call->ordinal;
        event.u.open_coll.peer = call->p2p ? 1 - place : -1;
        event.u.open_coll.position = position++;
        event.u.open_coll.start_ns = 1000 + (uint64_t)i;
        event.u.open_coll.what = event.u.open_coll.frames = "";
        assert_int_equal(hang_event(hang, &event), 0);
    }
    for (enum axis axis = 0; axis < AXIS_max; axis++) {
        event = event_of(rank, EV_coll_status);
        event.u.coll_status.nr = nr_of(axis);
        event.u.coll_status.entered = entered[axis];
        event.u.coll_status.finished = finished[axis];
        assert_int_equal(hang_event(hang, &event), 0);
    }
}

static void judge(struct hang *hang, const struct plan *plan, int without)
{
    *hang = (struct hang){0};
    for (int rank = 0; rank < RANKS; rank++)
        if (rank != without)
            tell_groups(hang, rank);
    for (int rank = 0; rank < RANKS; rank++)
        if (rank != without)
            tell_rank(hang, plan, rank);
    assert_int_equal(hang_judge(hang), 0);
}

/* ---- verdicts ------------------------------------------------------------------------------- */

static bool stands(const struct plan *plan)
{
    for (int rank = 0; rank < RANKS; rank++)
        if (open_calls(plan, rank))
            return true;
    return false;
}

static void what_ends_raises_nothing(void **state)
{
    for (uint32_t from = 1; from < 200; from++) {
        struct plan plan;
        struct hang hang;
        seed = from;
        make_plan(&plan);
        run(&plan);
        assert_false(stands(&plan));
        judge(&hang, &plan, -1);
        assert_int_equal(hang.nr_culprits, 0);
        assert_null(hang.stuck);
        hang_done(&hang);
    }
}

static void who_never_came_is_named(void **state)
{
    size_t nr_hangs = 0;
    for (uint32_t from = 1; from < 400; from++) {
        struct plan plan;
        struct hang hang;
        seed = from;
        make_plan(&plan);
        int culprit = (int)random_below(RANKS);
        plan.stop_at[culprit] = (int)random_below(CALLS);
        run(&plan);
        judge(&hang, &plan, -1);
        assert_int_equal(hang.nr_culprits, stands(&plan));
        if (hang.nr_culprits) {
            nr_hangs++;
            assert_int_equal(hang.culprits[0].rank->number, culprit);
            assert_int_equal(hang.culprits[0].why, HANG_absent);
            hang_mark_victims(&hang, hang.culprits[0].rank);
            for (const struct hang_rank *rank = hang.ranks; rank; rank = rank->next)
                assert_int_equal(rank->marked, rank->opens != NULL);
        }
        hang_done(&hang);
    }
    assert_true(nr_hangs > 300);
}

static void of_two_none_else_is_named(void **state)
{
    for (uint32_t from = 1; from < 200; from++) {
        struct plan plan;
        struct hang hang;
        seed = from;
        make_plan(&plan);
        int one = (int)random_below(RANKS), other = (int)random_below(RANKS);
        plan.stop_at[one] = (int)random_below(CALLS);
        plan.stop_at[other] = (int)random_below(CALLS);
        run(&plan);
        judge(&hang, &plan, -1);
        assert_int_equal(hang.nr_culprits > 0, stands(&plan));
        for (size_t i = 0; i < hang.nr_culprits; i++)
            assert_true(hang.culprits[i].rank->number == one || hang.culprits[i].rank->number == other);
        hang_done(&hang);
    }
}

static void whose_gpu_stands_is_named(void **state)
{
    size_t nr_hangs = 0;
    for (uint32_t from = 1; from < 400; from++) {
        struct plan plan;
        struct hang hang;
        seed = from;
        make_plan(&plan);
        int culprit = (int)random_below(RANKS), at = (int)random_below(CALLS);
        while (at < CALLS && (!is_member(&plan.calls[at], culprit) || plan.calls[at].p2p))
            at++;
        if (at == CALLS)
            continue;
        plan.gpu_stops_at[culprit] = at;
        run(&plan);
        judge(&hang, &plan, -1);
        nr_hangs++;
        assert_int_equal(hang.nr_culprits, 1);
        assert_int_equal(hang.culprits[0].rank->number, culprit);
        assert_int_equal(hang.culprits[0].why, HANG_unfinished);
        hang_done(&hang);
    }
    assert_true(nr_hangs > 300);
}

static void who_left_no_word_is_named(void **state)
{
    for (uint32_t from = 1; from < 200; from++) {
        struct plan plan;
        struct hang hang;
        seed = from;
        make_plan(&plan);
        int culprit = (int)random_below(RANKS);
        plan.stop_at[culprit] = (int)random_below(CALLS / 2);
        run(&plan);
        judge(&hang, &plan, culprit);
        if (stands(&plan)) {
            assert_int_equal(hang.nr_culprits, 1);
            assert_int_equal(hang.culprits[0].rank->number, culprit);
            assert_int_equal(hang.culprits[0].why, HANG_silent);
        }
        hang_done(&hang);
    }
}

/* ---- calls that do not agree ---------------------------------------------------------------- */

static void tell_open(struct hang *hang, int rank, enum axis axis, enum tr_coll_op op, uint32_t ordinal, uint64_t count)
{
    struct event event = event_of(rank, EV_open_coll);
    event.u.open_coll.op = op;
    event.u.open_coll.type = 7;
    event.u.open_coll.nr = nr_of(axis);
    event.u.open_coll.ordinal = ordinal;
    event.u.open_coll.peer = -1;
    event.u.open_coll.count = count;
    event.u.open_coll.start_ns = 5;
    event.u.open_coll.what = event.u.open_coll.frames = "";
    assert_int_equal(hang_event(hang, &event), 0);
}

static void begin(struct hang *hang)
{
    *hang = (struct hang){0};
    for (int rank = 0; rank < RANKS; rank++)
        tell_groups(hang, rank);
}

static void the_odd_one_is_named(void **state)
{
    for (int by_size = 0; by_size < 2; by_size++) {
        struct hang hang;
        begin(&hang);
        for (int rank = 0; rank < RANKS; rank++)
            tell_open(&hang, rank, AXIS_all, rank == 4 && !by_size ? TR_coll_op_Broadcast : TR_coll_op_AllReduce, 8,
                      rank == 4 && by_size ? 100 : 200);
        assert_int_equal(hang_judge(&hang), 0);
        assert_int_equal(hang.nr_culprits, 1);
        assert_int_equal(hang.culprits[0].why, HANG_mismatch);
        assert_int_equal(hang.culprits[0].rank->number, 4);
        assert_int_equal(hang.culprits[0].call->call.count, 200);
        assert_non_null(hang.culprits[0].other);
        hang_done(&hang);
    }
}

static void sizes_may_differ_where_they_may(void **state)
{
    struct hang hang;
    begin(&hang);
    for (int rank = 0; rank < RANKS; rank++)
        tell_open(&hang, rank, AXIS_all, TR_coll_op_AlltoAll, 8, 100 + rank);
    assert_int_equal(hang_judge(&hang), 0);
    assert_int_equal(hang.nr_culprits, 0);
    assert_non_null(hang.stuck); /* all are in it: nobody's program is to blame */
    hang_done(&hang);
}

/* Ranks 0 and 1 share a TP group and the group of all: one calls on the first, the other on the second. */
static void two_orders_are_told(void **state)
{
    struct hang hang;
    begin(&hang);
    tell_open(&hang, 0, AXIS_tp, TR_coll_op_AllReduce, 3, 10);
    for (int rank = 1; rank < RANKS; rank++)
        tell_open(&hang, rank, AXIS_all, TR_coll_op_AllReduce, 8, 10);
    assert_int_equal(hang_judge(&hang), 0);
    assert_int_equal(hang.nr_culprits, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(hang.culprits[i].why, HANG_order);
        assert_true(hang.culprits[i].rank->number < 2);
    }
    hang_done(&hang);
}

/* A call told open, and later told done: nothing stands. */
static void what_went_on_is_forgotten(void **state)
{
    struct hang hang;
    begin(&hang);
    tell_open(&hang, 0, AXIS_all, TR_coll_op_AllReduce, 8, 10);
    struct event event = event_of(0, EV_coll_status);
    event.u.coll_status.nr = nr_of(AXIS_all);
    event.u.coll_status.entered = event.u.coll_status.finished = 8;
    assert_int_equal(hang_event(&hang, &event), 0);
    assert_int_equal(hang.nr_open, 0);
    assert_int_equal(hang_judge(&hang), 0);
    assert_int_equal(hang.nr_culprits, 0);
    assert_null(hang.stuck);
    hang_done(&hang);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_ends_raises_nothing),        cmocka_unit_test(who_never_came_is_named),
        cmocka_unit_test(of_two_none_else_is_named),       cmocka_unit_test(whose_gpu_stands_is_named),
        cmocka_unit_test(who_left_no_word_is_named),       cmocka_unit_test(the_odd_one_is_named),
        cmocka_unit_test(sizes_may_differ_where_they_may), cmocka_unit_test(two_orders_are_told),
        cmocka_unit_test(what_went_on_is_forgotten),
    };
    return cmocka_run_group_tests_name("hang", tests, NULL, NULL);
}
