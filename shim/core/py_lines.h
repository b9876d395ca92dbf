/* py_lines.h - the line of a place in CPython's code, from the table that a code object carries. */
#ifndef TRSHIM_CORE_PY_LINES_H
#define TRSHIM_CORE_PY_LINES_H

#include <stddef.h>
#include <stdint.h>

/* co_lnotab of 3.8 and 3.9; co_linetable of 3.10; co_linetable from 3.11 on. at_bytes: offset in the code. Return the
 * line, or 0 when the table does not tell. */
int py_line_lnotab(const unsigned char *table, size_t size, int first, size_t at_bytes);
int py_line_ranges(const unsigned char *table, size_t size, int first, size_t at_bytes);
int py_line_locations(const unsigned char *table, size_t size, int first, size_t at_bytes);

#endif
