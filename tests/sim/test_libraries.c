/* test_libraries.c - what stands on the simulated driver: PyTorch's allocator tells of its blocks across libraries,
 * products take as long as their arithmetic, boards say what the scenario says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "examples/simtrain/cuda_calls.h"
#include "tests/sim/engine/engine.h"

#define MIB (1ull << 20)

/* ---- The allocator: these two stand before those of libc10.so, as a preloaded library's would
 * ------------------------- */
static struct {
    int blocks, failures;
    int64_t last, asked;
    size_t allocated, reserved;
    struct c10_device device;
} seen;

void report_memory_usage(void *block, int64_t bytes, size_t allocated, size_t reserved, struct c10_device device)
{
    seen.blocks++;
    seen.last = bytes;
    seen.allocated = allocated;
    seen.reserved = reserved;
    seen.device = device;
}

void report_out_of_memory(int64_t bytes, size_t allocated, size_t reserved, struct c10_device device)
{
    seen.failures++;
    seen.asked = bytes;
}

static void blocks_are_reported_across_libraries(void **state)
{
    cudaSetDevice(1);
    memset(&seen, 0, sizeof(seen));
    void *small = c10_cuda_malloc(1000), *large = c10_cuda_malloc(3 * MIB);
    assert_int_equal(seen.blocks, 2);
    assert_int_equal(seen.last, 3 * MIB);
    assert_int_equal(seen.allocated, 1024 + 3 * MIB);
    assert_int_equal(seen.reserved, 22 * MIB); /* a segment of 2 MiB, one of 20 */
    assert_int_equal(seen.device.type, 1);
    assert_int_equal(seen.device.index, 1);
    c10_cuda_free(large);
    assert_int_equal(seen.last, -3 * (int64_t)MIB);
    c10_cuda_free(small);
    assert_int_equal(seen.allocated, 0);
    assert_int_equal(seen.reserved, 22 * MIB); /* kept */
    c10_cuda_empty_cache();
    struct c10_stats stats;
    c10_cuda_stats(1, &stats);
    assert_int_equal(stats.reserved, 0);
}

static void freed_neighbours_become_one_block(void **state)
{
    cudaSetDevice(2);
    void *blocks[4];
    for (int i = 0; i < 4; i++)
        blocks[i] = c10_cuda_malloc(5 * MIB);
    assert_int_equal(seen.reserved, 20 * MIB);
    c10_cuda_free(blocks[1]);
    c10_cuda_free(blocks[2]);
    struct c10_stats stats;
    c10_cuda_stats(2, &stats);
    assert_int_equal(stats.split_free, 10 * MIB);
    assert_ptr_equal(c10_cuda_malloc(10 * MIB), blocks[1]);
}

static void out_of_memory_is_told_after_a_second_try(void **state)
{
    cudaSetDevice(3);
    size_t available, total;
    memset(&seen, 0, sizeof(seen));
    c10_cuda_free(c10_cuda_malloc(512 * MIB)); /* cached: given back before giving up */
    cudaMemGetInfo(&available, &total);
    assert_non_null(c10_cuda_malloc(available + 256 * MIB));
    assert_int_equal(seen.failures, 0);
    assert_null(c10_cuda_malloc(1024 * MIB));
    assert_int_equal(seen.failures, 1);
    assert_int_equal(seen.asked, 1024 * MIB);
    struct c10_stats stats;
    c10_cuda_stats(3, &stats);
    assert_int_equal(stats.retries, 2);
}

int cublasDestroy_v2(void *handle);

/* ---- Products
 * -------------------------------------------------------------------------------------------------------------------
 */
static void a_product_takes_as_long_as_its_arithmetic(void **state)
{
    enum { M = 4096, N = 2048, K = 1024, BF16 = 14 };
    void *handle;
    struct sim_op **ops;
    cudaSetDevice(0);
    assert_int_equal(cublasCreate_v2(&handle), 0);
    sim_log_start();
    assert_int_equal(cublasGemmEx(handle, 0, 0, M, N, K, 0, 0, BF16, M, 0, BF16, K, 0, 0, BF16, M, 68, -1), 0);
    assert_int_equal(cublasGemmEx(handle, 0, 0, 1, 1, 1, 0, 0, BF16, 1, 0, BF16, 1, 0, 0, BF16, 1, 68, -1), 0);
    assert_int_equal(sim_log_take(&ops), 2);
    double flop_per_s = sim_settings()->peak_flops * sim_settings()->gemm_reached;
    assert_int_equal(ops[0]->length, (uint64_t)(2.0 * M * N * K * 1e9 / flop_per_s));
    assert_int_equal(ops[1]->length, 3000); /* no kernel is shorter */
    for (int i = 0; i < 2; i++)
        sim_op_unref(ops[i]);
    free(ops);
    cublasDestroy_v2(handle);
}

/* ---- Boards
 * -----------------------------------------------------------------------------------------------------------------------
 */
int nvmlInit_v2(void);
int nvmlShutdown(void);
int nvmlDeviceGetCount_v2(unsigned *count);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **ret);
int nvmlDeviceGetClockInfo(void *board, int type, unsigned *ret);
int nvmlDeviceGetUUID(void *board, char *text, unsigned size);
int nvmlDeviceGetCurrentClocksEventReasons(void *board, unsigned long long *ret);
int nvmlDeviceGetNvLinkState(void *board, unsigned link, int *active);

static char scenario[] = "/tmp/scenario.XXXXXX";

static void write_scenario(const char *text)
{
    FILE *f = fopen(scenario, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void boards_say_what_the_scenario_says_and_change_with_it(void **state)
{
    void *first, *second;
    unsigned count, clock;
    unsigned long long reasons;
    int active;
    char uuid[96];
    assert_int_equal(nvmlDeviceGetCount_v2(&count), 1); /* not initialised */
    write_scenario("# one board is hot\n1 sm_clock 1200\n1 throttle_reasons 0x40\n* nvlinks 4\n");
    assert_int_equal(nvmlInit_v2(), 0);
    assert_int_equal(nvmlDeviceGetCount_v2(&count), 0);
    assert_int_equal(count, 8);
    assert_int_equal(nvmlDeviceGetHandleByIndex_v2(0, &first), 0);
    assert_int_equal(nvmlDeviceGetHandleByIndex_v2(1, &second), 0);
    assert_int_equal(nvmlDeviceGetHandleByIndex_v2(8, &second), 2);
    assert_int_equal(nvmlDeviceGetClockInfo(first, 1, &clock), 0);
    assert_int_equal(clock, 1980);
    assert_int_equal(nvmlDeviceGetClockInfo(second, 1, &clock), 0);
    assert_int_equal(clock, 1200);
    assert_int_equal(nvmlDeviceGetCurrentClocksEventReasons(second, &reasons), 0);
    assert_int_equal(reasons, 0x40);
    nvmlDeviceGetNvLinkState(first, 4, &active);
    assert_int_equal(active, 0);
    assert_int_equal(nvmlDeviceGetUUID(first, uuid, sizeof(uuid)), 0);
    const uint8_t *own = sim_device_at(0)->uuid;
    char start[16];
    snprintf(start, sizeof(start), "GPU-%02x%02x%02x%02x-", own[0], own[1], own[2], own[3]);
    assert_memory_equal(uuid, start, strlen(start)); /* the same board as in CUDA */
    usleep(20000);
    write_scenario("");
    nvmlDeviceGetClockInfo(second, 1, &clock);
    assert_int_equal(clock, 1980);
    assert_int_equal(nvmlShutdown(), 0);
    unlink(scenario);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_reported_across_libraries),
        cmocka_unit_test(freed_neighbours_become_one_block),
        cmocka_unit_test(out_of_memory_is_told_after_a_second_try),
        cmocka_unit_test(a_product_takes_as_long_as_its_arithmetic),
        cmocka_unit_test(boards_say_what_the_scenario_says_and_change_with_it),
    };
    close(mkstemp(scenario));
    setenv("SIM_NVML", scenario, 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
