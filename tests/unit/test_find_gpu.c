/* Findings about GPUs: each on a job that has the trouble, and on one that only looks like it. */
#include "tests/unit/analyze_text.h"

#include <math.h>

/* A job of 40 steps of 100 ms. The host: a batch every step, then launches, then its optimizer. What the GPU does is
 * put together from the parts below; times in us from the begin of the step. */
#define STEPS 40
#define STEP 100000ul

static void say_process(struct script *script)
{
    say(script, "0 a proc pid=1 how=start schema=1 rank=0 world=1 start_ns=0 host=a boot=b comm=python3 cmd=train.py");
    say(script, "0 a gpu pid=1 device=0 memory=80GiB model=\"NVIDIA A100-SXM4-80GB\"");
    say(script, "0 a name pid=1 kind=range id=1 text=Optimizer.step#SGD.step");
    say(script, "0 a name pid=1 kind=range id=2 text=\"enumerate(DataLoader)#_Iter.__next__\"");
    say(script, "0 a name pid=1 kind=kernel id=3 text=elementwise_kernel");
    say(script, "0 a name pid=1 kind=kernel id=4 text=ampere_bf16_s16816gemm_bf16");
    say(script, "0 a name pid=1 kind=library id=5 text=/venv/torch/lib/libc10_cuda.so");
}

static uint64_t begin_of(unsigned step)
{
    return 1000000 + step * STEP;
}

/* Launched `queued` us before it starts. */
static void say_kernel(struct script *script, uint64_t at, uint64_t dur, uint64_t queued, unsigned name)
{
    say(script, "%luus a kernel pid=1 stream=7 name=%u queued_ns=%luus start_ns=%luus dur=%luus", at + dur, name,
        at - queued, at, dur);
}

static void say_copy(struct script *script, const char *kind, const char *src, const char *dst, const char *size,
                     uint64_t at, uint64_t dur)
{
    say(script, "%luus a gpu_copy pid=1 stream=8 kind=%s src=%s dst=%s size=%s start_ns=%luus dur=%luus", at + dur,
        kind, src, dst, size, at, dur);
}

static void say_sync(struct script *script, unsigned tid, uint64_t at, uint64_t dur)
{
    say(script, "%luus a cuda_call pid=1 tid=%u act=sync count=1 busy=%luus dur=%luus", at + dur, tid, dur, dur);
}

/* 1 ms of data, the optimizer's last ms; told when they end. */
static void say_host(struct script *script, uint64_t at)
{
    say(script, "%luus a anchor pid=1 kind=dataloader name=2 dur=1ms", at + 1000);
}

static void say_optimizer(struct script *script, uint64_t at)
{
    say(script, "%luus a anchor pid=1 kind=optimizer name=1 dur=500us", at + STEP);
}

typedef void (*step_fn)(struct script *script, uint64_t at);

/* The recorder says that it has lost records after some of the steps, or that detail is off for some. */
static void no_gap(struct script *script, unsigned step)
{
}

static unsigned gap_every; /* steps */

static void lost_records(struct script *script, unsigned step)
{
    if (step % gap_every == 3)
        say(script, "%luus a gap pid=1 why=gpu on=1", begin_of(step) + STEP / 2);
    say(script, "%luus a gpu_until pid=1 device=0 until_ns=%luus", begin_of(step) + STEP, begin_of(step) + STEP - 1);
}

static void detail_off(struct script *script, unsigned step)
{
    if (step % gap_every == 3)
        say(script, "%luus a gap pid=1 why=budget on=1", begin_of(step) + STEP / 2);
    if (step % gap_every == 4)
        say(script, "%luus a gap pid=1 why=budget on=0", begin_of(step) + STEP / 2);
}

typedef void (*gap_fn)(struct script *script, unsigned step);

/* Steps end at their optimizer; what the GPU does for one begins right after. */
static struct report *run_with_gaps(step_fn step, gap_fn gap, const struct options *options)
{
    struct script script;
    script_begin(&script);
    say_process(&script);
    for (unsigned i = 0; i < STEPS; i++) {
        say_host(&script, begin_of(i));
        step(&script, begin_of(i));
        gap(&script, i);
        say_optimizer(&script, begin_of(i));
    }
    say(&script, "9s a exit pid=1 how=exit start_ns=9s");
    return script_analyze(&script, options ? options : &(struct options){0});
}

static struct report *run(step_fn step, const struct options *options)
{
    return run_with_gaps(step, no_gap, options);
}

static const char *const ids[] = {"pageable-copies", "sync-overuse",  "launch-bound",    "offload-bound",
                                  "low-mfu",         "alloc-retries", "dataloader-bound"};

/* One finding and none of the others; "" for none at all. */
static void expect_only(step_fn step, const char *id, enum severity severity)
{
    struct report *report = run(step, NULL);
    for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++) {
        const struct report_finding *finding = find_finding(report, ids[i]);
        if ((finding != NULL) != !strcmp(ids[i], id))
            fail_msg("%s is %sraised", ids[i], finding ? "" : "not ");
        if (finding)
            assert_int_equal(finding->severity, severity);
    }
    report_free(report);
}

/* ---- copies ------------------------------------------------------------------------------- */

static void slow_pageable_copies(struct script *script, uint64_t at)
{
    say_kernel(script, at + 2000, 80000, 500, 3);
    say_copy(script, "HtoD", "pageable", "device", "32MiB", at + 85000, 8000); /* 4.2 GB/s */
}

static void hidden_pageable_copies(struct script *script, uint64_t at)
{
    say_kernel(script, at + 2000, 95000, 500, 3);
    say_copy(script, "HtoD", "pageable", "device", "32MiB", at + 85000, 8000);
}

static void small_pageable_copies(struct script *script, uint64_t at)
{
    say_kernel(script, at + 2000, 80000, 500, 3);
    for (unsigned i = 0; i < 20; i++)
        say_copy(script, "HtoD", "pageable", "device", "60KiB", at + 85000 + 400 * i, 300);
}

static void pinned_copies_as_slow(struct script *script, uint64_t at)
{
    slow_pageable_copies(script, at);
    say_copy(script, "HtoD", "pinned", "device", "32MiB", at + 20000, 6000);
}

static void copies_from_pageable_memory_that_hold_up_the_gpu(void **state)
{
    expect_only(slow_pageable_copies, "pageable-copies", SEVERITY_MEDIUM);
    expect_only(hidden_pageable_copies, "", 0);
    expect_only(small_pageable_copies, "", 0);
    expect_only(pinned_copies_as_slow, "", 0);
}

/* One of each kind on an A100, whose link the node tells (or not). */
static void expect_links(const char *attr, double host, double device)
{
    struct script script;
    script_begin(&script);
    say_process(&script);
    if (attr)
        say(&script, "0 a attr pid=1 key=gpu.0.pcie value=\"%s\"", attr);
    say_copy(&script, "HtoD", "pinned", "device", "32MiB", 1000000, 2000);
    say_copy(&script, "DtoD", "device", "device", "32MiB", 2000000, 100);
    say_copy(&script, "PtoP", "device", "device", "32MiB", 3000000, 1000);
    say(&script, "9s a exit pid=1 how=exit start_ns=9s");
    struct report *report = script_analyze(&script, &(struct options){0});
    assert_int_equal(report->nr_copies, 3);
    assert_true(fabs(report->copies[0].expected - host) < 0.01e9);
    assert_true(fabs(report->copies[1].expected - device) < 0.01e9);
    assert_true(isnan(report->copies[2].expected)); /* nothing says what is between two GPUs */
    report_free(report);
}

static void copies_beside_what_their_link_gives(void **state)
{
    expect_links(NULL, 31.5e9 * .82, 1935e9 / 2 * .85);
    expect_links("8.0 GT/s x8", 7.877e9 * .82, 1935e9 / 2 * .85);
    expect_links("?", 31.5e9 * .82, 1935e9 / 2 * .85);
}

/* ---- synchronisations --------------------------------------------------------------------- */

/* Ten waits for the GPU, 2 ms idle after each. */
static void many_syncs(struct script *script, uint64_t at)
{
    for (unsigned i = 0; i < 10; i++) {
        say_kernel(script, at + 2000 + 9000 * i, 7000, 500, 3);
        say_sync(script, 1, at + 2000 + 9000 * i, 7000);
    }
}

/* The thread launches at once, but comes back from each wait 3 ms after the GPU was done. */
static void syncs_that_return_late(struct script *script, uint64_t at)
{
    for (unsigned i = 0; i < 10; i++) {
        say_kernel(script, at + 2000 + 9000 * i, 5900, 20, 3);
        say_sync(script, 1, at + 2000 + 9000 * i, 8950);
    }
}

/* As many, with more in the queue each time. */
static void syncs_that_cost_nothing(struct script *script, uint64_t at)
{
    say_kernel(script, at + 2000, 97000, 500, 3);
    for (unsigned i = 0; i < 10; i++)
        say_sync(script, 1, at + 3000 + 9000 * i, 7000);
}

static void syncs_of_another_thread(struct script *script, uint64_t at)
{
    for (unsigned i = 0; i < 10; i++) {
        say_kernel(script, at + 2000 + 9000 * i, 7000, 500, 3);
        say_sync(script, 77, at + 2000 + 9000 * i, 7000);
    }
}

/* loss.item() at the end of a step moves the wait; what follows is Python. */
static void one_sync(struct script *script, uint64_t at)
{
    say_kernel(script, at + 2000, 80000, 500, 3);
    say_sync(script, 1, at + 3000, 79000);
}

static void waits_for_the_gpu_that_let_it_run_dry(void **state)
{
    expect_only(many_syncs, "sync-overuse", SEVERITY_HIGH);
    expect_only(syncs_that_return_late, "sync-overuse", SEVERITY_HIGH);
    expect_only(syncs_that_cost_nothing, "", 0);
    expect_only(syncs_of_another_thread, "", 0);
    expect_only(one_sync, "", 0);
}

/* ---- launches ----------------------------------------------------------------------------- */

/* 4,800 kernels of 12 us with 8 us between them. */
static void short_kernels(struct script *script, uint64_t at)
{
    for (unsigned i = 0; i < 4800; i++)
        say_kernel(script, at + 2000 + 20 * i, 12, 6, 3);
}

/* The same, but each waited 2 ms in the queue. */
static void short_kernels_in_a_full_queue(struct script *script, uint64_t at)
{
    for (unsigned i = 0; i < 4800; i++)
        say_kernel(script, at + 2000 + 20 * i, 12, 1900, 3);
}

static void long_kernels(struct script *script, uint64_t at)
{
    for (unsigned i = 0; i < 960; i++)
        say_kernel(script, at + 2000 + 100 * i, 70, 6, 3);
}

/* A burst of them, and then nothing for 90 ms: the thread sleeps, or is ready and other people have the CPU. */
static void short_kernels_now_and_then(struct script *script, uint64_t at)
{
    for (unsigned i = 0; i < 480; i++)
        say_kernel(script, at + 2000 + 20 * i, 12, 6, 3);
}

static void short_kernels_on_a_busy_host(struct script *script, uint64_t at)
{
    uint64_t nr = at / STEP;
    short_kernels_now_and_then(script, at);
    say(script, "%luus a cpu pid=1 at_ns=%luus cpu_ns=%lums runnable_ns=%lums", at + 99000, at + 99000, 10 * nr,
        88 * nr);
}

static void fewer_short_kernels(struct script *script, uint64_t at)
{
    for (unsigned i = 0; i < 2300; i++)
        say_kernel(script, at + 2000 + 42 * i, 19, 6, 3);
}

static void launches_that_are_too_slow_for_short_kernels(void **state)
{
    expect_only(short_kernels, "launch-bound", SEVERITY_HIGH);
    expect_only(short_kernels_in_a_full_queue, "", 0);
    expect_only(long_kernels, "", 0);
    expect_only(short_kernels_now_and_then, "", 0);
    expect_only(short_kernels_on_a_busy_host, "launch-bound", SEVERITY_LOW);
}

/* ---- offloading --------------------------------------------------------------------------- */

static void optimizer_on_the_host(struct script *script, uint64_t at)
{
    say_kernel(script, at + 2000, 40000, 500, 3);
    say_copy(script, "DtoH", "device", "pinned", "512MiB", at + 42000, 20000);
    say_copy(script, "HtoD", "pinned", "device", "256MiB", at + 88000, 10000);
}

static void weights_on_the_host(struct script *script, uint64_t at)
{
    for (unsigned i = 0; i < 16; i++) {
        say_copy(script, "HtoD", "pinned", "device", "128MiB", at + 2000 + 6000 * i, 4000);
        say_kernel(script, at + 6000 + 6000 * i, 2000, 500, 3);
    }
}

/* A large batch goes up, little comes back. */
static void large_batches(struct script *script, uint64_t at)
{
    say_copy(script, "HtoD", "pinned", "device", "512MiB", at + 1000, 20000);
    say_kernel(script, at + 21000, 78000, 500, 3);
}

static void states_that_live_on_the_host(void **state)
{
    expect_only(optimizer_on_the_host, "offload-bound", SEVERITY_HIGH);
    expect_only(weights_on_the_host, "offload-bound", SEVERITY_HIGH);
    expect_only(large_batches, "", 0);
}

/* ---- MFU ---------------------------------------------------------------------------------- */

/* 4 TFLOP in 100 ms: 40 TFLOP/s of 312. */
static void slow_products(struct script *script, uint64_t at)
{
    say(script, "%luus a gemm pid=1 type=bf16 count=10 flop=4000000000000 dur=1ms", at + 2000);
    say_kernel(script, at + 2000, 97000, 500, 4);
}

static void fast_products(struct script *script, uint64_t at)
{
    say(script, "%luus a gemm pid=1 type=bf16 count=10 flop=15600000000000 dur=1ms", at + 2000);
    say_kernel(script, at + 2000, 97000, 500, 4);
}

/* Most of the time goes to kernels whose work nobody counted. */
static void few_products(struct script *script, uint64_t at)
{
    say(script, "%luus a gemm pid=1 type=bf16 count=10 flop=4000000000000 dur=1ms", at + 2000);
    say_kernel(script, at + 2000, 20000, 500, 4);
    say_kernel(script, at + 22000, 77000, 600, 3);
}

static void say_graph(struct script *script, uint64_t at, uint64_t dur)
{
    say(script, "%luus a kernel pid=1 stream=7 name=4 graph=6 queued_ns=%luus start_ns=%luus dur=%luus", at + dur,
        at - 500, at, dur);
}

/* All products are in a graph, whose work is told at each launch. */
static void slow_products_in_a_graph(struct script *script, uint64_t at)
{
    say(script, "%luus a gemm pid=1 type=bf16 count=10 flop=4000000000000 dur=1ms", at + 2000);
    say_graph(script, at + 2000, 97000);
}

/* Most are in a graph that was captured before anybody looked; the others are counted. */
static void products_in_an_unknown_graph(struct script *script, uint64_t at)
{
    say(script, "%luus a gemm pid=1 type=bf16 count=1 m=4096 n=4096 k=4096 batch=1 flop=137438953472 dur=1ms",
        at + 2000);
    say_kernel(script, at + 2000, 1000, 500, 4);
    say_graph(script, at + 3100, 96000);
}

static void work_against_the_peak(void **state)
{
    expect_only(slow_products, "low-mfu", SEVERITY_LOW);
    expect_only(fast_products, "", 0);
    expect_only(few_products, "", 0);
    expect_only(slow_products_in_a_graph, "low-mfu", SEVERITY_LOW);
    expect_only(products_in_an_unknown_graph, "", 0);

    struct report *report = run(fast_products, NULL);
    assert_int_equal(report->nr_gpus, 1);
    assert_true(fabs(report->gpus[0].flop - 15.6e12) < 1e6);
    assert_true(fabs(report->gpus[0].mfu - .5) < 1e-2);
    assert_true(fabs(report->gpus[0].peak_flops - 312e12) < 1e6);
    assert_string_equal(report->gpus[0].dtype, "bf16");
    report_free(report);

    /* What the user knows better. */
    report =
        run(few_products, &(struct options){.peak_flops = 100e12, .flops_per_step = 2e12, .tokens_per_step = 4096});
    assert_true(fabs(report->gpus[0].flop - 2e12) < 1e3);
    assert_true(fabs(report->gpus[0].mfu - .2) < 1e-2);
    assert_true(fabs(report->gpus[0].tokens_per_second - 40960) < 500);
    assert_non_null(find_finding(report, "low-mfu"));
    report_free(report);
}

/* ---- memory ------------------------------------------------------------------------------- */

static void a_step(struct script *script, uint64_t at)
{
    say_kernel(script, at + 2000, 97000, 500, 3);
}

/* In every tenth step an allocation fails, the cache is given back, and the next try succeeds. */
static void retried_allocations(struct script *script, uint64_t at)
{
    a_step(script, at);
    if (at / STEP % 10 != 5)
        return;
    say(script, "%luus a segment pid=1 act=failed kind=device owner=5 err=2 size=2GiB dur=1ms", at + 30000);
    say(script, "%luus a segment pid=1 act=free kind=device address=0x10000 dur=10ms", at + 50000);
    say(script, "%luus a segment pid=1 act=alloc kind=device owner=5 address=0x10000 size=2GiB dur=1ms", at + 60000);
}

/* Segments come and go, nothing fails. */
static void allocations(struct script *script, uint64_t at)
{
    a_step(script, at);
    say(script, "%luus a segment pid=1 act=alloc kind=device owner=5 address=0x10000 size=2GiB dur=1ms", at + 60000);
    say(script, "%luus a segment pid=1 act=free kind=device address=0x10000 dur=1ms", at + 70000);
}

static void allocations_that_fail_first(void **state)
{
    expect_only(retried_allocations, "alloc-retries", SEVERITY_LOW);
    expect_only(allocations, "", 0);
}

/* 76 of 80 GiB reserved; `whole` of the segments are free as a whole, the others by `hole` GiB each. */
static struct report *peak(unsigned whole, unsigned hole, unsigned nr)
{
    struct script script;
    script_begin(&script);
    say_process(&script);
    for (unsigned i = 0; i < nr; i++) {
        uint64_t address = (i + 1ull) << 40;
        say(&script, "1s a segment pid=1 act=alloc kind=device owner=5 address=0x%lx size=4GiB", address);
    }
    for (unsigned i = whole; i < nr; i++)
        say(&script, "2s a block pid=1 act=alloc address=0x%llx size=%uGiB", (i + 1ull) << 40, 4 - hole);
    say(&script, "9s a exit pid=1 how=exit start_ns=9s");
    return script_analyze(&script, &(struct options){0});
}

static void a_peak_in_pieces(void **state)
{
    struct report *report = peak(0, 2, 19);
    const struct report_finding *finding = find_finding(report, "memory-fragmentation");
    assert_non_null(finding);
    assert_int_equal(finding->severity, SEVERITY_MEDIUM);
    assert_true(fabs(report->memory[0].fragmentation_at_peak - .5) < 1e-9);
    report_free(report);

    report = peak(10, 0, 19); /* whole free segments: a healthy cache */
    assert_null(find_finding(report, "memory-fragmentation"));
    report_free(report);

    report = peak(0, 2, 12); /* 32 GiB are left on the device */
    assert_null(find_finding(report, "memory-fragmentation"));
    report_free(report);
}

/* ---- data --------------------------------------------------------------------------------- */

/* 30 ms of data in each step, of which the GPU notices 20. */
static void slow_data(struct script *script, uint64_t at)
{
    say_kernel(script, at + 30000, 80000, 500, 3);
    say(script, "%luus a anchor pid=1 kind=dataloader name=2 dur=30ms", at + 30500);
}

/* As long, while the GPU works off its queue. */
static void hidden_data(struct script *script, uint64_t at)
{
    say_kernel(script, at + 31000, 99000, 500, 3);
    say(script, "%luus a anchor pid=1 kind=dataloader name=2 dur=30ms", at + 30500);
}

static void waits_for_data_that_the_gpu_notices(void **state)
{
    expect_only(slow_data, "dataloader-bound", SEVERITY_HIGH);
    expect_only(hidden_data, "", 0);
}

/* ---- what is missing ---------------------------------------------------------------------- */

static bool has_note(const struct report *report, const char *key, const char *word)
{
    for (size_t i = 0; i < report->nr_notes; i++)
        if (!strcmp(report->notes[i].key, key))
            return strstr(report->notes[i].text, word) != NULL;
    return false;
}

static void no_kernel(struct script *script, uint64_t at)
{
}

static void kernels_of_unknown_launch(struct script *script, uint64_t at)
{
    say(script, "%luus a kernel pid=1 stream=7 name=3 start_ns=%luus dur=80ms", at + 90000, at + 10000);
}

static void the_report_says_what_is_missing(void **state)
{
    struct report *report = run(no_kernel, NULL);
    assert_true(has_note(report, "no-kernels", "training thread"));
    assert_int_equal(report->nr_gpus, 0);
    report_free(report);

    report = run(kernels_of_unknown_launch, NULL);
    assert_true(has_note(report, "no-launch-times", "too early"));
    assert_true(isnan(report->gpus[0].launch_latency_ns));
    report_free(report);

    report = run(products_in_an_unknown_graph, NULL);
    assert_true(has_note(report, "graph-work", "not counted"));
    assert_true(isnan(report->gpus[0].mfu) && isnan(report->gpus[0].flops));
    report_free(report);

    report = run(long_kernels, NULL);
    assert_false(has_note(report, "no-launch-times", "") || has_note(report, "no-kernels", ""));
    report_free(report);
}

/* ---- what may be missing ------------------------------------------------------------------ */

static size_t nr_incomplete(struct report *report)
{
    struct step_rows rows = {0};
    size_t nr = 0;
    assert_int_equal(report_each_step(report, step_rows_add, &rows), 0);
    for (size_t i = 0; i < rows.nr; i++)
        nr += rows.rows[i].incomplete;
    return nr;
}

/* Nothing that both reports find is surer in the one with gaps. Returns how many those are. */
static size_t compare_confidence(const struct report *whole, const struct report *gaps)
{
    size_t nr = 0;
    for (size_t i = 0; i < whole->nr_findings; i++) {
        const struct report_finding *finding = &whole->findings[i], *other = find_finding(gaps, finding->id);
        if (!other || !strcmp(finding->id, "trace-quality"))
            continue;
        if (other->confidence >= finding->confidence)
            fail_msg("%s: %g, with gaps %g", finding->id, finding->confidence, other->confidence);
        nr++;
    }
    return nr;
}

static void gaps_make_nothing_surer(void **state)
{
    static const step_fn steps[] = {
        slow_pageable_copies, many_syncs, fewer_short_kernels, optimizer_on_the_host, weights_on_the_host,
        slow_products,        slow_data};
    static const gap_fn gaps[] = {lost_records, detail_off};
    for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
        struct report *whole = run(steps[i], NULL);
        size_t compared = 0;
        for (size_t j = 0; j < 4; j++) {
            gap_every = j < 2 ? 5 : 25;
            struct report *holes = run_with_gaps(steps[i], gaps[j % 2], NULL);
            assert_true(nr_incomplete(holes) > nr_incomplete(whole));
            assert_non_null(find_finding(holes, "trace-quality"));
            compared += compare_confidence(whole, holes);
            report_free(holes);
        }
        report_free(whole);
        assert_true(compared >= 2);
    }
}

static void detail_not_asked_for(struct script *script, unsigned step)
{
    if (step % 10 == 3)
        say(script, "%luus a gap pid=1 why=steps on=1", begin_of(step) + STEP / 2);
    if (step % 10 == 4)
        say(script, "%luus a gap pid=1 why=steps on=0", begin_of(step) + STEP / 2);
}

/* Two windows for each time that detail is off from the middle of one to the middle of the next. */
static void steps_in_a_gap_are_told_apart(void **state)
{
    gap_every = 10;
    struct report *whole = run(a_step, NULL), *holes = run_with_gaps(a_step, detail_off, NULL);
    assert_int_equal(nr_incomplete(holes), nr_incomplete(whole) + 8);
    const struct report_finding *finding = find_finding(holes, "trace-quality");
    assert_non_null(strstr(finding->what, "8 of "));
    assert_int_equal(finding->severity, SEVERITY_LOW);
    report_free(holes);

    holes = run_with_gaps(a_step, detail_not_asked_for, NULL); /* that is not missing */
    assert_int_equal(nr_incomplete(holes), nr_incomplete(whole) + 8);
    assert_null(find_finding(holes, "trace-quality"));
    report_free(whole);
    report_free(holes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_from_pageable_memory_that_hold_up_the_gpu),
        cmocka_unit_test(copies_beside_what_their_link_gives),
        cmocka_unit_test(waits_for_the_gpu_that_let_it_run_dry),
        cmocka_unit_test(launches_that_are_too_slow_for_short_kernels),
        cmocka_unit_test(states_that_live_on_the_host),
        cmocka_unit_test(work_against_the_peak),
        cmocka_unit_test(allocations_that_fail_first),
        cmocka_unit_test(a_peak_in_pieces),
        cmocka_unit_test(waits_for_data_that_the_gpu_notices),
        cmocka_unit_test(the_report_says_what_is_missing),
        cmocka_unit_test(gaps_make_nothing_surer),
        cmocka_unit_test(steps_in_a_gap_are_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
