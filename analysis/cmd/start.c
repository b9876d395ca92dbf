/* start.c - `trshim start`, `stop`, `level`, `snapshot`, `status`: sessions for jobs that only have the preload, and
 * orders to any session that runs.
 *
 * Without -o they mean the session at the meeting place ($TRSHIM_HOME or /tmp/trshim-<uid>), with -o the one that
 * `trshim record` or `start` keeps for that directory. */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/cmd/card.h"
#include "analysis/cmd/cmd.h"
#include "analysis/cmd/job.h"
#include "analysis/cmd/job_environment.h"
#include "analysis/cmd/keeper.h"
#include "analysis/cmd/primer.h"
#include "analysis/cmd/record_options.h"
#include "analysis/report/units.h"
#include "traces/schema.h"
#include "traces/session_error.h"

static int fail(char *error)
{
    int rc = cmd_error("%s", error ? error : "out of memory");
    free(error);
    return rc;
}

/* ---- start ---- */

static int begin(const struct record_options *o, struct output *output, const char *meeting, const char *core,
                 struct keeper_welcome *welcome, char **ret_error)
{
    bool again;
    char home[HOME_PATH_MAX];
    int rc = output_lock(output);
    if (rc < 0)
        return session_fail(ret_error, rc, "cannot lock %s: %s", output->node, strerror(-rc));
    int fd = output_find_keeper(output, home, sizeof(home)) == 0 ? home_connect(home) : -1;
    if (fd >= 0) {
        close(fd);
        return session_fail(ret_error, -EBUSY, "%s is being recorded into already; give another directory with -o",
                            o->dir);
    }
    rc = output_new_session(output, &again, ret_error);
    if (rc < 0)
        return rc;
    const struct keeper_options options = {
        .output = output,
        .meeting = meeting,
        .level = o->level,
        .buffers = o->flight ? o->flight : o->buffers,
        .flight = o->flight > 0,
        .max_size = o->max_size,
        .duration_ns = o->duration_ns,
        .stays = true,
    };
    pid_t pid;
    rc = keeper_spawn(&options, &pid, &fd, welcome, ret_error);
    if (rc == 0) {
        close(fd);
        primer_run(core, welcome->home);
    }
    return rc;
}

static int run_start(int argc, char **argv)
{
    static struct record_options options;
    static struct output output;
    static struct keeper_welcome welcome;
    static struct job_environment env;
    char meeting[PATH_MAX], profiler[PATH_MAX], *error = NULL;

    job_reserve_stdio();
    start_options_parse(&options, argc, argv);
    if (home_meeting_path(meeting, sizeof(meeting), &error) < 0 || job_environment_find(&env, &error) < 0 ||
        output_open(&output, options.dir, &error) < 0)
        return fail(error);
    if (begin(&options, &output, meeting, env.core, &welcome, &error) < 0) {
        output_undo(&output);
        return fail(error);
    }
    output_close(&output);
    bool has_profiler = job_environment_profiler(&env, profiler, sizeof(profiler));
    printf("trshim: recording into %s what this user runs with: %s%s%sLD_PRELOAD=%s%s%s\n"
           "trshim: end it with: trshim stop\n",
           options.dir, getenv("TRSHIM_HOME") ? "TRSHIM_HOME=" : "", getenv("TRSHIM_HOME") ? meeting : "",
           getenv("TRSHIM_HOME") ? " " : "", env.preload, has_profiler ? " NCCL_PROFILER_PLUGIN=" : "",
           has_profiler ? profiler : "");
    return 0;
}

const struct command cmd_start = {"start", "Record jobs that only have LD_PRELOAD=libtrshim.so", run_start};

/* ---- orders to a session that runs ---- */

struct order {
    const char *dir; /* NULL: the meeting place */
    const char *argument;
    bool wants_argument;
};

static error_t parse_order(int key, char *arg, struct argp_state *state)
{
    struct order *o = state->input;
    switch (key) {
    case 'o':
        o->dir = arg;
        return 0;
    case ARGP_KEY_ARG:
        if (!o->wants_argument || o->argument)
            argp_error(state, "unexpected argument \"%s\"", arg);
        o->argument = arg;
        return 0;
    case ARGP_KEY_END:
        if (o->wants_argument && !o->argument)
            argp_error(state, "give a level: light, standard or full");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option order_rows[] = {
    {"output", 'o', "DIR", 0, "The session that records into DIR (default: the one of `trshim start`)", 0},
    {0},
};

/* The home of the keeper that the order is for. */
static int find_home(const struct order *o, char *home, size_t size, char **ret_error)
{
    if (!o->dir)
        return home_meeting_path(home, size, ret_error);
    struct stat st;
    if (stat(o->dir, &st) < 0)
        return session_fail(ret_error, -errno, "%s: %s", o->dir, strerror(errno));
    struct output output;
    int rc = output_open(&output, o->dir, ret_error);
    if (rc < 0)
        return rc;
    rc = output_find_keeper(&output, home, size);
    output_undo(&output); /* removes only what is empty */
    output_close(&output);
    return rc < 0 ? session_fail(ret_error, rc, "nothing on this host records into %s", o->dir) : 0;
}

/* Returns the keeper's socket, or -errno. */
static int join(const struct order *o, struct keeper_welcome *welcome, char **ret_error)
{
    char home[PATH_MAX];
    int rc = find_home(o, home, sizeof(home), ret_error);
    if (rc < 0)
        return rc;
    int fd = keeper_visit(home, welcome);
    if (fd < 0)
        return session_fail(ret_error, fd, "no session runs at %s; begin one with: trshim start", home);
    return fd;
}

/* Reads the order and joins its session. Returns the keeper's socket, or -1 with the exit status in *ret_status. */
static int take_order(const struct argp *argp, int argc, char **argv, struct order *order,
                      struct keeper_welcome *welcome, int *ret_status)
{
    char *error = NULL;

    argp_parse(argp, argc, argv, 0, NULL, order);
    int fd = join(order, welcome, &error);
    *ret_status = fd < 0 ? fail(error) : 0;
    return fd < 0 ? -1 : fd;
}

static int run_stop(int argc, char **argv)
{
    static const struct argp argp = {order_rows, parse_order, "",  "Ends a session and says what it recorded.",
                                     NULL,       NULL,        NULL};
    static struct keeper_welcome welcome;
    static struct keeper_summary summary;
    struct order order = {0};
    int status, fd = take_order(&argp, argc, argv, &order, &welcome, &status);
    if (fd < 0)
        return status;
    int rc = keeper_stop(fd, &summary);
    close(fd);
    if (rc < 0)
        return cmd_error("the recorder was killed; what it had written until then is in %s", welcome.trace);
    card_print(stdout, summary.trace, &summary, false, -1);
    printf("  more    trshim report %s\n", summary.trace);
    return 0;
}

const struct command cmd_stop = {"stop", "End what `trshim start` began", run_stop};

static int run_level(int argc, char **argv)
{
    static const struct argp argp = {
        order_rows, parse_order, "light|standard|full", "Raises or lowers the detail of a session that runs.", NULL,
        NULL,       NULL};
    static struct keeper_welcome welcome;
    struct order order = {.wants_argument = true};
    char *error = NULL;

    argp_parse(&argp, argc, argv, 0, NULL, &order);
    enum tr_level level = level_from_name(order.argument);
    if (level == LEVEL_MAX)
        return cmd_error("no level is called \"%s\"; give light, standard or full", order.argument);
    int fd = join(&order, &welcome, &error);
    if (fd < 0)
        return fail(error);
    int rc = keeper_level(fd, level, &error);
    close(fd);
    return rc < 0 ? fail(error) : 0;
}

const struct command cmd_level = {"level", "Raise or lower the detail of a session that runs", run_level};

static int run_snapshot(int argc, char **argv)
{
    static const struct argp argp = {order_rows, parse_order, "",  "Writes what a flight recorder (--flight) holds.",
                                     NULL,       NULL,        NULL};
    static struct keeper_welcome welcome;
    struct order order = {0};
    char *error = NULL;
    int status, fd = take_order(&argp, argc, argv, &order, &welcome, &status);
    if (fd < 0)
        return status;
    int rc = keeper_snapshot(fd, &error);
    close(fd);
    if (rc < 0)
        return fail(error);
    printf("  trace   %s (%s so far)\n  more    trshim report %s\n", welcome.trace,
           units_bytes((double)output_size(welcome.trace)).text, welcome.trace);
    return 0;
}

const struct command cmd_snapshot = {"snapshot", "Write what a flight recorder holds", run_snapshot};

static int run_status(int argc, char **argv)
{
    static const struct argp argp = {order_rows, parse_order, "",  "Says whether a session runs, and what it records.",
                                     NULL,       NULL,        NULL};
    static struct keeper_welcome welcome;
    struct order order = {0};
    int status, fd = take_order(&argp, argc, argv, &order, &welcome, &status);
    if (fd < 0)
        return status;
    close(fd);
    printf("  trace   %s (%s so far)\n  level   %s\n  meet at %s\n", welcome.trace,
           units_bytes((double)output_size(welcome.trace)).text, schema_level_names[welcome.level], welcome.home);
    return 0;
}

const struct command cmd_status = {"status", "Say whether a session runs", run_status};
