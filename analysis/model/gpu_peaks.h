/* gpu_peaks.h - the rate a GPU could reach at most, by model and type of the numbers (gpu_peaks.def). Pure. */
#ifndef TRSHIM_ANALYSIS_MODEL_GPU_PEAKS_H
#define TRSHIM_ANALYSIS_MODEL_GPU_PEAKS_H

#include "analysis/event.h"

/* FLOP/s; 0 when the model is not known, or does not compute with this type. */
double gpu_peak(const char *model, enum tr_dtype type);

#endif
