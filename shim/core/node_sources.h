/* node_sources.h - the state of the host, value by value, as the kernel's files and NVML tell it. */
#ifndef TRSHIM_CORE_NODE_SOURCES_H
#define TRSHIM_CORE_NODE_SOURCES_H

#include <stdint.h>

#include "traces/events.h"

#define NODE_DEVICES_MAX 64

typedef void (*node_value_fn)(void *arg, enum tr_node_metric metric, unsigned device, uint64_t value);

/* Tells what the files below `root` ("" for the real ones) say; what is not there is left out. */
void node_read_files(const char *root, node_value_fn fn, void *arg);

/* Tells what NVML says of all GPUs of the node, if the job has mapped it: never loads it. By one thread only. */
void node_read_nvml(node_value_fn fn, void *arg);

#endif
