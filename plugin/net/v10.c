/* v10.c - version 10 of NCCL's network interface: see form.h. */
#define NET_V 10
#include "plugin/net/form.h"
