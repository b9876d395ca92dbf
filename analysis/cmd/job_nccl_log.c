/* job_nccl_log.c - see job_nccl_log.h. */
#include "analysis/cmd/job_nccl_log.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "traces/control.h"

#define SUBSYSTEMS "INIT,BOOTSTRAP,ENV,NET"

enum { DEBUG, SUBSYS, FILE_, NR_WISHES };
static const char *const variables[NR_WISHES] = {"NCCL_DEBUG", "NCCL_DEBUG_SUBSYS", "NCCL_DEBUG_FILE"};

struct wishes {
    char text[NR_WISHES][PATH_MAX];
    bool given[NR_WISHES];
};

static void wish(struct wishes *wishes, int which, const char *value)
{
    if (wishes->given[which])
        return; /* what comes first stands: the environment, the user's file, the machine's */
    wishes->given[which] = true;
    snprintf(wishes->text[which], sizeof(wishes->text[which]), "%s", value);
}

/* Lines "NCCL_DEBUG=WARN"; NCCL passes over those that begin with #. */
static void read_conf(struct wishes *wishes, const char *path)
{
    char line[PATH_MAX + 64];
    FILE *file = path ? fopen(path, "re") : NULL;
    while (file && fgets(line, sizeof(line), file)) {
        line[strcspn(line, "\r\n")] = '\0';
        char *equals = strchr(line, '=');
        if (line[0] == '#' || !equals)
            continue;
        *equals = '\0';
        for (int i = 0; i < NR_WISHES; i++)
            if (strcmp(line, variables[i]) == 0)
                wish(wishes, i, equals + 1);
    }
    if (file)
        (void)fclose(file);
}

static void read_wishes(struct wishes *wishes)
{
    char path[PATH_MAX];
    const char *home = getenv("HOME"), *conf = getenv("NCCL_CONF_FILE");
    for (int i = 0; i < NR_WISHES; i++)
        if (getenv(variables[i]))
            wish(wishes, i, getenv(variables[i]));
    if (conf)
        read_conf(wishes, conf);
    if (home && snprintf(path, sizeof(path), "%s/.nccl.conf", home) < (int)sizeof(path))
        read_conf(wishes, path);
    read_conf(wishes, "/etc/nccl.conf");
}

/* NCCL replaces %h by the host, %p by the process and %% by %. */
static bool file_pattern(const char *dir, char *pattern, size_t size)
{
    size_t used = 0;
    for (const char *c = dir; *c; c++) {
        if (used + 3 >= size)
            return false;
        pattern[used++] = *c;
        if (*c == '%')
            pattern[used++] = '%';
    }
    return snprintf(pattern + used, size - used, "/%%h-%%p.log") < (int)(size - used);
}

static bool is_quiet(const char *level)
{
    return strcasecmp(level, "WARN") == 0 || strcasecmp(level, "VERSION") == 0;
}

void job_nccl_log_set(const char *dir)
{
    static struct wishes wishes; /* in a process of its own */
    char pattern[PATH_MAX];
    if (!dir)
        return;
    setenv("TRSHIM_NCCL_LOG", dir, 1);
    read_wishes(&wishes);
    if (wishes.given[SUBSYS] || wishes.given[FILE_] || (wishes.given[DEBUG] && !is_quiet(wishes.text[DEBUG])) ||
        !file_pattern(dir, pattern, sizeof(pattern)))
        return;
    setenv("TRSHIM_NCCL_DEBUG", wishes.given[DEBUG] ? wishes.text[DEBUG] : "", 1);
    setenv("NCCL_DEBUG", TR_NCCL_LEVEL, 1);
    setenv("NCCL_DEBUG_SUBSYS", SUBSYSTEMS, 1);
    setenv("NCCL_DEBUG_FILE", pattern, 1);
}
