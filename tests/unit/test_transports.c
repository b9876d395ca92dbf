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
    assert_string_equal(report->transports[0].source, "log,proxy");
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
    assert_string_equal(report->transports[0].source, "log");
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
    assert_string_equal(report->transports[0].source, "proxy");
    assert_int_equal(report->transports[0].gdr, -1);
    report_free(report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(log_and_proxies_agree),
        cmocka_unit_test(a_log_alone_has_nothing_to_agree_with),
        cmocka_unit_test(proxies_show_a_network_without_a_log),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
