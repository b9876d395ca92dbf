/* v3.c - version 3 of the profiler interface. First in NCCL 2.26: channels of kernels, network plugins. See adapter.h.
 */
#define ADAPTER_VERSION 3
#include "plugin/adapter.h"
