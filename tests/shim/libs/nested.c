/* nested.c - a library that loads another by bare name, found only through its own RUNPATH (libnested.so of lives.c).
 */
#include <dlfcn.h>
#include <stddef.h>

int library_nested(void);

__attribute__((visibility("default"))) int library_nested(void)
{
    return dlopen("libreads.so", RTLD_NOW | RTLD_LOCAL) ? 0 : 1;
}
