/* nccl_message.h - what the text behind NCCL's prefix says, as an event. Pure; any thread. */
#ifndef TRSHIM_ANALYSIS_NCCL_MESSAGE_H
#define TRSHIM_ANALYSIS_NCCL_MESSAGE_H

#include <stdbool.h>

#include "analysis/event.h"

/* `text` is changed and lends its strings; `place` is source file and line of a warning, NULL for what is none.
 * False if it says nothing that matters here. Who wrote it is for the caller to fill in. */
bool nccl_message_parse(char *text, const char *place, struct event *ret);

#endif
