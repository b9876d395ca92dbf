/* stubs.h - what stubs.S must know of struct shim_tls; preload.c asserts that it is so. */
#define SHIM_TLS_IN_VFORK 16
#define SHIM_TLS_AFTER_DLOPEN 17
