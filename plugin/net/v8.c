/* v8.c - version 8 of NCCL's network interface: see form.h. */
#define NET_V 8
#include "plugin/net/form.h"
