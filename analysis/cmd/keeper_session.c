/* keeper_session.c - see keeper_session.h. */
#include "analysis/cmd/keeper_session.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "analysis/cmd/session_file.h"
#include "traces/clock.h"
#include "traces/session_error.h"
#include "traces/session_metadata.h"
#include "traces/session_prune.h"
#include "traces/session_wake.h"

#define NS_PER_S 1000000000ull
#define CHECK_NS (NS_PER_S / 2) /* how often we look whether the daemons live */
#define PRUNE_MIN_NS (NS_PER_S / 50)
#define PRUNE_RESERVE(max) ((max) / 8)
#define SETUP_ALARM_S 20 /* a daemon that hangs is killed, which ends the call that waits for it */
#define END_ALARM_S 6
#define DRAIN_MS 3000 /* to write out what the buffers hold */
#define METADATA_MS 1500
#define DAEMON_GRACE_MS 2000
/* Of a hang every process tells anew, and the first snapshot has what led to it; later ones show whether it went on. */
#define ALARM_APART_NS (30 * NS_PER_S)
#define ALARM_SNAPSHOTS_MAX 8
#define ALARM_SETTLE_NS (3 * NS_PER_S / 2) /* each process looks once a second: by then all have told */

/* For the alarm's handler: a call into liblttng-ctl cannot be interrupted, but ends when its daemon does. */
static volatile pid_t hanging_daemon;

static void on_alarm(int sig)
{
    if (hanging_daemon > 0)
        kill(hanging_daemon, SIGKILL);
}

/* ---- beginning ---- */

static int make_home(struct keeper_session *s, char **ret_error)
{
    if (s->options->meeting)
        return home_make_at(&s->home, &s->identity, s->options->meeting, ret_error);
    return home_make(&s->home, &s->identity, s->options->output->dir, ret_error);
}

static int plan_buffers(struct keeper_session *s, char **ret_error)
{
    struct buffer_limits limits;
    int rc = buffers_measure(&limits);
    if (rc < 0)
        return session_fail(ret_error, rc, "cannot look at /dev/shm, where the ring buffers go: %s", strerror(-rc));
    limits.buffers = s->options->buffers;
    limits.max_size = s->options->max_size;
    limits.ring = s->options->flight;
    buffers_plan(&limits, &s->buffers);
    if (s->buffers.total > limits.shm_free)
        return session_fail(ret_error, -ENOSPC,
                            "/dev/shm has %llu KiB free, the smallest ring buffers need %llu KiB; "
                            "free some, or mount it larger (docker run --shm-size)",
                            (unsigned long long)limits.shm_free >> 10, (unsigned long long)s->buffers.total >> 10);
    return 0;
}

static int begin_recording(struct keeper_session *s, char **ret_error)
{
    int rc = session_start(s->session, ret_error);
    if (rc < 0)
        return rc;
    s->recording = true;
    s->start_at_ns = 0;
    s->summary.began_ns = now_ns();
    s->pruned_at_ns = s->summary.began_ns;
    s->prune_at_ns = s->options->max_size && !s->options->flight ? s->summary.began_ns + PRUNE_MIN_NS : 0;
    if (s->options->duration_ns)
        s->end_at_ns = s->summary.began_ns + s->options->duration_ns;
    return 0;
}

/* What has to be done as the job's user, before the daemon's uid is taken on. */
static int prepare(struct keeper_session *s, char **ret_error)
{
    const struct output *out = s->options->output;
    int rc = plan_buffers(s, ret_error);
    if (rc < 0)
        return rc;
    rc = wake_check(getuid());
    if (rc < 0)
        return session_fail(
            ret_error, rc,
            "/dev/shm/lttng-ust-wait-8-%u cannot be opened (%s), and LTTng records no process of uid %u "
            "without it; remove it, or give the container a /dev/shm of its own",
            getuid(), strerror(-rc), getuid());
    s->wake_fd = wake_open(getuid());
    rc = identity_choose(&s->identity, getenv("TRSHIM_SESSION_MODE"), ret_error);
    if (rc < 0)
        return rc;
    rc = make_home(s, ret_error);
    if (rc < 0)
        return rc;
    rc = session_file_write(out, s->options, &s->buffers, identity_name(s->identity.kind), NULL);
    if (rc == 0)
        rc = output_set_keeper(out, s->home.path);
    if (rc == 0 && s->identity.kind == IDENTITY_SETUID && fchown(out->session_fd, s->identity.uid, s->identity.gid) < 0)
        rc = -errno;
    if (rc < 0)
        return session_fail(ret_error, rc, "cannot write in %s: %s", out->session, strerror(-rc));
    return 0;
}

int keeper_session_begin(struct keeper_session *s, const struct keeper_options *options, char **ret_error)
{
    *s = (struct keeper_session){.options = options, .level = options->level, .wake_fd = -1};
    signal(SIGALRM, on_alarm);
    int rc = prepare(s, ret_error);
    if (rc < 0)
        return rc;
    rc = identity_enter(&s->identity);
    if (rc < 0)
        return session_fail(ret_error, rc, "cannot become uid %u: %s", s->identity.uid, strerror(-rc));
    setenv("LTTNG_HOME", s->home.path, 1); /* for liblttng-ctl */
    rc = daemon_start(&s->daemon, &s->identity, &s->home, s->options->output->session_fd, ret_error);
    if (rc < 0)
        return rc;
    hanging_daemon = s->daemon.pid;
    alarm(SETUP_ALARM_S);
    rc = session_create(&s->session, s->daemon.output, &s->buffers, s->level, ret_error);
    if (rc == 0 && !s->options->delay_ns)
        rc = begin_recording(s, ret_error);
    alarm(0);
    if (rc < 0)
        return rc;
    if (s->options->delay_ns)
        s->start_at_ns = now_ns() + s->options->delay_ns;
    s->home.control->level = s->level;
    /* Who records a job that it starts itself has nobody to wake. */
    if (s->wake_fd >= 0 && s->options->stays)
        (void)wake_set(s->wake_fd, true);
    return 0;
}

/* ---- the size of the trace ---- */

/* Down to max_size; while recording a little further, so that there is time until the next look: that is when, at the
 * speed at which it grew, half of what is free will be used. */
static void prune(struct keeper_session *s)
{
    uint64_t max = s->options->max_size, before = s->size, now = now_ns();
    uint64_t target = s->over ? max - PRUNE_RESERVE(max) / 4 : max - PRUNE_RESERVE(max);
    uint64_t since_ns = now - s->pruned_at_ns;

    if (!max || prune_trace(s->options->output->session_fd, UINT64_MAX, &s->size) < 0)
        return;
    uint64_t grown = s->size > before ? s->size - before : 0;
    if (s->size > target)
        (void)prune_trace(s->options->output->session_fd, target, &s->size);
    uint64_t room = s->size < max ? max - s->size : 0;
    uint64_t wait_ns = grown ? (uint64_t)((double)room / 2 / (double)grown * (double)since_ns) : CHECK_NS;
    s->pruned_at_ns = now;
    s->prune_at_ns = now + (wait_ns < PRUNE_MIN_NS ? PRUNE_MIN_NS : wait_ns > CHECK_NS ? CHECK_NS : wait_ns);
}

/* ---- ending ---- */

static uint64_t own_cpu_ns(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * NS_PER_S +
           (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000u;
}

static int snapshot(struct keeper_session *s, char **ret_error)
{
    int rc = session_snapshot(s->session, ret_error);
    s->summary.nr_snapshots += rc == 0;
    return rc;
}

static void stop_session(struct keeper_session *s)
{
    bool written = false;
    hanging_daemon = s->daemon.pid;
    alarm(END_ALARM_S);
    if (s->session && s->daemon.pid) {
        if (s->recording && s->options->flight && s->failed)
            (void)snapshot(s, NULL);
        if (s->recording)
            s->summary.complete = session_stop(s->session, DRAIN_MS, &s->summary.lost) == 0;
        written = s->summary.complete && !s->options->flight &&
                  metadata_wait(s->options->output->session_fd, session_nr_events(s->session), METADATA_MS) == 0;
        session_destroy(s->session);
    }
    alarm(0);
    hanging_daemon = 0;
    /* Told to end it takes half a second, for nothing when all is written. */
    daemon_stop(&s->daemon, written ? 0 : DAEMON_GRACE_MS);
}

void keeper_session_end(struct keeper_session *s, const char *why)
{
    const struct output *out = s->options->output;
    if (s->over)
        return;
    s->over = true;
    snprintf(s->summary.why, sizeof(s->summary.why), "%s", why);
    snprintf(s->summary.trace, sizeof(s->summary.trace), "%s", out->session);
    s->summary.level = s->level;
    s->summary.ended_ns = now_ns();
    s->summary.flight = s->options->flight;
    stop_session(s);
    s->recording = false;
    if (!s->options->flight)
        prune(s);
    s->start_at_ns = s->end_at_ns = s->prune_at_ns = 0;
    s->summary.recorder_cpu_ns = s->daemon.cpu_ns + own_cpu_ns();

    if (s->wake_fd >= 0 && s->home.path[0] && (s->options->stays || s->identity.kind == IDENTITY_USER))
        (void)wake_set(s->wake_fd, false);
    (void)identity_leave(&s->identity);
    if (s->identity.kind == IDENTITY_SETUID)
        output_chown(out->session_fd, getuid(), getgid());
    if (s->identity.uid >= IDENTITY_OURS_FIRST)
        wake_forget(s->identity.uid);
    output_clear_keeper(out);
    (void)session_file_write(out, s->options, &s->buffers, identity_name(s->identity.kind), &s->summary);
    if (s->home.path[0])
        home_remove(&s->home);
}

/* ---- while it runs ---- */

int keeper_session_set_level(struct keeper_session *s, enum tr_level level, char **ret_error)
{
    if (s->over)
        return session_fail(ret_error, -ESRCH, "the session is over");
    hanging_daemon = s->daemon.pid;
    alarm(END_ALARM_S);
    int rc = session_set_level(s->session, level, ret_error);
    alarm(0);
    if (rc == 0)
        s->level = s->home.control->level = level;
    return rc;
}

int keeper_session_snapshot(struct keeper_session *s, char **ret_error)
{
    if (s->over)
        return session_fail(ret_error, -ESRCH, "the session is over");
    if (!s->options->flight)
        return session_fail(ret_error, -EINVAL, "this session writes all it records; snapshots are for --flight");
    if (!s->recording)
        return session_fail(ret_error, -EAGAIN, "recording has not begun yet");
    hanging_daemon = s->daemon.pid;
    alarm(SETUP_ALARM_S);
    int rc = snapshot(s, ret_error);
    alarm(0);
    return rc;
}

/* A process says that something in it does not go on. */
static void heed_alarms(struct keeper_session *s, uint64_t now)
{
    uint32_t alarms = s->options->flight ? s->home.control->alarms : 0;
    bool soon = s->nr_alarm_snapshots && now - s->snapshot_at_ns < ALARM_APART_NS;

    if (alarms == s->alarms || soon || s->nr_alarm_snapshots == ALARM_SNAPSHOTS_MAX)
        return;
    if (!s->alarm_since_ns)
        s->alarm_since_ns = now;
    if (now - s->alarm_since_ns < ALARM_SETTLE_NS)
        return;
    s->alarm_since_ns = 0;
    s->alarms = alarms;
    s->snapshot_at_ns = now;
    s->nr_alarm_snapshots++;
    (void)keeper_session_snapshot(s, NULL);
}

void keeper_session_check(struct keeper_session *s)
{
    char *error = NULL;
    if (!s->over && daemon_check(&s->daemon, &error) < 0)
        keeper_session_end(s, error ? error : "the session daemon is gone");
    free(error);
}

void keeper_session_tick(struct keeper_session *s)
{
    uint64_t now = now_ns();
    keeper_session_check(s);
    if (s->start_at_ns && now >= s->start_at_ns) {
        char *error = NULL;
        if (begin_recording(s, &error) < 0)
            keeper_session_end(s, error ? error : "recording could not start");
        free(error);
    }
    if (s->prune_at_ns && now >= s->prune_at_ns)
        prune(s);
    if (s->recording && !s->over)
        heed_alarms(s, now);
    if (s->end_at_ns && now >= s->end_at_ns)
        keeper_session_end(s, "the time asked for was over");
}

uint64_t keeper_session_next_ns(const struct keeper_session *s)
{
    uint64_t next = now_ns() + CHECK_NS;
    const uint64_t at[] = {s->start_at_ns, s->end_at_ns, s->prune_at_ns};
    for (size_t i = 0; i < sizeof(at) / sizeof(*at); i++)
        if (at[i] && at[i] < next)
            next = at[i];
    return next;
}
