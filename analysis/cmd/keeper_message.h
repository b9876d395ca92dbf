/* keeper_message.h - what keeper and clients say to each other: one struct per packet, over SOCK_SEQPACKET.
 *
 * Both ends are the same program on the same machine, usually the same process image: no versions, no byte order. */
#ifndef TRSHIM_ANALYSIS_KEEPER_MESSAGE_H
#define TRSHIM_ANALYSIS_KEEPER_MESSAGE_H

#include "analysis/cmd/keeper.h"

enum keeper_message_type {
    KEEPER_HELLO,    /* client: may I join?             -> WELCOME, or the connection is closed */
    KEEPER_VISIT,    /* client: the same, for orders */
    KEEPER_WELCOME,  /* keeper */
    KEEPER_LEAVE,    /* client: my job ended            -> SUMMARY, or GOES_ON; level: 1 if it failed */
    KEEPER_STOP,     /* client: end the session         -> SUMMARY */
    KEEPER_LEVEL,    /* client: change to `level`       -> DONE or FAILED */
    KEEPER_SNAPSHOT, /* client: write what the ring holds -> DONE or FAILED */
    KEEPER_DONE,
    KEEPER_GOES_ON,
    KEEPER_SUMMARY,
    KEEPER_FAILED, /* keeper: text says why */
};

struct keeper_message {
    uint32_t type;
    uint32_t level;
    union {
        struct keeper_welcome welcome;
        struct keeper_summary summary;
        char text[1024];
    } u;
};

#endif
