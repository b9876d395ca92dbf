/* link_bus.c - see link_bus.h. */
#include "analysis/model/link_bus.h"

#include <fnmatch.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

static const struct {
    const char *kind, *model;
    double rate;
} rows[] = {
#define BUS(kind, model, rate) {kind, model, rate},
#include "analysis/model/link_bus.def"
#undef BUS
};

double link_bus(const char *kind, const char *model)
{
    for (size_t i = 0; kind && model && i < sizeof(rows) / sizeof(*rows); i++)
        if (!strcmp(rows[i].kind, kind) && !fnmatch(rows[i].model, model, 0))
            return rows[i].rate;
    return NAN;
}
