/* kineto.c - uses CUPTI as torch.profiler does: registers callbacks of its own, looks each buffer up among those it
 * gave out, and turns off what it turned on (libkineto.so of cuda.t). */
#include <stdint.h>
#include <stdlib.h>

int cuptiActivityRegisterCallbacks(void (*)(uint8_t **, size_t *, size_t *),
                                   void (*)(void *, uint32_t, uint8_t *, size_t, size_t));
int cuptiActivityEnable(uint32_t);
int cuptiActivityDisable(uint32_t);
int cuptiActivityFlushAll(uint32_t);
void fake_cupti_run(int n);
int profile(int n);

static uint8_t buffers[8][1 << 20];
static int given, strangers, got;

static void requested(uint8_t **buffer, size_t *size, size_t *max)
{
    *buffer = buffers[given++ % 8];
    *size = sizeof(buffers[0]);
    *max = 0;
}

static void completed(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    if (buffer < buffers[0] || buffer >= buffers[8])
        strangers++;
    else
        got++;
}

__attribute__((visibility("default"))) int profile(int n)
{
    if (cuptiActivityRegisterCallbacks(requested, completed) != 0)
        return 1;
    cuptiActivityEnable(10);
    cuptiActivityEnable(1);
    fake_cupti_run(n);
    cuptiActivityFlushAll(0);
    cuptiActivityDisable(10);
    cuptiActivityDisable(1);
    return strangers ? 2 : got == 0 ? 3 : 0;
}
