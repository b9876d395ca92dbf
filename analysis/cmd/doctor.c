/* doctor.c - `trshim doctor`: what will be recorded here, what not, why, and the fix. The checks: doctor_checks.c. */
#include "analysis/cmd/doctor.h"

#include <argp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "analysis/cmd/cmd.h"

static const char *colour(enum verdict verdict)
{
    static const char *const colours[] = {"\033[32m", "", "\033[33m", "\033[31m"};
    return isatty(STDOUT_FILENO) && !getenv("NO_COLOR") ? colours[verdict] : "";
}

void doctor_say(struct doctor *doctor, enum verdict verdict, const char *item, const char *fix, const char *format, ...)
{
    static const char *const names[] = {"ok", "note", "warn", "fail"};
    const char *on = colour(verdict);
    va_list args;

    printf("%s%-5s%s %-11s ", on, names[verdict], *on ? "\033[0m" : "", item);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
    if (fix)
        printf("%-17s fix: %s\n", "", fix);
    fflush(stdout);
    if (verdict > doctor->worst)
        doctor->worst = verdict;
}

static error_t parse_row(int key, char *arg, struct argp_state *state)
{
    struct doctor *doctor = state->input;
    if (key != ARGP_KEY_ARG)
        return ARGP_ERR_UNKNOWN;
    if (state->arg_num > 0)
        argp_error(state, "unexpected argument \"%s\"", arg);
    doctor->python = arg;
    return 0;
}

static int run_doctor(int argc, char **argv)
{
    static const struct argp argp = {NULL,
                                     parse_row,
                                     "[PYTHON]",
                                     "Says what will be recorded here, what not, why, and what to do about it. PYTHON "
                                     "is the job's (default: python3 on "
                                     "PATH).\vExit status: 0 if recording works, 1 if not.",
                                     NULL,
                                     NULL,
                                     NULL};
    struct doctor doctor = {.python = "python3"};

    argp_parse(&argp, argc, argv, 0, NULL, &doctor);
    for (const doctor_check_fn *check = doctor_checks; *check; check++)
        (*check)(&doctor);
    return doctor.worst == VERDICT_FAIL;
}

const struct command cmd_doctor = {"doctor", "Say what can be recorded here, and what to do about the rest",
                                   run_doctor};
