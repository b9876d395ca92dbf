/* gates.c - see gates.h. A gate is the tracepoint's own switch: sessions open and close it, nobody polls. Going over
 * budget replaces it by one that stays closed, metadata calls first (the most, and the cheapest to do without), then
 * reads and writes; waits and anchors stay, for steps must go on adding up.
 *
 * With a gate closed its cost is not seen any more, so whether the job has become quieter can only be tried: after
 * RETRY_NS, and twice as long after each try that failed. */
#include "shim/core/gates.h"

#include <string.h>

#include "shim/core/core.h"
#include "shim/core/options.h"
#include "shim/core/thread.h"

/* What one of each costs on a slow core (tests/bench: 72 ns and 230 ns on the machine at hand). */
#define CALL_NS 100u
#define EVENT_NS 300u
#define SECOND 1000000000ull
#define RETRY_NS (10 * SECOND)
#define WINDOW_NS (5 * SECOND) /* a start-up that opens thousands of files is no reason */

static const int always = 1, never = 0;

static struct {
    unsigned lowered; /* gates closed so far, in the order of `first_to_go` */
    uint64_t calls, events, cpu_ns, at_ns;
    uint64_t retry_at_ns, retry_ns;
} budget;

static const enum shim_gate first_to_go[] = {GATE_META, GATE_IO};
#define NR_TO_GO (sizeof(first_to_go) / sizeof(*first_to_go))

const int *gate_wanted(enum shim_gate gate)
{
    switch (process.excluded && gate != GATE_LIFE ? GATE_MAX : gate) {
    case GATE_IO:
        return &lttng_ust_tracepoint_trshim___file_io.state;
    case GATE_META:
        return &lttng_ust_tracepoint_trshim___file_meta.state;
    case GATE_FILE:
        return &lttng_ust_tracepoint_trshim___file_op.state;
    case GATE_WAIT:
        return &lttng_ust_tracepoint_trshim___wait.state;
    case GATE_LIFE:
        return &always; /* fork is seen to whether a session listens or not, for LTTng's sake */
    case GATE_CUDA:
        return &lttng_ust_tracepoint_trshim___cuda_call.state;
    case GATE_SEGMENT:
        return &lttng_ust_tracepoint_trshim___segment.state;
    case GATE_GEMM:
        return &lttng_ust_tracepoint_trshim___gemm.state;
    case GATE_BLOCK:
        return &lttng_ust_tracepoint_trshim___block.state;
    case GATE_NCCL:
        return &lttng_ust_tracepoint_trshim___coll.state;
    case GATE_MAX:
        break;
    }
    return &never;
}

static void lower(uint64_t now_ns)
{
    if (budget.lowered == NR_TO_GO)
        return;
    process.preload->set_gate(first_to_go[budget.lowered++], &never);
    EMIT(gap, process.pid, .why = TR_gap_why_budget, .on = 1);
    budget.retry_ns = budget.retry_ns ? budget.retry_ns * 2 : RETRY_NS;
    budget.retry_at_ns = now_ns + budget.retry_ns;
    say(1, "recording costs more than %u %% of a core: less detail for %u s", options.budget_percent,
        (unsigned)(budget.retry_ns / SECOND));
}

static void raise_again(void)
{
    while (budget.lowered) {
        enum shim_gate gate = first_to_go[--budget.lowered];
        process.preload->set_gate(gate, gate_wanted(gate));
    }
    EMIT(gap, process.pid, .why = TR_gap_why_budget, .on = 0);
}

void gates_keep_budget(uint64_t now_ns, uint64_t tender_cpu_ns)
{
    if (budget.at_ns && now_ns - budget.at_ns < WINDOW_NS)
        return;
    uint64_t calls = threads_calls(), events = atomic_load(&process.events);
    uint64_t cost_ns =
        (calls - budget.calls) * CALL_NS + (events - budget.events) * EVENT_NS + (tender_cpu_ns - budget.cpu_ns);
    uint64_t allowed_ns = (now_ns - budget.at_ns) / 100 * options.budget_percent;
    bool first = !budget.at_ns;

    budget.calls = calls;
    budget.events = events;
    budget.cpu_ns = tender_cpu_ns;
    budget.at_ns = now_ns;
    if (first || !options.budget_percent)
        return;
    if (cost_ns > allowed_ns)
        lower(now_ns);
    else if (budget.lowered && now_ns >= budget.retry_at_ns)
        raise_again();
}

void gates_after_fork(void)
{
    if (budget.lowered)
        raise_again();
    memset(&budget, 0, sizeof(budget));
}
