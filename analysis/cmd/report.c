/* report.c - `trshim report PATH...`: opens the inputs, has them analyzed, writes the report.
 *
 * Exit status 0; 1 when --fail-on is met; 2 for an error. Input of which only a part can be read gives the report of
 * that part, which says what is missing. */
#include "analysis/cmd/report.h"

#include <argp.h>
#include <errno.h>
#include <locale.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/cmd/cmd.h"
#include "analysis/cmd/progress.h"
#include "analysis/emit/emit.h"
#include "analysis/emit/screen.h"
#include "analysis/engine.h"
#include "analysis/input/trace.h"
#include "analysis/options.h"
#include "analysis/pass/pass.h"

#define EXIT_FAIL_ON 1

/* ---- from paths to a finished report */

/* The last part of a path, whatever way it was given ("run1", "./run1/", "."). */
static const char *base_name(struct report *report, const char *path)
{
    char *real = realpath(path, NULL);
    const char *slash = strrchr(real ? real : path, '/');
    const char *name = report_str(report, slash && slash[1] ? slash + 1 : real ? real : path);

    free(real);
    return name;
}

/* What the run is called: by its paths, the first three of them. */
static const char *title(struct report *report, char *const *paths, size_t nr_paths)
{
    const char *title = base_name(report, paths[0]);

    for (size_t i = 1; title && i < nr_paths; i++) {
        const char *name = i < 3 ? base_name(report, paths[i]) : "...";
        title = report_strf(report, "%s, %s", title, name ? name : "?");
        if (i == 3)
            break;
    }
    return title;
}

int report_make(char *const *paths, size_t nr_paths, const struct options *options, enum lang lang,
                struct report **ret_report, char **ret_error)
{
    struct report *report = NULL;
    struct trace *trace = NULL;

    *ret_error = NULL;
    int rc = trace_open(paths, nr_paths, &trace, ret_error);
    if (rc)
        return rc;
    rc = report_new(lang, &report);
    if (!rc) {
        report->title = title(report, paths, nr_paths);
        rc = analyze(trace, options, report);
    }
    trace_free(trace);
    if (rc) {
        report_free(report);
        if (asprintf(ret_error, "Cannot analyze the trace: path=\"%s\", cause=\"%s\"", paths[0], strerror(-rc)) < 0)
            *ret_error = NULL;
        return rc;
    }
    *ret_report = report;
    return 0;
}

int report_print_card(const char *dir, FILE *out)
{
    struct report *report;
    char *error, *path = strdup(dir);
    int rc = -ENOMEM;

    if (!path)
        return rc;
    setlocale(LC_CTYPE, "");
    enum lang lang = lang_default();
    rc = report_make(&path, 1, &(struct options){0}, lang, &report, &error);
    free(path);
    if (rc) {
        fprintf(out, "%s\n", error ? error : strerror(-rc));
        free(error);
        return rc;
    }
    struct screen screen = screen_of(out, lang == LANG_ZH);
    rc = emit_card(report, &screen, out);
    report_free(report);
    return rc;
}

/* ---- options */

enum output { OUTPUT_TEXT, OUTPUT_JSON };
enum { KEY_JSON = 256, KEY_TEXT, KEY_STEPS, KEY_LANG, KEY_FAIL_ON, KEY_LIST_PASSES, KEY_PEAK, KEY_FLOPS, KEY_TOKENS };

struct arguments {
    struct options options;
    enum output output;
    enum lang lang;
    enum severity fail_on; /* SEVERITY_MAX: never */
    bool list_passes;
    char **paths; /* borrowed from argv */
    size_t nr_paths;
};

static const struct argp_option argp_options[] = {
    {"json", KEY_JSON, NULL, 0, "Write JSON (schema " REPORT_SCHEMA ") and nothing else to stdout", 0},
    {"text", KEY_TEXT, NULL, 0, "Write text for people (the default)", 0},
    {"steps", KEY_STEPS, "HOW", 0,
     "What tells steps apart: auto (the best there is), nvtx:REGEX, mark, optimizer or dataloader", 0},
    {"lang", KEY_LANG, "en|zh", 0, "Language of the report; default from LC_ALL, LC_MESSAGES or LANG", 0},
    {"fail-on", KEY_FAIL_ON, "SEVERITY", 0,
     "Exit with 1 if there is a finding of this severity (low, medium, high) or a higher one", 0},
    {"peak-tflops", KEY_PEAK, "N", 0,
     "What one GPU can do at most, for MFU; default by its model and the type of numbers", 0},
    {"flops-per-step", KEY_FLOPS, "N", 0,
     "FLOP of one step on one rank (6e14), instead of those that BLAS was asked for", 0},
    {"tokens-per-step", KEY_TOKENS, "N", 0, "Tokens of one step on all ranks, to give tokens/s", 0},
    {"list-passes", KEY_LIST_PASSES, NULL, 0, "Say what the report is made of, and exit", 0},
    {0},
};

static int parse_steps(const char *how, struct options *options)
{
    static const char *const names[STEP_METHOD_MAX] = {
#define STEPS(id, help) [STEP_METHOD_##id] = #id,
        STEP_METHODS(STEPS)
#undef STEPS
    };
    size_t length = strcspn(how, ":");

    for (int method = 0; method < STEP_METHOD_MAX; method++) {
        if (strlen(names[method]) != length || strncmp(how, names[method], length))
            continue;
        if (how[length] && method != STEP_METHOD_nvtx)
            return -EINVAL;
        options->steps = (enum step_method)method;
        options->steps_regex = how[length] && how[length + 1] ? how + length + 1 : NULL;
        if (!options->steps_regex)
            return 0;
        regex_t regex;
        if (regcomp(&regex, options->steps_regex, REG_EXTENDED | REG_NOSUB))
            return -EINVAL;
        regfree(&regex);
        return 0;
    }
    return -EINVAL;
}

static int parse_severity(const char *name, enum severity *ret)
{
    for (int severity = 0; severity < SEVERITY_MAX; severity++)
        if (!strcmp(severity_names[severity], name)) {
            *ret = (enum severity)severity;
            return 0;
        }
    return -EINVAL;
}

/* A number above 0, or the end of the program. */
static double amount(const char *option, const char *text)
{
    char *end;
    double value = strtod(text, &end);

    if (end == text || *end || !(value > 0) || value > 1e30)
        exit(cmd_error("Cannot understand %s: \"%s\"; it takes a number above 0, such as 989 or 6.2e14", option, text));
    return value;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *arguments = state->input;

    switch (key) {
    case KEY_JSON:
        arguments->output = OUTPUT_JSON;
        return 0;
    case KEY_TEXT:
        arguments->output = OUTPUT_TEXT;
        return 0;
    case KEY_STEPS:
        if (parse_steps(arg, &arguments->options))
            exit(cmd_error(
                "Cannot understand --steps: \"%s\"; it takes auto, nvtx:REGEX, mark, optimizer or dataloader", arg));
        return 0;
    case KEY_LANG:
        arguments->lang = lang_find(arg);
        if (arguments->lang == LANG_MAX)
            exit(cmd_error("Unknown language: \"%s\"; there are en and zh", arg));
        return 0;
    case KEY_FAIL_ON:
        if (parse_severity(arg, &arguments->fail_on))
            exit(cmd_error("Unknown severity: \"%s\"; there are low, medium and high", arg));
        return 0;
    case KEY_PEAK:
        arguments->options.peak_flops = amount("--peak-tflops", arg) * 1e12;
        return 0;
    case KEY_FLOPS:
        arguments->options.flops_per_step = amount("--flops-per-step", arg);
        return 0;
    case KEY_TOKENS:
        arguments->options.tokens_per_step = amount("--tokens-per-step", arg);
        return 0;
    case KEY_LIST_PASSES:
        arguments->list_passes = true;
        return 0;
    case ARGP_KEY_ARGS:
        arguments->paths = state->argv + state->next;
        arguments->nr_paths = (size_t)(state->argc - state->next);
        return 0;
    case ARGP_KEY_END:
        if (!arguments->nr_paths && !arguments->list_passes)
            exit(cmd_error("No trace given: trshim report PATH..., where PATH is what `trshim record -o PATH` wrote"));
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    argp_options,
    parse,
    "PATH...",
    "Says where each step's time went, and what costs most of it.\v"
    "PATH is a trace directory (of one or many hosts), a trace of torch.profiler (.json, .json.gz; one of each rank) "
    "or "
    "an events text file, or a log with what NCCL wrote (NCCL_DEBUG=INFO); the kind is recognised. Several are one "
    "run.\n\nExit status: 0; 1 if --fail-on is met; 2 for an error.",
    NULL,
    NULL,
    NULL};

/* ---- the command */

static int list_passes(void)
{
    for (size_t i = 0; passes[i]; i++)
        printf("%-14s %s\n", passes[i]->name, passes[i]->help);
    return fflush(stdout) ? CMD_ERROR : 0;
}

static bool fails(const struct report *report, enum severity limit)
{
    for (size_t i = 0; i < report->nr_findings; i++)
        if (report->findings[i].severity >= limit)
            return true;
    return false;
}

static int write_report(struct report *report, const struct arguments *arguments)
{
    if (arguments->output == OUTPUT_JSON)
        return emit_json(report, stdout);
    struct screen screen = screen_of(stdout, arguments->lang == LANG_ZH);
    return emit_text(report, &screen, stdout);
}

static int run(int argc, char **argv)
{
    struct arguments arguments = {.lang = lang_default(), .fail_on = SEVERITY_MAX};
    struct progress progress;
    struct report *report;
    char *error;

    setlocale(LC_CTYPE, "");
    argp_parse(&argp, argc, argv, 0, NULL, &arguments);
    if (arguments.list_passes)
        return list_passes();

    progress_init(&progress, stderr);
    arguments.options.progress = progress_show;
    arguments.options.progress_arg = &progress;
    int rc = report_make(arguments.paths, arguments.nr_paths, &arguments.options, arguments.lang, &report, &error);
    progress_done(&progress);
    if (rc) {
        int status = cmd_error("%s", error ? error : strerror(-rc));
        free(error);
        return status;
    }

    rc = write_report(report, &arguments);
    int status = fails(report, arguments.fail_on) ? EXIT_FAIL_ON : 0;
    report_free(report);
    return rc ? cmd_error("Cannot write the report: to=\"stdout\", cause=\"%s\"", strerror(-rc)) : status;
}

const struct command cmd_report = {"report", "say where the time of a recorded run went", run};
