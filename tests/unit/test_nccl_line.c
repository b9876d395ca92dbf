/* Lines of NCCL logs, version by version: who wrote them, and what they say. Wordings are those of the sources. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/input/nccl_line.h"
#include "analysis/pass/nccl_devices.h"

static char text[2048];
static struct nccl_line line;

static struct nccl_message only(const char *written)
{
    struct nccl_message message = {0};
    assert_true(strlen(written) < sizeof(text));
    strcpy(text, written);
    nccl_line_begin(&line, text);
    assert_true(nccl_line_next(&line, &message));
    return message;
}

static void nothing(const char *written)
{
    struct nccl_message message;
    strcpy(text, written);
    nccl_line_begin(&line, text);
    assert_false(nccl_line_next(&line, &message));
}

static void from(const char *written, const char *host, uint32_t pid, uint32_t tid)
{
    struct nccl_message message = only(written);
    assert_string_equal(message.host, host);
    assert_int_equal(message.event.u.who.pid, pid);
    assert_int_equal(message.event.u.who.tid, tid);
}

static void writers_are_found_behind_wrappers(void **state)
{
    (void)state;
    from("h-1:10:11 [0] NCCL INFO Using network IB\n", "h-1", 10, 11);
    from("[1,0]<stdout>:h.a:10:11 [0] NCCL INFO Using network IB", "h.a", 10, 11);
    from("[default0]:h:10:11 [0] NCCL INFO Using network IB", "h", 10, 11);
    from("[rank3]: h:10:11 [3] NCCL INFO Using network IB", "h", 10, 11);
    from("h: h:10:11 [3] NCCL INFO Using network IB", "h", 10, 11);
    from("2025-05-16T16:39:51.208-07:00 h:10:11 [0] NCCL INFO Using network IB", "h", 10, 11);
    from("\033[33mh:10:11 [0] NCCL INFO Using network IB\033[0m", "h", 10, 11);
    from("[33mh:10:11 [0] NCCL INFO Using network IB[0m", "h", 10, 11);
    from("other:1:2other:10:11 [0] NCCL INFO Using network IB", "other", 10, 11);
    from("h:10:11 [0] NCCL INFO Channel 1/0 : 7[7] -> 6[g:12:13 [1] NCCL INFO Using network IB", "g", 12, 13);
    assert_null(only(" [0] NCCL INFO Using network IB").host);
    nothing("my NCCL INFO is nice");
    nothing("");
    nothing("h:1:2 [0] NCCL INFO ");
    nothing("h:1:2 [0] NCCL INFO init.cc:321 -> 5");
}

static void channel(const char *said, int from_rank, int to, const char *kind, bool gdr, int proxy, unsigned device)
{
    char written[512];
    snprintf(written, sizeof(written), "h:10:11 [0] NCCL INFO %s", said);
    struct tr_nccl_channel got = only(written).event.u.nccl_channel;
    assert_int_equal(only(written).event.kind, EV_nccl_channel);
    assert_int_equal(got.from, from_rank);
    assert_int_equal(got.to, to);
    got = only(written).event.u.nccl_channel;
    assert_string_equal(got.kind, kind);
    assert_int_equal(got.gdr, gdr);
    assert_int_equal(got.proxy, proxy);
    assert_int_equal(got.device, device);
}

static void channels_of_all_versions(void **state)
{
    (void)state;
    channel("Ring 00 : 0 -> 1 [send] via NET/IB/0/GDRDMA", 0, 1, "NET/IB", true, -1, 0);
    channel("Ring 03 : 155[3d000] -> 163[3d000] [send] via NET/IB/3", 155, 163, "NET/IB", false, -1, 3);
    channel("Channel 00 : 0[7000] -> 12[88000] [send] via NET/IB/1/GDRDMA/Shared", 0, 12, "NET/IB", true, -1, 1);
    channel("Channel 00/0 : 0[7000] -> 12[88000] [send] via NET/IB/1(3)/GDRDMA/Shared", 0, 12, "NET/IB", true, 3, 1);
    channel("Channel 00/1 : 0[0] -> 8[0] [receive] via NET/Socket/0", 0, 8, "NET/Socket", false, -1, 0);
    channel("Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA(PCI)", 0, 8, "NET/IB", true, -1, 0);
    channel("Channel 01/0 : 7[7] -> 8[0] [send] via NET/AWS Libfabric/1/GDRDMA", 7, 8, "NET/AWS Libfabric", true, -1,
            1);
    channel("Channel 00 : 0[1000] -> 1[25000] via direct shared memory", 0, 1, "SHM", false, -1, 0);
    channel("Channel 00 : 0[0] -> 1[1] via SHM/direct/direct", 0, 1, "SHM", false, -1, 0);
    channel("Channel 00 : 0[0] -> 1[1] via SHM/direct", 0, 1, "SHM", false, -1, 0);
    channel("Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM/read", 0, 1, "P2P", false, -1, 0);
    nothing("h:1:2 [0] NCCL INFO Channel 00/02 :    0   1   2   3");
    nothing("h:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> ");
    nothing("h:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] [send] via NET/");
    nothing("h:1:2 [0] NCCL INFO Channel 00/0 : 0[0 -> 1[1] via P2P/IPC");
}

static void communicators_of_all_versions(void **state)
{
    (void)state;
    static const char *const said[] = {
        "comm 0xfa0 rank 3 nranks 16 cudaDev 3 nvmlDev 3 - Init COMPLETE",
        "comm 0xfa0 rank 3 nranks 16 cudaDev 3 busId 7000 - Init COMPLETE",
        "comm 0xfa0 rank 3 nranks 16 cudaDev 3 nvmlDev 3 busId 88000 commId 0x0 - Init COMPLETE",
        "ncclCommInitRank comm 0xfa0 rank 3 nranks 16 cudaDev 3 nvmlDev 3 busId 1 commId 0x0 - Init COMPLETE",
        "ncclCommInitRankConfig comm 0xfa0 rank 3 nranks 16 cudaDev 3 nvmlDev 3 busId 1 commId 0x0 - Init COMPLETE",
    };
    for (size_t i = 0; i < sizeof(said) / sizeof(*said); i++) {
        char written[512];
        snprintf(written, sizeof(written), "h:10:11 [0] NCCL INFO %s", said[i]);
        struct nccl_message message = only(written);
        assert_int_equal(message.event.kind, EV_nccl_comm);
        assert_int_equal(message.event.u.nccl_comm.comm, 0xfa0);
        assert_int_equal(message.event.u.nccl_comm.rank, 3);
        assert_int_equal(message.event.u.nccl_comm.nranks, 16);
        assert_int_equal(message.event.u.nccl_comm.state, TR_nccl_state_made);
    }
    struct tr_nccl_comm begun =
        only("h:1:2 [0] NCCL INFO [Rank 3] ncclCommInitRank comm 0x1 rank 3 nranks 4 cudaDev 3 nvmlDev 3 busId 1 "
             "commId 0xfe - Init START")
            .event.u.nccl_comm;
    assert_int_equal(begun.id, 0xfe);
    assert_int_equal(begun.state, TR_nccl_state_begun);
    nothing("h:1:2 [0] NCCL INFO comm 0x1 rank 9 nranks 4 cudaDev 3 - Init COMPLETE");
}

static struct tr_nccl_net net(const char *said)
{
    char written[512];
    snprintf(written, sizeof(written), "h:10:11 [0] NCCL INFO %s", said);
    struct nccl_message message = only(written);
    assert_int_equal(message.event.kind, EV_nccl_net);
    return message.event.u.nccl_net;
}

static void networks_of_all_versions(void **state)
{
    (void)state;
    assert_string_equal(net("NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/RoCE [RO]; OOB eth0:1.2.3.4<0>").text,
                        "[0]mlx5_0:1/IB [1]mlx5_1:1/RoCE");
    assert_string_equal(net("Bootstrap : Using [0]eth0:192.0.2.1<0>").text, "eth0:192.0.2.1<0>");
    assert_string_equal(net("Bootstrap: Using eth0:192.0.2.1<0>").text, "eth0:192.0.2.1<0>");
    assert_string_equal(net("NET : Using interface lo:127.0.0.1<0>").text, "lo:127.0.0.1<0>");
    assert_int_equal(net("NET/Plugin : No plugin found (libnccl-net.so).").fact, TR_nccl_fact_plugin_missing);
    assert_int_equal(net("NET/Plugin: Could not find: libnccl-net.so").fact, TR_nccl_fact_plugin_missing);
    assert_int_equal(net("NET/Plugin: Plugin load (libnccl-net.so) returned 2 : libnccl-net.so: cannot open shared "
                         "object file: No such file or directory")
                         .fact,
                     TR_nccl_fact_plugin_missing);
    assert_int_equal(net("NET/Plugin: Plugin load returned 2 : libc.so.6: version `GLIBC_2.32' not found").fact,
                     TR_nccl_fact_plugin_failed);
    assert_string_equal(net("NET/Plugin: Loaded net plugin FastSocket (v4)").name, "FastSocket");
    nothing("h:1:2 [0] NCCL INFO NET/Plugin: Failed to find ncclNetPlugin_v6 symbol.");
}

static void versions_variables_warnings_calls(void **state)
{
    (void)state;
    struct nccl_message version = only("NCCL version 2.4.7+cuda9.2\n");
    assert_true(version.anonymous);
    assert_string_equal(version.event.u.attr.value, "2.4.7+cuda9.2");
    assert_true(only("[1,0]<stdout>:NCCL version 2.18.5+cuda12.2").anonymous);
    version = only("h:1:2 [0] NCCL INFO NCCL version 2.25.1+cuda12.2");
    assert_false(version.anonymous);
    assert_string_equal(version.event.u.attr.value, "2.25.1+cuda12.2");
    nothing("see NCCL versions");

    struct tr_nccl_env env = only("h:1:2 [0] NCCL INFO NCCL_SHM_DISABLE set by environment to 1.").event.u.nccl_env;
    assert_string_equal(env.name, "NCCL_SHM_DISABLE");
    assert_string_equal(env.value, "1");

    struct tr_nccl_warn warn = only("[2026-04-22 21:34:20] h:1:2 [0] misc/ibvwrap.cc:63 NCCL WARN Failed to open "
                                    "libibverbs.so[.1]")
                                   .event.u.nccl_warn;
    assert_string_equal(warn.place, "misc/ibvwrap.cc:63");
    assert_string_equal(warn.text, "Failed to open libibverbs.so[.1]");
    /* An INFO line later. */
    assert_string_equal(only("h:1:2 [0] NCCL INFO Failed to open libibverbs.so[.1]").event.u.nccl_warn.text,
                        "Failed to open libibverbs.so[.1]");

    struct tr_nccl_call call = only("h:1:2 [3] NCCL INFO AllReduce: opCount 12c7 sendbuff 0x1 recvbuff 0x2 count 5 "
                                    "datatype 7 op 0 root 0 comm 0x44 [nranks=8] stream 0x9")
                                   .event.u.nccl_call;
    assert_string_equal(call.op, "AllReduce");
    assert_int_equal(call.ordinal, 0x12c7);
    assert_int_equal(call.count, 5);
    assert_int_equal(call.comm, 0x44);
    assert_int_equal(call.nranks, 8);
}

static void devices_are_counted_by_kind(void **state)
{
    static const char list[] = "[0]mlx5_1:1/IB [1]mlx5_3:1/IB [2]mlx5_2:1/RoCE";
    char odd[64];
    (void)state;
    assert_int_equal(nccl_devices(list).nr, 3);
    assert_int_equal(nccl_devices(list).roce, 1);
    assert_int_equal(nccl_devices(NULL).nr, 0);
    assert_int_equal(nccl_devices("[").nr, 0);
    nccl_devices_list(list, false, odd, sizeof(odd));
    assert_string_equal(odd, "mlx5_2");
    nccl_devices_list(list, true, odd, sizeof(odd));
    assert_string_equal(odd, "mlx5_1,mlx5_3");
    nccl_devices_list(list, true, odd, 4);
    assert_string_equal(odd, "mlx");
}

static void speed(const char *written, const char *device)
{
    struct nccl_message message = only(written);
    assert_int_equal(message.event.kind, EV_nccl_net);
    assert_int_equal(message.event.u.nccl_net.fact, TR_nccl_fact_speed);
    assert_string_equal(message.event.u.nccl_net.text, device);
}

static void devices_say_how_fast_they_are(void **state)
{
    (void)state;
    speed("h:10:11 [0] NCCL INFO NET/IB: [0] mlx5_0:uverbs0:1/IB provider=Mlx5 speed=400000 context=0x5 pciPath=/sys/d "
          "ar=1",
          "mlx5_0:1 400000");
    speed("h:10:11 [0] NCCL INFO NET/IB: [11] rocep1s0:uverbs11:2/RoCE speed=100000 context=0x5", "rocep1s0:2 100000");
    speed("h:10:11 [0] NCCL INFO NET/IB: [0] mlx5_0:1/IB speed=200000", "mlx5_0:1 200000");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(devices_say_how_fast_they_are), cmocka_unit_test(writers_are_found_behind_wrappers),
        cmocka_unit_test(channels_of_all_versions),      cmocka_unit_test(communicators_of_all_versions),
        cmocka_unit_test(networks_of_all_versions),      cmocka_unit_test(versions_variables_warnings_calls),
        cmocka_unit_test(devices_are_counted_by_kind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
