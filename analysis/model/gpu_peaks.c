/* gpu_peaks.c - see gpu_peaks.h. */
#include "analysis/model/gpu_peaks.h"

#include <fnmatch.h>
#include <stddef.h>

static const struct {
    const char *pattern;
    double tflops[TR_dtype_MAX];
} rows[] = {
#define PEAK(pattern, f64, f32, tf32, f16, bf16, f8, i8)                                                               \
    {pattern,                                                                                                          \
     {[TR_dtype_f64] = f64,                                                                                            \
      [TR_dtype_f32] = f32,                                                                                            \
      [TR_dtype_tf32] = tf32,                                                                                          \
      [TR_dtype_f16] = f16,                                                                                            \
      [TR_dtype_bf16] = bf16,                                                                                          \
      [TR_dtype_f8] = f8,                                                                                              \
      [TR_dtype_i8] = i8}},
#include "analysis/model/gpu_peaks.def"
#undef PEAK
};

double gpu_peak(const char *model, enum tr_dtype type)
{
    for (size_t i = 0; model && i < sizeof(rows) / sizeof(*rows); i++)
        if (!fnmatch(rows[i].pattern, model, 0))
            return rows[i].tflops[type] * 1e12;
    return 0;
}
