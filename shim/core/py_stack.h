/* py_stack.h - the Python frames of a thread that stands in a call.
 *
 * Read by the tender, while the thread stands, from CPython's own records, 3.8 to 3.14: which fields lie where is a
 * table per version, from 3.13 on CPython's own (_Py_DebugOffsets). All of it is read by a system call that fails where
 * nothing is mapped: a build whose records lie otherwise gives no frames or wrong ones, never a fault. Nothing of
 * Python is called and no lock of it is taken; the thread may go on at any time, so the caller looks whether it did. */
#ifndef TRSHIM_CORE_PY_STACK_H
#define TRSHIM_CORE_PY_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "function (file:line); ..." of the thread with that pthread_t, innermost first. False: no CPython here that is
 * known, or the thread runs no Python. */
bool py_stack_of(uint64_t pthread, char *ret, size_t size);

#endif
