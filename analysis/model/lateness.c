/* lateness.c - see lateness.h. */
#include "analysis/model/lateness.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/model/median.h"
#include "analysis/pass/thresholds.h"

#define PENDING_MAX 4096 /* steps: ranks are a few apart; what is farther lacks a rank */

struct late_row {
    bool known;
    double own_ns, window_ns, class_ns[BC_MAX];
};

struct late_step {
    struct late_step *next;
    uint32_t step;
    size_t nr_known;
    struct late_row rows[]; /* by rank */
};

int lateness_init(struct lateness *lateness, const int *numbers, const int *teams, size_t nr)
{
    *lateness = (struct lateness){.nr_ranks = nr};
    lateness->ranks = calloc(nr + 1, sizeof(*lateness->ranks));
    if (!lateness->ranks)
        return -ENOMEM;
    for (size_t i = 0; i < nr; i++)
        lateness->ranks[i] = (struct late_rank){.number = numbers[i], .team = teams[i]};
    return 0;
}

static void free_steps(struct late_step *step)
{
    while (step) {
        struct late_step *next = step->next;
        free(step);
        step = next;
    }
}

void lateness_done(struct lateness *lateness)
{
    free_steps(lateness->pending);
    free_steps(lateness->spare);
    free(lateness->ranks);
    *lateness = (struct lateness){0};
}

/* ---- one step ------------------------------------------------------------------------------- */

/* Median of own times (cls < 0) or of a class, over the team. */
static double team_median(const struct lateness *lateness, const struct late_step *step, int team, int cls,
                          double *scratch, size_t *ret_nr)
{
    size_t nr = 0;

    for (size_t i = 0; i < lateness->nr_ranks; i++)
        if (lateness->ranks[i].team == team)
            scratch[nr++] = cls < 0 ? step->rows[i].own_ns : step->rows[i].class_ns[cls];
    *ret_nr = nr;
    return median_lower(scratch, nr);
}

static enum late_why why_of(const double *more_ns)
{
    double host = more_ns[BC_host] + more_ns[BC_other] + more_ns[BC_sync];
    double elsewhere = more_ns[BC_dataloader] + more_ns[BC_checkpoint] + more_ns[BC_copy_exposed];

    if (more_ns[BC_compute] >= host && more_ns[BC_compute] >= elsewhere)
        return LATE_kernels;
    return host >= elsewhere ? LATE_host : LATE_elsewhere;
}

static void judge_team(struct lateness *lateness, const struct late_step *step, int team, double *scratch)
{
    size_t late = SIZE_MAX, nr;
    double middle = team_median(lateness, step, team, -1, scratch, &nr);

    for (size_t i = 0; i < lateness->nr_ranks; i++)
        if (lateness->ranks[i].team == team && (late == SIZE_MAX || step->rows[i].own_ns > step->rows[late].own_ns))
            late = i;
    double excess = step->rows[late].own_ns - middle;
    if (nr < 2 || excess < (double)TH_LATE_NS_MIN || excess < TH_LATE_STEP * step->rows[late].window_ns)
        return;
    double more_ns[BC_MAX];
    for (int c = 0; c < BC_MAX; c++)
        more_ns[c] = step->rows[late].class_ns[c] - team_median(lateness, step, team, c, scratch, &nr);
    struct late_sum *sum = &lateness->ranks[late].by[why_of(more_ns)];
    sum->steps++;
    sum->lost_ns += excess;
    for (int c = 0; c < BC_MAX; c++)
        sum->class_ns[c] += more_ns[c];
}

static int judge_step(struct lateness *lateness, const struct late_step *step)
{
    double *scratch = malloc(lateness->nr_ranks * sizeof(*scratch)), window_ns = 0;

    if (!scratch)
        return -ENOMEM;
    for (size_t i = 0; i < lateness->nr_ranks; i++) {
        bool first = true;
        for (size_t j = 0; j < i && first; j++)
            first = lateness->ranks[j].team != lateness->ranks[i].team;
        if (first)
            judge_team(lateness, step, lateness->ranks[i].team, scratch);
        window_ns += step->rows[i].window_ns;
    }
    lateness->steps++;
    lateness->window_ns += window_ns / (double)lateness->nr_ranks;
    free(scratch);
    return 0;
}

/* ---- rows ----------------------------------------------------------------------------------- */

static size_t index_of(const struct lateness *lateness, int number)
{
    size_t low = 0, high = lateness->nr_ranks;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (lateness->ranks[mid].number < number)
            low = mid + 1;
        else
            high = mid;
    }
    return low < lateness->nr_ranks && lateness->ranks[low].number == number ? low : SIZE_MAX;
}

static void forget_step(struct lateness *lateness, struct late_step *step)
{
    struct late_step **at = &lateness->pending;

    while (*at != step)
        at = &(*at)->next;
    *at = step->next;
    lateness->nr_pending--;
    step->next = lateness->spare;
    lateness->spare = step;
}

static struct late_step *new_step(struct lateness *lateness, uint32_t number)
{
    size_t size = sizeof(struct late_step) + lateness->nr_ranks * sizeof(struct late_row);
    struct late_step *step = lateness->spare;

    if (step)
        lateness->spare = step->next;
    else if (!(step = malloc(size)))
        return NULL;
    memset(step, 0, size);
    step->step = number;
    step->next = lateness->pending;
    lateness->pending = step;
    lateness->nr_pending++;
    return step;
}

/* The newest first; few are pending. Beyond PENDING_MAX the oldest goes: a rank's row of it never came. */
static struct late_step *get_step(struct lateness *lateness, uint32_t number)
{
    struct late_step *step = lateness->pending;

    while (step && step->step != number)
        step = step->next;
    if (step)
        return step;
    if (lateness->nr_pending >= PENDING_MAX) {
        for (step = lateness->pending; step->next; step = step->next)
            ;
        forget_step(lateness, step);
    }
    return new_step(lateness, number);
}

int lateness_row(struct lateness *lateness, const struct report_step *row)
{
    size_t index = index_of(lateness, row->rank);
    struct late_step *step = index == SIZE_MAX ? NULL : get_step(lateness, row->step);
    int rc = 0;

    if (index == SIZE_MAX)
        return 0;
    if (!step)
        return -ENOMEM;
    struct late_row *late = &step->rows[index];
    step->nr_known += !late->known;
    late->known = true;
    late->window_ns = (double)(row->end_ns - row->start_ns);
    late->own_ns = late->window_ns - (double)row->comm_wait_ns;
    for (int c = 0; c < BC_MAX; c++)
        late->class_ns[c] = (double)row->class_ns[c];
    if (step->nr_known == lateness->nr_ranks) {
        rc = judge_step(lateness, step);
        forget_step(lateness, step);
    }
    return rc;
}
