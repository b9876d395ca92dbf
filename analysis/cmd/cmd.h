/* cmd.h - the subcommands of `trshim`, one file each.
 *
 * A command parses its own options (argp), does its work and returns the exit status: 0, or 2 for an error of which
 * it has printed one line by cmd_error(). main.c holds the one array of them and dispatches. Adding a command is a
 * file here with its `const struct command` and a row in main.c. */
#ifndef TRSHIM_ANALYSIS_CMD_H
#define TRSHIM_ANALYSIS_CMD_H

#define TRSHIM_VERSION "0.1.0"

struct command {
    const char *name, *help;           /* help: one line, for `trshim --help` */
    int (*run)(int argc, char **argv); /* argv[0] is "trshim NAME", so that argp's messages say it */
};

extern const struct command cmd_record, cmd_start, cmd_stop, cmd_level, cmd_snapshot, cmd_status, cmd_report,
    cmd_compare, cmd_events, cmd_doctor;

/* The exit status of an error: the user's input, or the world, not the job's own status. */
#define CMD_ERROR 2

/* Prints "trshim: <message>" as one line on stderr and returns CMD_ERROR. The message says what, where, what to do. */
int cmd_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
