/* tp_trshim.c - the probes of the provider, linked into what emits (shim core, plugin). */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "traces/tp_trshim.h"
