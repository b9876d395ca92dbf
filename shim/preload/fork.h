/* fork.h - around fork; see fork.c. */
#ifndef SHIM_PRELOAD_FORK_H
#define SHIM_PRELOAD_FORK_H

/* In the constructor, as early as can be. */
void fork_watch(void);

#endif
