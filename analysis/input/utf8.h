/* utf8.h - what of a string may be shown as it is. Strings in traces are bytes from someone else's process. */
#ifndef TRSHIM_ANALYSIS_UTF8_H
#define TRSHIM_ANALYSIS_UTF8_H

#include <stddef.h>

/* Bytes of the character at text if it is well-formed UTF-8 (no overlong form, surrogate or number above U+10FFFF)
 * and no control character (C0, DEL, C1); 0 if it is not, or at the end of the string. */
size_t utf8_printable(const char *text);

#endif
