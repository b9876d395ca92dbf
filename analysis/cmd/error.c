/* error.c - the one way in which a command says that it failed. */
#include <stdarg.h>
#include <stdio.h>

#include "analysis/cmd/cmd.h"

int cmd_error(const char *format, ...)
{
    va_list args;

    /* What is already printed comes first when both go to one place. */
    (void)fflush(stdout);
    va_start(args, format);
    flockfile(stderr);
    fputs("trshim: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    funlockfile(stderr);
    va_end(args);
    return CMD_ERROR;
}
