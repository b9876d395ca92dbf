/* gpu_peaks.c - see gpu_peaks.h. */
#include "analysis/model/gpu_peaks.h"

#include <fnmatch.h>
#include <stddef.h>

static const struct row {
    const char *pattern;
    double tflops[TR_dtype_MAX], link_gbs, memory_gbs;
} rows[] = {
#define PEAK(pattern, f64, f32, tf32, f16, bf16, f8, i8, link, memory)                                                 \
    {pattern,                                                                                                          \
     {[TR_dtype_f64] = f64,                                                                                            \
      [TR_dtype_f32] = f32,                                                                                            \
      [TR_dtype_tf32] = tf32,                                                                                          \
      [TR_dtype_f16] = f16,                                                                                            \
      [TR_dtype_bf16] = bf16,                                                                                          \
      [TR_dtype_f8] = f8,                                                                                              \
      [TR_dtype_i8] = i8},                                                                                             \
     link,                                                                                                             \
     memory},
#include "analysis/model/gpu_peaks.def"
#undef PEAK
};

static const struct row *find(const char *model)
{
    for (size_t i = 0; model && i < sizeof(rows) / sizeof(*rows); i++)
        if (!fnmatch(rows[i].pattern, model, 0))
            return &rows[i];
    return NULL;
}

double gpu_peak(const char *model, enum tr_dtype type)
{
    const struct row *row = find(model);
    return row ? row->tflops[type] * 1e12 : 0;
}

double gpu_link(const char *model)
{
    const struct row *row = find(model);
    return row ? row->link_gbs * 1e9 : 0;
}

double gpu_memory_rate(const char *model)
{
    const struct row *row = find(model);
    return row ? row->memory_gbs * 1e9 : 0;
}
