/* judge.h - what finders have in common: is there enough to judge by, how grave is it, and shares of time.
 *
 * A finder (find_*.c) is a pass without events: when all measuring passes are done it looks at job->facts and the
 * model, and raises findings. */
#ifndef TRSHIM_ANALYSIS_JUDGE_H
#define TRSHIM_ANALYSIS_JUDGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/model/facts.h"
#include "analysis/report/finding.h"

struct job;
struct options;
struct process;

/* State of a finder: all of them need no more. */
struct finder {
    struct job *job;
};

void *finder_new(const struct options *options, struct job *job, struct report *report);

/* Confidence of a finding about shares of `windows` steady windows: 0 when they are too few to say anything. */
double judge_confidence(const struct job *job, uint64_t windows);

/* The same of a rank's, less where GPU times are missing in some. */
double judge_rank(const struct job *job, const struct rank_facts *facts);

/* Whether clocks of hosts are close enough for a claim about `ns` between ranks: it is three times their error. */
bool judge_clocks(const struct report *report, double ns);

/* part / whole, 0 when there is no whole. */
double judge_share(uint64_t part, uint64_t whole);

/* Share of the steady windows of a rank that is of a class. */
double judge_class(const struct rank_facts *facts, enum breakdown_class cls);

/* The largest data share of any rank, among those with enough windows. */
double judge_data_share(const struct job *job);

/* CPUs the process may use: by mask and by the cgroup's limit; 0 unknown. Those of the host; 0 unknown. */
double judge_cpus_allowed(const struct process *process);
double judge_cpus_online(const struct process *process);

/* Whether the process was recorded at level light: single reads, waits and pipes are not in the trace. */
bool judge_is_light(const struct process *process);

/* Share of its time in which the training thread was ready to run, without a CPU; 0 also if that is not known. */
double judge_trainer_ready(const struct rank_facts *facts);

/* Share of their time in which loaders of the rank (NULL: all), and the training thread, were ready without a CPU. */
double judge_runnable(const struct job *job, const struct rank *rank);

/* Share of the loaders' busy time that they were inside reads and look-ups but on no CPU, as far as can be told. */
double judge_blocked_in_reads(const struct loader_sum *sum);

/* What the finding is about, in words: the directory, file or peer. */
const char *judge_place(const struct group_facts *group);

#endif
