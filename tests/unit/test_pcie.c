/* What a PCIe link can do, on both of its ends: sysfs as files, and what the analyzer makes of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "analysis/model/copy_rate.h"
#include "shim/core/pcie.h"

static char root[] = "/tmp/trshim-pcie-XXXXXX";

static void put(const char *path, const char *text)
{
    char full[128];
    snprintf(full, sizeof(full), "%s/%s", root, path);
    FILE *out = fopen(full, "w");
    assert_non_null(out);
    fputs(text, out);
    fclose(out);
}

static void make_dir(const char *path)
{
    char full[128];
    snprintf(full, sizeof(full), "%s/%s", root, path);
    assert_int_equal(mkdir(full, 0700), 0);
}

/* Devices are links to where they hang, as sysfs has them. */
static int set_up(void **state)
{
    char link[128];
    assert_non_null(mkdtemp(root));
    make_dir("port");
    make_dir("port/gpu");
    make_dir("devices");
    snprintf(link, sizeof(link), "%s/devices/0000:3b:00.0", root);
    return symlink("../port/gpu", link);
}

static int tear_down(void **state)
{
    static const char *const paths[] = {"port/gpu/max_link_speed",
                                        "port/gpu/max_link_width",
                                        "port/max_link_speed",
                                        "port/max_link_width",
                                        "devices/0000:3b:00.0",
                                        "port/gpu",
                                        "port",
                                        "devices",
                                        ""};
    for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
        char full[128];
        snprintf(full, sizeof(full), "%s/%s", root, paths[i]);
        (void)remove(full);
    }
    return 0;
}

static const char *link_of(const char *address)
{
    static char text[32];
    char devices[64];
    snprintf(devices, sizeof(devices), "%s/devices", root);
    return pcie_link(devices, address, text, sizeof(text)) ? text : "unknown";
}

static void the_lesser_end_decides(void **state)
{
    assert_string_equal(link_of("0000:3B:00.0"), "unknown");
    put("port/gpu/max_link_speed", "32.0 GT/s PCIe\n");
    put("port/gpu/max_link_width", "16\n");
    assert_string_equal(link_of("0000:3B:00.0"), "32.0 GT/s x16"); /* nothing is known of the port */
    put("port/max_link_speed", "16.0 GT/s PCIe\n");
    put("port/max_link_width", "8\n");
    assert_string_equal(link_of("0000:3B:00.0"), "16.0 GT/s x8");
    put("port/max_link_speed", "Unknown\n");
    put("port/max_link_width", "255\n");
    assert_string_equal(link_of("0000:3b:00.0"), "32.0 GT/s x16");
    put("port/gpu/max_link_speed", "Unknown\n");
    assert_string_equal(link_of("0000:3B:00.0"), "unknown");
    assert_string_equal(link_of("0000:ff:00.0"), "unknown");
    assert_string_equal(link_of("../devices"), "unknown");
    assert_string_equal(link_of(""), "unknown");
}

static void expect_rate(const char *text, double rate)
{
    double got = pcie_rate(text);
    if (got < rate * .995 || got > rate * 1.005)
        fail_msg("%s: %g, not %g", text ? text : "-", got, rate);
}

static void a_link_carries_its_coded_rate(void **state)
{
    expect_rate("2.5 GT/s x16", 4e9);
    expect_rate("5.0 GT/s x8", 4e9);
    expect_rate("8.0 GT/s x16", 15.75e9);
    expect_rate("16.0 GT/s x16", 31.5e9);
    expect_rate("32.0 GT/s x16", 63e9);
    expect_rate("64.0 GT/s x16", 121e9);
    expect_rate("16.0 GT/s", 0);
    expect_rate("-1 GT/s x16", 0);
    expect_rate("1e300 GT/s x16", 0);
    expect_rate("", 0);
    expect_rate(NULL, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_lesser_end_decides),
        cmocka_unit_test(a_link_carries_its_coded_rate),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
