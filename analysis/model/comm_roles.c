/* comm_roles.c - see comm_roles.h. */
#include "analysis/model/comm_roles.h"

#include <ctype.h>
#include <math.h>
#include <string.h>
#include <strings.h>

/* Calls smaller than this on average are barriers and the like: they tell of no role. */
#define SMALL_BYTES 4096

/* Whether the name has the word, letters before and behind it apart: "tp_group", not "https". */
static bool has_word(const char *name, const char *word)
{
    size_t len = strlen(word);
    for (const char *at = name; *at; at++)
        if (!strncasecmp(at, word, len) && (at == name || !isalpha((unsigned char)at[-1])) &&
            !isalpha((unsigned char)at[len]))
            return true;
    return false;
}

static const char *role_by_name(const char *name)
{
    static const struct {
        const char *word, *role;
    } words[] = {{"tp", "TP"},  {"tensor", "TP"}, {"pp", "PP"},   {"pipeline", "PP"}, {"pipe", "PP"},
                 {"ep", "EP"},  {"expert", "EP"}, {"moe", "EP"},  {"dp", "DP"},       {"data", "DP"},
                 {"ddp", "DP"}, {"fsdp", "DP"},   {"hsdp", "DP"}, {"shard", "DP"},    {"replicate", "DP"}};
    for (size_t i = 0; name && i < sizeof(words) / sizeof(*words); i++)
        if (has_word(name, words[i].word))
            return words[i].role;
    return NULL;
}

static struct comm_role role_of_pairs(const struct comm_profile *profile)
{
    uint64_t sends = profile->instances[TR_coll_op_Send];
    if (profile->far * 20 > sends)
        return (struct comm_role){"EP", 0.6};
    return (struct comm_role){"PP", profile->nranks > 2 ? 0.85 : 0.7};
}

static struct comm_role role_of_reductions(const struct comm_profile *profile)
{
    if (profile->nranks == profile->world)
        return (struct comm_role){"DP", 0.8};
    if (profile->stride > 1)
        return (struct comm_role){"DP", 0.8};
    if (profile->stride == 1)
        return profile->crossed ? (struct comm_role){"TP", 0.8} : (struct comm_role){"DP", 0.5};
    return (struct comm_role){NULL, NAN};
}

struct comm_role comm_role(const struct comm_profile *profile)
{
    const struct comm_role none = {NULL, NAN};
    const char *named = role_by_name(profile->name);
    uint64_t calls = 0;
    double bytes = 0;
    for (unsigned op = 0; op < TR_coll_op_MAX; op++) {
        calls += profile->instances[op];
        bytes += profile->bytes[op];
    }
    if (profile->nranks < 2)
        return none;
    if (named)
        return (struct comm_role){named, 0.95};
    if (!calls || bytes < SMALL_BYTES * (double)calls)
        return none;
    if (profile->instances[TR_coll_op_Send] * 10 >= calls * 9)
        return role_of_pairs(profile);
    if (profile->bytes[TR_coll_op_AlltoAll] * 2 >= bytes)
        return (struct comm_role){"EP", 0.8};
    return role_of_reductions(profile);
}
