/* session_error.c - see session_error.h. */
#include "traces/session_error.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

int session_fail(char **ret_error, int err, const char *format, ...)
{
    if (!ret_error)
        return err;
    free(*ret_error);
    va_list ap;
    va_start(ap, format);
    if (vasprintf(ret_error, format, ap) < 0)
        *ret_error = NULL;
    va_end(ap);
    return err;
}
