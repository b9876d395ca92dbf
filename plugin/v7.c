/* v7.c - version 7 of the profiler interface. First in NCCL 2.31: symmetric kernels, tags. See adapter.h. */
#define ADAPTER_VERSION 7
#include "plugin/adapter.h"
