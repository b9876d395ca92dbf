/* report_sample.h - a report made by hand, for the tests of emitters: 4 ranks on 2 hosts, 20 steps of 100 ms, of which
 * rank 3 spends 40 ms waiting for data, the others 10 ms. Included by the test that uses it. */
#ifndef TRSHIM_TESTS_REPORT_SAMPLE_H
#define TRSHIM_TESTS_REPORT_SAMPLE_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analysis/report/finding.h"
#include "analysis/report/report.h"

#define SAMPLE_RANKS 4
#define SAMPLE_STEPS 20
#define MS 1000000ll

static void sample_steps(struct report *report)
{
    for (uint32_t i = 0; i < SAMPLE_STEPS; i++)
        for (int rank = 0; rank < SAMPLE_RANKS; rank++) {
            struct report_step row = {
                .step = i,
                .rank = rank,
                .warmup = i == 0,
                .incomplete = i == SAMPLE_STEPS - 1,
                .start_ns = 1000000 * (uint64_t)MS + i * 100 * (uint64_t)MS,
                .end_ns = 1000000 * (uint64_t)MS + (i + 1) * 100 * (uint64_t)MS,
                .comm_wait_ns = TR_UNKNOWN,
                .comm_transfer_ns = TR_UNKNOWN,
                .pp_bubble_ns = TR_UNKNOWN,
                .comm_overlapped_ns = TR_UNKNOWN,
                .flop = NAN,
                .kernels = TR_UNKNOWN,
                .launch_latency_ns = NAN,
                .queue_depth = NAN,
            };
            row.class_ns[BC_dataloader] = (rank == 3 ? 40 : 10) * MS;
            row.class_ns[BC_checkpoint] = 5 * MS;
            row.class_ns[BC_other] = 2 * MS;
            row.class_ns[BC_compute] = 100 * MS - row.class_ns[BC_dataloader] - 7 * MS;
            row.dataloader_host_wait_ns = row.class_ns[BC_dataloader];
            assert_int_equal(report_add_step(report, &row), 0);
        }
}

static void sample_tables(struct report *report)
{
    struct report_version version = {"torch", "1.13.0"};

    assert_int_equal(
        report_add_input(report, &(struct report_input){.path = "/tmp/run1", .kind = "lttng", .events = 5000}), 0);
    for (int rank = 0; rank < SAMPLE_RANKS; rank++)
        assert_int_equal(report_add_rank(report, &(struct report_rank){.rank = rank,
                                                                       .device = TR_UNKNOWN,
                                                                       .host = rank / 2,
                                                                       .pid = 100 + rank,
                                                                       .host_name = rank < 2 ? "node-a" : "node-b",
                                                                       .rank_source = "env",
                                                                       .versions = &version,
                                                                       .nr_versions = 1}),
                         0);
    assert_int_equal(report_add_io(report, &(struct report_io){.mount = "/nfs",
                                                               .fstype = "nfs4",
                                                               .source = "store:/export",
                                                               .group = "/nfs/train",
                                                               .opens = 20,
                                                               .reads = 48000,
                                                               .bytes_read = 3328599654,
                                                               .read_ns = 30000 * (uint64_t)MS,
                                                               .mean_read = 65536,
                                                               .p50_read_ns = 2.0 * MS,
                                                               .p95_read_ns = 41.0 * MS,
                                                               .p99_read_ns = 90.0 * MS,
                                                               .metadata_share = 0.02,
                                                               .cache_share = NAN,
                                                               .sequential_share = 1}),
                     0);
    assert_int_equal(report_add_worker(report, &(struct report_worker){.rank = 3,
                                                                       .host = 1,
                                                                       .pid = 8841,
                                                                       .reading_ns = 1760 * (uint64_t)MS,
                                                                       .cpu_ns = 80 * (uint64_t)MS,
                                                                       .runnable_ns = 20 * (uint64_t)MS,
                                                                       .blocked_ns = 140 * (uint64_t)MS,
                                                                       .span_ns = 2000 * (uint64_t)MS,
                                                                       .batches = 20,
                                                                       .bytes_read = 3328599654}),
                     0);
    assert_int_equal(report_add_checkpoint(report, &(struct report_checkpoint){.rank = 0,
                                                                               .path = "/ckpt/last.pt",
                                                                               .bytes = 104857600,
                                                                               .start_ns = 1000500 * (uint64_t)MS,
                                                                               .duration_ns = 100 * (uint64_t)MS,
                                                                               .stall_ns = 100 * (uint64_t)MS,
                                                                               .step = 5,
                                                                               .sync = true,
                                                                               .safe = 0,
                                                                               .survives = true}),
                     0);
}

static void sample_findings(struct report *report)
{
    struct finding *f = finding_raise(report, "dataloader-bound", "/nfs/train", severity_of_share(0.4), 0.9);

    finding_add_rank(f, 3);
    for (int rank = 0; rank < 3; rank++)
        finding_add_victim(f, rank);
    finding_add_host(f, "node-b");
    finding_lost(f, 720 * MS, 0.72);
    finding_set_share(f, "share", 0.4);
    finding_set_time(f, "wait", 40.0 * MS);
    finding_set_time(f, "step", 100.0 * MS);
    finding_set_share(f, "read_share", 0.88);
    finding_set_share(f, "cpu_share", 0.04);
    finding_set_share(f, "runnable_share", 0.01);
    finding_set_share(f, "blocked_share", 0.07);
    finding_set(f, "place", "/nfs/train");
    finding_set_rate(f, "rate", 90e6);
    finding_cause(f, "storage");
    finding_fix(f, "storage");
    finding_evidence(f, "wait");
    finding_evidence(f, "workers");
    finding_other(f, "cpu");

    f = finding_raise(report, "checkpoint-unsafe", "/ckpt/last.pt", SEVERITY_MEDIUM, 0.8);
    finding_add_rank(f, 0);
    finding_set(f, "path", "/ckpt/last.pt");
    finding_set_count(f, "unsafe", 1);
    finding_set_count(f, "count", 1);
    finding_set(f, "missing", "fsync");
    finding_evidence(f, "saves");
}

__attribute__((unused)) static struct report *sample(enum lang lang)
{
    struct report *report;

    assert_int_equal(report_new(lang, &report), 0);
    report->title = report_str(report, "run1");
    report->world_size = SAMPLE_RANKS;
    report->nr_hosts = report->nr_machines = 2;
    report->first_ns = 1000000 * (uint64_t)MS;
    report->last_ns = 1002000 * (uint64_t)MS;
    report->steps.method = "optimizer";
    report->steps.confidence = 0.98;
    report->quality =
        (struct report_quality){.events = 5000, .clock_error_ns = 40000, .recorder_cpu_ns = 12 * (uint64_t)MS};
    sample_tables(report);
    sample_steps(report);
    sample_findings(report);
    assert_int_equal(report_finish(report), 0);
    return report;
}

/* Nothing was recorded. */
__attribute__((unused)) static struct report *sample_empty(enum lang lang)
{
    struct report *report;

    assert_int_equal(report_new(lang, &report), 0);
    assert_int_equal(report_finish(report), 0);
    return report;
}

#endif
