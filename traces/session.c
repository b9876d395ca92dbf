/* session.c - see session.h. */
#include "traces/session.h"

#include <errno.h>
#include <lttng/lttng.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "traces/schema.h"
#include "traces/session_error.h"

#define SESSION_NAME "trshim"
#define PROVIDER "trshim:"

/* A packet is written at the latest after this: what a killed daemon loses. */
#define SWITCH_TIMER_US 200000
/* With a read timer the job's threads never write to a pipe to wake the consumer. */
#define READ_TIMER_US 100000
/* UST's metadata lies in a ring buffer of its own. Unless a timer writes it out it stays there until the session ends,
 * and a killed daemon leaves a trace that nobody can read. */
#define METADATA_TIMER_US 100000

#define CLEAR_TIMEOUT_MS 2000

struct session {
    struct lttng_handle *handle;
    bool enabled[EV_MAX];
    bool known[EV_MAX]; /* was enabled once */
    bool ring;
    char *output; /* owned; of snapshots */
};

static int fail(char **ret_error, int ctl_rc, const char *what)
{
    return session_fail(ret_error, -EIO, "LTTng cannot %s: %s; see: trshim doctor", what, lttng_strerror(ctl_rc));
}

static int enable_channel(struct session *s, const char *name, const struct lttng_channel_attr *like, char **ret_error)
{
    struct lttng_channel *channel = lttng_channel_create(&s->handle->domain);
    if (!channel)
        return -ENOMEM;
    snprintf(channel->name, sizeof(channel->name), "%s", name);
    channel->enabled = 1;
    channel->attr.overwrite = like->overwrite;
    channel->attr.output = LTTNG_EVENT_MMAP;
    channel->attr.subbuf_size = like->subbuf_size;
    channel->attr.num_subbuf = like->num_subbuf;
    channel->attr.switch_timer_interval = like->switch_timer_interval;
    channel->attr.read_timer_interval = like->read_timer_interval;
    channel->attr.tracefile_size = like->tracefile_size;
    int rc = lttng_enable_channel(s->handle, channel);
    lttng_channel_destroy(channel);
    return rc < 0 ? fail(ret_error, rc, "make a channel") : 0;
}

static int enable_channels(struct session *s, const struct buffer_plan *buffers, char **ret_error)
{
    /* First, or the others fix its attributes. */
    /* All of it fits a sub-buffer: with LTTng's own 4 KiB it trickles out, a timer's period each. */
    const struct lttng_channel_attr metadata = {
        .subbuf_size = 65536, .num_subbuf = 2, .switch_timer_interval = METADATA_TIMER_US};
    int rc = buffers->ring ? 0 : enable_channel(s, "metadata", &metadata, ret_error);

    for (int c = 0; rc == 0 && c < CH_MAX; c++) {
        const struct lttng_channel_attr attr = {
            .subbuf_size = buffers->channel[c].subbuf_size,
            .num_subbuf = buffers->channel[c].nr_subbuf,
            .overwrite = buffers->ring,
            /* A snapshot takes what is there, and nobody reads a ring before. */
            .switch_timer_interval = buffers->ring ? 0 : SWITCH_TIMER_US,
            .read_timer_interval = buffers->ring ? 0 : READ_TIMER_US,
            .tracefile_size = c == CH_DATA ? buffers->tracefile_size : 0,
        };
        rc = enable_channel(s, schema_channel_names[c], &attr, ret_error);
    }
    return rc;
}

static int enable_event(struct session *s, const char *name, const char *channel)
{
    struct lttng_event *event = lttng_event_create();
    if (!event)
        return -LTTNG_ERR_NOMEM;
    event->type = LTTNG_EVENT_TRACEPOINT;
    event->loglevel_type = LTTNG_EVENT_LOGLEVEL_ALL;
    event->loglevel = -1;
    snprintf(event->name, sizeof(event->name), "%s", name);
    int rc = lttng_enable_event(s->handle, event, channel);
    lttng_event_destroy(event);
    return rc == -LTTNG_ERR_UST_EVENT_ENABLED ? 0 : rc;
}

static int switch_event(struct session *s, enum event_kind kind, bool on)
{
    const struct schema_event *row = schema_event(kind);
    const char *channel = schema_channel_names[row->channel];
    char name[LTTNG_SYMBOL_NAME_LEN];

    if (s->enabled[kind] == on)
        return 0;
    snprintf(name, sizeof(name), PROVIDER "%s", row->name);
    int rc = on ? enable_event(s, name, channel) : lttng_disable_event(s->handle, name, channel);
    if (rc < 0)
        return rc;
    s->enabled[kind] = on;
    s->known[kind] |= on;
    return 0;
}

int session_set_level(struct session *s, enum tr_level level, char **ret_error)
{
    for (enum event_kind k = 0; k < EV_MAX; k++) {
        int rc = switch_event(s, k, schema_event(k)->level <= level);
        if (rc < 0)
            return fail(ret_error, rc, "change which events are recorded");
    }
    return 0;
}

int session_create(struct session **ret, const char *output, const struct buffer_plan *buffers, enum tr_level level,
                   char **ret_error)
{
    struct lttng_domain domain = {.type = LTTNG_DOMAIN_UST, .buf_type = LTTNG_BUFFER_PER_UID};
    struct lttng_session_descriptor *wanted = buffers->ring
                                                  ? lttng_session_descriptor_snapshot_create(SESSION_NAME)
                                                  : lttng_session_descriptor_local_create(SESSION_NAME, output);
    struct session *s = calloc(1, sizeof(*s));
    int rc = -ENOMEM;
    if (!wanted || !s || !(s->output = strdup(output)))
        goto out;
    s->ring = buffers->ring;
    int code = lttng_create_session_ext(wanted);
    if (code != LTTNG_OK) {
        rc = fail(ret_error, -code, "create a session");
        goto out;
    }
    s->handle = lttng_create_handle(SESSION_NAME, &domain);
    if (!s->handle)
        goto out;
    rc = enable_channels(s, buffers, ret_error);
    if (rc == 0)
        rc = session_set_level(s, level, ret_error);
out:
    lttng_session_descriptor_destroy(wanted);
    if (rc < 0)
        session_free(s);
    else
        *ret = s;
    return rc;
}

void session_free(struct session *s)
{
    if (!s)
        return;
    lttng_destroy_handle(s->handle);
    free(s->output);
    free(s);
}

int session_start(struct session *s, char **ret_error)
{
    int rc = lttng_start_tracing(SESSION_NAME);
    return rc < 0 ? fail(ret_error, rc, "start recording") : 0;
}

int session_snapshot(struct session *s, char **ret_error)
{
    struct lttng_snapshot_output *output = lttng_snapshot_output_create();
    struct lttng_clear_handle *clearing = NULL;
    int rc = -LTTNG_ERR_NOMEM;

    if (output && (rc = lttng_snapshot_output_set_local_path(s->output, output)) == 0 &&
        (rc = lttng_snapshot_output_set_name("snapshot", output)) == 0)
        rc = lttng_snapshot_record(SESSION_NAME, output, 0);
    lttng_snapshot_output_destroy(output);
    if (rc < 0)
        return fail(ret_error, rc, "take a snapshot");
    if (lttng_clear_session(SESSION_NAME, &clearing) == LTTNG_OK)
        (void)lttng_clear_handle_wait_for_completion(clearing, CLEAR_TIMEOUT_MS);
    lttng_clear_handle_destroy(clearing);
    return 0;
}

static void read_lost(struct session *s, struct session_lost *ret)
{
    struct lttng_channel *channels = NULL;
    int n = lttng_list_channels(s->handle, &channels);

    for (int i = 0; i < n; i++)
        for (int c = 0; c < CH_MAX; c++)
            if (!strcmp(channels[i].name, schema_channel_names[c])) {
                (void)lttng_channel_get_discarded_event_count(&channels[i], &ret->events[c]);
                (void)lttng_channel_get_lost_packet_count(&channels[i], &ret->packets[c]);
            }
    free(channels);
}

unsigned session_nr_events(const struct session *s)
{
    unsigned n = 0;
    for (int k = 0; k < EV_MAX; k++)
        n += s->known[k];
    return n;
}

int session_stop(struct session *s, unsigned timeout_ms, struct session_lost *ret_lost)
{
    int rc = lttng_stop_tracing_no_wait(SESSION_NAME);
    if (rc < 0 && rc != -LTTNG_ERR_TRACE_ALREADY_STOPPED)
        return -EIO;
    int pending = 1;
    for (unsigned waited_ms = 0; waited_ms <= timeout_ms; waited_ms += 5) {
        pending = lttng_data_pending(SESSION_NAME);
        if (pending <= 0)
            break;
        usleep(5000);
    }
    *ret_lost = (struct session_lost){0};
    if (!s->ring) /* a ring loses its oldest by design */
        read_lost(s, ret_lost);
    return pending == 0 ? 0 : pending > 0 ? -ETIMEDOUT : -EIO;
}

void session_destroy(struct session *s)
{
    (void)lttng_destroy_session_no_wait(SESSION_NAME);
}
