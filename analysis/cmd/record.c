/* record.c - `trshim record -- CMD`: runs a command and records it.
 *
 * This process is a bystander: the job is its child as if started alone (job.h), the session belongs to the keeper
 * (keeper.h). It connects the two, and says at the end what came of it. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "analysis/cmd/card.h"
#include "analysis/cmd/cmd.h"
#include "analysis/cmd/job.h"
#include "analysis/cmd/job_environment.h"
#include "analysis/cmd/primer.h"
#include "analysis/cmd/record_options.h"
#include "traces/clock.h"
#include "traces/session_daemon.h"
#include "traces/session_error.h"

/* From SIGTERM to the end of the session: whoever sends it often sends SIGKILL 10 s later, to all of us. */
#define TERM_GRACE_NS 6000000000ull
#define KEEPER_TIMEOUT_MS 15000

struct recording {
    struct record_options options;
    struct output output;
    struct job job;
    struct job_environment env;
    pid_t keeper_pid; /* 0: another record's keeper */
    int keeper_fd;    /* -1: no longer */
    struct keeper_summary summary;
    bool over;    /* summary is filled */
    bool goes_on; /* others still record */
};

/* ---- the session ---- */

static int start_keeper(struct recording *r, char **ret_error)
{
    bool again;
    int rc = output_new_session(&r->output, &again, ret_error);
    if (rc < 0)
        return rc;
    if (again)
        fprintf(stderr, "trshim: %s holds a recording of this host already; this one is added to it\n", r->options.dir);
    const struct keeper_options options = {
        .output = &r->output,
        .level = r->options.level,
        .buffers = r->options.flight ? r->options.flight : r->options.buffers,
        .flight = r->options.flight > 0,
        .max_size = r->options.max_size,
        .delay_ns = r->options.delay_ns,
        .duration_ns = r->options.duration_ns,
    };
    rc = keeper_spawn(&options, &r->keeper_pid, &r->keeper_fd, &r->env.session, ret_error);
    if (rc == 0)
        primer_run(r->env.core, r->env.session.home);
    return rc;
}

/* Joins the session that another record on this node has for the same directory, or makes one. */
static int enter_session(struct recording *r, char **ret_error)
{
    char home[HOME_PATH_MAX];
    int rc = output_lock(&r->output);
    if (rc < 0)
        return session_fail(ret_error, rc, "cannot lock %s, nor /tmp or /dev/shm: %s", r->output.node, strerror(-rc));
    r->keeper_fd = -1;
    if (output_find_keeper(&r->output, home, sizeof(home)) == 0) {
        r->keeper_fd = keeper_join(home, &r->env.session);
        if (r->keeper_fd < 0) {
            home_remove_stale(home);
            output_clear_keeper(&r->output);
        }
    }
    if (r->keeper_fd < 0)
        rc = start_keeper(r, ret_error);
    output_unlock(&r->output);
    return rc;
}

/* The keeper is dead without a word. What it would have removed is ours to remove now. */
static void keeper_died(struct recording *r)
{
    close(r->keeper_fd);
    r->keeper_fd = -1;
    if (!r->keeper_pid)
        return;
    /* Its daemon is ending by itself: let it write what it has before its home goes. */
    for (int i = 0; i < 200 && daemon_lives(r->env.session.home); i++)
        usleep(10000);
    home_remove_stale(r->env.session.home);
    output_clear_keeper(&r->output);
    if (r->env.session.identity == IDENTITY_SETUID && r->output.session_fd >= 0)
        output_chown(r->output.session_fd, getuid(), getgid());
}

static void leave_session(struct recording *r)
{
    if (r->keeper_fd < 0)
        return;
    struct pollfd fd = {.fd = r->keeper_fd, .events = POLLIN};
    int rc = keeper_say_leave(r->keeper_fd, r->job.ended && r->job.status != 0);
    if (rc == 0 && poll(&fd, 1, KEEPER_TIMEOUT_MS) == 0 && r->keeper_pid)
        kill(r->keeper_pid, SIGKILL); /* hangs: the daemon ends with it */
    if (rc == 0)
        rc = keeper_hear_summary(r->keeper_fd, &r->summary);
    if (rc < 0) {
        keeper_died(r);
    } else {
        r->over = rc == 1;
        r->goes_on = rc == 0;
        close(r->keeper_fd);
        r->keeper_fd = -1;
    }
    if (r->keeper_pid && !r->goes_on)
        while (waitpid(r->keeper_pid, NULL, 0) < 0 && errno == EINTR)
            ;
}

/* ---- while the job runs ---- */

static int wait_ms(const struct recording *r)
{
    if (!r->job.term_at_ns || r->over || r->keeper_fd < 0)
        return -1;
    uint64_t now = now_ns(), at = r->job.term_at_ns + TERM_GRACE_NS;
    return at > now ? (int)((at - now) / 1000000) + 1 : 0;
}

static void watch_job(struct recording *r)
{
    while (!r->job.ended) {
        struct pollfd fds[] = {{.fd = r->job.signal_fd, .events = POLLIN}, {.fd = r->keeper_fd}};
        int n = poll(fds, 2, wait_ms(r));
        if (n > 0 && fds[1].revents)
            keeper_died(r);
        job_signals(&r->job);
        if (!r->job.ended && wait_ms(r) == 0 && keeper_stop(r->keeper_fd, &r->summary) == 0)
            r->over = true;
    }
}

/* ---- the command ---- */

static void say_end(struct recording *r)
{
    if (r->goes_on || r->options.quiet)
        return;
    if (!r->over)
        fprintf(stderr, "trshim: the recorder was killed; what it had written until then is kept\n");
    else if (strcmp(r->summary.why, KEEPER_WHY_JOB_ENDED))
        fprintf(stderr, "trshim: recording ended before the job: %s\n", r->summary.why);
    card_print(stderr, r->options.dir, r->over ? &r->summary : NULL, r->options.with_report, r->job.signal_fd);
}

static int check_command(const char *name)
{
    int rc = job_find(name);
    if (rc == 0)
        return 0;
    cmd_error("cannot run \"%s\": %s", name, rc == -ENOENT ? "no such program" : strerror(-rc));
    return job_exec_status(-rc);
}

static int fail(char *error)
{
    int rc = cmd_error("%s", error ? error : "out of memory");
    free(error);
    return rc;
}

static int run_record(int argc, char **argv)
{
    static struct recording recording;
    struct recording *r = &recording;
    char *error = NULL;

    job_reserve_stdio();
    record_options_parse(&r->options, argc, argv);
    int rc = check_command(r->options.command[0]);
    if (rc)
        return rc;
    r->env.ranks = r->options.ranks;
    r->env.steps = r->options.steps;
    r->env.every = r->options.every;
    if (job_environment_find(&r->env, &error) < 0 || output_open(&r->output, r->options.dir, &error) < 0)
        return fail(error);
    if (r->options.default_dir)
        fprintf(stderr, "trshim: recording into %s\n", r->options.dir);
    if (job_init(&r->job) < 0)
        return fail(NULL);
    if (enter_session(r, &error) < 0) {
        output_undo(&r->output);
        return fail(error);
    }
    if (!r->options.no_nccl_log)
        r->env.nccl_log = output_nccl_log(&r->output);
    r->env.wrap_net = r->options.wrap_net;
    rc = job_start(&r->job, r->options.command, job_environment_set, &r->env);
    if (rc < 0) {
        cmd_error("cannot run \"%s\": %s", r->options.command[0], strerror(-rc));
        leave_session(r);
        return job_exec_status(-rc);
    }
    watch_job(r);
    leave_session(r);
    say_end(r);
    output_close(&r->output);
    job_exit_like(&r->job);
}

const struct command cmd_record = {"record", "Run a command and record it", run_record};
