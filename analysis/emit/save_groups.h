/* save_groups.h - checkpoints of one name, or of names that differ in numbers only, put together: "step-*.pt", 12
 * saves. */
#ifndef TRSHIM_ANALYSIS_SAVE_GROUPS_H
#define TRSHIM_ANALYSIS_SAVE_GROUPS_H

#include "analysis/report/report.h"

struct save_group {
    char *path; /* owned; numbers that vary are "*" */
    uint64_t saves;
    uint32_t varies;               /* bit set of the numbers in the path that differ between saves */
    struct report_checkpoint mean; /* bytes, duration and stall are means; safe if all are, sync if any is; its path is
                                    * that of the first, borrowed */
};

struct save_groups {
    struct save_group *group; /* owned; in order of the first save */
    size_t nr;
};

/* 0 or -ENOMEM; call save_groups_done() either way. */
int save_groups_init(struct save_groups *groups, const struct report_checkpoint *rows, size_t nr);
void save_groups_done(struct save_groups *groups);

#endif
