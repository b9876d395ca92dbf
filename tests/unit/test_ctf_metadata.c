/* test_ctf_metadata.c - what is saved of metadata that were cut or damaged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/input/ctf_metadata.h"

#define HEAD "/* CTF 1.8 */\n"

static void expect(const void *bytes, size_t size, const char *text, bool cut)
{
    char *got;
    bool got_cut;

    assert_int_equal(ctf_metadata_salvage(bytes, size, &got, &got_cut), 0);
    assert_string_equal(got, text);
    assert_int_equal(got_cut, cut);
    free(got);
}

static void plain_text(void **state)
{
    static const struct {
        const char *text, *want;
        bool cut;
    } cases[] = {
        {"trace { a = 1; };\n", HEAD "trace { a = 1; };", false},
        {"trace { a = 1; };\nevent { b = 2;", HEAD "trace { a = 1; };", true},
        {"typealias x := y;\nevent {", HEAD "typealias x := y;", true},
        {"env { a = \"};\"; };", HEAD "env { a = \"};\"; };", false},
        {"env { a = \"\\\"};\"; }; x", HEAD "env { a = \"\\\"};\"; };", true},
        {"a { /* }; */ }; /* ; ", HEAD "a { /* }; */ };", true},
        {"/* CTF 1.8 */ a {};", HEAD "/* CTF 1.8 */ a {};", false},
    };
    char *got;
    bool cut;

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        expect(cases[i].text, strlen(cases[i].text), cases[i].want, cases[i].cut);
    assert_int_equal(ctf_metadata_salvage("trace {", 7, &got, &cut), -ENODATA);
    assert_int_equal(ctf_metadata_salvage("", 0, &got, &cut), -ENODATA);
}

enum { PACKET = 64, PACKET_HEAD = 37, TEXT = PACKET - PACKET_HEAD };

/* A packet of 64 bytes with up to 27 characters of text. */
static void packet(uint8_t *at, const char *text, bool swapped)
{
    uint32_t numbers[] = {0x75d11d57, 8 * (PACKET_HEAD + strlen(text)), 8 * PACKET};

    memset(at, 0, PACKET);
    for (size_t i = 0; swapped && i < 3; i++)
        numbers[i] = __builtin_bswap32(numbers[i]);
    memcpy(at, &numbers[0], 4);
    memcpy(at + 24, &numbers[1], 4);
    memcpy(at + 28, &numbers[2], 4);
    memcpy(at + PACKET_HEAD, text, strlen(text));
}

static void packets(void **state)
{
    uint8_t bytes[3 * PACKET];
    char *got;
    bool cut;

    for (int swapped = 0; swapped < 2; swapped++) {
        packet(bytes, "trace { a = 1;", swapped);
        packet(bytes + PACKET, " b = 2; };\nevent", swapped);
        packet(bytes + 2 * PACKET, " { c = 3; };", swapped);
        expect(bytes, sizeof(bytes), HEAD "trace { a = 1; b = 2; };\nevent { c = 3; };", false);
        expect(bytes, 2 * PACKET, HEAD "trace { a = 1; b = 2; };", true);
        /* The third packet ends within its text. */
        expect(bytes, 2 * PACKET + PACKET_HEAD + 4, HEAD "trace { a = 1; b = 2; };", true);
        expect(bytes, 2 * PACKET + 5, HEAD "trace { a = 1; b = 2; };", true);
        assert_int_equal(ctf_metadata_salvage(bytes, PACKET, &got, &cut), -ENODATA);
        /* A second packet that is none. */
        bytes[PACKET] ^= 1;
        assert_int_equal(ctf_metadata_salvage(bytes, sizeof(bytes), &got, &cut), -ENODATA);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_text),
        cmocka_unit_test(packets),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
