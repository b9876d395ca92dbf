/* median.c - see median.h. */
#include "analysis/model/median.h"

#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

double median_lower(double *values, size_t nr)
{
    qsort(values, nr, sizeof(*values), by_value);
    return values[(nr - 1) / 2];
}
