/* What is expected between hosts: by the devices that a communicator uses, on the host that has least. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analysis/model/communicators.h"
#include "analysis/model/net_speed.h"
#include "analysis/model/transport.h"

static uint32_t ranks_hosts[] = {0, 0, 1, 1};
static struct transport_comm told = {.id = 7, .nranks = 4, .hosts = ranks_hosts};
static const struct communicator comm = {.id = 7, .nranks = 4};

static struct transport_edge edge(uint32_t host, uint32_t device, char *kind)
{
    return (struct transport_edge){.comm = &told,
                                   .host = host,
                                   .device = device,
                                   .kind = kind,
                                   .from = host ? 3 : 1,
                                   .to = host ? 0 : 2,
                                   .proxy = -1,
                                   .way = TR_nccl_way_send};
}

/* Two devices of 400 Gb/s on one host, of which both or one are used, one of 200 on the other. */
static double between(struct transport_edge *edges, size_t nr, const char *const *speeds)
{
    char first[] = "[0]mlx5_2:1/IB [1]mlx5_10:1/RoCE", second[] = "[0]mlx5_1:1/IB";
    struct transport_host hosts[] = {{.devices = first}, {.devices = second}};
    struct transport transport = {.hosts = hosts, .nr_hosts = 2, .edges = edges};
    for (size_t i = 0; i + 1 < nr; i++)
        edges[i].next = &edges[i + 1];
    for (int i = 0; speeds[i]; i++)
        assert_int_equal(net_speed_learn(&transport.speeds, speeds[i][0] == 'b', speeds[i] + 1), 0);
    double rate = net_speed_between(&transport, &comm);
    net_speeds_free(transport.speeds);
    return rate;
}

static const char *const all[] = {"amlx5_2:1 400000", "amlx5_10:1 400000", "amlx5_1:1 100", "bmlx5_1:1 600000", NULL};

static void devices_of_a_host_add_up_and_the_least_host_counts(void **state)
{
    (void)state;
    struct transport_edge edges[] = {edge(0, 0, "NET/IB"), edge(0, 1, "NET/IB"), edge(0, 1, "NET/IB"),
                                     edge(1, 0, "NET/IB")};
    assert_true(fabs(between(edges, 4, all) - 600e9 / 8) < 1);
    struct transport_edge one[] = {edge(0, 1, "NET/IB"), edge(1, 0, "NET/IB")};
    assert_true(fabs(between(one, 2, all) - 400e9 / 8) < 1);
}

static void what_is_not_told_is_not_guessed(void **state)
{
    (void)state;
    static const char *const part[] = {"amlx5_2:1 400000", NULL}, *const odd[] = {"mlx5_2:1", "a 5", "ax -1", "ay 0",
                                                                                  NULL};
    struct transport_edge edges[] = {edge(0, 0, "NET/IB"), edge(1, 0, "NET/IB")};
    assert_true(isnan(between(edges, 2, part)));
    assert_true(isnan(between(edges, 2, odd)));
    struct transport_edge sockets[] = {edge(0, 0, "NET/Socket"), edge(1, 0, "NET/Socket")};
    assert_true(isnan(between(sockets, 2, all)));
    struct transport_edge inside[] = {edge(0, 0, "P2P")};
    assert_true(isnan(between(inside, 1, all)));
}

static void a_plugin_numbers_its_own_devices(void **state)
{
    (void)state;
    static const char *const speeds[] = {"aNET/Fabric/3 100000", "bNET/Fabric/3 200000", NULL};
    struct transport_edge edges[] = {edge(0, 3, "NET/Fabric"), edge(1, 3, "NET/Fabric")};
    assert_true(fabs(between(edges, 2, speeds) - 100e9 / 8) < 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(devices_of_a_host_add_up_and_the_least_host_counts),
        cmocka_unit_test(what_is_not_told_is_not_guessed),
        cmocka_unit_test(a_plugin_numbers_its_own_devices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
