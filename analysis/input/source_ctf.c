/* source_ctf.c - LTTng trace directories as sources of events. */
#include <errno.h>
#include <stdio.h>

#include "analysis/input/source.h"

int source_ctf_open(const char *path, struct hosts *hosts, struct sources *sources, char **ret_error)
{
    (void)hosts;
    (void)sources;
    (void)asprintf(ret_error, "Cannot read input: path=\"%s\", cause=\"directories are not read yet\"", path);
    return -ENOSYS;
}
