/* old_libc.h - libc functions bound to their oldest version.
 *
 * The preload must load wherever the job runs, so it may need nothing above GLIBC_2.17 (tests/check-symbols.t). glibc
 * 2.34 gave these new versions when libdl was merged into libc; the old ones stay and do the same. */
#ifndef TRSHIM_PRELOAD_OLD_LIBC_H
#define TRSHIM_PRELOAD_OLD_LIBC_H

#include <dlfcn.h>

#if defined(__x86_64__)
#define OLDEST "GLIBC_2.2.5"
#elif defined(__aarch64__)
#define OLDEST "GLIBC_2.17"
#else
#error "the preload knows x86_64 and aarch64"
#endif

#define BIND_OLDEST(name) __asm__(".symver " #name "," #name "@" OLDEST)
BIND_OLDEST(dlsym);
BIND_OLDEST(dlvsym);
BIND_OLDEST(dlerror);
BIND_OLDEST(dladdr);

#endif
