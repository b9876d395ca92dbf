/* nccl_log_find.c - the logs of NCCL's that `trshim record` kept beside a trace: <session>/nccl/<anything>.log. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/input/nccl_log.h"
#include "analysis/input/source.h"

/* The session's directory: that of its trace, or above that of a snapshot (record --flight). */
static void session_directory(const char *trace, char *dir, size_t size)
{
    (void)snprintf(dir, size, "%s", trace);
    char *slash = strrchr(dir, '/');
    if (slash && strncmp(slash + 1, "snapshot-", 9) == 0)
        *slash = '\0';
}

/* Snapshots of one session have its logs in common. */
static bool has_logs_of(const struct sources *sources, const char *dir)
{
    size_t len = strlen(dir);
    for (size_t i = 0; i < sources->nr; i++) {
        const struct trace_input *input = &sources->list[i]->input;
        if (strcmp(input->kind, "nccl-log") == 0 && strncmp(input->path, dir, len) == 0 && input->path[len] == '/')
            return true;
    }
    return false;
}

int nccl_log_find(const char *trace, uint32_t host, uint64_t first_ns, struct hosts *hosts, struct sources *sources)
{
    char dir[PATH_MAX], *below, *path;
    int rc = 0;

    session_directory(trace, dir, sizeof(dir));
    if (has_logs_of(sources, dir))
        return 0;
    if (asprintf(&below, "%s/nccl", dir) < 0)
        return -ENOMEM;
    DIR *logs = opendir(below);
    for (struct dirent *entry; rc == 0 && logs && (entry = readdir(logs));) {
        const char *end = strrchr(entry->d_name, '.');
        if (!end || strcmp(end, ".log") != 0)
            continue;
        if (asprintf(&path, "%s/%s", below, entry->d_name) < 0) {
            rc = -ENOMEM;
            break;
        }
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd >= 0 && nccl_log_is_one(fd))
            rc = source_nccl_log_add(fd, path, host, first_ns, hosts, sources);
        else if (fd >= 0)
            close(fd); /* NCCL opened it and had nothing to say */
        free(path);
    }
    if (logs)
        (void)closedir(logs);
    free(below);
    return rc;
}
