/* session_file.c - see session_file.h. */
#include "analysis/cmd/session_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <yajl/yajl_gen.h>

#include "analysis/cmd/cmd.h"
#include "traces/schema.h"

static void key(yajl_gen gen, const char *name)
{
    yajl_gen_string(gen, (const unsigned char *)name, strlen(name));
}

static void put_str(yajl_gen gen, const char *name, const char *value)
{
    key(gen, name);
    key(gen, value);
}

static void put_int(yajl_gen gen, const char *name, uint64_t value)
{
    key(gen, name);
    yajl_gen_integer(gen, (long long)value);
}

static void put_channels(yajl_gen gen, const struct buffer_plan *buffers, const struct keeper_summary *summary)
{
    key(gen, "channels");
    yajl_gen_array_open(gen);
    for (int c = 0; c < CH_MAX; c++) {
        yajl_gen_map_open(gen);
        put_str(gen, "name", schema_channel_names[c]);
        put_int(gen, "subbuf_bytes", buffers->channel[c].subbuf_size);
        put_int(gen, "subbufs", buffers->channel[c].nr_subbuf);
        if (summary && summary->complete) {
            put_int(gen, "lost_events", summary->lost.events[c]);
            put_int(gen, "lost_packets", summary->lost.packets[c]);
        }
        yajl_gen_map_close(gen);
    }
    yajl_gen_array_close(gen);
}

static void put_all(yajl_gen gen, const struct output *output, const struct keeper_options *options,
                    const struct buffer_plan *buffers, const char *identity, const struct keeper_summary *summary)
{
    struct timespec real, mono;
    clock_gettime(CLOCK_REALTIME, &real);
    clock_gettime(CLOCK_MONOTONIC, &mono);

    yajl_gen_map_open(gen);
    put_str(gen, "schema", "trshim-session/1");
    put_str(gen, "trshim", TRSHIM_VERSION);
    put_str(gen, "host", output->host);
    put_str(gen, "boot", output->boot);
    put_int(gen, "epoch_ns",
            (uint64_t)(real.tv_sec - mono.tv_sec) * 1000000000u + (uint64_t)(real.tv_nsec - mono.tv_nsec));
    put_str(gen, "identity", identity);
    put_str(gen, "state", summary ? "ended" : "recording");
    put_str(gen, "level", schema_level_names[summary ? summary->level : options->level]);
    put_int(gen, "max_size_bytes", options->max_size);
    put_int(gen, "buffer_bytes", buffers->total);
    if (options->flight)
        put_int(gen, "snapshots", summary ? summary->nr_snapshots : 0);
    if (summary) {
        put_str(gen, "why", summary->why);
        key(gen, "complete");
        yajl_gen_bool(gen, summary->complete);
        put_int(gen, "began_ns", summary->began_ns);
        put_int(gen, "ended_ns", summary->ended_ns);
        put_int(gen, "recorder_cpu_ns", summary->recorder_cpu_ns);
    }
    put_channels(gen, buffers, summary);
    yajl_gen_map_close(gen);
}

/* Under another name first: a reader never sees half a file. */
static int replace(int dir_fd, const unsigned char *text, size_t len)
{
    int fd = openat(dir_fd, "session.json.new", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return -errno;
    int rc = write(fd, text, len) == (ssize_t)len ? 0 : -EIO;
    close(fd);
    if (rc == 0 && renameat(dir_fd, "session.json.new", dir_fd, "session.json") < 0)
        rc = -errno;
    return rc;
}

int session_file_write(const struct output *output, const struct keeper_options *options,
                       const struct buffer_plan *buffers, const char *identity, const struct keeper_summary *summary)
{
    yajl_gen gen = yajl_gen_alloc(NULL);
    if (!gen)
        return -ENOMEM;
    yajl_gen_config(gen, yajl_gen_beautify, 1);
    put_all(gen, output, options, buffers, identity, summary);
    const unsigned char *text;
    size_t len;
    int rc =
        yajl_gen_get_buf(gen, &text, &len) == yajl_gen_status_ok ? replace(output->session_fd, text, len) : -EINVAL;
    yajl_gen_free(gen);
    return rc;
}
