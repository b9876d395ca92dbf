/* find_disk.c - disk-full: calls that failed for lack of room. */
#include <errno.h>
#include <stdlib.h>

#include "analysis/model/job.h"
#include "analysis/pass/judge.h"
#include "analysis/pass/pass.h"

static int finish(void *arg, struct report *report)
{
    const struct job *job = ((struct finder *)arg)->job;
    const struct save_full *full = &job->saves.full;
    if (!full->count)
        return 0;
    const char *path = full->name ? full->name->text : NULL;
    const struct mount *mount = full->name ? mounts_find(&job->mounts, full->name->host, full->name->dev, path) : NULL;
    const char *where = mount ? mount->point : path ? path : "?";
    struct finding *finding = finding_raise(report, "disk-full", where, SEVERITY_HIGH, 0.95);
    finding_set(finding, "mount", "%s", where);
    finding_set_count(finding, "failed", full->count);
    if (path)
        finding_set(finding, "path", "%s", path);
    finding_set(finding, "error", "%s", full->err == EDQUOT ? "EDQUOT" : "ENOSPC");
    finding_what(finding, "full");
    finding_cause(finding, "full");
    finding_evidence(finding, "failed");
    finding_other(finding, "quota");
    return 0;
}

const struct pass find_disk = {"find-disk", "disk-full", finder_new, NULL, finish, free};
