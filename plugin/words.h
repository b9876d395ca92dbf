/* words.h - NCCL's words for operations, types, algorithms and protocols, and ours. */
#ifndef TRSHIM_PLUGIN_WORDS_H
#define TRSHIM_PLUGIN_WORDS_H

#include "plugin/told.h"

/* Version 1 has numbers where the others have texts: fills the texts of t, or its numbers. */
void told_texts(struct told *t);
void told_numbers(struct told *t);

/* Texts as events have them; NULL and unknown ones included. */
uint8_t op_of(const char *func);       /* enum tr_coll_op */
uint8_t algo_of(const struct told *t); /* enum tr_coll_algo */
uint8_t proto_of(const char *proto);   /* enum tr_coll_proto */
uint8_t type_of(const char *datatype); /* ncclDataType_t, 255 unknown (ncclUint8 has no name in NCCL) */

#endif
