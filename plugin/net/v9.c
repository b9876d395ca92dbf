/* v9.c - version 9 of NCCL's network interface: see form.h. */
#define NET_V 9
#include "plugin/net/form.h"
