/* name.h - strings that events refer to by number.
 *
 * A process-wide table without locks: a name is put in once, keeps its id, and is never removed. The `name` event is
 * sent before the first event that uses the id, and again in every epoch (10 s, session start, fork) in which it is
 * used, so that rings, rotations and late starts never leave ids without meaning. When the table is full the id is 0,
 * "unknown", and the loss is counted. */
#ifndef TRSHIM_CORE_NAME_H
#define TRSHIM_CORE_NAME_H

#include <stddef.h>
#include <stdint.h>

#include "traces/events.h"

/* Maps the table. 0, or -ENOMEM: then every id is 0. */
int name_init(void);

/* Id of a text of `len` bytes. For dirs and files, dev is looked up the first time. */
uint32_t name_of(enum tr_name_kind kind, const char *text, size_t len);

/* Id of the directory that holds an absolute path. */
uint32_t name_of_dir(const char *path);

/* Sends the name if it was not sent in this epoch; to be called before an event that uses the id. */
void name_send(uint32_t id, uint32_t tid);

/* The text of an id, or NULL. Stays valid. */
const char *name_text(uint32_t id);

/* In a fork child, by its only thread. */
void name_after_fork(void);

#endif
