/* v12.c - version 12 of NCCL's network interface: see form.h. */
#define NET_V 12
#include "plugin/net/form.h"
