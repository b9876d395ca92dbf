/* clock_map.h - the clocks of several hosts on one axis, from collectives that nobody may leave early.
 *
 * What every rank must enter before anyone can leave gives, for two hosts: the first end on one is not before the last
 * start on the other. Each such instance bounds the difference of their clocks from above and from below. Where one
 * rank is late all the time that leaves one side open by as much as it is late; so it is also taken that nobody leaves
 * much later than the others, by how long the one that came last took. Time is cut into pieces; in each piece and for
 * each pair of hosts all straight lines between the bounds may be the truth: the middle of what they are halfway
 * through the piece is a knot, and how far they stray from it the error. Between knots the map is linear. Pairs are
 * chained from the first host on, so that hosts need not meet in one communicator.
 *
 * The axis is the clock of host 0. Streaming: a time can be mapped once the knot behind it is there; at the end all
 * can. Memory grows with pairs of hosts that meet and with knots. One thread. */
#ifndef TRSHIM_ANALYSIS_MODEL_CLOCK_MAP_H
#define TRSHIM_ANALYSIS_MODEL_CLOCK_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLOCK_SLOTS 32

/* The higher host's clock less the lower one's, when that says `at_ns`, is at most or at least this. */
struct clock_bound {
    uint64_t at_ns;
    int64_t ns;
    bool known;
};

/* Bounds of one piece of time for one pair: in each slot the tightest on either side. */
struct clock_bounds {
    struct clock_bound upper[CLOCK_SLOTS], lower[CLOCK_SLOTS];
};

struct clock_knot {
    uint64_t at_ns;       /* of the lower host's clock */
    double difference_ns; /* relative to `base_ns` of the pair */
    double slope, error_ns;
};

struct clock_pair {
    struct clock_pair *next;
    uint32_t low, high; /* hosts */
    int64_t base_ns;    /* first difference seen: what is stored is relative to it */
    bool based;
    uint64_t piece; /* that `bounds` is of */
    struct clock_bounds bounds;
    struct clock_knot *knots; /* owned */
    size_t nr_knots, capacity_knots;
};

/* Zeroed but for nr_hosts is empty. */
struct clock_map {
    uint32_t nr_hosts;
    struct clock_pair *pairs;    /* owned */
    struct clock_pair **towards; /* owned; by host: the pair on its way to host 0; NULL not connected yet */
    bool ended;
};

void clock_map_done(struct clock_map *map);

/* What one host saw of an instance: its last start and its first end, on its own clock. */
struct clock_side {
    uint32_t host;
    uint64_t last_start_ns, first_end_ns;
    uint64_t shortest_ns; /* kernel */
};

/* Takes the two ends of one instance; `leave_ns`: they ended no farther apart than this, 0 unknown. 0 or -ENOMEM. */
int clock_map_meet(struct clock_map *map, const struct clock_side *a, const struct clock_side *b, uint64_t leave_ns);

/* No more will come: the pieces under way become knots. 0 or -ENOMEM. */
int clock_map_end(struct clock_map *map);

/* Time `at_ns` of host `from` on the clock of host `to`. False: not known, or not yet. */
bool clock_map_convert(const struct clock_map *map, uint32_t from, uint32_t to, uint64_t at_ns, uint64_t *ret_ns);

/* The largest error of any knot along a way to host 0; -1: some host is not connected. 0 with one host. */
int64_t clock_map_error(const struct clock_map *map);

#endif
