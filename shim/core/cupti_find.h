/* cupti_find.h - libcupti: the copy that belongs to the job's CUDA, and its functions. */
#ifndef TRSHIM_CORE_CUPTI_FIND_H
#define TRSHIM_CORE_CUPTI_FIND_H

#include <stdbool.h>

#include "shim/core/cupti_abi.h"

/* All return CUPTI's error, 0 for none. Those after next_record may be NULL. */
struct cupti_functions {
    int (*get_version)(uint32_t *);
    int (*register_callbacks)(cupti_buffer_requested, cupti_buffer_completed);
    int (*enable)(uint32_t kind);
    int (*flush_all)(uint32_t forced);
    int (*next_record)(uint8_t *buffer, size_t valid, void **record);
    int (*disable)(uint32_t kind);
    int (*dropped)(void *context, uint32_t stream, size_t *ret); /* since it was last asked */
    int (*thread_id_type)(uint32_t type);
    int (*enable_runtime_call)(uint32_t cbid, uint8_t on); /* 12.5 */
    int (*enable_driver_call)(uint32_t cbid, uint8_t on);
    int (*subscribe)(void **handle, cupti_callback_fn fn, void *user);
    int (*unsubscribe)(void *handle);
    int (*enable_callback)(uint32_t on, void *handle, uint32_t domain, uint32_t cbid);
};

extern struct cupti_functions cupti;

/* Loads it if it is not mapped. False: there is none that we can use. */
bool cupti_find(void);

#endif
