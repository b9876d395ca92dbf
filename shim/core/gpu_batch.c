/* gpu_batch.c - see gpu_batch.h. One batch for the process, filled by whichever thread CUPTI hands records to and sent
 * when it is full and by gpu_batch_flush(), so at the latest when the tender next settles. Memory is static; who finds
 * the batch taken sends its kernel alone. */
#include "shim/core/gpu_batch.h"

#include <sched.h>

#include "shim/core/core.h"
#include "traces/kernel_batch.h"

static struct kernel_batch batch;
static atomic_flag taken = ATOMIC_FLAG_INIT; /* guards it; a fork child never takes it: its GPU records are off */

static void send_alone(const struct tr_kernel *k)
{
    EMIT(kernel, k->tid, .device = k->device, .stream = k->stream, .name = k->name, .correlation = k->correlation,
         .blocks = k->blocks, .graph = k->graph, .queued_ns = k->queued_ns, .start_ns = k->start_ns,
         .dur_ns = k->dur_ns);
}

static void send(void)
{
    if (batch.nr == 0)
        return;
    EMIT(kernels, process.pid, .base_ns = batch.base_ns, .groups = {batch.groups, batch.nr_groups * KERNEL_GROUP_WORDS},
         .records = {batch.records, batch.nr * KERNEL_RECORD_WORDS});
    batch.nr = batch.nr_groups = 0;
}

void gpu_batch_kernel(const struct tr_kernel *kernel)
{
    if (!lttng_ust_tracepoint_enabled(trshim, kernels) ||
        atomic_flag_test_and_set_explicit(&taken, memory_order_acquire)) {
        send_alone(kernel);
        return;
    }
    enum kernel_batch_answer answer = kernel_batch_add(&batch, kernel);
    if (answer != BATCH_ADDED)
        send();
    if (answer == BATCH_FULL)
        answer = kernel_batch_add(&batch, kernel);
    atomic_flag_clear_explicit(&taken, memory_order_release);
    if (answer == BATCH_NEVER)
        send_alone(kernel);
}

void gpu_batch_flush(void)
{
    while (atomic_flag_test_and_set_explicit(&taken, memory_order_acquire))
        sched_yield();
    send();
    atomic_flag_clear_explicit(&taken, memory_order_release);
}
