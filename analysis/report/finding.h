/* finding.h - how passes raise findings.
 *
 *     struct finding *f = finding_raise(report, "dataloader-bound", culprit, severity_of_share(share), 0.9);
 *     finding_add_rank(f, 7);
 *     finding_lost(f, lost_ns, lost_s);
 *     finding_set_share(f, "share", share);
 *     finding_set_time(f, "wait", wait_ns);
 *     finding_cause(f, "storage");
 *     finding_evidence(f, "wait");
 *
 * The words are in text_en.def and text_zh.def, never in a pass: a pass picks sentences by key and gives the
 * parameters they name in braces. What a finding has no key for uses the sentence with key "". A part of a sentence
 * in [brackets] is left out when one of its parameters was not given. The brief one goes with the cause's key.
 * Setters ignore a NULL finding, so that a pass need not check for memory: report_finish() returns -ENOMEM then. */
#ifndef TRSHIM_ANALYSIS_FINDING_H
#define TRSHIM_ANALYSIS_FINDING_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/report/report.h"

struct finding;

/* Raises finding `id` about `culprit` (what tells two of an id apart: a file group, a host, a path; NULL for none).
 * A second call with the same id and culprit returns the same finding, with the higher severity and confidence.
 * NULL when memory ran out, or the id has no texts (a bug: report_finish() returns -EINVAL then). */
struct finding *finding_raise(struct report *report, const char *id, const char *culprit, enum severity severity,
                              double confidence);

/* Whether a finding with this id was raised, whatever its culprit. */
bool finding_is_raised(const struct report *report, const char *id);

/* Whether a finding with this id has the rank among its culprits. */
bool finding_blames(const struct report *report, const char *id, int rank);

/* high at 15 % of the time, medium at 5 %, else low. */
enum severity severity_of_share(double share);

void finding_add_rank(struct finding *finding, int rank); /* culprit; -1 is left out; none at all reads "all" */
void finding_add_victim(struct finding *finding, int rank);
void finding_add_host(struct finding *finding, const char *host);

/* Time lost per culprit rank over the whole run, and by all ranks together in seconds. Adds up over calls. */
void finding_lost(struct finding *finding, int64_t ns_per_rank, double gpu_seconds);

/* id of the finding this one follows from. */
void finding_caused_by(struct finding *finding, const char *id);

/* Parameters. The last value of a name counts. {hosts} is there without being set, where hosts were added. */
void finding_set(struct finding *finding, const char *param, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void finding_set_bytes(struct finding *finding, const char *param, double bytes);                /* 3.1 GiB */
void finding_set_rate(struct finding *finding, const char *param, double bytes_per_second);      /* 90 MB/s */
void finding_set_time(struct finding *finding, const char *param, double ns);                    /* 213 ms */
void finding_set_share(struct finding *finding, const char *param, double share);                /* 38 % */
void finding_set_count(struct finding *finding, const char *param, uint64_t count);              /* 12,345 */
void finding_set_ranks(struct finding *finding, const char *param, const int *ranks, size_t nr); /* 0-6,9 */

/* Choose sentences by key. what, cause and fix: the last choice counts. evidence and others: in the order of the calls,
 * each key once. */
void finding_what(struct finding *finding, const char *key);
void finding_cause(struct finding *finding, const char *key);
void finding_fix(struct finding *finding, const char *key);
void finding_evidence(struct finding *finding, const char *key);
void finding_other(struct finding *finding, const char *key);

#endif
