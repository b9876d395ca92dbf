/* text_print.c - events to text; text_form.h tells the form. */
#include "analysis/input/text_form.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/input/utf8.h"
#include "traces/schema.h"

enum { NUMBER_MAX = 21 }; /* characters of the longest number, with its sign */

void text_buf_done(struct text_buf *buf)
{
    free(buf->data);
    *buf = (struct text_buf){0};
}

static int reserve(struct text_buf *buf, size_t more)
{
    if (buf->capacity - buf->len >= more)
        return 0;
    size_t capacity = buf->capacity ? buf->capacity : 4096;
    while (capacity - buf->len < more)
        capacity *= 2;
    char *data = realloc(buf->data, capacity);
    if (!data)
        return -ENOMEM;
    buf->data = data;
    buf->capacity = capacity;
    return 0;
}

/* The put_ functions write where at points and return the place after; room was reserved. */

static char *put_bytes(char *at, const char *bytes, size_t len)
{
    memcpy(at, bytes, len);
    return at + len;
}

static char *put_text(char *at, const char *text)
{
    return put_bytes(at, text, strlen(text));
}

static char *put_u64(char *at, uint64_t value)
{
    char digits[NUMBER_MAX], *end = digits + sizeof(digits), *start = end;

    do
        *--start = '0' + value % 10;
    while (value /= 10);
    return put_bytes(at, start, end - start);
}

static char *put_i64(char *at, int64_t value)
{
    if (value < 0)
        *at++ = '-';
    return put_u64(at, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

/* Would a reader take this as one bare word that means itself? */
static bool is_bare(const char *text)
{
    if (!*text)
        return false;
    for (const unsigned char *c = (const unsigned char *)text; *c; c++)
        if (*c <= ' ' || *c >= 0x7f || *c == '"' || *c == '\\')
            return false;
    return text[0] != '#';
}

static char *put_escaped_byte(char *at, unsigned char byte)
{
    static const char hex[] = "0123456789abcdef";

    *at++ = '\\';
    switch (byte) {
    case '"':
    case '\\':
        *at++ = byte;
        return at;
    case '\n':
        *at++ = 'n';
        return at;
    case '\r':
        *at++ = 'r';
        return at;
    case '\t':
        *at++ = 't';
        return at;
    default:
        *at++ = 'x';
        *at++ = hex[byte >> 4];
        *at++ = hex[byte & 15];
        return at;
    }
}

static char *put_quoted(char *at, const char *text)
{
    *at++ = '"';
    while (*text) {
        size_t len = utf8_printable(text);
        if (len == 0 || *text == '"' || *text == '\\')
            at = put_escaped_byte(at, (unsigned char)*text++);
        else {
            at = put_bytes(at, text, len);
            text += len;
        }
    }
    *at++ = '"';
    return at;
}

static char *put_words(char *at, const struct tr_seq64 *seq)
{
    for (uint32_t i = 0; i < seq->nr; i++) {
        if (i)
            *at++ = ',';
        at = put_u64(at, seq->words[i]);
    }
    return at;
}

static size_t string_room(const char *text)
{
    return 4 * strlen(text) + 2;
}

static char *put_string(char *at, const char *text)
{
    return is_bare(text) ? put_text(at, text) : put_quoted(at, text);
}

static char *put_field_value(char *at, const struct schema_field *field, const void *value)
{
    switch (field->type) {
    case FT_u8:
        return put_u64(at, *(const uint8_t *)value);
    case FT_u16:
        return put_u64(at, *(const uint16_t *)value);
    case FT_u32:
        return put_u64(at, *(const uint32_t *)value);
    case FT_u64:
        return put_u64(at, *(const uint64_t *)value);
    case FT_i32:
        return put_i64(at, *(const int32_t *)value);
    case FT_enum: {
        const char *name = schema_enum_name(field->en, *(const uint8_t *)value);
        return name ? put_text(at, name) : put_u64(at, *(const uint8_t *)value);
    }
    case FT_str: {
        const char *text = *(const char *const *)value;
        return put_string(at, text ? text : "");
    }
    case FT_seq64:
        return put_words(at, value);
    }
    return at;
}

static size_t field_room(const struct schema_field *field, const void *value)
{
    size_t room = strlen(field->name) + 2;

    if (field->type == FT_str) {
        const char *text = *(const char *const *)value;
        return room + string_room(text ? text : "");
    }
    if (field->type == FT_enum) {
        const char *name = schema_enum_name(field->en, *(const uint8_t *)value);
        return room + (name ? strlen(name) : NUMBER_MAX);
    }
    if (field->type == FT_seq64)
        return room + ((const struct tr_seq64 *)value)->nr * (size_t)NUMBER_MAX;
    return room + NUMBER_MAX;
}

int text_print_event(struct text_buf *buf, const char *host, const struct event *event)
{
    const struct schema_event *schema = schema_event(event->kind);
    const char *fields = (const char *)&event->u;
    size_t room = NUMBER_MAX + string_room(host) + strlen(schema->name) + 3;

    for (size_t i = 0; i < schema->nr_fields; i++)
        room += field_room(&schema->fields[i], fields + schema->fields[i].offset);
    if (reserve(buf, room) < 0)
        return -ENOMEM;

    char *at = put_u64(buf->data + buf->len, event->ts_ns);
    *at++ = ' ';
    at = put_string(at, host);
    *at++ = ' ';
    at = put_text(at, schema->name);
    for (size_t i = 0; i < schema->nr_fields; i++) {
        const struct schema_field *field = &schema->fields[i];
        *at++ = ' ';
        at = put_text(at, field->name);
        *at++ = '=';
        at = put_field_value(at, field, fields + field->offset);
    }
    *at++ = '\n';
    buf->len = at - buf->data;
    return 0;
}

int text_print_header(struct text_buf *buf)
{
    if (reserve(buf, sizeof(TEXT_HEADER) + NUMBER_MAX + 1) < 0)
        return -ENOMEM;
    char *at = put_text(buf->data + buf->len, TEXT_HEADER " ");
    at = put_u64(at, TEXT_VERSION);
    *at++ = '\n';
    buf->len = at - buf->data;
    return 0;
}

int text_print_host(struct text_buf *buf, const char *host, const char *name, const char *boot, int64_t epoch_ns)
{
    if (reserve(buf, string_room(host) + string_room(name) + string_room(boot) + NUMBER_MAX + 32) < 0)
        return -ENOMEM;
    char *at = put_string(put_text(buf->data + buf->len, "host "), host);
    if (strcmp(host, name) != 0)
        at = put_string(put_text(at, " name="), name);
    if (*boot)
        at = put_string(put_text(at, " boot="), boot);
    if (epoch_ns)
        at = put_i64(put_text(at, " epoch_ns="), epoch_ns);
    *at++ = '\n';
    buf->len = at - buf->data;
    return 0;
}

int text_print_count(struct text_buf *buf, const char *word, const char *host, uint64_t count)
{
    if (reserve(buf, strlen(word) + string_room(host) + NUMBER_MAX + 3) < 0)
        return -ENOMEM;
    char *at = put_text(buf->data + buf->len, word);
    *at++ = ' ';
    at = put_string(at, host);
    *at++ = ' ';
    at = put_u64(at, count);
    *at++ = '\n';
    buf->len = at - buf->data;
    return 0;
}

int text_print_problem(struct text_buf *buf, const char *problem)
{
    if (reserve(buf, string_room(problem) + 16) < 0)
        return -ENOMEM;
    char *at = put_quoted(put_text(buf->data + buf->len, "problem "), problem);
    *at++ = '\n';
    buf->len = at - buf->data;
    return 0;
}
