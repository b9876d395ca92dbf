/* test_text_form.c - events as text: every kind survives printing and parsing; what authors may leave out; errors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/input/text_form.h"
#include "analysis/input/utf8.h"
#include "traces/schema.h"

/* ---- random events -------------------------------------------------------------------------- */

static uint64_t seed = 1;

static uint64_t next_random(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

/* Small, large and extreme numbers are equally likely. */
static uint64_t random_number(void)
{
    return next_random() >> next_random() % 64;
}

/* Any bytes but NUL; often plain words, sometimes what needs quotes. */
static const char *random_string(char *room, size_t size)
{
    static const char *const parts[] = {"/data/", "a",    "train set", "\"",           "\\",   "\n",
                                        "\t",     "#",    "=",         "\xc3\xa9",     "\xff", "\xe4\xb8\xad",
                                        "\x01",   "\x7f", "\xc2\x9b",  "\xed\xa0\x80", "\\x41"};
    size_t len = 0, nr = next_random() % 6;

    for (size_t i = 0; i < nr; i++) {
        const char *part = parts[next_random() % (sizeof(parts) / sizeof(*parts))];
        char byte[2] = {(char)(1 + next_random() % 255), '\0'};
        if (next_random() % 4 == 0)
            part = byte;
        len += snprintf(room + len, size - len, "%s", part);
    }
    room[len] = '\0';
    return room;
}

static const uint64_t some_words[20] = {0, 1, UINT64_MAX, 1ull << 63, 12345678901234567, 10};

static void fill_randomly(struct event *event, enum event_kind kind, char strings[][64])
{
    const struct schema_event *schema = schema_event(kind);

    memset(event, 0, sizeof(*event));
    event->kind = kind;
    event->ts_ns = random_number();
    for (size_t i = 0, nr = 0; i < schema->nr_fields; i++) {
        const struct schema_field *field = &schema->fields[i];
        char *to = (char *)&event->u + field->offset;
        uint64_t number = random_number();
        if (field->type == FT_str)
            *(const char **)to = random_string(strings[nr++], sizeof(strings[0]));
        else if (field->type == FT_seq64)
            *(struct tr_seq64 *)to = (struct tr_seq64){some_words, number % 20};
        else if (field->type == FT_u8 || field->type == FT_enum)
            *(uint8_t *)to = number;
        else if (field->type == FT_u16)
            *(uint16_t *)to = number;
        else if (field->type == FT_u64)
            *(uint64_t *)to = number;
        else if (field->type == FT_i32)
            *(int32_t *)to = (int32_t)number;
        else
            *(uint32_t *)to = number;
    }
}

static void assert_same_event(const struct event *a, const struct event *b)
{
    const struct schema_event *schema = schema_event(a->kind);

    assert_int_equal(a->kind, b->kind);
    assert_int_equal(a->ts_ns, b->ts_ns);
    for (size_t i = 0; i < schema->nr_fields; i++) {
        static const size_t sizes[] = {
            [FT_u8] = 1, [FT_u16] = 2, [FT_u32] = 4, [FT_u64] = 8, [FT_i32] = 4, [FT_enum] = 1};
        const struct schema_field *field = &schema->fields[i];
        const char *x = (const char *)&a->u + field->offset, *y = (const char *)&b->u + field->offset;
        if (field->type == FT_str)
            assert_string_equal(*(const char *const *)x, *(const char *const *)y);
        else if (field->type == FT_seq64) {
            const struct tr_seq64 *p = (const void *)x, *q = (const void *)y;
            assert_int_equal(p->nr, q->nr);
            assert_memory_equal(p->words, q->words, p->nr * sizeof(uint64_t));
        } else
            assert_memory_equal(x, y, sizes[field->type]);
    }
}

/* Prints into a line that can be parsed. */
static char *print(const struct event *event, const char *host)
{
    struct text_buf buf = {0};

    assert_int_equal(text_print_event(&buf, host, event), 0);
    assert_int_equal(buf.data[buf.len - 1], '\n');
    assert_null(memchr(buf.data, '\n', buf.len - 1));
    char *line = strndup(buf.data, buf.len - 1);
    text_buf_done(&buf);
    return line;
}

static void random_events_survive(void **state)
{
    for (enum event_kind kind = 0; kind < EV_MAX; kind++)
        for (int i = 0; i < 300; i++) {
            char strings[16][64], host[64];
            struct text_error error;
            struct text_line parsed;
            struct event event;

            fill_randomly(&event, kind, strings);
            do
                (void)random_string(host, sizeof(host));
            while (!*host);
            char *line = print(&event, host);
            assert_int_equal(text_parse(line, &parsed, &error), 0);
            assert_int_equal(parsed.what, TEXT_EVENT);
            assert_string_equal(parsed.host, host);
            assert_same_event(&event, &parsed.event);
            free(line);
        }
}

/* Whatever is printed is text that a terminal and an editor can show. */
static void printed_lines_are_printable(void **state)
{
    for (int i = 0; i < 2000; i++) {
        char strings[16][64];
        struct event event;

        fill_randomly(&event, EV_proc, strings);
        char *line = print(&event, "node-a");
        for (const char *c = line; *c;) {
            size_t len = utf8_printable(c);
            assert_true(len > 0);
            c += len;
        }
        free(line);
    }
}

/* ---- what authors write --------------------------------------------------------------------- */

static struct text_line parse(char *room, const char *text)
{
    struct text_error error = {0};
    struct text_line parsed;

    strcpy(room, text);
    if (text_parse(room, &parsed, &error) != 0)
        fail_msg("%s: column %zu: %s", text, error.column, error.message);
    return parsed;
}

static void left_out_fields(void **state)
{
    char room[256];

    struct event event = parse(room, "10ms a file_io pid=7 dur=2ms").event;
    assert_int_equal(event.ts_ns, 10000000);
    assert_int_equal(event.u.file_io.tid, 7);
    assert_int_equal(event.u.file_io.start_ns, 8000000);
    assert_int_equal(event.u.file_io.dur_ns, 2000000);
    assert_int_equal(event.u.file_io.count, 0);

    event = parse(room, "3ms a open_op pid=1 age=1ms").event;
    assert_int_equal(event.u.open_op.start_ns, 2000000);
    event = parse(room, "3ms a exit pid=1 status=-1").event;
    assert_int_equal(event.u.exit.start_ns, 3000000);
    assert_int_equal(event.u.exit.status, -1);
    event = parse(room, "3ms a exit pid=1 status=-2147483648").event;
    assert_int_equal(event.u.exit.status, INT32_MIN);
    event = parse(room, "3ms a cpu pid=1 tid=2").event;
    assert_int_equal(event.u.cpu.at_ns, 3000000);
    event = parse(room, "1ms a file_io pid=7 dur=2ms").event; /* longer than the clock has run */
    assert_int_equal(event.u.file_io.start_ns, 0);
    event = parse(room, "1ms a file_io pid=7 dur=2ms start=0").event;
    assert_int_equal(event.u.file_io.start_ns, 0);
    event = parse(room, "0 a proc pid=1").event;
    assert_string_equal(event.u.proc.host, "");
    assert_string_equal(event.u.proc.cmd, "");
}

static void numbers(void **state)
{
    static const struct {
        const char *text;
        uint64_t value;
    } cases[] = {
        {"0", 0},
        {"17", 17},
        {"1us", 1000},
        {"1.5ms", 1500000},
        {"2s", 2000000000},
        {"0.1us", 100},
        {"1.0004us", 1000},
        {"1.0006us", 1001},
        {"1min", 60000000000},
        {"64KiB", 65536},
        {"1.5MiB", 1572864},
        {"2GiB", 2147483648},
        {"3k", 3000},
        {"2M", 2000000},
        {"0x1f", 31},
        {"18446744073709551615", UINT64_MAX},
        {"0xffffffffffffffff", UINT64_MAX},
    };
    char room[256], text[128];

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        (void)snprintf(text, sizeof(text), "0 a wait pid=1 obj=%s", cases[i].text);
        assert_int_equal(parse(room, text).event.u.wait.obj, cases[i].value);
    }
}

static void words(void **state)
{
    char room[256];

    struct event event =
        parse(room, "  5 \t\"node a\"  name text=\"a \\\"b\\\" \\x41\\n\" kind=dir pid=1 id=2 # why").event;
    assert_string_equal(event.u.name.text, "a \"b\" A\n");
    assert_int_equal(event.u.name.kind, TR_name_kind_dir);
    event = parse(room, "5 a name pid=1 kind=200 text=x#y=z").event;
    assert_int_equal(event.u.name.kind, 200);
    assert_string_equal(event.u.name.text, "x#y=z");
    assert_int_equal(parse(room, "").what, TEXT_NOTHING);
    assert_int_equal(parse(room, "  # 1 a name").what, TEXT_NOTHING);
    assert_int_equal(parse(room, "#! trshim-events 1").what, TEXT_NOTHING);
}

static void other_lines(void **state)
{
    char room[256];
    struct text_line line = parse(room, "host node-a boot=6f2d epoch_ns=17s");

    assert_int_equal(line.what, TEXT_HOST);
    assert_string_equal(line.host, "node-a");
    assert_string_equal(line.name, "node-a");
    assert_string_equal(line.boot, "6f2d");
    assert_int_equal(line.epoch_ns, 17000000000);
    line = parse(room, "host x name=\"node a\" epoch_ns=-5");
    assert_string_equal(line.name, "node a");
    assert_int_equal(line.epoch_ns, -5);
    line = parse(room, "lost node-a 12");
    assert_int_equal(line.what, TEXT_LOST);
    assert_int_equal(line.count, 12);
    line = parse(room, "unknown node-a 3");
    assert_int_equal(line.what, TEXT_UNKNOWN);
    line = parse(room, "problem \"disk full\"");
    assert_int_equal(line.what, TEXT_PROBLEM);
    assert_string_equal(line.problem, "disk full");
}

/* ---- errors --------------------------------------------------------------------------------- */

static void errors_say_where(void **state)
{
    static const struct {
        const char *text;
        size_t column;
        int rc;
    } cases[] = {
        {"5", 2, -EINVAL},
        {"5x a name pid=1", 1, -EINVAL},
        {"5 a", 4, -EINVAL},
        {"5 a nmae pid=1", 5, -ENOENT},
        {"5 a name pid=1 txet=b", 16, -EINVAL},
        {"5 a name pid=1 pid=2", 16, -EINVAL},
        {"5 a name pid", 10, -EINVAL},
        {"5 a name pid=x", 14, -EINVAL},
        {"5 a name pid=-1", 14, -EINVAL},
        {"5 a name pid=4294967296", 14, -EINVAL},
        {"5 a name pid=1.5", 14, -EINVAL},
        {"5 a name pid=1.5q", 14, -EINVAL},
        {"5 a name kind=dri", 15, -EINVAL},
        {"5 a name kind=256", 15, -EINVAL},
        {"5 a name text=\"b", 15, -EINVAL},
        {"5 a name text=\"b\"c", 18, -EINVAL},
        {"5 a name text=\"\\q\"", 16, -EINVAL},
        {"5 a name text=\"\\x00\"", 16, -EINVAL},
        {"5 a name text=\"\\x4", 16, -EINVAL},
        {"5 a exit status=2147483648", 17, -EINVAL},
        {"99999999999999999999 a exit", 1, -EINVAL},
        {"hots a", 1, -EINVAL},
        {"host", 5, -EINVAL},
        {"host a bot=1", 8, -EINVAL},
        {"lost a", 7, -EINVAL},
        {"lost a x", 8, -EINVAL},
        {"lost a 1 2", 10, -EINVAL},
        {"problem disk full", 14, -EINVAL},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct text_error error = {0};
        struct text_line parsed;
        char *line = strdup(cases[i].text);
        int rc = text_parse(line, &parsed, &error);
        if (rc != cases[i].rc || error.column != cases[i].column || !error.message[0])
            fail_msg("%s: got %d at column %zu (%s)", cases[i].text, rc, error.column, error.message);
        free(line);
    }
}

/* Any bytes are parsed or refused. For the sanitizers. */
static void garbage_is_refused_safely(void **state)
{
    char strings[16][64];

    for (int i = 0; i < 20000; i++) {
        struct text_error error;
        struct text_line parsed;
        struct event event;
        const char *host;
        uint64_t ts;
        size_t len;

        fill_randomly(&event, next_random() % EV_MAX, strings);
        char *line = print(&event, "a");
        for (uint64_t n = next_random() % 4; n > 0; n--)
            line[next_random() % strlen(line)] = (char)(1 + next_random() % 255);
        (void)text_parse_time(line, strlen(line), &ts, &host, &len);
        (void)text_parse(line, &parsed, &error);
        free(line);
    }
}

static void time_alone(void **state)
{
    static const char line[] = " 1.5us \"node a\" name pid=1";
    const char *host;
    uint64_t ts;
    size_t len;

    assert_int_equal(text_parse_time(line, strlen(line), &ts, &host, &len), 1);
    assert_int_equal(ts, 1500);
    assert_int_equal(len, strlen("\"node a\""));
    assert_memory_equal(host, "\"node a\"", len);
    assert_int_equal(text_parse_time("host a", 6, &ts, &host, &len), 0);
    assert_int_equal(text_parse_time("5", 1, &ts, &host, &len), 0);
    assert_int_equal(text_parse_time("", 0, &ts, &host, &len), 0);
}

static void utf8(void **state)
{
    assert_int_equal(utf8_printable("a"), 1);
    assert_int_equal(utf8_printable("\xc3\xa9"), 2);
    assert_int_equal(utf8_printable("\xe4\xb8\xad"), 3);
    assert_int_equal(utf8_printable("\xf0\x9f\x98\x80"), 4);
    assert_int_equal(utf8_printable(""), 0);
    assert_int_equal(utf8_printable("\x1b"), 0);
    assert_int_equal(utf8_printable("\x7f"), 0);
    assert_int_equal(utf8_printable("\xc2\x9b"), 0);         /* C1: a terminal would act on it */
    assert_int_equal(utf8_printable("\xc0\xaf"), 0);         /* overlong */
    assert_int_equal(utf8_printable("\xed\xa0\x80"), 0);     /* surrogate */
    assert_int_equal(utf8_printable("\xf4\x90\x80\x80"), 0); /* above U+10FFFF */
    assert_int_equal(utf8_printable("\xe4\xb8"), 0);         /* cut */
    assert_int_equal(utf8_printable("\x80"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_events_survive),
        cmocka_unit_test(printed_lines_are_printable),
        cmocka_unit_test(left_out_fields),
        cmocka_unit_test(numbers),
        cmocka_unit_test(words),
        cmocka_unit_test(other_lines),
        cmocka_unit_test(errors_say_where),
        cmocka_unit_test(garbage_is_refused_safely),
        cmocka_unit_test(time_alone),
        cmocka_unit_test(utf8),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
