/* v11.c - version 11 of NCCL's network interface: see form.h. */
#define NET_V 11
#include "plugin/net/form.h"
