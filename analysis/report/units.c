/* units.c - see units.h. */
#include "analysis/report/units.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Three significant digits without an exponent: 1.24, 12.4, 124, 1024. */
static void three_digits(char *text, double value, const char *unit)
{
    double size = fabs(value);
    int decimals = size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;

    if (value == floor(value) && size < 1e6)
        decimals = 0;
    snprintf(text, UNITS_MAX, "%.*f %s", decimals, value, unit);
}

struct units units_time(double ns)
{
    struct units out;

    if (isnan(ns)) {
        snprintf(out.text, sizeof out.text, "-");
    } else if (fabs(ns) < 999.5) {
        snprintf(out.text, sizeof out.text, "%.0f ns", ns);
    } else if (fabs(ns) < 999.5e3) {
        three_digits(out.text, ns / 1e3, "us");
    } else if (fabs(ns) < 999.5e6) {
        three_digits(out.text, ns / 1e6, "ms");
    } else if (fabs(ns) < 119.95e9) {
        three_digits(out.text, ns / 1e9, "s");
    } else if (fabs(ns) < 7199.5e9) {
        long seconds = lround(ns / 1e9);
        snprintf(out.text, sizeof out.text, "%ld min %ld s", seconds / 60, labs(seconds) % 60);
    } else {
        long minutes = lround(ns / 60e9);
        snprintf(out.text, sizeof out.text, "%ld h %ld min", minutes / 60, labs(minutes) % 60);
    }
    return out;
}

static struct units scaled(double value, double base, const char *const *names, size_t nr)
{
    struct units out;
    size_t i = 0;

    if (isnan(value)) {
        snprintf(out.text, sizeof out.text, "-");
        return out;
    }
    while (i + 1 < nr && fabs(value) >= base - 0.5) {
        value /= base;
        i++;
    }
    if (i == 0)
        snprintf(out.text, sizeof out.text, "%.0f %s", value, names[i]);
    else if (fabs(value) < 9.95 && fabs(value - round(value)) >= 0.05)
        snprintf(out.text, sizeof out.text, "%.1f %s", value, names[i]);
    else
        snprintf(out.text, sizeof out.text, "%.0f %s", value, names[i]);
    return out;
}

struct units units_bytes(double bytes)
{
    static const char *const names[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    return scaled(bytes, 1024, names, sizeof names / sizeof *names);
}

struct units units_rate(double bytes_per_second)
{
    static const char *const names[] = {"B/s", "kB/s", "MB/s", "GB/s", "TB/s"};
    return scaled(bytes_per_second, 1000, names, sizeof names / sizeof *names);
}

struct units units_flops(double flop_per_second)
{
    static const char *const names[] = {"FLOP/s", "kFLOP/s", "MFLOP/s", "GFLOP/s", "TFLOP/s", "PFLOP/s"};
    return scaled(flop_per_second, 1000, names, sizeof names / sizeof *names);
}

struct units units_share(double share)
{
    struct units out;
    double percent = share * 100;

    if (isnan(share))
        snprintf(out.text, sizeof out.text, "-");
    else if (percent != 0 && fabs(percent) < 0.05)
        snprintf(out.text, sizeof out.text, "<0.1 %%");
    else if (fabs(percent) >= 9.95 || fabs(percent - round(percent)) < 0.05)
        snprintf(out.text, sizeof out.text, "%.0f %%", percent);
    else
        snprintf(out.text, sizeof out.text, "%.1f %%", percent);
    return out;
}

struct units units_count(uint64_t count)
{
    struct units out;
    char digits[24];
    size_t length = (size_t)snprintf(digits, sizeof digits, "%llu", (unsigned long long)count), at = 0;

    for (size_t i = 0; i < length; i++) {
        if (i && (length - i) % 3 == 0)
            out.text[at++] = ',';
        out.text[at++] = digits[i];
    }
    out.text[at] = '\0';
    return out;
}
