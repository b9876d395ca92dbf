/* clock_map.c - see clock_map.h. */
#include "analysis/model/clock_map.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/pass/thresholds.h"

#define PIECE_NS ((uint64_t)TH_CLOCK_PIECE_NS)

void clock_map_done(struct clock_map *map)
{
    for (struct clock_pair *pair = map->pairs, *next; pair; pair = next) {
        next = pair->next;
        free(pair->knots);
        free(pair);
    }
    free(map->towards);
    *map = (struct clock_map){0};
}

/* ---- lines between the bounds -------------------------------------------------------------- */

/* What a line of this slope may be at `at_ns`: between *ret_low and *ret_high, if that is not less. */
static void range_of(const struct clock_pair *pair, double slope, uint64_t at_ns, double *ret_low, double *ret_high)
{
    *ret_low = -INFINITY;
    *ret_high = INFINITY;
    for (unsigned i = 0; i < CLOCK_SLOTS; i++) {
        double run = (double)(int64_t)(pair->bounds.upper[i].at_ns - at_ns);
        if (pair->bounds.upper[i].known)
            *ret_high = fmin(*ret_high, (double)(pair->bounds.upper[i].ns - pair->base_ns) - slope * run);
        run = (double)(int64_t)(pair->bounds.lower[i].at_ns - at_ns);
        if (pair->bounds.lower[i].known)
            *ret_low = fmax(*ret_low, (double)(pair->bounds.lower[i].ns - pair->base_ns) - slope * run);
    }
}

/* What is looked for over slopes: the widest range, the highest value, the lowest one. All are concave in the slope. */
enum goal { GOAL_WIDTH, GOAL_HIGH, GOAL_LOW };

static double goodness(const struct clock_pair *pair, double slope, uint64_t at_ns, enum goal goal)
{
    double low, high;
    range_of(pair, slope, at_ns, &low, &high);
    return goal == GOAL_WIDTH ? high - low : goal == GOAL_HIGH ? high : -low;
}

#define SEARCH_ROUNDS 60

static double search(const struct clock_pair *pair, uint64_t at_ns, enum goal goal, double low, double high)
{
    for (unsigned i = 0; i < SEARCH_ROUNDS; i++) {
        double a = low + (high - low) / 3, b = high - (high - low) / 3;
        if (goodness(pair, a, at_ns, goal) < goodness(pair, b, at_ns, goal))
            low = a;
        else
            high = b;
    }
    return (low + high) / 2;
}

/* The slope farthest from `good` towards `limit` that still fits. */
static double last_fit(const struct clock_pair *pair, uint64_t at_ns, double good, double limit)
{
    if (goodness(pair, limit, at_ns, GOAL_WIDTH) >= 0)
        return limit;
    for (unsigned i = 0; i < SEARCH_ROUNDS; i++) {
        double middle = (good + limit) / 2;
        if (goodness(pair, middle, at_ns, GOAL_WIDTH) >= 0)
            good = middle;
        else
            limit = middle;
    }
    return good;
}

/* The middle of all that the lines that fit may be at `at_ns`, and how far they may be from it. If none fits, the one
 * that breaks the bounds least, and by how much it does. */
static struct clock_knot knot_at(const struct clock_pair *pair, uint64_t at_ns)
{
    double low, high, slope = search(pair, at_ns, GOAL_WIDTH, -TH_CLOCK_DRIFT, TH_CLOCK_DRIFT);
    range_of(pair, slope, at_ns, &low, &high);
    if (high >= low) {
        double from = last_fit(pair, at_ns, slope, -TH_CLOCK_DRIFT), to = last_fit(pair, at_ns, slope, TH_CLOCK_DRIFT);
        high = goodness(pair, search(pair, at_ns, GOAL_HIGH, from, to), at_ns, GOAL_HIGH);
        low = -goodness(pair, search(pair, at_ns, GOAL_LOW, from, to), at_ns, GOAL_LOW);
    }
    return (struct clock_knot){at_ns, (low + high) / 2, slope, fabs(high - low) / 2};
}

static bool has_both(const struct clock_bounds *bounds)
{
    bool upper = false, lower = false;
    for (unsigned i = 0; i < CLOCK_SLOTS; i++) {
        upper |= bounds->upper[i].known;
        lower |= bounds->lower[i].known;
    }
    return upper && lower;
}

static int add_knot(struct clock_pair *pair, uint64_t at_ns)
{
    if (pair->nr_knots && pair->knots[pair->nr_knots - 1].at_ns >= at_ns)
        return 0;
    if (pair->nr_knots == pair->capacity_knots) {
        size_t capacity = pair->capacity_knots ? pair->capacity_knots * 2 : 16;
        struct clock_knot *knots = realloc(pair->knots, capacity * sizeof(*knots));
        if (!knots)
            return -ENOMEM;
        pair->knots = knots;
        pair->capacity_knots = capacity;
    }
    pair->knots[pair->nr_knots++] = knot_at(pair, at_ns);
    return 0;
}

static void reach(const struct clock_bound *bound, uint64_t *begin_ns, uint64_t *end_ns)
{
    if (!bound->known)
        return;
    *begin_ns = bound->at_ns < *begin_ns ? bound->at_ns : *begin_ns;
    *end_ns = bound->at_ns > *end_ns ? bound->at_ns : *end_ns;
}

/* Makes a knot of the piece: in the middle of what it has bounds of, of the first one also at its begin, of the last
 * one at its end. Bounds on one side only say nothing. */
static int close_piece(struct clock_pair *pair, bool last)
{
    const struct clock_bounds *bounds = &pair->bounds;
    uint64_t begin_ns = UINT64_MAX, end_ns = 0;
    int rc = 0;
    for (unsigned i = 0; i < CLOCK_SLOTS; i++) {
        reach(&bounds->upper[i], &begin_ns, &end_ns);
        reach(&bounds->lower[i], &begin_ns, &end_ns);
    }
    if (!has_both(bounds))
        return 0;
    if (!pair->nr_knots)
        rc = add_knot(pair, begin_ns);
    rc = rc ? rc : add_knot(pair, begin_ns + (end_ns - begin_ns) / 2);
    if (!rc && last)
        rc = add_knot(pair, end_ns);
    memset(&pair->bounds, 0, sizeof(pair->bounds));
    return rc;
}

/* ---- instances ---------------------------------------------------------------------------- */

static struct clock_pair *pair_get(struct clock_map *map, uint32_t low, uint32_t high)
{
    for (struct clock_pair *pair = map->pairs; pair; pair = pair->next)
        if (pair->low == low && pair->high == high)
            return pair;
    struct clock_pair *pair = calloc(1, sizeof(*pair));
    if (!pair)
        return NULL;
    *pair = (struct clock_pair){.next = map->pairs, .low = low, .high = high};
    return map->pairs = pair;
}

/* Widens the tree of pairs that lead to host 0 by what the new pair connects. */
static int connect(struct clock_map *map)
{
    if (!map->towards && !(map->towards = calloc(map->nr_hosts + 1, sizeof(struct clock_pair *))))
        return -ENOMEM;
    for (bool more = true; more;) {
        more = false;
        for (struct clock_pair *pair = map->pairs; pair; pair = pair->next) {
            bool low = !pair->low || map->towards[pair->low], high = !pair->high || map->towards[pair->high];
            if (low == high)
                continue;
            map->towards[low ? pair->high : pair->low] = pair;
            more = true;
        }
    }
    return 0;
}

/* At `at_ns` of the lower host's clock the difference is no more, or no less, than `ns`. */
static void bound(struct clock_bounds *bounds, bool above, uint64_t at_ns, int64_t ns)
{
    unsigned slot = (unsigned)(at_ns % PIECE_NS * CLOCK_SLOTS / PIECE_NS);
    struct clock_bound *kept = above ? &bounds->upper[slot] : &bounds->lower[slot];
    if (!kept->known || (above ? ns < kept->ns : ns > kept->ns))
        *kept = (struct clock_bound){at_ns, ns, true};
}

int clock_map_meet(struct clock_map *map, const struct clock_side *a, const struct clock_side *b, uint64_t leave_ns)
{
    const struct clock_side *low = a->host < b->host ? a : b, *high = a->host < b->host ? b : a;
    if (low->host == high->host || high->host >= map->nr_hosts)
        return 0;
    struct clock_pair *pair = pair_get(map, low->host, high->host);
    if (!pair)
        return -ENOMEM;
    uint64_t piece = low->last_start_ns / PIECE_NS;
    int64_t ends = (int64_t)(high->first_end_ns - low->first_end_ns);
    if (!pair->based) {
        pair->based = true;
        pair->base_ns = ends;
        pair->piece = piece;
        if (connect(map))
            return -ENOMEM;
    }
    if (piece < pair->piece)
        piece = pair->piece; /* told late: a little outside */
    if (piece > pair->piece && close_piece(pair, false))
        return -ENOMEM;
    pair->piece = piece;
    bound(&pair->bounds, true, low->last_start_ns, (int64_t)(high->first_end_ns - low->last_start_ns));
    bound(&pair->bounds, false, low->first_end_ns, (int64_t)(high->last_start_ns - low->first_end_ns));
    if (leave_ns) {
        bound(&pair->bounds, true, low->first_end_ns, ends + (int64_t)leave_ns);
        bound(&pair->bounds, false, low->first_end_ns, ends - (int64_t)leave_ns);
    }
    return 0;
}

int clock_map_end(struct clock_map *map)
{
    for (struct clock_pair *pair = map->pairs; pair; pair = pair->next)
        if (close_piece(pair, true))
            return -ENOMEM;
    map->ended = true;
    return 0;
}

/* ---- converting --------------------------------------------------------------------------- */

/* The pair's difference when the lower host's clock says `at_ns`. Before the first knot its line is prolonged, behind
 * the last one too, once nothing more comes. */
static bool difference(const struct clock_map *map, const struct clock_pair *pair, uint64_t at_ns, int64_t *ret_ns)
{
    const struct clock_knot *knots = pair->knots;
    size_t low = 0, high = pair->nr_knots;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (knots[mid].at_ns <= at_ns)
            low = mid + 1;
        else
            high = mid;
    }
    if (!pair->nr_knots || (low == pair->nr_knots && !map->ended))
        return false;
    const struct clock_knot *before = &knots[low ? low - 1 : 0];
    double run = (double)(int64_t)(at_ns - before->at_ns), slope = before->slope;
    if (low && low < pair->nr_knots)
        slope = (knots[low].difference_ns - before->difference_ns) / (double)(knots[low].at_ns - before->at_ns);
    *ret_ns = pair->base_ns + llround(before->difference_ns + slope * run);
    return true;
}

/* One step along a pair. From the higher host the lower one's clock is what is looked for: since drift is small, asking
 * again with the answer settles it. */
static bool across(const struct clock_map *map, const struct clock_pair *pair, bool up, uint64_t *at_ns)
{
    int64_t ns;
    if (up) {
        if (!difference(map, pair, *at_ns, &ns))
            return false;
        *at_ns += (uint64_t)ns;
        return true;
    }
    uint64_t guess = *at_ns - (uint64_t)pair->base_ns;
    for (unsigned i = 0; i < 3; i++) {
        if (!difference(map, pair, guess, &ns))
            return false;
        guess = *at_ns - (uint64_t)ns;
    }
    *at_ns = guess;
    return true;
}

static const struct clock_pair *towards(const struct clock_map *map, uint32_t host)
{
    return map->towards && host < map->nr_hosts ? map->towards[host] : NULL;
}

static uint32_t other_end(const struct clock_pair *pair, uint32_t host)
{
    return pair->low == host ? pair->high : pair->low;
}

static uint32_t depth(const struct clock_map *map, uint32_t host)
{
    uint32_t nr = 0;
    for (const struct clock_pair *pair; (pair = towards(map, host)); host = other_end(pair, host))
        nr++;
    return nr;
}

/* From `host` down to its ancestor `to`, which is `nr` steps away: outwards, so the last step comes first. */
static bool descend(const struct clock_map *map, uint32_t host, uint32_t nr, uint64_t *at_ns)
{
    const struct clock_pair *pair = towards(map, host);
    if (!nr)
        return true;
    uint32_t parent = other_end(pair, host);
    return descend(map, parent, nr - 1, at_ns) && across(map, pair, pair->low == parent, at_ns);
}

bool clock_map_convert(const struct clock_map *map, uint32_t from, uint32_t to, uint64_t at_ns, uint64_t *ret_ns)
{
    uint32_t a = from, b = to, up = depth(map, from), down = depth(map, to), steps = 0;
    /* Up to where both ways meet, and down again. */
    while (a != b) {
        if (up >= down) {
            const struct clock_pair *pair = towards(map, a);
            if (!pair || !across(map, pair, pair->low == a, &at_ns))
                return false;
            a = other_end(pair, a);
            up--;
        } else {
            b = other_end(towards(map, b), b);
            down--;
            steps++;
        }
    }
    if (!descend(map, to, steps, &at_ns))
        return false;
    *ret_ns = at_ns;
    return true;
}

int64_t clock_map_error(const struct clock_map *map)
{
    double worst = 0;
    for (uint32_t host = 1; host < map->nr_hosts; host++) {
        double sum = 0;
        if (!towards(map, host))
            return -1;
        uint32_t at = host;
        for (const struct clock_pair *pair; (pair = towards(map, at)); at = other_end(pair, at)) {
            double error = pair->nr_knots ? 0 : INFINITY;
            for (size_t i = 0; i < pair->nr_knots; i++)
                error = fmax(error, pair->knots[i].error_ns);
            sum += error;
        }
        worst = fmax(worst, sum);
    }
    return isfinite(worst) ? llround(worst) : -1;
}
