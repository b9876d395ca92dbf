/* gpu_peaks.h - the rate a GPU could reach at most, by model (gpu_peaks.def). Pure. */
#ifndef TRSHIM_ANALYSIS_MODEL_GPU_PEAKS_H
#define TRSHIM_ANALYSIS_MODEL_GPU_PEAKS_H

#include "analysis/event.h"

/* FLOP/s; 0 when the model is not known, or does not compute with this type. */
double gpu_peak(const char *model, enum tr_dtype type);

/* Bytes/s between host and device, each way; and of the device's memory. 0 unknown. */
double gpu_link(const char *model);
double gpu_memory_rate(const char *model);

#endif
