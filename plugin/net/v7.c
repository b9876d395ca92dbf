/* v7.c - version 7 of NCCL's network interface: see form.h. */
#define NET_V 7
#include "plugin/net/form.h"
