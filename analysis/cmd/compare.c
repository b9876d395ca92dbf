/* compare.c - `trshim compare A B`: what grew, what shrank, and whether that is more than noise.
 *
 * Exit status 0; 1 with --fail-slower when B's step is surely slower by that share; 2 for an error. */
#include <argp.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/cmd/cmd.h"
#include "analysis/cmd/progress.h"
#include "analysis/cmd/report.h"
#include "analysis/emit/emit_comparison.h"
#include "analysis/emit/screen.h"
#include "analysis/options.h"

#define EXIT_SLOWER 1

enum { KEY_JSON = 256, KEY_LANG, KEY_FAIL_SLOWER };

struct arguments {
    bool json;
    enum lang lang;
    double fail_slower; /* share of A's step; NAN: never */
    char *paths[2];
    size_t nr_paths;
};

static const struct argp_option argp_options[] = {
    {"json", KEY_JSON, NULL, 0, "Write JSON (schema trshim-compare/1) and nothing else to stdout", 0},
    {"lang", KEY_LANG, "en|zh", 0, "Language; default from LC_ALL, LC_MESSAGES or LANG", 0},
    {"fail-slower", KEY_FAIL_SLOWER, "PERCENT", 0,
     "Exit with 1 if a step of B is slower by more than that, noise taken into account", 0},
    {0},
};

static double percent(const char *text)
{
    char *end;
    double value = strtod(text, &end);

    if (end == text || (*end && strcmp(end, "%") != 0) || !(value >= 0) || value > 1e6)
        exit(cmd_error("Cannot understand --fail-slower: \"%s\"; it takes a share in percent, such as 5", text));
    return value / 100;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *arguments = state->input;

    switch (key) {
    case KEY_JSON:
        arguments->json = true;
        return 0;
    case KEY_LANG:
        arguments->lang = lang_find(arg);
        if (arguments->lang == LANG_MAX)
            exit(cmd_error("Unknown language: \"%s\"; there are en and zh", arg));
        return 0;
    case KEY_FAIL_SLOWER:
        arguments->fail_slower = percent(arg);
        return 0;
    case ARGP_KEY_ARG:
        if (arguments->nr_paths == 2)
            exit(cmd_error(
                "Too many runs: \"%s\"; compare takes two, each a directory or file as `trshim report` takes", arg));
        arguments->paths[arguments->nr_paths++] = arg;
        return 0;
    case ARGP_KEY_END:
        if (arguments->nr_paths < 2)
            exit(cmd_error(
                "Two runs are needed: trshim compare A B, each a directory or file as `trshim report` takes"));
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    argp_options,
    parse,
    "A B",
    "Says which part of a step grew or shrank from run A to run B, and whether that is more than noise.\v"
    "A and B are what `trshim report` takes: trace directories, traces of torch.profiler, events text. Steps are "
    "compared "
    "by their means over all ranks; noise is how steps differ among themselves.\n\nExit status: 0; 1 if --fail-slower "
    "is met; 2 for "
    "an error.",
    NULL,
    NULL,
    NULL};

static int load(char *path, enum lang lang, struct report **ret)
{
    struct progress progress;
    struct options options = {.progress = progress_show, .progress_arg = &progress};
    char *error = NULL;

    progress_init(&progress, stderr);
    int rc = report_make(&path, 1, &options, lang, ret, &error);
    progress_done(&progress);
    if (rc)
        (void)cmd_error("%s", error ? error : strerror(-rc));
    free(error);
    return rc;
}

static bool is_slower(const struct comparison *comparison, double share)
{
    const struct comparison_row *step = &comparison->rows[CMP_step];

    return !isnan(share) && step->low_ns > share * step->a_ns;
}

static int compare(struct report *a, struct report *b, const struct arguments *arguments)
{
    struct comparison comparison;
    struct screen screen = screen_of(stdout, arguments->lang == LANG_ZH);
    int rc = comparison_make(a, b, &comparison);

    if (rc)
        return cmd_error("Cannot compare: %s", strerror(-rc));
    rc = arguments->json ? emit_comparison_json(&comparison, stdout)
                         : emit_comparison_text(&comparison, &screen, stdout);
    int status = is_slower(&comparison, arguments->fail_slower) ? EXIT_SLOWER : 0;
    comparison_done(&comparison);
    return rc ? cmd_error("Cannot write: to=\"stdout\", cause=\"%s\"", strerror(-rc)) : status;
}

static int run(int argc, char **argv)
{
    struct arguments arguments = {.lang = lang_default(), .fail_slower = NAN};
    struct report *a = NULL, *b = NULL;
    int status = CMD_ERROR;

    setlocale(LC_CTYPE, "");
    argp_parse(&argp, argc, argv, 0, NULL, &arguments);
    if (load(arguments.paths[0], arguments.lang, &a) == 0 && load(arguments.paths[1], arguments.lang, &b) == 0)
        status = compare(a, b, &arguments);
    report_free(a);
    report_free(b);
    return status;
}

const struct command cmd_compare = {"compare", "Say what changed from one run to another", run};
