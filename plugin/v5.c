/* v5.c - version 5 of the profiler interface. First in NCCL 2.28: the calls themselves. See adapter.h. */
#define ADAPTER_VERSION 5
#include "plugin/adapter.h"
