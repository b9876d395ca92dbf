/* trshim.h - the calls a job may make if it wants to. None is needed: trshim finds steps by itself.
 *
 * Header only, no library to link: without libtrshim.so preloaded the calls do nothing.
 * From Python:  import ctypes; step = getattr(ctypes.CDLL(None), "trshim_step", lambda n: None);
 * step(ctypes.c_uint64(n)) */
#ifndef TRSHIM_H
#define TRSHIM_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Marks the begin of training step `nr`, on the thread that trains. Explicit marks are preferred to whatever else
 * tells steps apart. Numbers should rise by one; from any thread, never blocks, cannot fail. */
void trshim_step(uint64_t nr) __attribute__((weak));

#define TRSHIM_STEP(nr)                                                                                                \
    do {                                                                                                               \
        if (trshim_step)                                                                                               \
            trshim_step(nr);                                                                                           \
    } while (0)

#ifdef __cplusplus
}
#endif

#endif
