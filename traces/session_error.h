/* session_error.h - the one line that says why a session could not be had.
 *
 * Functions of session*.h return 0 or -errno; those that take `char **ret_error` also leave there, on failure, one
 * line (owned by the caller) that says what was tried, where, and what to do. They never print. */
#ifndef TRSHIM_TRACES_SESSION_ERROR_H
#define TRSHIM_TRACES_SESSION_ERROR_H

/* Puts the formatted line into *ret_error, freeing what was there, and returns err (negative). ret_error may be NULL.
 */
int session_fail(char **ret_error, int err, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
