/* json.c - see json.h. */
#include "analysis/emit/json.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_gen.h>

#include "analysis/input/utf8.h"

struct json {
    yajl_gen gen; /* owned */
    FILE *out;
    bool line_due; /* the next value starts a line */
    int error;     /* first -errno */
};

/* yajl hands over a comma by itself before the value it precedes: the line begins after it. */
static void print(void *arg, const char *text, size_t length)
{
    struct json *json = arg;
    bool comma = length == 1 && *text == ',';

    if (json->line_due && !comma) {
        json->line_due = false;
        putc('\n', json->out);
    }
    if (fwrite(text, 1, length, json->out) != length && !json->error)
        json->error = errno ? -errno : -EIO;
}

static void check(struct json *json, yajl_gen_status status)
{
    if (status != yajl_gen_status_ok && status != yajl_gen_generation_complete && !json->error)
        json->error = -ENOMEM;
}

int json_begin(FILE *out, struct json **ret)
{
    struct json *json = calloc(1, sizeof *json);
    if (!json)
        return -ENOMEM;
    json->out = out;
    json->gen = yajl_gen_alloc(NULL);
    if (!json->gen || !yajl_gen_config(json->gen, yajl_gen_print_callback, print, json)) {
        if (json->gen)
            yajl_gen_free(json->gen);
        free(json);
        return -ENOMEM;
    }
    *ret = json;
    return 0;
}

int json_end(struct json *json)
{
    if ((putc('\n', json->out) == EOF || fflush(json->out)) && !json->error)
        json->error = errno ? -errno : -EIO;
    int error = json->error;
    yajl_gen_free(json->gen);
    free(json);
    return error;
}

/* ---- values */

static void string(struct json *json, const char *text)
{
    check(json, yajl_gen_string(json->gen, (const unsigned char *)text, strlen(text)));
}

static void key(struct json *json, const char *name)
{
    if (name)
        string(json, name);
}

/* Control characters are fine in JSON (yajl escapes them), bytes that are no UTF-8 are not. */
static size_t acceptable(const char *text)
{
    unsigned char c = (unsigned char)*text;
    if (c < 0x80)
        return c != 0;
    size_t length = utf8_printable(text);
    if (length)
        return length;
    bool c1_control = c == 0xc2 && (unsigned char)text[1] >= 0x80 && (unsigned char)text[1] < 0xa0;
    return c1_control ? 2 : 0;
}

static bool is_acceptable(const char *text)
{
    while (*text) {
        size_t length = acceptable(text);
        if (!length)
            return false;
        text += length;
    }
    return true;
}

/* Malloced copy with U+FFFD for each byte that is no part of a character. */
static char *repaired(const char *text)
{
    char *copy = malloc(strlen(text) * 3 + 1), *to = copy;

    while (copy && *text) {
        size_t length = acceptable(text);
        if (length) {
            memcpy(to, text, length);
            to += length;
            text += length;
        } else {
            memcpy(to, "\xef\xbf\xbd", 3);
            to += 3;
            text++;
        }
    }
    if (copy)
        *to = '\0';
    return copy;
}

void json_open(struct json *json, const char *name, char bracket)
{
    key(json, name);
    check(json, bracket == '{' ? yajl_gen_map_open(json->gen) : yajl_gen_array_open(json->gen));
}

void json_close(struct json *json, char bracket)
{
    check(json, bracket == '}' ? yajl_gen_map_close(json->gen) : yajl_gen_array_close(json->gen));
}

void json_row(struct json *json)
{
    json->line_due = true;
}

void json_int(struct json *json, const char *name, int64_t value)
{
    key(json, name);
    check(json, yajl_gen_integer(json->gen, value));
}

void json_uint(struct json *json, const char *name, uint64_t value)
{
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%" PRIu64, value);

    key(json, name);
    check(json, yajl_gen_number(json->gen, digits, (size_t)length));
}

void json_real(struct json *json, const char *name, double value)
{
    char digits[40];

    if (!isfinite(value)) {
        json_null(json, name);
        return;
    }
    int length = snprintf(digits, sizeof digits, "%.10g", value);
    key(json, name);
    check(json, yajl_gen_number(json->gen, digits, (size_t)length));
}

void json_bool(struct json *json, const char *name, bool value)
{
    key(json, name);
    check(json, yajl_gen_bool(json->gen, value));
}

void json_text(struct json *json, const char *name, const char *value)
{
    if (!value) {
        json_null(json, name);
        return;
    }
    key(json, name);
    if (is_acceptable(value)) {
        string(json, value);
        return;
    }
    char *copy = repaired(value);
    string(json, copy ? copy : "");
    if (!copy && !json->error)
        json->error = -ENOMEM;
    free(copy);
}

void json_null(struct json *json, const char *name)
{
    key(json, name);
    check(json, yajl_gen_null(json->gen));
}
