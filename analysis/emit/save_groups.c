/* save_groups.c - see save_groups.h. */
#include "analysis/emit/save_groups.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS "0123456789"
#define NUMBERS_MAX 32 /* in one path; later ones all count as varying when any does */

/* The path with every number as "*"; malloced, or NULL. */
static char *pattern_of(const char *path)
{
    char *pattern = malloc(strlen(path) + 1), *to = pattern;

    while (pattern && *path) {
        if (isdigit((unsigned char)*path)) {
            *to++ = '*';
            path += strspn(path, DIGITS);
        } else {
            *to++ = *path++;
        }
    }
    if (pattern)
        *to = '\0';
    return pattern;
}

static const char *name_of(const struct report_checkpoint *row)
{
    return row->path ? row->path : "?";
}

/* Marks the numbers of the first path that are others in this one; both have the same pattern. */
static void compare_numbers(struct save_group *group, const char *other)
{
    const char *first = name_of(&group->mean);

    for (unsigned nr = 0; *first && *other; nr++) {
        size_t skip = strcspn(first, DIGITS);
        first += skip;
        other += skip;
        size_t length = strspn(first, DIGITS), other_length = strspn(other, DIGITS);
        if ((length != other_length || strncmp(first, other, length)) && nr < NUMBERS_MAX)
            group->varies |= 1u << nr;
        first += length;
        other += other_length;
    }
}

/* Sums now, means in the end. */
static void add(struct save_group *group, const struct report_checkpoint *row)
{
    struct report_checkpoint *sum = &group->mean;

    group->saves++;
    compare_numbers(group, name_of(row));
    sum->bytes += row->bytes;
    sum->duration_ns += row->duration_ns;
    sum->stall_ns += row->stall_ns;
    sum->sync |= row->sync;
    if (row->safe < sum->safe) /* -1 unknown, 0 not, 1 safe: the worst counts */
        sum->safe = row->safe;
}

static void end_group(struct save_group *group)
{
    group->mean.bytes /= group->saves;
    group->mean.duration_ns /= group->saves;
    group->mean.stall_ns /= group->saves;
}

/* Finds the group of the pattern, which it takes, or makes one. NULL when memory ran out. */
static struct save_group *group_of(struct save_groups *groups, char *pattern, const struct report_checkpoint *row)
{
    for (size_t i = 0; i < groups->nr; i++)
        if (!strcmp(groups->group[i].path, pattern) && groups->group[i].mean.rank == row->rank) {
            free(pattern);
            return &groups->group[i];
        }
    struct save_group *grown = reallocarray(groups->group, groups->nr + 1, sizeof *grown);
    if (!grown) {
        free(pattern);
        return NULL;
    }
    groups->group = grown;
    struct save_group *group = &grown[groups->nr++];
    *group = (struct save_group){.path = pattern, .mean = {.rank = row->rank, .path = row->path, .safe = 1}};
    return group;
}

/* Calls the group by its first path, with a star for each number that varies. */
static int name_group(struct save_group *group)
{
    const char *first = name_of(&group->mean);
    char *name = malloc(strlen(first) + 1), *to = name;

    if (!name)
        return -ENOMEM;
    for (unsigned nr = 0; *first; nr++) {
        size_t text = strcspn(first, DIGITS), digits = strspn(first + text, DIGITS);
        bool varies = nr < NUMBERS_MAX ? group->varies >> nr & 1 : group->varies != 0;
        memcpy(to, first, text + digits);
        to += text;
        if (varies && digits)
            *to++ = '*';
        else
            to += digits;
        first += text + digits;
    }
    *to = '\0';
    free(group->path);
    group->path = name;
    return 0;
}

int save_groups_init(struct save_groups *groups, const struct report_checkpoint *rows, size_t nr)
{
    *groups = (struct save_groups){0};
    for (size_t i = 0; i < nr; i++) {
        char *pattern = pattern_of(name_of(&rows[i]));
        struct save_group *group = pattern ? group_of(groups, pattern, &rows[i]) : NULL;
        if (!group)
            return -ENOMEM;
        add(group, &rows[i]);
    }
    for (size_t i = 0; i < groups->nr; i++) {
        end_group(&groups->group[i]);
        if (name_group(&groups->group[i]))
            return -ENOMEM;
    }
    return 0;
}

void save_groups_done(struct save_groups *groups)
{
    for (size_t i = 0; i < groups->nr; i++)
        free(groups->group[i].path);
    free(groups->group);
    *groups = (struct save_groups){0};
}
