/* torch_words.c - see torch_words.h. */
#include "analysis/input/torch_words.h"

#include <string.h>

enum tr_coll_op torch_coll_op(const char *name)
{
    const char *word = strchr(name, ':') ? strchr(name, ':') + 1 : name;

#define FR_OP(prefix, op)                                                                                              \
    if (strncmp(word, prefix, sizeof(prefix) - 1) == 0)                                                                \
        return TR_coll_op_##op;
#define FR_TYPE(word, number)
#include "analysis/input/fr_words.def"
#undef FR_OP
#undef FR_TYPE
    return TR_coll_op_other;
}

uint8_t torch_nccl_type(const char *type)
{
#define FR_OP(prefix, op)
#define FR_TYPE(word, number)                                                                                          \
    if (strcmp(type, word) == 0)                                                                                       \
        return number;
#include "analysis/input/fr_words.def"
#undef FR_OP
#undef FR_TYPE
    return 255;
}
