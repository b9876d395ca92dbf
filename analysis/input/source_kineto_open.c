/* source_kineto_open.c - opens Kineto traces, and finds out who they are.
 *
 * A file is one rank, several files are the ranks of one job: rank and world of distributedInfo, else the order of the
 * files. Its host is in torch's own file names (HOST_PID.TIME.pt.trace.json); else all files are from one host, as
 * long as no two of them have the same pid at the same time. The clock is the wall clock, counted from a day before
 * the host's first event. */
#include "analysis/input/source_kineto.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WALL_CLOCK 100000000000000000 /* times before 1973 are not counted from 1970 */
#define DAY 86400000000000
#define CLOCK_MAX (1ll << 53) /* 104 days: what a reader of JSON numbers can still tell apart to the ns */
#define UNKNOWN_HOST "host"
#define UNKNOWN_PID 1
#define NAMES_SHIFT 20
_Static_assert(KINETO_NAMES_MAX <= 1u << NAMES_SHIFT, "ids of one file must not reach into those of the next");

/* ---- who the ranks are ---------------------------------------------------------------------- */

static struct source_kineto *kineto_of(const struct sources *sources, size_t i)
{
    struct source *source = sources->list[i];

    return source->ops == &source_kineto_ops ? (struct source_kineto *)source : NULL;
}

static bool shares_pid(const struct kineto_index *a, const struct kineto_index *b)
{
    for (size_t i = 0; i < a->nr_processes; i++)
        for (size_t j = 0; j < b->nr_processes; j++)
            if (a->processes[i].seen && b->processes[j].seen && a->processes[i].pid == b->processes[j].pid)
                return true;
    return false;
}

/* Files of one process: two parts of its life, one after the other. */
static bool may_be_one(const struct kineto_index *a, const struct kineto_index *b)
{
    int64_t a_base = a->about.base_ns, b_base = b->about.base_ns;

    return a->about.rank == b->about.rank &&
           (a->last_ns + a_base <= b->first_ns + b_base || b->last_ns + b_base <= a->first_ns + a_base);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* Where "_PID." is in a file's name, of this pid or (0) of any. NULL if it is not. */
static const char *find_pid(const char *name, uint32_t wanted, uint32_t *ret)
{
    for (const char *at = strchr(name, '_'); at; at = strchr(at + 1, '_')) {
        char *end;
        unsigned long pid = isdigit((unsigned char)at[1]) ? strtoul(at + 1, &end, 10) : 0;
        if (at == name || pid == 0 || pid > INT32_MAX || *end != '.' || (wanted && pid != wanted))
            continue;
        *ret = pid;
        return at;
    }
    return NULL;
}

/* For a file that does not say it: torch's name for it does, HOST_PID.TIME.pt.trace.json. */
static uint32_t pid_of_path(const char *path)
{
    uint32_t pid;

    return strstr(base_name(path), ".pt.trace.json") && find_pid(base_name(path), 0, &pid) ? pid : UNKNOWN_PID;
}

/* HOST of that name, owned by the caller, if the pid is the file's own; else UNKNOWN_HOST. */
static char *host_of_path(const char *path, uint32_t pid)
{
    const char *name = base_name(path), *at = find_pid(name, pid, &pid);

    return at ? strndup(name, at - name) : strdup(UNKNOWN_HOST);
}

/* Whether the file can be from this host: its clock and its pids allow it. */
static bool fits(const struct source_kineto *kineto, const struct sources *sources, uint32_t host, int64_t first_ns)
{
    int64_t epoch_ns = kineto->hosts->list[host].shown.epoch_ns;
    bool wall = first_ns >= WALL_CLOCK;

    if (wall != (epoch_ns != 0) || (wall && (first_ns < epoch_ns || first_ns - epoch_ns > CLOCK_MAX)))
        return false;
    for (size_t i = 0; i < sources->nr; i++) {
        const struct source_kineto *other = kineto_of(sources, i);
        if (other && other->base.input.host == host && shares_pid(kineto->index, other->index) &&
            !may_be_one(kineto->index, other->index))
            return false;
    }
    return true;
}

static bool find_host(const struct hosts *hosts, const char *name, uint32_t *ret)
{
    for (size_t i = 0; i < hosts->nr; i++)
        if (strcmp(hosts->list[i].first_name, name) == 0 && !*hosts->list[i].first_boot) {
            *ret = i;
            return true;
        }
    return false;
}

/* The first host of NAME, NAME-2, NAME-3, ... that fits, or a new one. */
static int choose_host(struct source_kineto *kineto, const struct sources *sources, const char *name)
{
    int64_t first_ns = kineto->index->first_ns + kineto->index->about.base_ns;
    int64_t epoch_ns = first_ns >= WALL_CLOCK ? first_ns - first_ns % DAY - DAY : 0;
    uint32_t *host = &kineto->base.input.host;

    for (unsigned nr = 1;; nr++) {
        char numbered[KINETO_NAME_SIZE];
        (void)snprintf(numbered, sizeof(numbered), nr == 1 ? "%s" : "%s-%u", name, nr);
        if (!find_host(kineto->hosts, numbered, host))
            return hosts_add(kineto->hosts, numbered, "", epoch_ns, host);
        if (fits(kineto, sources, *host, first_ns))
            return 0;
    }
}

static int settle_host(struct source_kineto *kineto, const struct sources *sources)
{
    const struct kineto_index *index = kineto->index;
    char *name = host_of_path(kineto->base.input.path, kineto_main_pid(index));
    int rc = name ? choose_host(kineto, sources, name) : -ENOMEM;

    free(name);
    if (rc < 0)
        return rc;
    int64_t epoch_ns = kineto->hosts->list[kineto->base.input.host].shown.epoch_ns;
    kineto->shift_ns = index->about.base_ns - epoch_ns;
    if (epoch_ns == 0)
        kineto->shift_ns = index->first_ns < 0 ? -index->first_ns : 0; /* PyTorch before Kineto: from its own start */
    uint32_t before = 0;
    for (size_t i = 0; i < sources->nr; i++) {
        const struct source_kineto *other = kineto_of(sources, i);
        before += other && other->base.input.host == kineto->base.input.host && shares_pid(index, other->index);
    }
    kineto->name_base = before << NAMES_SHIFT;
    return 0;
}

static size_t nr_seen(const struct kineto_index *index)
{
    size_t nr = 0;

    for (size_t i = 0; i < index->nr_processes; i++)
        nr += index->processes[i].seen;
    return nr;
}

/* The number that the order of the files gives this one; files of one process share it. */
static int32_t rank_by_order(const struct sources *sources, size_t at, int32_t *nr_ranks)
{
    const struct source_kineto *kineto = kineto_of(sources, at);

    for (size_t i = 0; i < at; i++) {
        const struct source_kineto *other = kineto_of(sources, i);
        if (other && other->base.input.host == kineto->base.input.host && shares_pid(kineto->index, other->index))
            return other->rank;
    }
    return (*nr_ranks)++;
}

/* A rank that the file names stands. If none does, and there are several, they are numbered in order. */
static void settle_ranks(const struct sources *sources)
{
    bool named = false;
    int32_t nr = 0;

    for (size_t i = 0; i < sources->nr; i++) {
        struct source_kineto *kineto = kineto_of(sources, i);
        if (!kineto)
            continue;
        int64_t rank = kineto->index->about.rank;
        kineto->rank = rank >= 0 && rank <= INT32_MAX && nr_seen(kineto->index) == 1 ? rank : -1;
        named |= kineto->rank >= 0;
    }
    for (size_t i = 0; !named && i < sources->nr; i++)
        if (kineto_of(sources, i) && nr_seen(kineto_of(sources, i)->index) == 1)
            kineto_of(sources, i)->rank = rank_by_order(sources, i, &nr);
    for (size_t i = 0; nr == 1 && i < sources->nr; i++)
        if (kineto_of(sources, i))
            kineto_of(sources, i)->rank = -1; /* a single one needs no number */
}

/* ---- process groups ------------------------------------------------------------------------- */

/* The group of this id in the first file that has it, but the last file itself; *ret_again: in a file of `rank`. */
static struct kineto_group *group_before(const struct sources *sources, uint64_t id, int64_t rank, bool *ret_again)
{
    struct kineto_group *first = NULL;

    *ret_again = false;
    for (size_t i = 0; i + 1 < sources->nr; i++) {
        const struct source_kineto *other = kineto_of(sources, i);
        struct kineto_colls *colls = other ? &other->index->colls : NULL;
        for (size_t j = 0; colls && j < colls->nr; j++) {
            if (colls->groups[j].id != id)
                continue;
            first = first ? first : &colls->groups[j];
            *ret_again |= rank >= 0 && other->index->about.rank == rank;
        }
    }
    return first;
}

/* Lays the groups of the file that was added last beside those of the others. */
static void join_groups(const struct sources *sources)
{
    struct kineto_index *index = kineto_of(sources, sources->nr - 1)->index;

    for (size_t i = 0; i < index->colls.nr; i++) {
        bool again;
        struct kineto_group *leader = group_before(sources, index->colls.groups[i].id, index->about.rank, &again);
        kineto_group_join(&index->colls.groups[i], leader, again);
    }
}

/* ---- opening -------------------------------------------------------------------------------- */

static int cannot_open(const char *path, int rc, const char *problem, char **ret_error)
{
    if (rc == -EINVAL)
        (void)asprintf(ret_error, "Cannot read input: path=\"%s\", cause=\"JSON, but %s\"", path,
                       problem ? problem
                               : "no Kineto trace: no 'traceEvents' in it, and not an array of rows with 'ph'");
    else
        (void)asprintf(ret_error, "Cannot read Kineto trace: path=\"%s\", cause=\"%s%s\"", path, strerror(-rc),
                       rc == -ENOSPC ? " for temporary files; set TMPDIR to a directory that has some" : "");
    return rc;
}

int source_kineto_open(const char *path, struct hosts *hosts, struct sources *sources, char **ret_error)
{
    struct source_kineto *kineto = calloc(1, sizeof(*kineto));
    char *problem = NULL;

    if (!kineto)
        return -ENOMEM;
    kineto->base.ops = &source_kineto_ops;
    kineto->base.input.path = strdup(path);
    kineto->base.input.kind = "kineto";
    kineto->hosts = hosts;
    int rc = kineto->base.input.path ? kineto_index_read(path, pid_of_path(path), &kineto->index, &problem) : -ENOMEM;
    if (rc == 0)
        rc = settle_host(kineto, sources);
    if (rc == 0) {
        rc = sources_add(sources, &kineto->base);
        if (rc == 0) {
            settle_ranks(sources);
            join_groups(sources);
        }
        return rc;
    }
    source_kineto_ops.free(&kineto->base);
    rc = cannot_open(path, rc, problem, ret_error);
    free(problem);
    return rc;
}

/* ---- directories ---------------------------------------------------------------------------- */

static bool ends(const char *text, const char *with)
{
    size_t len = strlen(text), with_len = strlen(with);

    return len > with_len && strcmp(text + len - with_len, with) == 0;
}

static int is_profile(const struct dirent *entry)
{
    return ends(entry->d_name, ".pt.trace.json") || ends(entry->d_name, ".pt.trace.json.gz");
}

int source_kineto_open_dir(const char *dir, struct hosts *hosts, struct sources *sources, char **ret_error)
{
    struct dirent **list;
    int nr = scandir(dir, &list, is_profile, versionsort), rc = nr > 0 ? 0 : -ENOENT;

    for (int i = 0; i < nr; i++) {
        char *path = NULL;
        if (rc == 0)
            rc = asprintf(&path, "%s/%s", dir, list[i]->d_name) < 0 ? -ENOMEM : 0;
        if (rc == 0) {
            rc = source_kineto_open(path, hosts, sources, ret_error);
            free(path);
        }
        free(list[i]);
    }
    if (nr >= 0)
        free(list);
    return rc;
}
