/* main.c - `trshim COMMAND ...`: finds the command and runs it. Knows nothing of what they do. */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/cmd/cmd.h"

static const struct command *const commands[] = {
    &cmd_record, &cmd_start,  &cmd_stop,    &cmd_level,  &cmd_snapshot,
    &cmd_status, &cmd_report, &cmd_compare, &cmd_events, &cmd_doctor,
};

#define NR_COMMANDS (sizeof(commands) / sizeof(*commands))

static void print_help(FILE *out)
{
    fputs("Usage: trshim COMMAND [OPTION...] [ARGUMENT...]\n"
          "Says why a training job is slow, hung or out of memory, from outside.\n\n"
          "  trshim record -o run1 -- python3 train.py\n"
          "  trshim report run1\n\n",
          out);
    for (size_t i = 0; i < NR_COMMANDS; i++)
        fprintf(out, "  %-8s %s\n", commands[i]->name, commands[i]->help);
    fputs("\nThe options of a command: trshim COMMAND --help\n", out);
}

static const struct command *find_command(const char *name)
{
    for (size_t i = 0; i < NR_COMMANDS; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

/* Levenshtein distance, for names short enough to be commands; anything longer is far. */
static unsigned distance(const char *a, const char *b)
{
    enum { LONGEST = 16 };
    unsigned row[LONGEST + 1];
    size_t na = strlen(a), nb = strlen(b);

    if (na > LONGEST || nb > LONGEST)
        return LONGEST;
    for (size_t j = 0; j <= nb; j++)
        row[j] = j;
    for (size_t i = 1; i <= na; i++) {
        unsigned diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            unsigned change = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            unsigned insert = row[j - 1] + 1, delete = row[j] + 1;
            row[j] = change < insert ? change : insert;
            row[j] = row[j] < delete ? row[j] : delete;
        }
    }
    return row[nb];
}

static int unknown_command(const char *name)
{
    const char *nearest = NULL;
    unsigned best = 4; /* farther is no misspelling */

    for (size_t i = 0; i < NR_COMMANDS; i++) {
        unsigned d = distance(name, commands[i]->name);
        if (d < best) {
            best = d;
            nearest = commands[i]->name;
        }
    }
    if (nearest)
        return cmd_error("Unknown command: \"%s\"; did you mean \"trshim %s\"?", name, nearest);
    return cmd_error("Unknown command: \"%s\"; \"trshim --help\" lists them", name);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        print_help(stderr);
        return CMD_ERROR;
    }
    const char *name = argv[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
        print_help(stdout);
        return 0;
    }
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
        puts("trshim " TRSHIM_VERSION);
        return 0;
    }
    const struct command *command = find_command(name);
    if (!command)
        return unknown_command(name);

    /* argp names the program by argv[0] in its messages. */
    char title[32];
    (void)snprintf(title, sizeof(title), "trshim %s", command->name);
    argv[1] = title;
    argp_err_exit_status = CMD_ERROR;
    return command->run(argc - 1, argv + 1);
}
