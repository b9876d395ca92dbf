/* kernel_kinds.c - see kernel_kinds.h. */
#include "analysis/model/kernel_kinds.h"

#include <fnmatch.h>
#include <stddef.h>

static const struct {
    enum kernel_kind kind;
    const char *pattern;
} rows[] = {
#define KERNEL(kind, pattern) {KERNEL_##kind, pattern},
#include "analysis/model/kernel_kinds.def"
#undef KERNEL
};

enum kernel_kind kernel_kind_of(const char *name)
{
    for (size_t i = 0; name && i < sizeof(rows) / sizeof(*rows); i++)
        if (!fnmatch(rows[i].pattern, name, 0))
            return rows[i].kind;
    return KERNEL_compute;
}

const char *kernel_kind_name(enum kernel_kind kind)
{
    return kind == KERNEL_comm ? "comm" : kind == KERNEL_copy ? "copy" : "compute";
}
