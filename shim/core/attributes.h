/* attributes.h - facts about the process and its host, sent as `attr` events. */
#ifndef TRSHIM_CORE_ATTRIBUTES_H
#define TRSHIM_CORE_ATTRIBUTES_H

/* Reads and sends them all: allow-listed variables, versions, CPU affinity, limits. */
void attributes_send(void);

/* The version of PyTorch, from the directory its library lies in; sent once known. */
void attributes_send_torch(const char *library_path);

#endif
