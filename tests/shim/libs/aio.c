/* aio.c - stands for libaio, loaded late and out of sight: one finished request of the descriptor it is given
 * (libaio.so.1 of preloads.t). The layouts are those of linux/aio_abi.h. */
#include <linux/aio_abi.h>
#include <stdint.h>
#include <time.h>

int io_getevents(void *ctx, long min, long max, void *events, struct timespec *t);

__attribute__((visibility("default"))) int io_getevents(void *ctx, long min, long max, void *events, struct timespec *t)
{
    static struct iocb request;
    struct io_event *e = events;
    request.aio_fildes = (uint32_t)(uintptr_t)ctx;
    request.aio_lio_opcode = IOCB_CMD_PREAD;
    e->obj = (uintptr_t)&request;
    e->res = 4096;
    return 1;
}
