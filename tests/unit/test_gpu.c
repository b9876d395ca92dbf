/* The GPU timeline: unions and sweeps against counting every instant, records that come late and out of order, where a
 * step begins on the GPU, and windows on events small enough to add up by hand. */
#include "tests/unit/analyze_text.h"

#include <math.h>

#include "analysis/model/gpu.h"
#include "analysis/model/kernel_kinds.h"
#include "analysis/model/layers.h"

#define TIME 300

static uint32_t seed = 7;

static uint32_t random_below(uint32_t n)
{
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % n;
}

/* ---- intervals ---------------------------------------------------------------------------- */

static void a_set_is_the_union_of_what_came_in_any_order(void **state)
{
    for (unsigned round = 0; round < 2000; round++) {
        struct intervals set = {0};
        bool covered[TIME] = {false};
        unsigned forgotten = 0;
        for (unsigned i = 0; i < 30; i++) {
            unsigned start = random_below(TIME), end = random_below(TIME);
            assert_int_equal(intervals_add(&set, start, end), 0);
            for (unsigned at = start; at < end; at++)
                covered[at] = true;
            if (random_below(10) == 0) {
                unsigned to = random_below(TIME / 4);
                intervals_forget(&set, to);
                forgotten = to > forgotten ? to : forgotten;
            }
            unsigned from = forgotten + random_below(TIME - forgotten), to = random_below(TIME), expected = 0;
            for (unsigned at = from; at < to; at++)
                expected += covered[at];
            assert_int_equal(intervals_measure(&set, from, to), expected);
        }
        for (size_t i = set.head + 1; i < set.nr; i++)
            assert_true(set.list[i - 1].end_ns < set.list[i].start_ns);
        intervals_done(&set);
    }
}

static void a_walk_goes_over_the_union_of_several_sets(void **state)
{
    for (unsigned round = 0; round < 2000; round++) {
        struct intervals sets[3] = {0};
        const struct intervals *const all[] = {&sets[0], &sets[1], &sets[2]};
        bool covered[TIME] = {false}, walked[TIME] = {false};
        unsigned from = random_below(TIME), to = random_below(TIME);
        for (unsigned i = 0; i < 12; i++) {
            unsigned start = random_below(TIME), end = start + random_below(40);
            end = end < TIME ? end : TIME;
            intervals_add(&sets[i % 3], start, end);
            for (unsigned at = start; at < end; at++)
                covered[at] = at >= from && at < to ? true : covered[at];
        }
        struct intervals_walk walk;
        struct interval busy;
        uint64_t last = 0;
        intervals_walk(&walk, all, 3, from, to);
        for (bool first = true; intervals_next(&walk, &busy); first = false) {
            assert_true(busy.start_ns < busy.end_ns && (first || busy.start_ns > last));
            last = busy.end_ns;
            for (uint64_t at = busy.start_ns; at < busy.end_ns; at++)
                walked[at] = true;
        }
        assert_memory_equal(walked, covered, sizeof(covered));
        for (unsigned i = 0; i < 3; i++)
            intervals_done(&sets[i]);
    }
}

/* ---- kinds of kernels --------------------------------------------------------------------- */

static void kernels_are_told_apart_by_name(void **state)
{
    assert_int_equal(kernel_kind_of("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"),
                     KERNEL_comm);
    assert_int_equal(kernel_kind_of("ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)"), KERNEL_comm);
    assert_int_equal(kernel_kind_of("void deep_ep::internode::dispatch<false, 8>(int4*)"), KERNEL_comm);
    assert_int_equal(kernel_kind_of("nvshmemi_proxy_quiet"), KERNEL_comm);
    assert_int_equal(kernel_kind_of("ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn"), KERNEL_gemm);
    assert_int_equal(kernel_kind_of("sm80_xmma_fprop_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc"), KERNEL_compute);
    assert_int_equal(kernel_kind_of("void at::native::vectorized_elementwise_kernel<4>(int)"), KERNEL_compute);
    assert_int_equal(kernel_kind_of(NULL), KERNEL_compute);
}

/* ---- the beginning of a step on the GPU --------------------------------------------------- */

static void add_kernel(struct gpu *gpu, unsigned stream, uint64_t queued, uint64_t start, uint64_t dur)
{
    struct tr_kernel kernel = {.stream = stream, .queued_ns = queued, .start_ns = start, .dur_ns = dur};
    assert_int_equal(gpu_add_kernel(gpu, &kernel, KERNEL_compute), 0);
}

static void a_step_begins_with_the_first_kernel_launched_after_its_point(void **state)
{
    struct gpu gpu = {.loop_end_ns = UINT64_MAX};
    uint64_t at = 0;
    assert_false(gpu_point(&gpu, 0, 1000, &at));
    add_kernel(&gpu, 7, 200, 450, 50); /* told before the one that was launched earlier */
    add_kernel(&gpu, 7, 90, 300, 100);
    add_kernel(&gpu, 7, 110, 400, 50);
    add_kernel(&gpu, 9, 101, 150, 10);             /* another stream, with less to do */
    assert_false(gpu_point(&gpu, 100, 1000, &at)); /* one launched at 105 may yet be told of */
    assert_int_equal(gpu_until(&gpu, &(struct tr_gpu_until){.device = UINT32_MAX, .until_ns = 460}), 0);
    assert_true(gpu_point(&gpu, 100, 1000, &at));
    assert_int_equal(at, 400);
    assert_true(gpu_point(&gpu, 110, 1000, &at));
    assert_int_equal(at, 400);
    assert_true(gpu_point(&gpu, 111, 1000, &at));
    assert_int_equal(at, 450);
    assert_false(gpu_point(&gpu, 201, 1000, &at)); /* none launched yet */
    assert_true(gpu_point(&gpu, 201, UINT64_MAX, &at));
    assert_int_equal(at, 500); /* where the last kernel ends */
    gpu_done(&gpu);
}

static void a_kernel_whose_launch_is_unknown_was_launched_before_what_follows_it_on_its_stream(void **state)
{
    struct gpu gpu = {.loop_end_ns = UINT64_MAX};
    uint64_t at = 0;
    add_kernel(&gpu, 7, 50, 200, 100);
    add_kernel(&gpu, 7, 0, 300, 100); /* the point passed long before it started, but after it was launched */
    add_kernel(&gpu, 7, 70, 400, 100);
    add_kernel(&gpu, 7, 600, 610, 100);
    add_kernel(&gpu, 7, 0, 710, 10);
    assert_true(gpu_point(&gpu, 100, UINT64_MAX, &at));
    assert_int_equal(at, 610);
    assert_true(gpu_point(&gpu, 605, UINT64_MAX, &at)); /* nothing is known to be against it */
    assert_int_equal(at, 710);
    gpu_done(&gpu);
}

/* ---- what is missing ---------------------------------------------------------------------- */

#define SECOND 1000000000ull

static void say_gap(struct gpu *gpu, unsigned why, bool on, uint64_t at_ns)
{
    assert_int_equal(gpu_gap(gpu, &(struct tr_gap){.why = why, .on = on}, at_ns), 0);
}

static void gaps_last_until_they_are_over(void **state)
{
    struct gpu gpu = {.loop_end_ns = UINT64_MAX};
    struct tr_gpu_until until = {.device = UINT32_MAX, .until_ns = 11 * SECOND};
    add_kernel(&gpu, 7, 1, 2, 10);
    assert_int_equal(gpu_has_gap(&gpu, 0, UINT64_MAX), GPU_GAP_MAX);
    say_gap(&gpu, TR_gap_why_names, true, 2 * SECOND); /* names only */
    assert_int_equal(gpu_has_gap(&gpu, 0, UINT64_MAX), GPU_GAP_MAX);

    /* Records were lost: some time before that was told. The recorder goes on, so it is over. */
    say_gap(&gpu, TR_gap_why_gpu, true, 10 * SECOND);
    assert_int_equal(gpu_has_gap(&gpu, 12 * SECOND, 13 * SECOND), GPU_GAP_MISSED);
    assert_int_equal(gpu_until(&gpu, &until), 0);
    assert_int_equal(gpu_has_gap(&gpu, 12 * SECOND, 13 * SECOND), GPU_GAP_MAX);
    assert_int_equal(gpu_has_gap(&gpu, 9 * SECOND, 9 * SECOND + 1), GPU_GAP_MISSED);
    assert_int_equal(gpu_has_gap(&gpu, 8 * SECOND, 9 * SECOND), GPU_GAP_MAX);

    /* Detail was off: exactly then. What is complete goes on by the clock. */
    say_gap(&gpu, TR_gap_why_steps, true, 20 * SECOND);
    assert_true(gpu_complete(&gpu, 60 * SECOND) > 50 * SECOND);
    say_gap(&gpu, TR_gap_why_steps, false, 60 * SECOND);
    assert_true(gpu_complete(&gpu, 60 * SECOND) == 11 * SECOND);
    assert_int_equal(gpu_has_gap(&gpu, 19 * SECOND, 20 * SECOND), GPU_GAP_MAX);
    assert_int_equal(gpu_has_gap(&gpu, 19 * SECOND, 21 * SECOND), GPU_GAP_ASKED);
    assert_int_equal(gpu_has_gap(&gpu, 9 * SECOND, 21 * SECOND), GPU_GAP_MISSED);
    assert_int_equal(gpu_has_gap(&gpu, 60 * SECOND, 61 * SECOND), GPU_GAP_MAX);

    gpu_forget(&gpu, 60 * SECOND, 0);
    assert_int_equal(gpu_has_gap(&gpu, 0, UINT64_MAX), GPU_GAP_MAX);
    gpu_done(&gpu);
}

/* ---- windows ------------------------------------------------------------------------------ */

static void say_process(struct script *script)
{
    say(script, "0 a proc pid=1 how=start schema=1 rank=0 world=1 start_ns=0 host=a boot=b comm=python3 cmd=train.py");
    say(script, "0 a thread pid=1 how=start comm=python3");
    say(script, "0 a gpu pid=1 device=0 memory=80GiB model=\"NVIDIA A100-SXM4-80GB\"");
    say(script, "0 a name pid=1 kind=range id=1 text=Optimizer.step#SGD.step");
    say(script, "0 a name pid=1 kind=range id=2 text=\"enumerate(DataLoader)#_Iter.__next__\"");
    say(script, "0 a name pid=1 kind=kernel id=3 text=elementwise_kernel");
    say(script, "0 a name pid=1 kind=kernel id=4 text=ncclDevKernel_AllReduce_Sum_f32_RING_LL");
}

/* A step of 20 ms. The host: 4 ms of data, launches from 4 ms on, a sync from 10 to 16 ms, the optimizer from 19 ms.
 * The GPU, from the first launch at 5 ms on: compute 5-10, communication 9-13 (1 ms of it hidden), a copy 12-15 (1 ms
 * of it hidden), idle 15-16 in the sync, 16-18 on the host; compute 18-22, idle to the next window at 25: 20-24 data.
 */
static void say_step(struct script *script, uint64_t at)
{
    say(script, "%lums a anchor pid=1 kind=dataloader name=2 dur=4ms", at + 4);
    say(script, "%lums a cuda_call pid=1 act=launch count=40 busy=1ms dur=4ms", at + 9);
    say(script, "%lums a cuda_call pid=1 act=sync count=1 busy=6ms dur=6ms", at + 16);
    say(script, "%lums a anchor pid=1 kind=optimizer name=1 dur=1ms", at + 20);
}

static void say_gpu(struct script *script, uint64_t told, uint64_t at)
{
    say(script, "%lums a kernel pid=1 stream=20 name=4 queued_ns=%lums start_ns=%lums dur=4ms", told, at + 6, at + 9);
    say(script, "%lums a kernel pid=1 stream=7 name=3 queued_ns=%lums start_ns=%lums dur=4ms", told, at + 9, at + 18);
    say(script, "%lums a kernel pid=1 stream=7 name=3 queued_ns=%lums start_ns=%lums dur=5ms", told, at + 4, at + 5);
    say(script, "%lums a gpu_copy pid=1 stream=21 kind=DtoH src=device dst=pinned size=1MiB start_ns=%lums dur=3ms",
        told, at + 12);
}

static void windows_lie_on_the_gpu_and_add_up(void **state)
{
    struct script script;
    struct step_rows rows = {0};
    script_begin(&script);
    say_process(&script);
    for (uint64_t i = 0; i < 70; i++) {
        say_step(&script, 1000 + 20 * i);
        /* Records come in batches of ten steps, 200 ms late. */
        for (uint64_t j = i - 19; i % 10 == 9 && i >= 19 && j <= i - 10; j++)
            say_gpu(&script, 1020 + 20 * i, 1000 + 20 * j);
        if (i % 10 == 9 && i >= 19)
            say(&script, "%lums a gpu_until pid=1 device=0xffffffff until_ns=%lums", 1020 + 20 * i,
                1000 + 20 * (i - 9) + 2);
    }
    for (uint64_t j = 60; j < 70; j++)
        say_gpu(&script, 2500, 1000 + 20 * j);
    say(&script, "2600ms a exit pid=1 how=exit start_ns=2600ms");
    struct report *report = script_analyze(&script, &(struct options){0});
    report_each_step(report, step_rows_add, &rows);
    assert_int_equal(rows.nr, 70);
    /* The first point is the end of the first optimizer range, at 1020 ms. */
    for (size_t i = 0; i < 69; i++) {
        const struct report_step *row = &rows.rows[i];
        assert_int_equal(row->start_ns, (1025 + 20 * i) * 1000000);
        assert_int_equal(row->end_ns, (1045 + 20 * i) * 1000000 - (i == 68 ? 3000000 : 0));
        if (i == 68)
            break; /* the last one ends with its last kernel */
        assert_int_equal(row->class_ns[BC_compute], 9000000);
        assert_int_equal(row->class_ns[BC_comm_exposed], 3000000);
        assert_int_equal(row->comm_overlapped_ns, 1000000);
        assert_int_equal(row->class_ns[BC_copy_exposed], 2000000);
        assert_int_equal(row->class_ns[BC_sync], 1000000);
        assert_int_equal(row->class_ns[BC_dataloader], 2000000); /* from 22, where the GPU is done, to 24 */
        assert_int_equal(row->class_ns[BC_host], 3000000);
        assert_int_equal(row->dataloader_host_wait_ns, 4000000);
        assert_int_equal(row->kernels, 3);
        assert_true(fabs(row->launch_latency_ns - 13e6 / 3) < 1);
        assert_true(fabs(row->queue_depth - 13. / 20) < 1e-9);
    }
    assert_true(rows.rows[69].incomplete);
    assert_int_equal(rows.rows[69].end_ns, rows.rows[69].start_ns);
    report_free(report);
}

/* Steps of 100 ms with kernels for the first 40. The training thread waits from 50 to 90 ms; thread 2 comes back from
 * its own wait at 55, launches at 60 and 70, and waits from 85 on: at work from 55 to 85. */
static void who_launches_is_at_work_until_it_waits_again(void **state)
{
    struct script script;
    struct step_rows rows = {0};
    script_begin(&script);
    say_process(&script);
    for (uint64_t at = 1000; at < 5000; at += 100) {
        say(&script, "%lums a anchor pid=1 kind=optimizer name=1 dur=1ms", at);
        say(&script, "%lums a cuda_call pid=1 act=launch count=1 busy=1ms dur=1ms", at + 1);
        say(&script, "%lums a wait pid=1 tid=2 kind=cond obj=5 dur=70ms", at + 55);
        say(&script, "%lums a cuda_call pid=1 tid=2 act=launch count=1 busy=1ms dur=1ms", at + 61);
        say(&script, "%lums a cuda_call pid=1 tid=2 act=launch count=1 busy=1ms dur=1ms", at + 71);
        say(&script, "%lums a wait pid=1 kind=cond obj=5 dur=40ms", at + 90);
        say(&script, "%lums a kernel pid=1 stream=7 name=3 queued_ns=%lums start_ns=%lums dur=40ms", at + 95, at, at);
    }
    say(&script, "5100ms a exit pid=1 how=exit start_ns=5100ms");
    struct report *report = script_analyze(&script, &(struct options){0});
    report_each_step(report, step_rows_add, &rows);
    assert_true(rows.nr > 20);
    for (size_t i = 5; i < 20; i++) {
        assert_int_equal(rows.rows[i].class_ns[BC_compute], 40000000);
        assert_int_equal(rows.rows[i].class_ns[BC_other], 10000000); /* 50 to 55 and 85 to 90 */
        assert_int_equal(rows.rows[i].class_ns[BC_host], 50000000);
    }
    report_free(report);
}

/* The same, but what thread 2 does from 72 to 88 ms is wait for the GPU: the training thread waits for that, too. While
 * it runs, from 90 ms on, what another thread waits for does not count. */
static void who_launches_waits_for_the_gpu(void **state)
{
    struct script script;
    struct step_rows rows = {0};
    script_begin(&script);
    say_process(&script);
    for (uint64_t at = 1000; at < 5000; at += 100) {
        say(&script, "%lums a anchor pid=1 kind=optimizer name=1 dur=1ms", at);
        say(&script, "%lums a cuda_call pid=1 act=launch count=1 busy=1ms dur=1ms", at + 1);
        say(&script, "%lums a cuda_call pid=1 tid=2 act=launch count=1 busy=1ms dur=1ms", at + 71);
        say(&script, "%lums a cuda_call pid=1 tid=2 act=sync count=1 busy=16ms dur=16ms", at + 88);
        say(&script, "%lums a wait pid=1 kind=cond obj=5 dur=40ms", at + 90);
        say(&script, "%lums a cuda_call pid=1 tid=2 act=sync count=1 busy=4ms dur=4ms", at + 96);
        say(&script, "%lums a kernel pid=1 stream=7 name=3 queued_ns=%lums start_ns=%lums dur=40ms", at + 97, at, at);
    }
    say(&script, "5100ms a exit pid=1 how=exit start_ns=5100ms");
    struct report *report = script_analyze(&script, &(struct options){0});
    report_each_step(report, step_rows_add, &rows);
    assert_true(rows.nr > 20);
    for (size_t i = 5; i < 20; i++) {
        assert_int_equal(rows.rows[i].class_ns[BC_compute], 40000000);
        assert_int_equal(rows.rows[i].class_ns[BC_sync], 16000000);
        assert_true(rows.rows[i].class_ns[BC_other] <= 24000000); /* 50 to 70, 71 to 72, 88 to 90 */
    }
    report_free(report);
}

/* ---- any windows: what the engine makes of them, streaming, against counting every microsecond --------------------
 */

#define STEPS 40
#define STEP_US 2000
#define BEGIN_US 1000000
#define END_US (BEGIN_US + STEPS * STEP_US)
#define LATE_US 300000

struct line {
    uint64_t at_us;
    char text[160];
};

struct truth {
    struct line lines[4096];
    size_t nr_lines;
    uint8_t gpu[END_US - BEGIN_US];  /* bits: 1 compute, 2 communication, 4 copy */
    uint8_t host[END_US - BEGIN_US]; /* bits: 1 data, 2 sync, 4 blocked, 8 another thread launches */
    struct {
        uint64_t queued, start;
    } kernels[1024]; /* of the main stream, in order */
    size_t nr_kernels;
};

__attribute__((format(printf, 3, 4))) static void add_line(struct truth *truth, uint64_t at_us, const char *format, ...)
{
    va_list args;
    struct line *line = &truth->lines[truth->nr_lines++];
    assert_true(truth->nr_lines < sizeof(truth->lines) / sizeof(*truth->lines));
    line->at_us = at_us;
    va_start(args, format);
    vsnprintf(line->text, sizeof(line->text), format, args);
    va_end(args);
}

static void cover(uint8_t *instants, uint64_t from_us, uint64_t to_us, uint8_t bit)
{
    for (uint64_t at = from_us; at < to_us && at < END_US; at++)
        if (at >= BEGIN_US)
            instants[at - BEGIN_US] |= bit;
}

/* A stream works in order; what is told of it comes up to LATE_US after its end. */
static void make_stream(struct truth *truth, unsigned stream, unsigned name, uint8_t bit, unsigned most_us)
{
    uint64_t queued = BEGIN_US - STEP_US, free = queued;
    while (queued < END_US) {
        queued += random_below(most_us) + 1;
        uint64_t start = (queued > free ? queued : free) + random_below(20) + 1, end = start + random_below(most_us);
        free = end;
        if (end >= END_US)
            break;
        cover(truth->gpu, start, end, bit);
        if (name)
            add_line(truth, end + random_below(LATE_US),
                     "kernel pid=1 stream=%u name=%u queued_ns=%luus start_ns=%luus dur=%luus", stream, name, queued,
                     start, end - start);
        else
            add_line(truth, end + random_below(LATE_US),
                     "gpu_copy pid=1 stream=%u src=device dst=pinned size=1 start_ns=%luus dur=%luus", stream, start,
                     end - start);
        if (stream != 7)
            continue;
        truth->kernels[truth->nr_kernels].queued = queued;
        truth->kernels[truth->nr_kernels++].start = start;
    }
}

/* Bursts less than 1 ms apart are one stretch of launching. */
static void make_host(struct truth *truth)
{
    uint64_t burst_end = 0;
    for (uint64_t at = BEGIN_US - STEP_US; at < END_US; at += STEP_US) {
        unsigned data = random_below(600), sync = random_below(500), wait = random_below(300),
                 burst = random_below(400);
        uint64_t sync_at = at + 300 + random_below(900), wait_at = at + 200 + random_below(1200);
        cover(truth->host, at, at + data, 1);
        cover(truth->host, sync_at, sync_at + sync, 2);
        cover(truth->host, wait_at, wait_at + wait, 4);
        bool joined = burst && burst_end && wait_at + 100 > burst_end && wait_at + 100 - burst_end <= 1000;
        cover(truth->host, joined ? burst_end : wait_at + 100, wait_at + 100 + burst, 8);
        if (burst && wait > 100) /* what another thread does in a wait less than 1 ms from its ends fills it */
            cover(truth->host, wait_at, wait_at + wait, 8);
        burst_end = burst && wait_at + 100 + burst > burst_end ? wait_at + 100 + burst : burst_end;
        add_line(truth, at + data, "anchor pid=1 kind=dataloader name=2 dur=%uus", data);
        add_line(truth, sync_at + sync, "cuda_call pid=1 act=sync count=1 busy=%uus dur=%uus", sync, sync);
        add_line(truth, wait_at + wait, "wait pid=1 kind=cond obj=5 dur=%uus", wait);
        add_line(truth, wait_at + 100 + burst, "cuda_call pid=1 tid=2 act=launch count=3 busy=%uus dur=%uus", burst / 2,
                 burst);
        add_line(truth, at + STEP_US, "anchor pid=1 kind=mark name=1 dur=0");
    }
}

static int by_time(const void *a, const void *b)
{
    const struct line *x = a, *y = b;
    return x->at_us < y->at_us ? -1 : x->at_us > y->at_us;
}

static uint64_t window_begin(const struct truth *truth, uint64_t point_us)
{
    for (size_t i = 0; i < truth->nr_kernels; i++)
        if (truth->kernels[i].queued >= point_us)
            return truth->kernels[i].start;
    return END_US;
}

static void count_instants(const struct truth *truth, uint64_t from_us, uint64_t to_us, int64_t ret[BC_MAX],
                           int64_t *ret_overlapped)
{
    memset(ret, 0, BC_MAX * sizeof(*ret));
    *ret_overlapped = 0;
    for (uint64_t at = from_us - BEGIN_US; at < to_us - BEGIN_US; at++) {
        unsigned gpu = truth->gpu[at], host = truth->host[at];
        enum breakdown_class class = gpu & 1    ? BC_compute
                                     : gpu & 2  ? BC_comm_exposed
                                     : gpu & 4  ? BC_copy_exposed
                                     : host & 1 ? BC_dataloader
                                     : host & 2 ? BC_sync
                                     : host & 8 ? BC_host
                                     : host & 4 ? BC_other
                                                : BC_host;
        ret[class] += 1000;
        *ret_overlapped += (gpu & 3) == 3 ? 1000 : 0;
    }
}

static void any_window_agrees_with_counting_every_instant(void **state)
{
    for (unsigned round = 0; round < 20; round++) {
        struct truth *truth = calloc(1, sizeof(*truth));
        struct script script;
        struct step_rows rows = {0};
        assert_non_null(truth);
        make_stream(truth, 7, 3, 1, 400 + random_below(400));
        make_stream(truth, 8, 3, 1, 100);
        make_stream(truth, 20, 4, 2, 500);
        make_stream(truth, 21, 0, 4, 400);
        make_host(truth);
        for (uint64_t at = BEGIN_US; at < END_US + LATE_US; at += 1700)
            add_line(truth, at, "gpu_until pid=1 device=0xffffffff until_ns=%luus", at - LATE_US);
        qsort(truth->lines, truth->nr_lines, sizeof(*truth->lines), by_time);
        script_begin(&script);
        say_process(&script);
        for (size_t i = 0; i < truth->nr_lines; i++)
            say(&script, "%luus a %s", truth->lines[i].at_us, truth->lines[i].text);
        say(&script, "4s a exit pid=1 how=exit start_ns=4s");
        struct report *report = script_analyze(&script, &(struct options){0});
        report_each_step(report, step_rows_add, &rows);
        assert_int_equal(rows.nr, STEPS + 1);
        for (unsigned i = 0; i + 1 < STEPS; i++) {
            int64_t expected[BC_MAX], overlapped;
            uint64_t from = window_begin(truth, BEGIN_US + i * STEP_US),
                     to = window_begin(truth, BEGIN_US + (i + 1) * STEP_US);
            if (to >= END_US)
                break;
            assert_int_equal(rows.rows[i].start_ns, from * 1000);
            assert_int_equal(rows.rows[i].end_ns, to * 1000);
            count_instants(truth, from, to, expected, &overlapped);
            assert_memory_equal(rows.rows[i].class_ns, expected, sizeof(expected));
            assert_int_equal(rows.rows[i].comm_overlapped_ns, overlapped);
        }
        report_free(report);
        free(truth);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_set_is_the_union_of_what_came_in_any_order),
        cmocka_unit_test(a_walk_goes_over_the_union_of_several_sets),
        cmocka_unit_test(kernels_are_told_apart_by_name),
        cmocka_unit_test(gaps_last_until_they_are_over),
        cmocka_unit_test(a_step_begins_with_the_first_kernel_launched_after_its_point),
        cmocka_unit_test(a_kernel_whose_launch_is_unknown_was_launched_before_what_follows_it_on_its_stream),
        cmocka_unit_test(windows_lie_on_the_gpu_and_add_up),
        cmocka_unit_test(who_launches_is_at_work_until_it_waits_again),
        cmocka_unit_test(who_launches_waits_for_the_gpu),
        cmocka_unit_test(any_window_agrees_with_counting_every_instant),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
