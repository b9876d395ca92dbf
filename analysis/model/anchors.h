/* anchors.h - anchors of a thread during the survey: one stepper and its statistics per way of telling steps apart. */
#ifndef TRSHIM_ANALYSIS_ANCHORS_H
#define TRSHIM_ANALYSIS_ANCHORS_H

#include "analysis/model/job.h"

/* Learns an anchor of a thread. 0 or -ENOMEM. */
int anchors_learn(struct job *job, struct thread *thread, const struct tr_anchor *anchor);

/* Survey of all channels, when DataLoader ranges are the steps: first their ends are kept with what follows them
 * (microbatches.h); once job->per_step is known, they are counted again. 0 or -ENOMEM. */
int anchors_regroup(struct job *job, struct thread *thread, const struct event *event);
void anchors_forget_hand_overs(struct job *job, struct thread *thread);

/* The thread made a child process: see stepper_epoch(). */
void anchors_child(struct thread *thread);

/* All anchors have been seen. */
void anchors_finish(struct thread *thread);

void anchors_free(struct anchors *anchors); /* accepts NULL */

/* The name of a range with its numbers blanked out, as a key. */
struct map_key anchors_pattern(const char *text);

/* Whether a NVTX range of this name can be a step: by the user's expression, else because it says so. */
bool anchors_is_step(const struct job *job, const char *text);

/* The pattern whose ranges took most time, NULL if there are none. */
const struct range_pattern *anchors_best_pattern(const struct anchors *anchors);

/* Makes `anchors` of a thread that has none. 0 or -ENOMEM. */
int anchors_get(struct thread *thread);

/* Gives an anchor to a rank's stepper, if it is one of the method and pattern in use. */
void anchors_follow(struct job *job, struct rank *rank, const struct tr_anchor *anchor);

#endif
