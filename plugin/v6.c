/* v6.c - version 6 of the profiler interface. First in NCCL 2.29 and 2.30, and RCCL's v6: collectives by copy engine.
 * See adapter.h. */
#define ADAPTER_VERSION 6
#include "plugin/adapter.h"
