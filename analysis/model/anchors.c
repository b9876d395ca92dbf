/* anchors.c - see anchors.h. */
#include "analysis/model/anchors.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "analysis/options.h"

static const enum anchor_method method_of_kind[TR_anchor_kind_MAX] = {
    [TR_anchor_kind_mark] = ANCHORS_mark,
    [TR_anchor_kind_nvtx] = ANCHORS_nvtx,
    [TR_anchor_kind_optimizer] = ANCHORS_optimizer,
    [TR_anchor_kind_dataloader] = ANCHORS_dataloader,
};

void anchors_free(struct anchors *anchors)
{
    if (!anchors)
        return;
    free(anchors->patterns);
    free(anchors);
}

int anchors_get(struct thread *thread)
{
    if (thread->anchors)
        return 0;
    thread->anchors = calloc(1, sizeof(*thread->anchors));
    if (!thread->anchors)
        return -ENOMEM;
    for (unsigned i = 0; i < ANCHORS_MAX; i++)
        stepper_init(&thread->anchors->steppers[i], i, step_stats_point, &thread->anchors->stats[i]);
    return 0;
}

struct map_key anchors_pattern(const char *text)
{
    char blanked[256];
    size_t len = 0;
    for (const char *p = text; *p && len < sizeof(blanked) - 1; p++) {
        bool digit = isdigit((unsigned char)*p);
        if (digit && len && blanked[len - 1] == '#')
            continue;
        blanked[len++] = digit ? '#' : *p;
    }
    blanked[len] = '\0';
    return map_hash(blanked, 0);
}

bool anchors_is_step(const struct job *job, const char *text)
{
    if (job->has_regex)
        return !regexec(&job->regex, text, 0, NULL, 0);
    return job->options->steps == STEP_METHOD_nvtx || strcasestr(text, "step") || strcasestr(text, "iter");
}

static struct range_pattern *pattern_get(struct anchors *anchors, struct map_key key)
{
    for (size_t i = 0; i < anchors->nr_patterns; i++)
        if (anchors->patterns[i].key.hi == key.hi && anchors->patterns[i].key.lo == key.lo)
            return &anchors->patterns[i];
    if (!anchors->patterns)
        anchors->patterns = calloc(RANGE_PATTERNS_MAX, sizeof(*anchors->patterns));
    if (!anchors->patterns || anchors->nr_patterns == RANGE_PATTERNS_MAX)
        return NULL;
    struct range_pattern *pattern = &anchors->patterns[anchors->nr_patterns++];
    pattern->key = key;
    stepper_init(&pattern->stepper, ANCHORS_nvtx, step_stats_point, &pattern->stats);
    return pattern;
}

const struct range_pattern *anchors_best_pattern(const struct anchors *anchors)
{
    const struct range_pattern *best = NULL;
    for (size_t i = 0; i < anchors->nr_patterns; i++) {
        const struct range_pattern *pattern = &anchors->patterns[i];
        /* What repeats is a step, what encloses it all is not; of those that repeat, the outermost takes most time. */
        bool repeats = pattern->stats.nr_points > 1, best_repeats = best && best->stats.nr_points > 1;
        if (!best || repeats > best_repeats || (repeats == best_repeats && pattern->total_ns > best->total_ns) ||
            (repeats == best_repeats && pattern->total_ns == best->total_ns &&
             pattern->stats.nr_points > best->stats.nr_points))
            best = pattern;
    }
    return best;
}

static int learn_nvtx(struct job *job, struct thread *thread, const struct tr_anchor *anchor)
{
    const struct name *name = job_name(job, thread->process, anchor->name);
    if (!name || !anchors_is_step(job, name->text))
        return 0;
    struct range_pattern *pattern = pattern_get(thread->anchors, anchors_pattern(name->text));
    if (!pattern)
        return thread->anchors->patterns ? 0 : -ENOMEM;
    pattern->total_ns += anchor->dur_ns;
    stepper_anchor(&pattern->stepper, anchor->start_ns, anchor->start_ns + anchor->dur_ns);
    return 0;
}

int anchors_learn(struct job *job, struct thread *thread, const struct tr_anchor *anchor)
{
    uint64_t end = anchor->start_ns + anchor->dur_ns;
    if (anchor->kind >= TR_anchor_kind_MAX)
        return 0;
    if (anchors_get(thread))
        return -ENOMEM;
    struct anchors *anchors = thread->anchors;
    enum anchor_method method = method_of_kind[anchor->kind];
    if (end > anchors->last_end_ns)
        anchors->last_end_ns = end;
    if (method == ANCHORS_nvtx)
        return learn_nvtx(job, thread, anchor);
    if (method == ANCHORS_dataloader) {
        if (!anchors->data_end_ns) {
            anchors->first_data_ns = anchor->dur_ns;
            anchors->first_data_start_ns = anchor->start_ns;
        }
        anchors->data_end_ns = end;
        stepper_data(&anchors->steppers[ANCHORS_optimizer]);
    } else {
        thread->nr_anchors++;
    }
    stepper_anchor(&anchors->steppers[method], anchor->start_ns, end);
    return 0;
}

int anchors_regroup(struct job *job, struct thread *thread, const struct event *event)
{
    const struct tr_anchor *anchor = &event->u.anchor;
    if (!thread->anchors)
        return 0;
    if (event->kind == EV_child && job->per_step > 1)
        anchors_child(thread);
    if (event->kind != EV_anchor || anchor->kind != TR_anchor_kind_dataloader)
        return 0;
    uint64_t end = anchor->start_ns + anchor->dur_ns;
    if (job->per_step == 1)
        return microbatches_hand_over(&thread->process->micro, end);
    stepper_anchor(&thread->anchors->steppers[ANCHORS_dataloader], anchor->start_ns, end);
    return 0;
}

void anchors_forget_hand_overs(struct job *job, struct thread *thread)
{
    struct anchors *anchors = thread->anchors;
    struct stepper *stepper = &anchors->steppers[ANCHORS_dataloader];
    anchors->stats[ANCHORS_dataloader] = (struct step_stats){0};
    stepper_init(stepper, ANCHORS_dataloader, step_stats_point, &anchors->stats[ANCHORS_dataloader]);
    stepper->per_step = job->per_step;
    stepper->phase = thread->process->phase;
}

void anchors_child(struct thread *thread)
{
    if (thread->anchors)
        stepper_epoch(&thread->anchors->steppers[ANCHORS_dataloader]);
}

/* The last hand-off of a loop brings no batch but the news that there is no more. It ends the last window instead of
 * beginning one, unless the process was cut off in the middle. */
void anchors_finish(struct thread *thread)
{
    struct anchors *anchors = thread->anchors;
    if (!anchors)
        return;
    if (thread->process->exit_ns)
        stepper_epoch(&anchors->steppers[ANCHORS_dataloader]);
    for (unsigned i = 0; i < ANCHORS_MAX; i++)
        stepper_finish(&anchors->steppers[i]);
    const struct range_pattern *best = anchors_best_pattern(anchors);
    if (best)
        anchors->stats[ANCHORS_nvtx] = best->stats;
}

void anchors_follow(struct job *job, struct rank *rank, const struct tr_anchor *anchor)
{
    uint64_t end = anchor->start_ns + anchor->dur_ns;
    if (anchor->kind >= TR_anchor_kind_MAX)
        return;
    enum anchor_method method = method_of_kind[anchor->kind];
    if (method == ANCHORS_dataloader)
        stepper_data(&rank->stepper);
    if (method != job->method || (method == ANCHORS_dataloader && rank->waits_only))
        return;
    if (method == ANCHORS_nvtx) {
        const struct name *name = job_name(job, rank->process, anchor->name);
        if (!name || !anchors_is_step(job, name->text))
            return;
        struct map_key key = anchors_pattern(name->text);
        if (key.hi != rank->pattern.hi || key.lo != rank->pattern.lo)
            return;
    }
    stepper_anchor(&rank->stepper, anchor->start_ns, end);
}
