/* v4.c - version 4 of the profiler interface. First in NCCL 2.27: the communicator comes with init. See adapter.h. */
#define ADAPTER_VERSION 4
#include "plugin/adapter.h"
