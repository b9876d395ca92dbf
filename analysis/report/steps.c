/* steps.c - see steps.h. */
#include "analysis/report/steps.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/report/private.h"

#define ROWS_IN_MEMORY 32768 /* about 5 MiB; then they are written out together */

void steps_done(struct steps *steps)
{
    if (steps->spool)
        fclose(steps->spool);
    free(steps->rows);
    free(steps->ranks);
    free(steps->seen);
    free(steps->warm);
}

/* ---- rows */

/* Moves the rows in memory to the file. Without one (no TMPDIR that can be written) they stay in memory. */
static int spool_rows(struct steps *steps)
{
    if (!steps->spool)
        steps->spool = tmpfile();
    if (!steps->spool)
        return 0;
    if (fwrite(steps->rows, sizeof *steps->rows, steps->nr_rows, steps->spool) != steps->nr_rows)
        return -EIO;
    steps->nr_spooled += steps->nr_rows;
    steps->nr_rows = 0;
    return 0;
}

static int keep_row(struct steps *steps, const struct report_step *row)
{
    if (steps->nr_rows && steps->nr_rows % ROWS_IN_MEMORY == 0) {
        int rc = spool_rows(steps);
        if (rc)
            return rc;
    }
    /* After a spool the array is big enough already. */
    if (steps->nr_spooled == 0 && report_grow(&steps->rows, steps->nr_rows, sizeof *steps->rows))
        return -ENOMEM;
    steps->rows[steps->nr_rows++] = *row;
    return 0;
}

int steps_each(struct steps *steps, report_step_fn fn, void *arg)
{
    if (steps->spool) {
        if (fflush(steps->spool) || fseeko(steps->spool, 0, SEEK_SET))
            return -EIO;
        for (uint64_t i = 0; i < steps->nr_spooled; i++) {
            struct report_step row;
            if (fread(&row, sizeof row, 1, steps->spool) != 1)
                return -EIO;
            int rc = fn(arg, &row);
            if (rc)
                return rc;
        }
        if (fseeko(steps->spool, 0, SEEK_END))
            return -EIO;
    }
    for (size_t i = 0; i < steps->nr_rows; i++) {
        int rc = fn(arg, &steps->rows[i]);
        if (rc)
            return rc;
    }
    return 0;
}

/* ---- sums */

static int64_t add_known(int64_t sum, int64_t value)
{
    return sum == TR_UNKNOWN || value == TR_UNKNOWN ? TR_UNKNOWN : sum + value;
}

static int64_t scale(int64_t part, int64_t known, int64_t all)
{
    return known == all ? part : (int64_t)llround((double)part / (double)known * (double)all);
}

/* One window that nobody can split must not make the sum unknown. */
static void add_split(struct report_breakdown *sum, const struct report_step *row)
{
    int64_t exposed_ns = sum->class_ns[BC_comm_exposed];
    if (row->comm_wait_ns != TR_UNKNOWN) {
        sum->comm_known_ns += (int64_t)(row->end_ns - row->start_ns);
        sum->known_exposed_ns += row->class_ns[BC_comm_exposed];
        sum->known_wait_ns += row->comm_wait_ns;
        sum->known_bubble_ns += row->pp_bubble_ns;
    }
    sum->comm_wait_ns = sum->comm_transfer_ns = sum->pp_bubble_ns = TR_UNKNOWN;
    bool known = sum->comm_known_ns > 0 && (double)sum->comm_known_ns >= REPORT_COMM_KNOWN * (double)sum->window_ns;
    if (!known || (!sum->known_exposed_ns && exposed_ns))
        return;
    sum->comm_wait_ns = scale(sum->known_wait_ns, sum->known_exposed_ns, exposed_ns);
    sum->pp_bubble_ns = scale(sum->known_bubble_ns, sum->known_exposed_ns, exposed_ns);
    sum->comm_transfer_ns = exposed_ns - sum->comm_wait_ns;
}

static void breakdown_add(struct report_breakdown *sum, const struct report_step *row)
{
    sum->steps++;
    sum->window_ns += row->end_ns - row->start_ns;
    for (int c = 0; c < BC_MAX; c++)
        sum->class_ns[c] += row->class_ns[c];
    add_split(sum, row);
    sum->comm_overlapped_ns = add_known(sum->comm_overlapped_ns, row->comm_overlapped_ns);
    sum->dataloader_host_wait_ns = add_known(sum->dataloader_host_wait_ns, row->dataloader_host_wait_ns);
}

/* Finds or inserts the sums of a rank. */
static struct steps_rank *rank_sums(struct steps *steps, int rank)
{
    size_t low = 0, high = steps->nr_ranks;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (steps->ranks[mid].rank < rank)
            low = mid + 1;
        else
            high = mid;
    }
    if (low < steps->nr_ranks && steps->ranks[low].rank == rank)
        return &steps->ranks[low];
    if (report_grow(&steps->ranks, steps->nr_ranks, sizeof *steps->ranks))
        return NULL;
    memmove(&steps->ranks[low + 1], &steps->ranks[low], (steps->nr_ranks - low) * sizeof *steps->ranks);
    steps->nr_ranks++;
    memset(&steps->ranks[low], 0, sizeof *steps->ranks);
    steps->ranks[low].rank = steps->ranks[low].steady.rank = steps->ranks[low].all.rank = rank;
    steps->ranks[low].all.all_windows = true;
    return &steps->ranks[low];
}

/* Sets the bit; returns 1 if it was not set, 0 if it was. */
static int set_bit(uint64_t *words, uint32_t bit)
{
    uint64_t mask = 1ull << (bit % 64);
    int fresh = !(words[bit / 64] & mask);
    words[bit / 64] |= mask;
    return fresh;
}

static int count_step(struct report *report, struct steps *steps, const struct report_step *row)
{
    size_t need = row->step / 64 + 1;
    if (need > steps->nr_words) {
        size_t nr = need < 64 ? 64 : need * 2;
        uint64_t *seen = realloc(steps->seen, nr * sizeof *seen);
        if (seen)
            steps->seen = seen;
        uint64_t *warm = realloc(steps->warm, nr * sizeof *warm);
        if (warm)
            steps->warm = warm;
        if (!seen || !warm)
            return -ENOMEM;
        memset(seen + steps->nr_words, 0, (nr - steps->nr_words) * sizeof *seen);
        memset(warm + steps->nr_words, 0, (nr - steps->nr_words) * sizeof *warm);
        steps->nr_words = nr;
    }
    report->steps.count += set_bit(steps->seen, row->step);
    if (row->warmup)
        report->steps.warmup += set_bit(steps->warm, row->step);
    return 0;
}

/* ---- distribution: exact below SLOTS ns, then SLOTS slots for each doubling */

#define SLOTS_LOG2 7
#define SLOTS (1u << SLOTS_LOG2)

static unsigned histogram_slot(uint64_t ns)
{
    if (ns < SLOTS)
        return (unsigned)ns;
    unsigned log2 = 63 - (unsigned)__builtin_clzll(ns), shift = log2 - SLOTS_LOG2;
    unsigned slot = SLOTS * (shift + 1) + (unsigned)((ns >> shift) & (SLOTS - 1));
    return slot < STEPS_HISTOGRAM ? slot : STEPS_HISTOGRAM - 1;
}

/* Middle of a slot. */
static double histogram_value(unsigned slot)
{
    if (slot < SLOTS)
        return slot;
    double width = ldexp(1, (int)(slot / SLOTS) - 1);
    return (SLOTS + slot % SLOTS + 0.5) * width;
}

static void lengths_add(struct steps_lengths *lengths, uint64_t ns, bool first)
{
    lengths->slots[histogram_slot(ns)]++;
    if (first || ns < lengths->min_ns)
        lengths->min_ns = ns;
    if (ns > lengths->max_ns)
        lengths->max_ns = ns;
}

double report_step_percentile_ns(const struct report *report, double p)
{
    const struct steps *steps = &report->priv->steps;
    const struct steps_lengths *lengths = steps->steady_mean.steps ? &steps->steady_lengths : &steps->all_lengths;
    uint64_t total = report_mean(report)->steps, seen = 0;

    for (unsigned i = 0; total && i < STEPS_HISTOGRAM; i++) {
        seen += lengths->slots[i];
        if ((double)seen >= p * (double)total)
            return fmin(fmax(histogram_value(i), (double)lengths->min_ns), (double)lengths->max_ns);
    }
    return NAN;
}

double report_step_mean_ns(const struct report *report)
{
    const struct report_breakdown *mean = report_mean(report);
    return mean->steps ? (double)mean->window_ns / (double)mean->steps : NAN;
}

/* ---- series */

/* Joins neighbours, so that the series spans twice as many steps. */
static void series_halve(struct report_series *series)
{
    for (size_t i = 0; i < REPORT_SERIES_MAX; i++) {
        size_t to = i / 2;
        if (i % 2 == 0) {
            series->points[to] = series->points[i];
        } else {
            series->points[to].sum_ns += series->points[i].sum_ns;
            series->points[to].count += series->points[i].count;
            if (series->points[to].max_ns < series->points[i].max_ns)
                series->points[to].max_ns = series->points[i].max_ns;
        }
    }
    memset(series->points + REPORT_SERIES_MAX / 2, 0, sizeof series->points / 2);
    series->nr = (series->nr + 1) / 2;
    series->stride *= 2;
}

static void series_add(struct report_series *series, const struct report_step *row)
{
    if (!series->stride)
        series->stride = 1;
    while (row->step / series->stride >= REPORT_SERIES_MAX)
        series_halve(series);
    size_t at = row->step / series->stride;
    uint64_t ns = row->end_ns - row->start_ns;
    series->points[at].sum_ns += ns;
    series->points[at].count++;
    if (series->points[at].max_ns < ns)
        series->points[at].max_ns = ns;
    if (series->nr <= at)
        series->nr = at + 1;
}

/* ---- entry */

int steps_add(struct report *report, const struct report_step *row)
{
    struct steps *steps = &report->priv->steps;
    int64_t sum = 0;

    for (int c = 0; c < BC_MAX; c++) {
        if (row->class_ns[c] < 0)
            return -EINVAL;
        sum += row->class_ns[c];
    }
    if (row->end_ns < row->start_ns || (uint64_t)sum != row->end_ns - row->start_ns)
        return -EINVAL;

    struct steps_rank *rank = rank_sums(steps, row->rank);
    if (!rank)
        return -ENOMEM;
    int rc = count_step(report, steps, row);
    if (!rc)
        rc = keep_row(steps, row);
    if (rc)
        return rc;

    uint64_t length_ns = row->end_ns - row->start_ns;
    lengths_add(&steps->all_lengths, length_ns, !steps->all_mean.steps);
    breakdown_add(&rank->all, row);
    breakdown_add(&steps->all_mean, row);
    steps->all_mean.all_windows = true;
    if (!row->warmup && !row->incomplete) {
        lengths_add(&steps->steady_lengths, length_ns, !steps->steady_mean.steps);
        breakdown_add(&rank->steady, row);
        breakdown_add(&steps->steady_mean, row);
    }
    steps->all_mean.rank = steps->steady_mean.rank = INT_MIN;
    if (!row->incomplete)
        series_add(&report->series, row);
    return 0;
}

const struct report_breakdown *report_breakdown(const struct report *report, int rank)
{
    const struct steps *steps = &report->priv->steps;
    for (size_t i = 0; i < steps->nr_ranks; i++)
        if (steps->ranks[i].rank == rank)
            return steps->ranks[i].steady.steps ? &steps->ranks[i].steady : &steps->ranks[i].all;
    return NULL;
}

const struct report_breakdown *report_mean(const struct report *report)
{
    const struct steps *steps = &report->priv->steps;
    return steps->steady_mean.steps ? &steps->steady_mean : &steps->all_mean;
}

double report_share(const struct report_breakdown *breakdown, int64_t ns)
{
    if (!breakdown || !breakdown->window_ns || ns == TR_UNKNOWN)
        return 0;
    return (double)ns / (double)breakdown->window_ns;
}
