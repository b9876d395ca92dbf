/* record_options.c - see record_options.h. */
#include "analysis/cmd/record_options.h"

#include <argp.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analysis/cmd/cmd.h"
#include "analysis/cmd/quantity.h"
#include "traces/schema.h"

enum {
    KEY_LEVEL = 256,
    KEY_MAX_SIZE,
    KEY_BUFFERS,
    KEY_FLIGHT,
    KEY_DELAY,
    KEY_DURATION,
    KEY_STEPS,
    KEY_EVERY,
    KEY_RANKS,
    KEY_NO_REPORT,
    KEY_NO_NCCL_LOG,
    KEY_WRAP_NET
};

#define SESSION_ROWS                                                                                                   \
    {"output", 'o', "DIR", 0, "Where the trace goes (default: ./trshim-<date>-<time>)", 0},                            \
        {"level", KEY_LEVEL, "LEVEL", 0, "light, standard (default) or full: how much detail", 0},                     \
        {"max-size",                                                                                                   \
         KEY_MAX_SIZE,                                                                                                 \
         "SIZE",                                                                                                       \
         0,                                                                                                            \
         "Most that a node's trace may take (default 2G; 0: no limit); the oldest detail goes first",                  \
         0},                                                                                                           \
        {"buffers",                                                                                                    \
         KEY_BUFFERS,                                                                                                  \
         "SIZE",                                                                                                       \
         0,                                                                                                            \
         "Most that buffers may take of /dev/shm (default: 256M or a tenth of what is free there)",                    \
         0},                                                                                                           \
        {"flight",                                                                                                     \
         KEY_FLIGHT,                                                                                                   \
         "SIZE",                                                                                                       \
         0,                                                                                                            \
         "Flight recorder: keep the newest SIZE in memory, and write it only on a hang, when a job fails, or on "      \
         "`trshim snapshot`",                                                                                          \
         0},                                                                                                           \
    {                                                                                                                  \
        "duration", KEY_DURATION, "TIME", 0, "Record this long: 90, 90s, 2m, 1h", 0                                    \
    }

static const struct argp_option record_rows[] = {
    SESSION_ROWS,
    {"delay", KEY_DELAY, "TIME", 0, "Begin to record this long after the start", 0},
    {"steps", KEY_STEPS, "A:B", 0, "Record steps A to B in detail, the others in outline", 0},
    {"every", KEY_EVERY, "N:M", 0, "Record M steps out of every N in detail", 0},
    {"ranks", KEY_RANKS, "LIST", 0, "Record only these ranks: 0,2,8-15", 0},
    {"wrap-net", KEY_WRAP_NET, NULL, 0,
     "Wrap the external network plugin that NCCL uses (NCCL_NET_PLUGIN, libnccl-net.so): records its devices, "
     "connections and what they move",
     0},
    {"no-nccl-log", KEY_NO_NCCL_LOG, NULL, 0, "Leave NCCL's log as it is: neither have it written nor keep it", 0},
    {"no-report", KEY_NO_REPORT, NULL, 0, "Give no verdict at the end", 0},
    {"quiet", 'q', NULL, 0, "Say nothing at the end", 0},
    {0},
};

static const struct argp_option start_rows[] = {SESSION_ROWS, {0}};

enum tr_level level_from_name(const char *name)
{
    enum tr_level level = 0;
    while (level < LEVEL_MAX && strcmp(name, schema_level_names[level]))
        level++;
    return level;
}

static void check(struct argp_state *state, int rc, const char *option, const char *arg, const char *want)
{
    if (rc < 0)
        argp_error(state, "--%s is \"%s\": %s", option, arg, want);
}

static error_t parse_row(int key, char *arg, struct argp_state *state)
{
    struct record_options *o = state->input;
    static const char time_forms[] = "give a time: 90, 90s, 2m, 1h";
    static const char size_forms[] = "give a size: 64M, 2G";

    switch (key) {
    case 'o':
        o->dir = arg;
        return 0;
    case 'q':
        o->quiet = true;
        return 0;
    case KEY_LEVEL:
        o->level = level_from_name(arg);
        check(state, o->level == LEVEL_MAX ? -1 : 0, "level", arg, "give light, standard or full");
        return 0;
    case KEY_MAX_SIZE:
        check(state, quantity_bytes(arg, &o->max_size), "max-size", arg, size_forms);
        check(state, o->max_size && o->max_size < (1u << 20) ? -1 : 0, "max-size", arg, "at least 1M, or 0");
        return 0;
    case KEY_BUFFERS:
        check(state, quantity_bytes(arg, &o->buffers), "buffers", arg, size_forms);
        return 0;
    case KEY_FLIGHT:
        check(state, quantity_bytes(arg, &o->flight), "flight", arg, size_forms);
        check(state, o->flight < (1u << 20) ? -1 : 0, "flight", arg, "at least 1M");
        return 0;
    case KEY_DELAY:
        check(state, quantity_time_ns(arg, &o->delay_ns), "delay", arg, time_forms);
        return 0;
    case KEY_DURATION:
        check(state, quantity_time_ns(arg, &o->duration_ns), "duration", arg, time_forms);
        return 0;
    case KEY_STEPS:
        check(state, quantity_step_range(arg), "steps", arg, "give first:last, as 100:120");
        o->steps = arg;
        return 0;
    case KEY_EVERY:
        check(state, quantity_every(arg), "every", arg, "give N:M, as 100:5 for 5 out of 100");
        o->every = arg;
        return 0;
    case KEY_RANKS:
        check(state, quantity_ranks(arg), "ranks", arg, "give ranks and ranges, as 0,2,8-15");
        o->ranks = arg;
        return 0;
    case KEY_NO_REPORT:
        o->with_report = false;
        return 0;
    case KEY_NO_NCCL_LOG:
        o->no_nccl_log = true;
        return 0;
    case KEY_WRAP_NET:
        o->wrap_net = true;
        return 0;
    case ARGP_KEY_ARG:
        if (!o->takes_command)
            argp_error(state, "unexpected argument \"%s\"", arg);
        /* From here on everything is the command's, options too. */
        o->command = &state->argv[state->next - 1];
        state->next = state->argc;
        return 0;
    case ARGP_KEY_NO_ARGS:
        if (o->takes_command)
            argp_error(state, "no command given, as in: trshim record -o run1 -- python3 train.py");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void parse(struct record_options *o, const struct argp *argp, int argc, char **argv)
{
    static char made_up[64];
    *o = (struct record_options){
        .takes_command = o->takes_command, .level = LEVEL_STANDARD, .max_size = DEFAULT_MAX_SIZE, .with_report = true};
    argp_parse(argp, argc, argv, ARGP_IN_ORDER, NULL, o);
    if (o->dir)
        return;
    time_t now = time(NULL);
    struct tm tm;
    localtime_r(&now, &tm);
    strftime(made_up, sizeof(made_up), "./trshim-%Y%m%d-%H%M%S", &tm);
    o->dir = made_up;
    o->default_dir = true;
}

void record_options_parse(struct record_options *ret, int argc, char **argv)
{
    static const struct argp argp = {
        record_rows,
        parse_row,
        "[--] CMD [ARG...]",
        "Runs CMD and records what it, and the processes it starts, do.\vThe exit status is CMD's; 127 if there is no "
        "such program, 126 if it cannot be run, 2 if it cannot be recorded (CMD is not started then). If a signal "
        "ends CMD, record ends by the same signal. Several `trshim record` with one -o on one node share one session.",
        NULL,
        NULL,
        NULL};
    ret->takes_command = true;
    parse(ret, &argp, argc, argv);
}

void start_options_parse(struct record_options *ret, int argc, char **argv)
{
    static const struct argp argp = {start_rows,
                                     parse_row,
                                     "",
                                     "Begins to record jobs of this user that run with LD_PRELOAD=libtrshim.so, also "
                                     "those that run already.\vEnd it "
                                     "with `trshim stop`. The meeting place is $TRSHIM_HOME, or /tmp/trshim-<uid>.",
                                     NULL,
                                     NULL,
                                     NULL};
    parse(ret, &argp, argc, argv);
}
