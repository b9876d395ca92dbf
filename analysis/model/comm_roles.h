/* comm_roles.h - what a communicator is for: TP, PP, DP or EP, by its name, its operations and its ranks. Pure. */
#ifndef TRSHIM_ANALYSIS_MODEL_COMM_ROLES_H
#define TRSHIM_ANALYSIS_MODEL_COMM_ROLES_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/event.h"

/* What is known of a communicator. */
struct comm_profile {
    const char *name;      /* as the framework calls it; NULL none */
    int32_t nranks, world; /* world: -1 unknown */
    int32_t stride;        /* between its ranks' global ranks; 0 unknown or not the same for all */
    bool crossed; /* another communicator with collectives that move data takes one rank each of several like this */
    uint64_t instances[TR_coll_op_MAX];
    double bytes[TR_coll_op_MAX];
    uint64_t far; /* Sends to others than neighbours */
};

struct comm_role {
    const char *name;  /* "TP", "PP", "DP", "EP"; NULL not known */
    double confidence; /* 0..1; NAN if not known */
};

struct comm_role comm_role(const struct comm_profile *profile);

#endif
