/* test_engine.c - the simulated driver keeps its promises: times are computed, orders are kept, memory is accounted
 * for, and what is wrong gets CUDA's own error. Uses the public runtime and driver API as a job would. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "examples/simtrain/cuda_calls.h"
#include "tests/sim/engine/engine.h"

cudaError_t cudaMemGetInfo(size_t *available, size_t *total);
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind);
void __cudaUnregisterFatBinary(void **handle);
cudaError_t cudaEventDestroy(cudaEvent_t e);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaEventQuery(cudaEvent_t e);
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to);
cudaError_t cudaLaunchHostFunc(cudaStream_t s, cudaHostFn_t fn, void *data);
cudaError_t cudaStreamBeginCapture(cudaStream_t s, enum cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t s, cudaGraph_t *graph);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags);
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t s);
cudaError_t cudaMallocAsync(void **p, size_t bytes, cudaStream_t s);
cudaError_t cudaFreeAsync(void *p, cudaStream_t s);
cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t *handle, void *p);
cudaError_t cudaIpcOpenMemHandle(void **p, cudaIpcMemHandle_t handle, unsigned flags);
cudaError_t cudaGetLastError(void);
cudaError_t cudaGetDriverEntryPoint(const char *name, void **f, unsigned long long flags,
                                    enum cudaDriverEntryPointQueryResult *status);
cudaError_t cudaMemcpyToSymbol(const void *symbol, const void *from, size_t bytes, size_t offset,
                               enum cudaMemcpyKind kind);
CUresult cuMemAddressReserve(CUdeviceptr *p, size_t size, size_t align, CUdeviceptr hint, unsigned long long flags);
CUresult cuMemCreate(CUmemGenericAllocationHandle *h, size_t size, const CUmemAllocationProp *prop,
                     unsigned long long flags);
CUresult cuMemMap(CUdeviceptr p, size_t size, size_t offset, CUmemGenericAllocationHandle h, unsigned long long flags);
CUresult cuMemSetAccess(CUdeviceptr p, size_t size, const CUmemAccessDesc *desc, size_t n);
CUresult cuMemUnmap(CUdeviceptr p, size_t size);
CUresult cuMemRelease(CUmemGenericAllocationHandle h);

#define MS 1000000ull

static void stub(void)
{
}

static void launch(cudaStream_t s, uint64_t ns)
{
    void *args[] = {&ns, NULL};
    assert_int_equal(cudaLaunchKernel((const void *)stub, (dim3){8, 1, 1}, (dim3){128, 1, 1}, args, 0, s), 0);
}

/* What a test has made goes with it. */
static cudaStream_t streams[8];
static cudaEvent_t events[8];
static int nr_streams, nr_events;

static cudaStream_t stream(void)
{
    cudaStream_t s;
    assert_int_equal(cudaStreamCreateWithFlags(&s, 1), 0);
    return streams[nr_streams++] = s;
}

static cudaEvent_t event(unsigned flags)
{
    cudaEvent_t e;
    assert_int_equal(cudaEventCreateWithFlags(&e, flags), 0);
    return events[nr_events++] = e;
}

static struct sim_op **ops;
static size_t nr_ops;

static int begin(void **state)
{
    sim_log_start();
    return 0;
}

static int end(void **state)
{
    struct sim_op **unused;
    size_t nr = sim_log_take(&unused);
    for (size_t i = 0; i < nr; i++)
        sim_op_unref(unused[i]);
    free(unused);
    for (size_t i = 0; i < nr_ops; i++)
        sim_op_unref(ops[i]);
    free(ops);
    ops = NULL;
    nr_ops = 0;
    while (nr_streams)
        cudaStreamDestroy(streams[--nr_streams]);
    while (nr_events)
        cudaEventDestroy(events[--nr_events]);
    return 0;
}

static void stream_is_in_order_and_times_are_computed(void **state)
{
    cudaStream_t s = stream();
    for (int i = 0; i < 20; i++)
        launch(s, 2 * MS);
    assert_int_equal(cudaStreamSynchronize(s), 0);
    nr_ops = sim_log_take(&ops);
    assert_int_equal(nr_ops, 20);
    for (size_t i = 0; i < nr_ops; i++) {
        assert_int_equal(ops[i]->end - ops[i]->start, 2 * MS);
        uint64_t before = i ? ops[i - 1]->end : 0, queued = ops[i]->queued;
        assert_int_equal(ops[i]->start, queued > before ? queued : before);
    }
    assert_true(sim_now() >= ops[19]->end); /* who waited slept until then */
}

static void streams_run_beside_each_other_unless_an_event_orders_them(void **state)
{
    cudaStream_t a = stream(), b = stream();
    cudaEvent_t done = event(2);
    launch(a, 30 * MS);
    launch(b, 30 * MS);
    cudaEventRecord(done, a);
    cudaStreamWaitEvent(b, done, 0);
    launch(b, MS);
    cudaDeviceSynchronize();
    nr_ops = sim_log_take(&ops);
    assert_int_equal(nr_ops, 3);
    assert_true(ops[1]->start < ops[0]->end);
    uint64_t later = ops[0]->end > ops[1]->end ? ops[0]->end : ops[1]->end;
    assert_int_equal(ops[2]->start, later);
}

static void elapsed_time_is_the_sum_of_lengths(void **state)
{
    cudaStream_t s = stream();
    cudaEvent_t from = event(0), to = event(0);
    launch(s, 50 * MS); /* so that what follows is queued before it begins */
    cudaEventRecord(from, s);
    launch(s, 3 * MS);
    launch(s, 4 * MS);
    cudaEventRecord(to, s);
    assert_int_equal(cudaEventQuery(to), 600);
    float ms;
    assert_int_equal(cudaEventElapsedTime(&ms, from, to), 600);
    assert_int_equal(cudaEventSynchronize(to), 0);
    assert_int_equal(cudaEventElapsedTime(&ms, from, to), 0);
    assert_int_equal((int)(ms * 1000 + 0.5f), 7000);
    assert_int_equal(cudaGetLastError(), 0); /* not ready is not an error that is remembered */
}

static void copies_move_bytes_at_the_rate_of_their_memory(void **state)
{
    enum { BYTES = 8 << 20 };
    char *pageable = malloc(BYTES), *pinned;
    void *device;
    cudaHostAlloc((void **)&pinned, BYTES, 0);
    cudaMalloc(&device, BYTES);
    memset(pageable, 7, BYTES);
    assert_int_equal(cudaMemcpy(device, pageable, BYTES, cudaMemcpyHostToDevice), 0);
    assert_int_equal(cudaMemcpy(pinned, device, BYTES, cudaMemcpyDeviceToHost), 0);
    assert_int_equal(pinned[BYTES - 1], 7);
    nr_ops = sim_log_take(&ops);
    assert_int_equal(nr_ops, 2);
    assert_int_equal(ops[0]->length, 1500 + (uint64_t)(BYTES * 1e9 / sim_settings()->pageable_rate));
    assert_int_equal(ops[1]->length, 1500 + (uint64_t)(BYTES * 1e9 / sim_settings()->pinned_rate));
    cudaFree(device);
    cudaFreeHost(pinned);
    free(pageable);
}

static void the_device_can_be_full(void **state)
{
    size_t before, total, after;
    void *most, *more;
    cudaMemGetInfo(&before, &total);
    assert_int_equal(cudaMalloc(&most, before - (64 << 20)), 0);
    assert_int_equal(cudaMalloc(&more, 128 << 20), 2);
    assert_int_equal(cudaGetLastError(), 2);
    assert_int_equal(cudaGetLastError(), 0);
    assert_int_equal(cudaFree(most), 0);
    assert_int_equal(cudaFree(most), 1);
    cudaMemGetInfo(&after, &total);
    assert_int_equal(after, before);
    cudaGetLastError();
}

static void pool_memory_is_used_again(void **state)
{
    cudaStream_t s = stream();
    void *first, *second;
    assert_int_equal(cudaMallocAsync(&first, 4 << 20, s), 0);
    launch(s, 20 * MS);
    assert_int_equal(cudaFreeAsync(first, s), 0);
    assert_int_equal(cudaMallocAsync(&second, 4 << 20, s), 0); /* same stream: need not wait for the kernel */
    assert_ptr_equal(first, second);
    cudaStream_t other = stream();
    cudaFreeAsync(second, s);
    assert_int_equal(cudaMallocAsync(&first, 4 << 20, other), 0); /* another must not have it yet */
    assert_ptr_not_equal(first, second);
    cudaFreeAsync(first, other);
    cudaDeviceSynchronize();
}

static void virtual_memory_is_mapped_and_accounted_for(void **state)
{
    enum { SIZE = 2 << 20 };
    size_t before, during, total;
    CUdeviceptr p;
    CUmemGenericAllocationHandle handle;
    CUmemAllocationProp prop = {.type = 1, .location = {.type = 1, .id = 0}};
    CUmemAccessDesc access = {.location = {.type = 1, .id = 0}, .flags = 3};
    cudaMemGetInfo(&before, &total);
    assert_int_equal(cuMemAddressReserve(&p, 8 * SIZE, 0, 0, 0), 0);
    assert_int_equal(p % SIZE, 0);
    assert_int_equal(cuMemCreate(&handle, SIZE, &prop, 0), 0);
    assert_int_equal(cuMemCreate(&handle, SIZE + 1, &prop, 0), 1);
    assert_int_equal(cuMemMap(p + SIZE, SIZE, 0, handle, 0), 0);
    assert_int_equal(cuMemSetAccess(p + SIZE, SIZE, &access, 1), 0);
    cudaMemGetInfo(&during, &total);
    assert_int_equal(before - during, SIZE);
    int value = 42, back = 0;
    assert_int_equal(cudaMemcpy((void *)(uintptr_t)(p + SIZE), &value, sizeof(value), cudaMemcpyHostToDevice), 0);
    assert_int_equal(cudaMemcpy(&back, (void *)(uintptr_t)(p + SIZE), sizeof(back), cudaMemcpyDeviceToHost), 0);
    assert_int_equal(back, 42);
    assert_int_equal(cuMemUnmap(p + SIZE, SIZE), 0);
    assert_int_equal(cuMemRelease(handle), 0);
    cudaMemGetInfo(&during, &total);
    assert_int_equal(during, before);
}

static void graph_branches_run_beside_each_other(void **state)
{
    cudaStream_t s = stream(), branch = stream();
    cudaEvent_t fork_point = event(2), join_point = event(2);
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    assert_int_equal(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal), 0);
    launch(s, MS);
    cudaEventRecord(fork_point, s);
    cudaStreamWaitEvent(branch, fork_point, 0);
    launch(branch, 5 * MS);
    launch(s, 2 * MS);
    cudaEventRecord(join_point, branch);
    cudaStreamWaitEvent(s, join_point, 0);
    launch(s, MS);
    assert_int_equal(cudaStreamSynchronize(s), 900);
    assert_int_equal(cudaStreamEndCapture(s, &graph), 0);
    assert_int_equal(sim_graph_nodes((struct sim_graph *)graph), 4);
    assert_int_equal(cudaGraphInstantiate(&exec, graph, 0), 0);
    assert_int_equal(sim_log_take(&ops), 0); /* capturing runs nothing */
    free(ops);
    for (int launches = 0; launches < 2; launches++)
        assert_int_equal(cudaGraphLaunch(exec, s), 0);
    cudaStreamSynchronize(s);
    nr_ops = sim_log_take(&ops);
    assert_int_equal(nr_ops, 8);
    assert_int_equal(ops[3]->end - ops[0]->start, 7 * MS); /* 1 + max(5, 2) + 1 */
    assert_int_equal(ops[4]->start, ops[3]->end);          /* the second launch follows the first */
    assert_int_not_equal(ops[0]->graph_id, 0);
    assert_int_not_equal(ops[0]->graph_node, ops[1]->graph_node);
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
}

static uint64_t host_ran;

static void run_on_host(void *data)
{
    host_ran = sim_now();
    sim_sleep_until(host_ran + 20 * MS);
}

static void what_follows_a_host_function_waits_for_it(void **state)
{
    cudaStream_t s = stream();
    launch(s, 10 * MS);
    assert_int_equal(cudaLaunchHostFunc(s, run_on_host, NULL), 0);
    launch(s, MS);
    cudaStreamSynchronize(s);
    nr_ops = sim_log_take(&ops);
    assert_int_equal(nr_ops, 3);
    assert_true(host_ran >= ops[0]->end);
    assert_true(ops[2]->start >= host_ran + 20 * MS);
    assert_int_equal(ops[2]->start, ops[1]->end);
}

static void memory_is_shared_between_processes(void **state)
{
    int *p, value = 0;
    cudaIpcMemHandle_t handle;
    cudaMalloc((void **)&p, 4096);
    value = 1234;
    cudaMemcpy(p, &value, sizeof(value), cudaMemcpyHostToDevice);
    assert_int_equal(cudaIpcGetMemHandle(&handle, p), 0);
    pid_t child = fork();
    if (!child) {
        int *shared, *seen = &value;
        *seen = 0;
        int error = (int)cudaIpcOpenMemHandle((void **)&shared, handle, 1);
        if (!error)
            memcpy(seen, shared, sizeof(*seen));
        if (!error)
            *shared = 99;
        _exit(error || *seen != 1234);
    }
    int status;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    cudaMemcpy(&value, p, sizeof(value), cudaMemcpyDeviceToHost);
    assert_int_equal(value, 99);
    void *own;
    assert_int_not_equal(cudaIpcOpenMemHandle(&own, handle, 1), 0); /* not in the process that made it */
    cudaGetLastError();
    cudaFree(p);
}

static void errors_are_cudas_own(void **state)
{
    void *p;
    assert_int_equal(cudaSetDevice(99), 101);
    assert_int_equal(cudaFree(&p), 1);
    assert_int_equal(cudaLaunchKernel(&p, (dim3){1, 1, 1}, (dim3){1, 1, 1}, NULL, 0, NULL), 98);
    uint64_t ns = 1;
    void *args[] = {&ns, NULL};
    assert_int_equal(cudaLaunchKernel((const void *)stub, (dim3){0, 1, 1}, (dim3){1, 1, 1}, args, 0, NULL), 1);
    assert_int_equal(cudaLaunchKernel((const void *)stub, (dim3){1, 1, 1}, (dim3){2048, 1, 1}, args, 0, NULL), 1);
    cudaGetLastError();
}

static void driver_functions_are_found_by_name_and_version(void **state)
{
    void *f = NULL;
    enum cudaDriverEntryPointQueryResult status;
    assert_int_equal(cudaGetDriverEntryPoint("cuMemCreate", &f, 0, &status), 0);
    assert_non_null(f);
    assert_int_equal(status, 0);
    assert_int_equal(cudaGetDriverEntryPoint("cuNoSuchThing", &f, 0, &status), 0);
    assert_null(f);
    assert_int_equal(status, 1);
}

int main(void)
{
    static int binary;
    void **handle = __cudaRegisterFatBinary(&binary);
    __cudaRegisterFunction(handle, (const char *)stub, NULL, "stub", -1, NULL, NULL, NULL, NULL, NULL);
    sim_kernel_told((const void *)stub);
#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(stream_is_in_order_and_times_are_computed),
        TEST(streams_run_beside_each_other_unless_an_event_orders_them),
        TEST(elapsed_time_is_the_sum_of_lengths),
        TEST(copies_move_bytes_at_the_rate_of_their_memory),
        TEST(the_device_can_be_full),
        TEST(pool_memory_is_used_again),
        TEST(virtual_memory_is_mapped_and_accounted_for),
        TEST(graph_branches_run_beside_each_other),
        TEST(what_follows_a_host_function_waits_for_it),
        TEST(memory_is_shared_between_processes),
        TEST(errors_are_cudas_own),
        TEST(driver_functions_are_found_by_name_and_version),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    __cudaUnregisterFatBinary(handle);
    return failed;
}
