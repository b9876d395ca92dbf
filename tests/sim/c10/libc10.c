/* libc10.c - the two functions of PyTorch's libc10.so through which its allocators tell of every block, under their
 * real names. As in PyTorch they do nothing unless a profiler listens, and none does here: what matters is that the
 * calls cross a library, where they can be seen. */
#include "tests/sim/c10/c10.h"

void report_memory_usage(void *block, int64_t bytes, size_t allocated, size_t reserved, struct c10_device device)
{
}

void report_out_of_memory(int64_t bytes, size_t allocated, size_t reserved, struct c10_device device)
{
}
