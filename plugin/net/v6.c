/* v6.c - version 6 of NCCL's network interface: see form.h. */
#define NET_V 6
#include "plugin/net/form.h"
