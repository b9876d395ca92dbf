/* Reports of real jobs, as their threads tell them, with the verdict a right tool would give: what ran on GPUs. Each is
 * re-made as events with the figures of its thread, and so is what it could be taken for. docs/CASES.md lists them all.
 */
#include "tests/unit/analyze_text.h"

#include <math.h>

/* Times in us from here on. */
#define MS 1000ul
#define SECOND 1000000ul

static void say_rank(struct script *script, unsigned rank, const char *gpu)
{
    unsigned pid = 1 + rank;
    say(script, "0 a proc pid=%u how=start schema=1 rank=%u world=2 host=a boot=b comm=python3 cmd=train.py", pid,
        rank);
    say(script, "0 a gpu pid=%u device=0 memory=80GiB model=\"%s\"", pid, gpu);
    say(script, "0 a name pid=%u kind=range id=1 text=Optimizer.step#AdamW.step", pid);
    say(script,
        "0 a name pid=%u kind=range id=2 text=\"enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__\"", pid);
    say(script, "0 a name pid=%u kind=kernel id=3 text=elementwise_kernel", pid);
    say(script, "0 a name pid=%u kind=kernel id=4 text=ncclDevKernel_AllGather_RING_LL", pid);
    say(script, "0 a name pid=%u kind=library id=5 text=/venv/torch/lib/libc10_cuda.so", pid);
    say(script, "0 a name pid=%u kind=library id=6 text=/venv/nvidia/cudnn/lib/libcudnn.so.9", pid);
}

static void say_kernel(struct script *script, unsigned rank, unsigned name, uint64_t queued, uint64_t start,
                       uint64_t dur)
{
    say(script, "%luus a kernel pid=%u stream=%u name=%u queued_ns=%luus start_ns=%luus dur=%luus", start + dur,
        1 + rank, name == 4 ? 20 : 7, name, queued, start, dur);
}

static void say_anchor(struct script *script, unsigned rank, const char *kind, uint64_t at, uint64_t dur)
{
    say(script, "%luus a anchor pid=%u kind=%s name=%u dur=%luus", at + dur, 1 + rank, kind, kind[0] == 'o' ? 1 : 2,
        dur);
}

static void say_call(struct script *script, const char *act, unsigned count, uint64_t at, uint64_t dur)
{
    say(script, "%luus a cuda_call pid=1 act=%s count=%u busy=%luus dur=%luus", at + dur, act, count, dur, dur);
}

static struct report *end_of(struct script *script, unsigned nr_ranks, uint64_t at)
{
    for (unsigned rank = 0; rank < nr_ranks; rank++)
        say(script, "%luus a exit pid=%u how=exit start_ns=%luus", at, 1 + rank, at);
    return script_analyze(script, &(struct options){0});
}

static bool has_line(const char *const *lines, size_t nr, const char *words)
{
    for (size_t i = 0; i < nr; i++)
        if (strstr(lines[i], words))
            return true;
    return false;
}

/* Nothing of high or medium severity but these, NULL at the end. */
static void expect_findings(const struct report *report, const char *const *ids)
{
    for (const char *const *id = ids; *id; id++)
        if (!find_finding(report, *id))
            fail_msg("%s is not raised", *id);
    for (size_t i = 0; i < report->nr_findings; i++) {
        const struct report_finding *finding = &report->findings[i];
        const char *const *id = ids;
        while (*id && strcmp(*id, finding->id))
            id++;
        if (!*id && finding->severity != SEVERITY_LOW)
            fail_msg("%s is raised: %s", finding->id, finding->what);
    }
}
static void expect_one(const struct report *report, const char *id)
{
    expect_findings(report, (const char *const[]){id, NULL});
}

/* ---- Case retry-01: ZeRO-3 on full GPUs --------------------------------------------------- */

#define FLUSHES 13
#define RETRY_STEP (3 * SECOND)

/* A failed cudaMalloc, three segments given back, each of which waits for the GPU, and the cudaMalloc that succeeds. */
static uint64_t say_flush(struct script *script, unsigned rank, uint64_t at)
{
    say(script, "%luus a segment pid=%u act=failed kind=device owner=5 err=2 size=2GiB free=1GiB dur=1ms", at + MS,
        1 + rank);
    for (unsigned i = 0; i < 3; i++)
        say(script, "%luus a segment pid=%u act=free kind=device address=0x%x0000000 dur=40ms",
            at + MS + (i + 1) * 40 * MS, 1 + rank, 2 + i);
    say(script, "%luus a segment pid=%u act=alloc kind=device owner=5 address=0x20000000 size=2GiB dur=2ms",
        at + 123 * MS, 1 + rank);
    return at + 123 * MS;
}

/* Rank 0 computes between its flushes; rank 1 has computed the same in one go and waits for it in the all-gather. */
static void say_retry_step(struct script *script, uint64_t at, bool flushes)
{
    uint64_t now = at + 10 * MS;
    for (unsigned i = 0; i < FLUSHES; i++) {
        say_kernel(script, 0, 3, now, now + 100, 100 * MS);
        now = flushes ? say_flush(script, 0, now + 101 * MS) : now + 101 * MS;
        say_kernel(script, 1, 3, at + 5 * MS, at + 10 * MS + i * 100 * MS, 100 * MS - 10);
    }
    say_kernel(script, 0, 4, now, now + 100, 20 * MS);
    say_kernel(script, 1, 4, at + 6 * MS, at + 10 * MS + FLUSHES * 100 * MS, now + 20 * MS - at - FLUSHES * 100 * MS);
    for (unsigned rank = 0; rank < 2; rank++)
        say_anchor(script, rank, "optimizer", at + RETRY_STEP - MS, MS);
}

static struct report *retries(bool in_steps, bool at_start)
{
    struct script script;
    script_begin(&script);
    for (unsigned rank = 0; rank < 2; rank++) {
        say_rank(&script, rank, "NVIDIA A100-SXM4-80GB");
        say(&script, "500ms a segment pid=%u act=alloc kind=device owner=5 address=0x10000000000 size=77GiB", 1 + rank);
    }
    for (unsigned i = 0; at_start && i < 20; i++) /* a search for the fastest algorithm asks for too much */
        say_flush(&script, 0, 600 * MS + i * 130 * MS);
    for (unsigned step = 0; step < 40; step++)
        say_retry_step(&script, 4 * SECOND + step * RETRY_STEP, in_steps);
    return end_of(&script, 2, 4 * SECOND + 40 * RETRY_STEP);
}

static void zero3_on_full_gpus(void **state)
{
    struct report *report = retries(true, false);
    expect_one(report, "alloc-retries");
    const struct report_finding *finding = find_finding(report, "alloc-retries");
    assert_int_equal(finding->severity, SEVERITY_HIGH); /* 13 times 123 ms of 3 s */
    assert_int_equal(finding->nr_ranks, 1);
    assert_int_equal(finding->ranks[0], 0);
    /* All of it but the warm-up: the steps, 13 flushes each. */
    assert_int_equal(report->memory[0].retries % FLUSHES, 0);
    assert_true(report->memory[0].retries >= 38 * FLUSHES && report->memory[0].retries <= 40 * FLUSHES);
    double each_ns = (double)finding->lost_ns / (double)report->memory[0].retries;
    assert_true(fabs(each_ns - 123e6) < 1e3);
    report_free(report);

    report = retries(false, true); /* the same before the first step */
    expect_one(report, NULL);
    assert_null(find_finding(report, "alloc-retries"));
    assert_int_equal(report->memory[0].retries, 0);
    report_free(report);
}

/* ---- Case oom-02: a large cached block that small ones were cut from ---------------------- */

static struct report *cut_block(bool cut)
{
    static const unsigned long small[] = {16515072, 16515072, 11400192, 16515072, 2097152, 33030144};
    struct script script;
    script_begin(&script);
    say_rank(&script, 0, "NVIDIA A100-SXM4-80GB");
    say(&script, "1s a segment pid=1 act=alloc kind=device owner=5 address=0x1000000000 size=11643387904");
    say(&script, "1s a block pid=1 act=alloc address=0x1000000000 size=11643387904 allocated=11643387904 "
                 "reserved=11643387904");
    say(&script, "2s a block pid=1 act=free address=0x1000000000 size=11643387904 reserved=11643387904");
    unsigned long address = 0x1000000000, all = 0;
    for (unsigned i = 0; cut && i < sizeof(small) / sizeof(*small); i++) {
        /* Spread over it: what lies between was free again. */
        say(&script, "3s a block pid=1 act=alloc address=0x%lx size=%lu", address, small[i]);
        address += 11643387904 / 6 / 512 * 512;
        all += small[i];
    }
    say(&script, "4s a segment pid=1 act=failed kind=device owner=5 err=2 size=11GiB free=2GiB dur=1ms");
    say(&script, "4s a oom pid=1 size=11GiB allocated=%lu reserved=11643387904 free=2GiB", all);
    return end_of(&script, 1, 5 * SECOND);
}

static void a_cached_block_that_small_ones_were_cut_from(void **state)
{
    struct report *report = cut_block(true);
    expect_one(report, "memory-fragmentation");
    const struct report_failure *failure = &report->memory[0].failures[0];
    assert_string_equal(failure->verdict, "fragmentation");
    /* A sixth of the segment is the most that is free in one piece. */
    assert_true(failure->largest_hole > 11643387904 / 7 && failure->largest_hole < 11643387904 / 6);
    report_free(report);
}

/* ---- Case sync-01: loss.item() ------------------------------------------------------------ */

#define ITEM_STEP (600 * MS)

/* A copy of 4 bytes that is waited for after each small kernel, `nr` times; then the bulk of the step. `rest`: how long
 * the thread takes after its last wait until the GPU has work again. */
static struct report *items(unsigned nr, uint64_t rest)
{
    struct script script;
    script_begin(&script);
    say_rank(&script, 0, "NVIDIA A100-SXM4-80GB");
    for (unsigned step = 0; step < 40; step++) {
        uint64_t at = SECOND + step * ITEM_STEP, now = at + rest;
        uint64_t bulk = ITEM_STEP - rest - nr * 200 - 45 * MS;
        say_kernel(&script, 0, 3, now - 100, now, bulk);
        say_kernel(&script, 0, 3, now - 50, now + bulk, 44 * MS);
        /* The thread is done with launching long before, and waits for the loss. */
        say_call(&script, "sync", 1, now + bulk, 44 * MS);
        now += bulk + 44 * MS;
        for (unsigned i = 0; i < nr; i++, now += 200) {
            say_kernel(&script, 0, 3, now + 90, now + 100, 60);
            say(&script,
                "%luus a gpu_copy pid=1 stream=7 kind=DtoH src=device dst=pageable size=4 start_ns=%luus dur=2us",
                now + 170, now + 165);
            say_call(&script, "sync", 1, now + 110, 70);
        }
        say_anchor(&script, 0, "optimizer", at + ITEM_STEP - MS, MS);
    }
    return end_of(&script, 1, SECOND + 40 * ITEM_STEP);
}

static void reading_the_loss(void **state)
{
    struct report *report = items(1000, MS); /* one for each parameter */
    expect_one(report, "sync-overuse");
    assert_true(find_finding(report, "sync-overuse")->severity >= SEVERITY_MEDIUM);
    report_free(report);

    report = items(0, MS); /* one in a step, 44 ms long, and the GPU has work a millisecond later */
    expect_one(report, NULL);
    assert_null(find_finding(report, "sync-overuse"));
    report_free(report);
}

/* ---- Case launch-01: tiny kernels --------------------------------------------------------- */

#define OPS 2000

/* 42 us apart as the host launches them one by one, or 7.6 us each in one replay of a captured graph. */
static struct report *tiny_kernels(bool graph)
{
    struct script script;
    script_begin(&script);
    say_rank(&script, 0, "NVIDIA A100-SXM4-80GB");
    uint64_t each = graph ? 8 : 42, at = SECOND;
    for (unsigned step = 0; step < 36; step++) {
        for (unsigned i = 0; i < OPS; i++) {
            uint64_t start = at + 20 + i * each;
            say(&script, "%luus a kernel pid=1 stream=7 name=3 graph=%u queued_ns=%luus start_ns=%luus dur=7500ns",
                start + 8, graph, graph ? at + 10 : start - 6, start);
        }
        if (graph)
            say_call(&script, "graph_launch", 1, at + 10, 20);
        else
            say_call(&script, "launch", OPS, at + 10, OPS * each);
        at += 40 + OPS * each;
        say_anchor(&script, 0, "optimizer", at - 20, 10);
    }
    return end_of(&script, 1, at);
}

static void tiny_kernels_one_by_one_and_as_a_graph(void **state)
{
    struct report *report = tiny_kernels(false);
    expect_one(report, "launch-bound");
    assert_int_equal(find_finding(report, "launch-bound")->severity, SEVERITY_HIGH);
    report_free(report);

    report = tiny_kernels(true);
    expect_one(report, NULL);
    assert_null(find_finding(report, "launch-bound"));
    report_free(report);
}

/* ---- Case data-01: every eighth batch takes half a minute --------------------------------- */

#define WORKERS 8

static void say_workers(struct script *script)
{
    for (unsigned pid = 100; pid < 100 + WORKERS; pid++) {
        say(script,
            "500ms a proc pid=%u how=fork ppid=1 schema=1 rank=-1 world=-1 start_ns=500ms host=a boot=b "
            "comm=python3 cmd=train.py",
            pid);
        say(script, "500ms a name pid=%u kind=dir id=1 dev=9 text=/nfs/train", pid);
        say(script, "500ms a mount pid=%u dev=9 point=/nfs fstype=nfs4 source=store:/export", pid);
    }
}

/* What each worker does for its batch: ten stretches of 3.5 s in reads, or as long on a CPU. */
static void say_batches(struct script *script, uint64_t at, unsigned batch, bool reads)
{
    for (unsigned pid = 100; pid < 100 + WORKERS; pid++) {
        for (unsigned i = 1; reads && i <= 10; i++)
            say(script, "%luus a file_io pid=%u op=read how=8 name=1 count=60 size=35MiB busy=3500ms dur=3500ms",
                at + i * 3500 * MS, pid);
        say(script, "%luus a pipe_io pid=%u op=write count=1 size=600 inode=70 busy=10us dur=10us", at + 33170 * MS,
            pid);
        say(script, "%luus a cpu pid=%u at_ns=%luus cpu_ns=%us runnable_ns=%ums", at + 35500 * MS, pid, at + 35500 * MS,
            (batch + 1) * (reads ? 1 : 35), batch);
    }
}

/* The workers deliver together: one long wait, then seven batches that are there. */
static struct report *bursts(bool reads)
{
    struct script script;
    script_begin(&script);
    say_rank(&script, 0, "NVIDIA A100-SXM4-80GB");
    say_workers(&script);
    uint64_t at = SECOND;
    for (unsigned step = 0; step < 48; step++) {
        uint64_t wait = step % WORKERS ? 700 : 33177 * MS;
        if (step % WORKERS == 0)
            say_batches(&script, at, step / WORKERS, reads);
        say(&script, "%luus a pipe_io pid=1 op=read count=1 size=600 inode=70 busy=10us dur=10us", at + wait);
        say_anchor(&script, 0, "dataloader", at, wait);
        say_kernel(&script, 0, 3, at + wait + 100, at + wait + MS, 580 * MS);
        at += wait + 585 * MS;
        say_anchor(&script, 0, "optimizer", at - 200, 200);
    }
    for (unsigned pid = 100; pid < 100 + WORKERS; pid++)
        say(&script, "%luus a exit pid=%u how=quick start_ns=%luus", at, pid, at);
    return end_of(&script, 1, at + SECOND);
}

static void expect_bursts(bool reads, const char *cause)
{
    struct report *report = bursts(reads);
    const struct report_finding *finding = find_finding(report, "dataloader-bound");
    assert_non_null(finding);
    assert_int_equal(finding->severity, SEVERITY_HIGH);
    if (!strstr(finding->what, "about every 8 steps") || !strstr(finding->cause, cause))
        fail_msg("%s %s", finding->what, finding->cause);
    assert_true(has_line(finding->evidence, finding->nr_evidence, "period of 8 steps equals num_workers"));
    assert_true((find_finding(report, "storage-slow") != NULL) == reads);
    report_free(report);
}

static void every_eighth_batch_is_waited_for(void **state)
{
    expect_bursts(false, "not storage");
    expect_bursts(true, "reading /nfs/train");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zero3_on_full_gpus),
        cmocka_unit_test(a_cached_block_that_small_ones_were_cut_from),
        cmocka_unit_test(reading_the_loss),
        cmocka_unit_test(tiny_kernels_one_by_one_and_as_a_graph),
        cmocka_unit_test(every_eighth_batch_is_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
