/* utf8.c - see utf8.h. */
#include "analysis/input/utf8.h"

#include <stdint.h>

size_t utf8_printable(const char *text)
{
    static const uint32_t smallest[] = {0, 0x20, 0xa0, 0x800, 0x10000}; /* by length; shorter forms are overlong */
    const unsigned char *c = (const unsigned char *)text;
    size_t len = c[0] < 0x80             ? 1
                 : (c[0] & 0xe0) == 0xc0 ? 2
                 : (c[0] & 0xf0) == 0xe0 ? 3
                 : (c[0] & 0xf8) == 0xf0 ? 4
                                         : 0;

    if (len == 0)
        return 0;
    uint32_t number = len == 1 ? c[0] : c[0] & (0x7f >> len);
    for (size_t i = 1; i < len; i++) {
        if ((c[i] & 0xc0) != 0x80) /* the terminating NUL too */
            return 0;
        number = number << 6 | (c[i] & 0x3f);
    }
    if (number < smallest[len] || number == 0x7f || number > 0x10ffff || (number >= 0xd800 && number <= 0xdfff))
        return 0;
    return len;
}
