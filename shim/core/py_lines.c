/* py_lines.c - see py_lines.h. Pure functions over bytes whose end is known; whatever they hold, nothing beyond is
 * read. */
#include "shim/core/py_lines.h"

#include <stdbool.h>

/* Pairs: bytes of code, lines (signed), both as steps from the pair before. */
int py_line_lnotab(const unsigned char *table, size_t size, int first, size_t at_bytes)
{
    int line = first;
    size_t address = 0;

    for (size_t i = 0; i + 1 < size; i += 2) {
        address += table[i];
        if (address > at_bytes)
            break;
        line += (signed char)table[i + 1];
    }
    return line;
}

/* Pairs: bytes of code that follow, lines (signed) from the pair before; -128: they have no line. */
int py_line_ranges(const unsigned char *table, size_t size, int first, size_t at_bytes)
{
    int line = first;
    size_t end = 0;

    for (size_t i = 0; i + 1 < size; i += 2) {
        signed char step = (signed char)table[i + 1];
        bool none = step == -128;
        line += none ? 0 : step;
        end += table[i];
        if (at_bytes < end)
            return none ? 0 : line;
    }
    return 0;
}

/* Six bits a byte, the lowest first; bit 6: more follow. */
static size_t read_varint(const unsigned char *table, size_t size, size_t at, unsigned *ret)
{
    unsigned value = 0, shift = 0;

    while (at < size) {
        unsigned byte = table[at++];
        if (shift < 32)
            value |= (byte & 63u) << shift;
        shift += 6;
        if (!(byte & 64u))
            break;
    }
    *ret = value;
    return at;
}

/* Entries begin with a byte that has bit 7 set: bits 3 to 6 the form, 0 to 2 the units of 2 bytes less one. */
int py_line_locations(const unsigned char *table, size_t size, int first, size_t at_bytes)
{
    enum { ONE_LINE_0 = 10, ONE_LINE_2 = 12, NO_COLUMNS = 13, LONG = 14, NONE = 15 };
    int line = first;
    size_t end = 0;

    for (size_t i = 0; i < size;) {
        unsigned form = table[i] >> 3 & 15u, step = 0;
        end += 2 * ((table[i] & 7u) + 1);
        i++;
        if (form == NO_COLUMNS || form == LONG) {
            i = read_varint(table, size, i, &step);
            line += step & 1 ? -(int)(step >> 1) : (int)(step >> 1);
        } else if (form >= ONE_LINE_0 && form <= ONE_LINE_2) {
            line += (int)(form - ONE_LINE_0);
        }
        if (at_bytes < end)
            return form == NONE ? 0 : line;
        while (i < size && !(table[i] & 128u))
            i++;
    }
    return 0;
}
