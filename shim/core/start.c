/* start.c - the core's entry: called once by the preload; gives back the table of what the core does about calls. */
#include <dlfcn.h>
#include <link.h>
#include <string.h>

#include "shim/core/calls.h"
#include "shim/core/fd.h"
#include "shim/core/gates.h"
#include "shim/core/name.h"
#include "shim/core/nccl.h"
#include "shim/core/options.h"
#include "shim/core/process.h"
#include "shim/core/tender.h"
#include "shim/core/thread.h"

static struct shim_core table = {
    .version = SHIM_CORE_VERSION,
    .enter = process_enter,
    .untouched_child = process_untouched_child,
    .blocking = call_blocking,
    .opened = call_opened,
    .closing = call_closing,
    .closed = call_closed,
    .fd_forget = fd_forget,
    .io = call_io,
    .meta = call_meta,
    .file = call_file,
    .wait = call_wait,
    .wait_fd = call_wait_fd,
    .posted = call_posted,
    .fork_prepare = call_fork_prepare,
    .fork_parent = call_fork_parent,
    .fork_child = call_fork_child,
    .spawned = call_spawned,
    .before_exec = call_before_exec,
    .before_exit = call_before_exit,
    .step = call_step,
    .cuda_device = call_cuda_device,
    .cuda_call = call_cuda,
    .cupti_other = call_cupti_other,
    .segment = call_segment,
    .graph = call_graph,
    .gemm = call_gemm,
    .block = call_block,
    .oom = call_oom,
    .nccl_call = call_nccl,
    .nccl_called = call_nccl_done,
    .nccl_making = call_nccl_making,
    .nccl_made = call_nccl_made,
    .nccl_leaving = call_nccl_leaving,
    .nccl_group_end = call_nccl_group_end,
};

static int is_fork_helper(struct dl_phdr_info *info, size_t size, void *arg)
{
    return strstr(info->dlpi_name, "liblttng-ust-fork") != NULL;
}

__attribute__((visibility("default"))) const struct shim_core *trshim_core_start(int late,
                                                                                 const struct shim_preload *preload);

enum { NOT_STARTED, STARTING, STARTED, REFUSED };
static atomic_int state;

static bool start(int late, const struct shim_preload *preload)
{
    process.preload = preload;
    options_read();
    process.foreign_fork = dl_iterate_phdr(is_fork_helper, NULL);
    if (name_init() != 0 || threads_init() != 0) {
        say(0, "no memory for the recorder's tables; this process is not recorded");
        return false;
    }
    process_init(late);
    for (int i = 0; i < GATE_MAX; i++)
        table.gate[i] = gate_wanted((enum shim_gate)i);
    if (process.excluded)
        EMIT(gap, process.pid, .why = TR_gap_why_ranks, .on = 1);
    if (thread_self(preload->tls()))
        tender_start();
    if (!process.excluded)
        nccl_net_prepare();
    say(2, "recording as rank %d", process.rank);
    return true;
}

/* Both the preload and a plugin of NCCL's may come first, on different threads; the second waits for the first. */
static bool start_once(int late, const struct shim_preload *preload, bool *ret_was_first)
{
    int none = NOT_STARTED;
    *ret_was_first = atomic_compare_exchange_strong(&state, &none, STARTING);
    if (*ret_was_first)
        atomic_store(&state, start(late, preload) ? STARTED : REFUSED);
    for (int i = 0; i < 1000 && atomic_load(&state) == STARTING; i++)
        nanosleep(&(const struct timespec){0, 1000000}, NULL);
    return atomic_load(&state) == STARTED;
}

bool core_started(const struct shim_preload *preload)
{
    bool was_first;
    return start_once(1, preload, &was_first);
}

const struct shim_core *trshim_core_start(int late, const struct shim_preload *preload)
{
    bool was_first;
    if (!start_once(late, preload, &was_first))
        return NULL;
    if (!was_first)
        process.preload = preload; /* a plugin came first: from now on threads are known by the preload's records */
    return &table;
}
