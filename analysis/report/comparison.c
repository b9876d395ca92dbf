/* comparison.c - see comparison.h. */
#include "analysis/report/comparison.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CHANGED_SHARE 0.01 /* of a step: less is nothing to act on, however sure */

const char *const comparison_part_names[CMP_MAX] = {
    [CMP_step] = "step",
#define CLASS(name, heading) [CMP_##name] = #name,
    BREAKDOWN_CLASSES(CLASS)
#undef CLASS
        [CMP_comm_wait] = "comm_wait",
    [CMP_comm_transfer] = "comm_transfer",
    [CMP_pp_bubble] = "pp_bubble",
};

/* Mean and sum of squared distances from it, as values come (Welford). */
struct spread {
    double mean, squares;
    uint64_t nr;
};

struct rank_spreads {
    int rank;
    struct spread parts[CMP_MAX];
};

struct side {
    struct rank_spreads *ranks; /* owned; ascending */
    size_t nr;
    bool all_windows; /* there are no steady ones */
};

static void spread_add(struct spread *spread, double value)
{
    double distance = value - spread->mean;

    spread->nr++;
    spread->mean += distance / (double)spread->nr;
    spread->squares += distance * (value - spread->mean);
}

static struct rank_spreads *rank_of(struct side *side, int rank)
{
    size_t at = 0;

    while (at < side->nr && side->ranks[at].rank < rank)
        at++;
    if (at < side->nr && side->ranks[at].rank == rank)
        return &side->ranks[at];
    struct rank_spreads *larger = realloc(side->ranks, (side->nr + 1) * sizeof(*larger));
    if (!larger)
        return NULL;
    side->ranks = larger;
    memmove(larger + at + 1, larger + at, (side->nr++ - at) * sizeof(*larger));
    larger[at] = (struct rank_spreads){.rank = rank};
    return &larger[at];
}

static int add_step(void *arg, const struct report_step *row)
{
    struct side *side = arg;
    const int64_t parts[] = {[CMP_comm_wait] = row->comm_wait_ns,
                             [CMP_comm_transfer] = row->comm_transfer_ns,
                             [CMP_pp_bubble] = row->pp_bubble_ns};

    if (!side->all_windows && (row->warmup || row->incomplete))
        return 0;
    struct rank_spreads *rank = rank_of(side, row->rank);
    if (!rank)
        return -ENOMEM;
    spread_add(&rank->parts[CMP_step], (double)(row->end_ns - row->start_ns));
    for (unsigned c = 0; c < BC_MAX; c++)
        spread_add(&rank->parts[CMP_compute + c], (double)row->class_ns[c]);
    for (unsigned part = CMP_comm_wait; part < CMP_MAX; part++)
        if (parts[part] != TR_UNKNOWN)
            spread_add(&rank->parts[part], (double)parts[part]);
    return 0;
}

/* Of all ranks: their mean, the variance of single steps about their own rank's, and how many steps say so. */
struct level {
    double mean, variance, nr;
};

static struct level level_of(const struct side *side, enum comparison_part part)
{
    struct level level = {0};
    double squares = 0, freedom = 0, nr_ranks = 0;

    for (size_t i = 0; i < side->nr; i++) {
        const struct spread *spread = &side->ranks[i].parts[part];
        if (!spread->nr)
            continue;
        nr_ranks++;
        level.mean += spread->mean;
        squares += spread->squares;
        freedom += (double)spread->nr - 1;
        level.nr = (double)spread->nr > level.nr ? (double)spread->nr : level.nr;
    }
    level.mean = nr_ranks > 0 ? level.mean / nr_ranks : NAN;
    level.variance = freedom > 0 ? squares / freedom : NAN;
    return level;
}

/* The 97.5 % point of Student's t, by its expansion about the normal one; below 1 % off from 3 degrees on. */
static double student(double freedom)
{
    const double z = 1.959964, z3 = z * z * z, z5 = z3 * z * z;

    return z + (z3 + z) / (4 * freedom) + (5 * z5 + 16 * z3 + 3 * z) / (96 * freedom * freedom);
}

/* Welch's interval of the difference of two means. */
static void compare_levels(const struct level *a, const struct level *b, struct comparison_row *row)
{
    double va = a->variance / a->nr, vb = b->variance / b->nr, v = va + vb;

    *row = (struct comparison_row){
        .a_ns = a->mean, .b_ns = b->mean, .difference_ns = b->mean - a->mean, .low_ns = NAN, .high_ns = NAN};
    if (!isfinite(v) || a->nr < 2 || b->nr < 2)
        return;
    double freedom = v > 0 ? v * v / (va * va / (a->nr - 1) + vb * vb / (b->nr - 1)) : 1e9;
    double half = student(freedom) * sqrt(v);
    row->low_ns = row->difference_ns - half;
    row->high_ns = row->difference_ns + half;
}

static void compare_parts(const struct side *a, const struct side *b, struct comparison *ret)
{
    for (unsigned part = 0; part < CMP_MAX; part++) {
        struct level of_a = level_of(a, part), of_b = level_of(b, part);
        struct comparison_row *row = &ret->rows[part];
        compare_levels(&of_a, &of_b, row);
        row->changed = (row->low_ns > 0 || row->high_ns < 0) &&
                       fabs(row->difference_ns) >= CHANGED_SHARE * ret->rows[CMP_step].a_ns;
    }
    /* The class that went furthest in the step's direction. */
    double sign = ret->rows[CMP_step].difference_ns < 0 ? -1 : 1, most = 0;
    ret->most = CMP_step;
    for (unsigned part = CMP_compute; part < CMP_compute + BC_MAX; part++)
        if (ret->rows[part].changed && ret->rows[part].difference_ns * sign > most) {
            most = ret->rows[part].difference_ns * sign;
            ret->most = part;
        }
}

static int compare_ranks(const struct side *a, const struct side *b, struct comparison *ret)
{
    if (a->nr != b->nr || a->nr == 0)
        return 0;
    ret->ranks = calloc(a->nr, sizeof(*ret->ranks));
    if (!ret->ranks)
        return -ENOMEM;
    for (size_t i = 0; i < a->nr; i++) {
        const struct rank_spreads *x = &a->ranks[i], *y = &b->ranks[i];
        struct comparison_rank *rank = &ret->ranks[ret->nr_ranks];
        if (x->rank != y->rank)
            continue;
        *rank = (struct comparison_rank){
            .rank = x->rank, .a_ns = x->parts[CMP_step].mean, .b_ns = y->parts[CMP_step].mean, .most = CMP_compute};
        for (unsigned part = CMP_compute; part < CMP_compute + BC_MAX; part++) {
            double change = y->parts[part].mean - x->parts[part].mean;
            if (fabs(change) > fabs(rank->most_ns)) {
                rank->most = part;
                rank->most_ns = change;
            }
        }
        ret->nr_ranks++;
    }
    return 0;
}

/* ---- versions ------------------------------------------------------------------------------- */

/* All values of a key, each once: "2.1.0, 2.3.1". Owned by the caller; NULL without memory. */
static char *values_of(const struct report *report, const char *key)
{
    char *list = strdup("");

    for (size_t i = 0; list && i < report->nr_ranks; i++)
        for (size_t j = 0; list && j < report->ranks[i].nr_versions; j++) {
            const struct report_version *version = &report->ranks[i].versions[j];
            if (strcmp(version->key, key) != 0 || strstr(list, version->value))
                continue;
            size_t room = strlen(list) + strlen(version->value) + 3;
            char *longer = realloc(list, room);
            if (!longer) {
                free(list);
                return NULL;
            }
            list = longer;
            strcat(strcat(list, *list ? ", " : ""), version->value);
        }
    return list;
}

static bool is_listed(const struct comparison *comparison, const char *key)
{
    for (size_t i = 0; i < comparison->nr_versions; i++)
        if (strcmp(comparison->versions[i].key, key) == 0)
            return true;
    return false;
}

/* "2.28.9" and "2.28.9+cuda13.0" are one release, told by two sources. */
static bool same_release(const char *a, const char *b)
{
    size_t len = strcspn(a, "+");

    return len == strcspn(b, "+") && strncmp(a, b, len) == 0 && (!a[len] || !b[len] || strcmp(a, b) == 0);
}

static int compare_version(struct comparison *ret, const char *key)
{
    char *a = values_of(ret->a, key), *b = values_of(ret->b, key);
    struct comparison_version *larger = NULL;

    /* A side that says nothing of it, such as a profile, does not differ. */
    if (a && b && (!*a || !*b || same_release(a, b))) {
        free(a);
        free(b);
        return 0;
    }
    if (a && b)
        larger = realloc(ret->versions, (ret->nr_versions + 1) * sizeof(*larger));
    if (!larger) {
        free(a);
        free(b);
        return -ENOMEM;
    }
    ret->versions = larger;
    ret->versions[ret->nr_versions++] = (struct comparison_version){key, a, b};
    return 0;
}

static int compare_versions(struct comparison *ret)
{
    int rc = 0;

    for (size_t i = 0; i < ret->a->nr_ranks && rc == 0; i++)
        for (size_t j = 0; j < ret->a->ranks[i].nr_versions && rc == 0; j++)
            if (!is_listed(ret, ret->a->ranks[i].versions[j].key))
                rc = compare_version(ret, ret->a->ranks[i].versions[j].key);
    return rc;
}

/* ---- the whole ------------------------------------------------------------------------------ */

static int fill_side(struct report *report, struct side *side)
{
    side->all_windows = report->mean.all_windows;
    return report_each_step(report, add_step, side);
}

int comparison_make(struct report *a, struct report *b, struct comparison *ret)
{
    struct side of_a = {0}, of_b = {0};

    *ret = (struct comparison){.a = a, .b = b, .efficiency = NAN};
    int rc = fill_side(a, &of_a);
    rc = rc ? rc : fill_side(b, &of_b);
    if (rc == 0) {
        compare_parts(&of_a, &of_b, ret);
        rc = compare_ranks(&of_a, &of_b, ret);
    }
    rc = rc ? rc : compare_versions(ret);
    if (of_a.nr != of_b.nr && of_a.nr && of_b.nr) {
        const struct comparison_row *step = &ret->rows[CMP_step];
        ret->efficiency = of_a.nr < of_b.nr ? step->a_ns / step->b_ns : step->b_ns / step->a_ns;
    }
    free(of_a.ranks);
    free(of_b.ranks);
    if (rc)
        comparison_done(ret);
    return rc;
}

void comparison_done(struct comparison *comparison)
{
    for (size_t i = 0; i < comparison->nr_versions; i++) {
        free((char *)comparison->versions[i].a);
        free((char *)comparison->versions[i].b);
    }
    free(comparison->versions);
    free(comparison->ranks);
    *comparison = (struct comparison){0};
}
