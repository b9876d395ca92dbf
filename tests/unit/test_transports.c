/* Transports by log and by proxies: what both say is one row, what only proxies show is a row of its own, and where
 * they differ that is told. */
#include "tests/unit/analyze_text.h"

static void two_hosts(struct script *script)
{
    script_begin(script);
    say(script, "host a boot=b1");
    say(script, "host b boot=b2");
    for (unsigned rank = 0; rank < 2; rank++) {
        char host = rank ? 'b' : 'a';
        say(script, "1ns %c proc pid=%u rank=%u world=2 schema=1 host=%c boot=b%u comm=python3", host, 10 + rank, rank,
            host, rank + 1);
        say(script, "2ns %c nccl_comm pid=%u state=made rank=%u nranks=2 nr=1 id=0x77 source=hook", host, 10 + rank,
            rank);
    }
}

static void channel(struct script *script, const char *kind)
{
    say(script, "1ms a nccl_channel pid=10 channel=0 from=0 to=1 way=send kind=%s", kind);
    say(script, "2ms b nccl_comm pid=11 state=made rank=1 nranks=2 nr=1 id=0x77 source=hook");
}

static void proxy(struct script *script)
{
    say(script, "9ms a nccl_proxy pid=10 way=send op=AllReduce channels=2 nr=1 ordinal=0 peer=1 steps=4");
    say(script, "9ms b nccl_proxy pid=11 way=receive op=AllReduce channels=2 nr=1 ordinal=0 peer=0 steps=4");
}

static void log_and_proxies_agree(void **state)
{
    struct script script;
    two_hosts(&script);
    channel(&script, "NET/IB");
    proxy(&script);
    struct report *report = script_analyze(&script, &(struct options){0});
    assert_int_equal(report->nr_transports, 1);
    assert_string_equal(report->transports[0].kind, "NET/IB");
    assert_string_equal(report->transports[0].told, "log, proxy");
    assert_int_equal(report->transports[0].agree, 1);
    report_free(report);
}

static void a_log_alone_has_nothing_to_agree_with(void **state)
{
    struct script script;
    two_hosts(&script);
    channel(&script, "NET/IB");
    struct report *report = script_analyze(&script, &(struct options){0});
    assert_int_equal(report->nr_transports, 1);
    assert_int_equal(report->transports[0].sources, 1u << TRANSPORT_LOG);
    assert_int_equal(report->transports[0].agree, -1);
    report_free(report);
}

static void proxies_show_a_network_without_a_log(void **state)
{
    struct script script;
    two_hosts(&script);
    proxy(&script);
    struct report *report = script_analyze(&script, &(struct options){0});
    assert_int_equal(report->nr_transports, 1); /* what is received proves nothing */
    assert_string_equal(report->transports[0].kind, "NET");
    assert_string_equal(report->transports[0].host, "a");
    assert_string_equal(report->transports[0].peer_host, "b");
    assert_string_equal(report->transports[0].told, "proxy");
    assert_int_equal(report->transports[0].gdr, -1);
    report_free(report);
}

/* `bytes` from a to the address, by NCCL. */
static void socket_bytes(struct script *script, const char *address, const char *bytes)
{
    say(script, "3ms a nccl_net pid=10 fact=interfaces name=Socket text=\"[0]eth0:10.0.0.1<0>\"");
    say(script, "3ms b nccl_net pid=11 fact=interfaces name=Socket text=\"[0]eth0:10.0.0.10<0> [1]eth1:10.1.0.2<0>\"");
    say(script, "4ms a name pid=10 kind=peer id=5 text=%s:4000", address);
    say(script, "5ms a sock_io pid=10 op=write count=9 name=5 size_bytes=%s nccl=1", bytes);
}

static struct report *with_sockets(const char *kind, const char *address, const char *bytes)
{
    struct script script;
    two_hosts(&script);
    channel(&script, kind);
    proxy(&script);
    socket_bytes(&script, address, bytes);
    return script_analyze(&script, &(struct options){0});
}

static bool has_note(const struct report *report, const char *key)
{
    for (size_t i = 0; i < report->nr_notes; i++)
        if (!strcmp(report->notes[i].key, key))
            return true;
    return false;
}

static void sockets_agree_with_a_log_of_sockets(void **state)
{
    struct report *report = with_sockets("NET/Socket", "10.1.0.2", "100000000");
    assert_int_equal(report->nr_transports, 1);
    assert_string_equal(report->transports[0].told, "log, proxy, socket");
    assert_int_equal(report->transports[0].agree, 1);
    assert_int_equal(report->transports[0].socket_bytes, 100000000);
    assert_false(has_note(report, "transport-differs"));
    report_free(report);
}

static void what_sockets_moved_is_not_infiniband(void **state)
{
    struct report *report = with_sockets("NET/IB", "10.0.0.10", "100000000");
    assert_int_equal(report->nr_transports, 1);
    assert_string_equal(report->transports[0].kind, "NET/IB");
    assert_int_equal(report->transports[0].agree, 0);
    assert_true(has_note(report, "transport-differs"));
    report_free(report);
}

static void what_takes_part_in_setting_up_proves_nothing(void **state)
{
    struct report *report = with_sockets("NET/IB", "10.0.0.10", "100000");
    assert_string_equal(report->transports[0].told, "log, proxy");
    assert_int_equal(report->transports[0].agree, 1);
    report_free(report);
}

/* 10.0.0.1 begins the address of b, and is that of a itself. */
static void bytes_to_other_addresses_are_not_the_peers(void **state)
{
    struct report *report = with_sockets("NET/IB", "10.0.0.1", "100000000");
    assert_int_equal(report->transports[0].agree, 1);
    report_free(report);
    report = with_sockets("NET/Socket", "127.0.0.1", "100000000"); /* of nobody: there is one peer only */
    assert_string_equal(report->transports[0].told, "log, proxy, socket");
    report_free(report);
}

static void sockets_name_what_proxies_use(void **state)
{
    struct script script;
    two_hosts(&script);
    proxy(&script);
    socket_bytes(&script, "10.1.0.2", "100000000");
    struct report *report = script_analyze(&script, &(struct options){0});
    assert_int_equal(report->nr_transports, 1);
    assert_string_equal(report->transports[0].kind, "NET/Socket");
    assert_string_equal(report->transports[0].told, "proxy, socket");
    assert_int_equal(report->transports[0].agree, 1);
    report_free(report);
}

static void wrapped_plugin(struct script *script)
{
    say(script, "3ms a nccl_net_device pid=10 device=0 speed_mbps=200000 net=Fabric name=efa0");
    say(script, "4ms a nccl_net_io pid=10 connection=1 way=send count=64 size_bytes=100000000");
}

static void a_wrapped_plugin_shows_its_bytes(void **state)
{
    static const char *const kinds[] = {"NET/Fabric", "NET/Socket"};
    for (int i = 0; i < 2; i++) {
        struct script script;
        two_hosts(&script);
        channel(&script, kinds[i]);
        wrapped_plugin(&script);
        struct report *report = script_analyze(&script, &(struct options){0});
        assert_int_equal(report->nr_transports, 1);
        assert_string_equal(report->transports[0].told, "log, net");
        assert_int_equal(report->transports[0].agree, i == 0);
        assert_int_equal(has_note(report, "transport-differs"), i == 1);
        report_free(report);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(log_and_proxies_agree),
        cmocka_unit_test(a_log_alone_has_nothing_to_agree_with),
        cmocka_unit_test(proxies_show_a_network_without_a_log),
        cmocka_unit_test(sockets_agree_with_a_log_of_sockets),
        cmocka_unit_test(what_sockets_moved_is_not_infiniband),
        cmocka_unit_test(what_takes_part_in_setting_up_proves_nothing),
        cmocka_unit_test(bytes_to_other_addresses_are_not_the_peers),
        cmocka_unit_test(sockets_name_what_proxies_use),
        cmocka_unit_test(a_wrapped_plugin_shows_its_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
