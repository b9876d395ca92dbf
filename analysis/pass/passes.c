/* passes.c - all passes, in the order in which they see an event and finish. Adding one: docs/HOWTO_ADD_PASS.md. */
#include <stddef.h>

#include "analysis/pass/pass.h"

extern const struct pass pass_job, pass_steps, pass_breakdown, pass_gpu, pass_memory, pass_io, pass_workers,
    pass_checkpoints, pass_transport, pass_collectives;
extern const struct pass find_cpu, find_storage, find_dataloader, find_checkpoint, find_disk, find_memory, find_gpu,
    find_start, find_nccl, find_comm, find_late, find_pipeline, find_hang, find_quality;

/* One a line. */
/* clang-format off */
const struct pass *const passes[] = {
    &pass_job,
    &pass_steps,
    &pass_breakdown,
    &pass_gpu,
    &pass_memory,
    &pass_io,
    &pass_workers,
    &pass_checkpoints,
    &pass_transport,
    &pass_collectives,
    &find_cpu,
    &find_storage,
    &find_dataloader,
    &find_checkpoint,
    &find_disk,
    &find_memory,
    &find_gpu,
    &find_start,
    &find_nccl,
    &find_hang,
    &find_comm,
    &find_late,
    &find_pipeline,
    &find_quality,
    NULL,
};
/* clang-format on */
