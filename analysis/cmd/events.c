/* events.c - `trshim events PATH...`: any trace as text, one event a line.
 *
 * What it prints is itself an input (text_form.h): `trshim events run1 > run1.events && trshim report run1.events`. */
#include <argp.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/cmd/cmd.h"
#include "analysis/input/text_form.h"
#include "analysis/input/trace.h"
#include "traces/schema.h"

enum { FLUSH_AT = 1 << 18, MAX_RANKS = 1 << 20 };

/* Which events are asked for. Zero or empty is all. */
struct filter {
    unsigned channels; /* mask */
    uint64_t kinds;    /* mask by enum event_kind */
    uint32_t pid;
    bool by_rank;
    int rank;
};

struct options {
    struct filter filter;
    char **paths;
    size_t nr_paths;
};

_Static_assert(EV_MAX <= 64, "struct filter keeps kinds in 64 bits");

/* Processes of the rank asked for, on which host. Children have their parent's rank by their own proc event. */
struct rank_process {
    uint32_t host, pid;
};

struct printer {
    struct trace *trace;
    const struct filter *filter;
    struct rank_process *processes;
    size_t nr_processes;
    char **labels; /* of hosts, as the lines call them */
    size_t nr_labels;
    struct text_buf buf;
};

/* ---- output --------------------------------------------------------------------------------- */

/* Returns 0, -EPIPE when nobody reads any more, or -errno. */
static int flush(struct printer *printer)
{
    const char *at = printer->buf.data;
    size_t left = printer->buf.len;

    while (left > 0) {
        ssize_t put = write(STDOUT_FILENO, at, left);
        if (put < 0 && errno != EINTR)
            return -errno;
        at += put > 0 ? put : 0;
        left -= put > 0 ? put : 0;
    }
    printer->buf.len = 0;
    return 0;
}

/* Names alone where they tell the hosts apart, else name@boot. */
static int make_labels(struct printer *printer)
{
    const struct trace *trace = printer->trace;

    printer->nr_labels = trace_nr_hosts(trace);
    printer->labels = calloc(printer->nr_labels + 1, sizeof(*printer->labels));
    if (!printer->labels)
        return -ENOMEM;
    for (size_t i = 0; i < printer->nr_labels; i++) {
        const struct trace_host *host = trace_host(trace, i);
        bool unique = true;
        for (size_t j = 0; j < printer->nr_labels; j++)
            unique &= i == j || strcmp(host->name, trace_host(trace, j)->name) != 0;
        int rc = unique ? asprintf(&printer->labels[i], "%s", host->name)
                        : asprintf(&printer->labels[i], "%s@%s", host->name, *host->boot ? host->boot : "?");
        if (rc < 0)
            return -ENOMEM;
    }
    return 0;
}

static int print_head(struct printer *printer)
{
    int rc = text_print_header(&printer->buf);

    for (size_t i = 0; rc == 0 && i < printer->nr_labels; i++) {
        const struct trace_host *host = trace_host(printer->trace, i);
        rc = text_print_host(&printer->buf, printer->labels[i], host->name, host->boot, host->epoch_ns);
    }
    return rc;
}

/* What is known at the end only: so that a report of the text is as careful as one of the trace. */
static int print_tail(struct printer *printer)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < trace_nr_inputs(printer->trace); i++) {
        const struct trace_input *input = trace_input(printer->trace, i);
        const char *label = input->host == TRACE_NO_HOST ? "-" : printer->labels[input->host];
        if (input->lost)
            rc = text_print_count(&printer->buf, "lost", label, input->lost);
        if (rc == 0 && input->unknown)
            rc = text_print_count(&printer->buf, "unknown", label, input->unknown);
        if (rc == 0 && input->problem)
            rc = text_print_problem(&printer->buf, input->problem);
    }
    return rc < 0 ? rc : flush(printer);
}

/* ---- filter --------------------------------------------------------------------------------- */

static bool is_of_rank(const struct printer *printer, const struct event *event)
{
    for (size_t i = 0; i < printer->nr_processes; i++)
        if (printer->processes[i].pid == event->u.who.pid && printer->processes[i].host == event->host)
            return true;
    return false;
}

static bool is_wanted(const struct printer *printer, const struct event *event)
{
    const struct filter *filter = printer->filter;

    return (!filter->kinds || filter->kinds & 1ull << event->kind) &&
           (!filter->pid || filter->pid == event->u.who.pid) && (!filter->by_rank || is_of_rank(printer, event));
}

/* The first scan, of the small state channel: which processes are of the rank. By it the trace also learns what its
 * hosts are called, from their processes. */
static int learn_process(void *arg, const struct event *event)
{
    struct printer *printer = arg;
    const struct filter *filter = printer->filter;

    if (event->kind != EV_proc || !filter->by_rank || event->u.proc.rank != filter->rank || is_of_rank(printer, event))
        return 0;
    struct rank_process *list = realloc(printer->processes, (printer->nr_processes + 1) * sizeof(*list));
    if (!list)
        return -ENOMEM;
    printer->processes = list;
    list[printer->nr_processes++] = (struct rank_process){event->host, event->u.who.pid};
    return 0;
}

static int print_event(void *arg, const struct event *event)
{
    struct printer *printer = arg;

    if (!is_wanted(printer, event))
        return 0;
    int rc = text_print_event(&printer->buf, printer->labels[event->host], event);
    return rc == 0 && printer->buf.len > FLUSH_AT ? flush(printer) : rc;
}

static int print_trace(struct printer *printer)
{
    int rc = trace_scan(printer->trace, 1u << CH_STATE, learn_process, printer);

    if (rc < 0 || (rc = make_labels(printer)) < 0 || (rc = print_head(printer)) < 0)
        return rc;
    rc = trace_scan(printer->trace, printer->filter->channels, print_event, printer);
    return rc < 0 ? rc : print_tail(printer);
}

/* ---- the command ---------------------------------------------------------------------------- */

static const struct argp_option option_table[] = {
    {"channel", 'c', "LIST", 0, "Only these channels: state, steps, data"},
    {"kind", 'k', "LIST", 0, "Only these kinds of events, as proc,file_io"},
    {"pid", 'p', "PID", 0, "Only events of this process"},
    {"rank", 'r', "N", 0, "Only events of the processes of this rank"},
    {0},
};

static void parse_channels(char *list, struct filter *filter, struct argp_state *state)
{
    for (char *word; (word = strsep(&list, ","));) {
        unsigned channel = 0;
        while (channel < CH_MAX && strcmp(word, schema_channel_names[channel]) != 0)
            channel++;
        if (channel == CH_MAX)
            argp_error(state, "there is no channel \"%s\"; there are state, steps and data", word);
        filter->channels |= 1u << channel;
    }
}

static void parse_kinds(char *list, struct filter *filter, struct argp_state *state)
{
    for (char *word; (word = strsep(&list, ","));) {
        enum event_kind kind = schema_find(word);
        if (kind == EV_MAX)
            argp_error(state, "there is no event \"%s\"; see docs/EVENTS.md", word);
        filter->kinds |= 1ull << kind;
    }
}

static long parse_number(const char *text, long least, long most, struct argp_state *state)
{
    char *end;

    errno = 0;
    long value = strtol(text, &end, 10);
    if (errno || end == text || *end || value < least || value > most)
        argp_error(state, "\"%s\" is not a number from %ld to %ld", text, least, most);
    return value;
}

static int parse_option(int key, char *arg, struct argp_state *state)
{
    struct options *options = state->input;
    struct filter *filter = &options->filter;

    switch (key) {
    case 'c':
        parse_channels(arg, filter, state);
        return 0;
    case 'k':
        parse_kinds(arg, filter, state);
        return 0;
    case 'p':
        filter->pid = parse_number(arg, 1, INT32_MAX, state);
        return 0;
    case 'r':
        filter->by_rank = true;
        filter->rank = parse_number(arg, -1, MAX_RANKS, state);
        return 0;
    case ARGP_KEY_ARGS:
        options->paths = state->argv + state->next;
        options->nr_paths = state->argc - state->next;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "a PATH is missing");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp parser = {
    option_table,
    parse_option,
    "PATH...",
    "Prints the events of traces in the order of their times, one a line. The output can be given to the other "
    "commands in place of the trace.",
};

static void printer_done(struct printer *printer)
{
    for (size_t i = 0; i < printer->nr_labels; i++)
        free(printer->labels[i]);
    free(printer->labels);
    free(printer->processes);
    text_buf_done(&printer->buf);
    trace_free(printer->trace);
}

static void tell_problems(const struct trace *trace)
{
    for (size_t i = 0; i < trace_nr_inputs(trace); i++)
        if (trace_input(trace, i)->problem)
            (void)cmd_error("Not all was read: path=\"%s\", cause=\"%s\"", trace_input(trace, i)->path,
                            trace_input(trace, i)->problem);
}

static int run(int argc, char **argv)
{
    struct options options = {0};
    struct printer printer = {.filter = &options.filter};
    char *error = NULL;

    (void)argp_parse(&parser, argc, argv, 0, NULL, &options);
    if (!options.filter.channels)
        options.filter.channels = TRACE_ALL_CHANNELS;
    /* A reader that has seen enough (head) is no failure; the write tells. */
    (void)signal(SIGPIPE, SIG_IGN);

    int rc = trace_open(options.paths, options.nr_paths, &printer.trace, &error);
    if (rc < 0) {
        (void)cmd_error("%s", error ? error : strerror(-rc));
        free(error);
        return CMD_ERROR;
    }
    rc = print_trace(&printer);
    if (rc == 0)
        tell_problems(printer.trace);
    printer_done(&printer);
    if (rc < 0 && rc != -EPIPE)
        return cmd_error("Cannot print events: cause=\"%s\"", strerror(-rc));
    return 0;
}

const struct command cmd_events = {"events", "Print a trace as text, one event a line", run};
