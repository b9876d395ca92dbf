/* quantity.c - see quantity.h. */
#include "analysis/cmd/quantity.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct unit {
    const char *name;
    double factor;
};

/* A positive decimal number and one of the units. */
static int parse(const char *text, const struct unit *units, uint64_t *ret)
{
    if (!isdigit((unsigned char)text[0]) && text[0] != '.')
        return -EINVAL;
    char *end;
    double number = strtod(text, &end);
    if (end != text + strspn(text, "0123456789.")) /* no hexadecimal, no exponent */
        return -EINVAL;
    for (; units->name; units++)
        if (strcasecmp(end, units->name) == 0) {
            double value = number * units->factor;
            if (end == text || !isfinite(value) || value > 9e18)
                return -EINVAL;
            *ret = (uint64_t)(value + 0.5);
            return 0;
        }
    return -EINVAL;
}

int quantity_time_ns(const char *text, uint64_t *ret_ns)
{
    static const struct unit units[] = {{"", 1e9},     {"s", 1e9},    {"ms", 1e6}, {"m", 60e9},
                                        {"min", 60e9}, {"h", 3600e9}, {NULL, 0}};
    return parse(text, units, ret_ns);
}

int quantity_bytes(const char *text, uint64_t *ret_bytes)
{
    static const double k = 1024;
    const struct unit units[] = {{"", 1},          {"B", 1},          {"K", k},           {"KB", k},
                                 {"KiB", k},       {"M", k * k},      {"MB", k * k},      {"MiB", k * k},
                                 {"G", k * k * k}, {"GB", k * k * k}, {"GiB", k * k * k}, {NULL, 0}};
    return parse(text, units, ret_bytes);
}

/* A number of at most nine digits; moves *text past it. */
static bool number(const char **text, unsigned long *ret)
{
    char *end;
    if (!isdigit((unsigned char)**text))
        return false;
    *ret = strtoul(*text, &end, 10);
    bool ok = end - *text <= 9;
    *text = end;
    return ok;
}

static bool two_numbers(const char *text, unsigned long *a, unsigned long *b)
{
    return number(&text, a) && *text++ == ':' && number(&text, b) && *text == '\0';
}

int quantity_step_range(const char *text)
{
    unsigned long a, b;
    return two_numbers(text, &a, &b) && a <= b ? 0 : -EINVAL;
}

int quantity_every(const char *text)
{
    unsigned long n, m;
    return two_numbers(text, &n, &m) && m > 0 && m <= n ? 0 : -EINVAL;
}

int quantity_ranks(const char *text)
{
    do {
        unsigned long first, last;
        if (!number(&text, &first))
            return -EINVAL;
        if (*text == '-') {
            text++;
            if (!number(&text, &last) || last < first)
                return -EINVAL;
        }
    } while (*text++ == ',');
    return text[-1] == '\0' ? 0 : -EINVAL;
}
