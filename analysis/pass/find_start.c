/* find_start.c - slow-start: what happens before the first step, and takes long. Told of the first rank: the others
 * wait for each other when they join. */
#include <stdlib.h>
#include <string.h>

#include "analysis/model/job.h"
#include "analysis/pass/judge.h"
#include "analysis/pass/pass.h"
#include "analysis/pass/thresholds.h"

static double first_batch_ns(const struct rank *rank)
{
    const struct anchors *anchors = rank->trainer->anchors;
    return anchors && anchors->first_data_ns && anchors->first_data_start_ns < rank->begin_ns
               ? (double)anchors->first_data_ns
               : 0;
}

static void tell_biggest(struct finding *finding, const struct start_facts *start, double load, double first,
                         double rest)
{
    double imports = (double)start->software_ns;
    if (start->software && imports >= load && imports >= first && imports >= rest) {
        finding_set_time(finding, "biggest", imports);
        finding_set(finding, "place", "%s", start->software->text);
        finding_cause(finding, "imports");
        finding_fix(finding, "imports");
    } else if (start->load && load >= first && load >= rest) {
        finding_set_time(finding, "biggest", load);
        finding_set(finding, "place", "%s", start->load->text);
        finding_set_rate(finding, "rate", (double)start->load_bytes * 1e9 / load);
        finding_cause(finding, "load");
        finding_fix(finding, "load");
    } else if (first >= rest) {
        finding_set_time(finding, "biggest", first);
        finding_cause(finding, "first-batch");
        finding_fix(finding, "first-batch");
    } else {
        finding_set_time(finding, "biggest", rest);
        finding_cause(finding, "compute");
        finding_fix(finding, "compute");
    }
}

static int finish(void *arg, struct report *report)
{
    const struct job *job = ((struct finder *)arg)->job;
    const struct rank *rank = job->nr_ranks ? job->ranks[0] : NULL;
    if (!rank || job->method == ANCHORS_run || rank->begin_ns < rank->process->start_ns)
        return 0;
    double before = (double)(rank->begin_ns - rank->process->start_ns);
    double run = (double)(rank->end_ns - rank->process->start_ns), share = before / run;
    if (before < TH_SLOW_START_NS || share < TH_SLOW_START_SHARE)
        return 0;
    const struct start_facts *start = &job->facts->start;
    double imports = (double)start->software_ns, load = (double)start->load_ns, first = first_batch_ns(rank);
    double rest = before - imports - load - first;
    struct finding *finding = finding_raise(report, "slow-start", NULL, SEVERITY_MEDIUM, 0.8);
    finding_add_rank(finding, rank->number);
    finding_lost(finding, (int64_t)before, before / 1e9);
    finding_set_time(finding, "start", before);
    finding_set_share(finding, "share", share);
    finding_set_time(finding, "imports", imports);
    finding_set_time(finding, "load", load);
    finding_set_time(finding, "first", first);
    finding_set_time(finding, "rest", rest > 0 ? rest : 0);
    finding_set_count(finding, "files", start->software_calls);
    finding_set_count(finding, "failed", start->software_failed);
    finding_set_time(finding, "meta", imports);
    finding_set_bytes(finding, "bytes", (double)start->load_bytes);
    tell_biggest(finding, start, load, first, rest);
    finding_evidence(finding, "parts");
    finding_evidence(finding, "files");
    if (start->load_bytes)
        finding_evidence(finding, "bytes");
    finding_other(finding, "steps");
    return 0;
}

const struct pass find_start = {"find-start", "slow-start", finder_new, NULL, finish, free};
