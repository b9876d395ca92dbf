/* text_parse.c - text to events; text_form.h tells the form. */
#include "analysis/input/text_form.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "traces/schema.h"

/* Where parsing is in a line. Tokens are cut off in place by a NUL over the blank that follows them. */
struct cursor {
    char *line, *at;
    struct text_error *error;
};

static int fail(struct cursor *c, const char *where, const char *format, ...) __attribute__((format(printf, 3, 4)));
static int fail(struct cursor *c, const char *where, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)vsnprintf(c->error->message, sizeof(c->error->message), format, args);
    va_end(args);
    c->error->column = where - c->line + 1;
    return -EINVAL;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static bool at_end(struct cursor *c)
{
    while (is_blank(*c->at))
        c->at++;
    return *c->at == '\0' || *c->at == '#';
}

/* ---- numbers -------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    uint64_t factor;
} units[] = {
    {"ns", 1},          {"us", 1000},        {"ms", 1000000},     {"s", 1000000000},   {"min", 60000000000},
    {"B", 1},           {"KiB", 1ull << 10}, {"MiB", 1ull << 20}, {"GiB", 1ull << 30}, {"TiB", 1ull << 40},
    {"k", 1000},        {"kB", 1000},        {"M", 1000000},      {"MB", 1000000},     {"G", 1000000000},
    {"GB", 1000000000},
};

static uint64_t find_unit(const char *text, size_t len)
{
    for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
        if (strlen(units[i].name) == len && memcmp(units[i].name, text, len) == 0)
            return units[i].factor;
    return 0;
}

static const char *parse_hex(const char *text, const char *end, uint64_t *ret)
{
    uint64_t value = 0;

    if (text == end)
        return "is not a number";
    for (; text < end; text++) {
        unsigned digit = *text >= '0' && *text <= '9'   ? *text - '0'
                         : *text >= 'a' && *text <= 'f' ? *text - 'a' + 10
                         : *text >= 'A' && *text <= 'F' ? *text - 'A' + 10
                                                        : 16;
        if (digit == 16)
            return "is not a number";
        if (value >> 60)
            return "is too large";
        value = value << 4 | digit;
    }
    *ret = value;
    return NULL;
}

/* Parses [text, end), no sign. Returns NULL, or what is wrong with it, to be said after "is ...". Rounds to whole. */
static const char *parse_number(const char *text, const char *end, uint64_t *ret)
{
    unsigned __int128 value = 0;
    const char *start = text;
    uint64_t divisor = 1;

    if (end - text > 2 && text[0] == '0' && text[1] == 'x')
        return parse_hex(text + 2, end, ret);
    for (; text < end && *text >= '0' && *text <= '9'; text++) {
        value = value * 10 + (*text - '0');
        if (value > UINT64_MAX)
            return "is too large";
    }
    if (text == start)
        return "is not a number";
    if (text == end) {
        *ret = value;
        return NULL;
    }

    bool fraction = *text == '.';
    if (fraction) {
        for (text++; text < end && *text >= '0' && *text <= '9'; text++) {
            if (divisor == 1000000000000)
                return "has too many decimals";
            value = value * 10 + (*text - '0');
            divisor *= 10;
        }
    }
    if (text == end)
        return "has decimals but no unit";
    uint64_t factor = find_unit(text, end - text);
    if (factor == 0)
        return "has no unit known here (ns us ms s min B KiB MiB GiB TiB k M G)";
    value = (value * factor + divisor / 2) / divisor;
    if (value > UINT64_MAX)
        return "is too large";
    *ret = value;
    return NULL;
}

/* ---- words ---------------------------------------------------------------------------------- */

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* One escape after its backslash at c->at: returns the byte and moves on, or -1. NUL is none: it would end the string.
 */
static int unescape(struct cursor *c)
{
    switch (*c->at) {
    case 'n':
        c->at++;
        return '\n';
    case 'r':
        c->at++;
        return '\r';
    case 't':
        c->at++;
        return '\t';
    case '"':
    case '\\':
        return (unsigned char)*c->at++;
    case 'x': {
        int high = hex_digit(c->at[1]);
        int low = high < 0 ? -1 : hex_digit(c->at[2]);
        if (low < 0 || high + low == 0)
            return -1;
        c->at += 3;
        return high << 4 | low;
    }
    default:
        return -1;
    }
}

/* A quoted string: unescaped in place, where it only shrinks. */
static int parse_quoted(struct cursor *c, char **ret)
{
    char *open = c->at++, *out = c->at;

    *ret = out;
    while (*c->at != '"') {
        if (*c->at == '\0')
            return fail(c, open, "This quote is not closed");
        if (*c->at != '\\') {
            *out++ = *c->at++;
            continue;
        }
        c->at++;
        int byte = unescape(c);
        if (byte < 0)
            return fail(c, c->at - 1, "Unknown escape; known are \\\" \\\\ \\n \\r \\t and \\xNN but \\x00");
        *out++ = (char)byte;
    }
    c->at++;
    if (*c->at != '\0' && !is_blank(*c->at))
        return fail(c, c->at, "A blank must follow the closing quote");
    *out = '\0';
    return 0;
}

/* A word, bare or quoted; the cursor is on its first character. */
static int parse_word(struct cursor *c, char **ret)
{
    if (*c->at == '"')
        return parse_quoted(c, ret);
    *ret = c->at;
    while (*c->at != '\0' && !is_blank(*c->at))
        c->at++;
    if (*c->at != '\0')
        *c->at++ = '\0';
    return 0;
}

static int expect_word(struct cursor *c, const char *what, char **ret)
{
    if (at_end(c))
        return fail(c, c->at, "%s is missing", what);
    return parse_word(c, ret);
}

static int expect_count(struct cursor *c, uint64_t *ret)
{
    char *word;
    int rc = expect_word(c, "The count", &word);

    if (rc < 0)
        return rc;
    const char *wrong = parse_number(word, word + strlen(word), ret);
    if (wrong)
        return fail(c, word, "The count '%s' %s", word, wrong);
    return 0;
}

/* `key=`: cuts the key off and leaves the cursor on the value. */
static int parse_key(struct cursor *c, char **ret)
{
    char *key = c->at;

    while ((*c->at >= 'a' && *c->at <= 'z') || (*c->at >= '0' && *c->at <= '9') || *c->at == '_')
        c->at++;
    if (c->at == key || *c->at != '=')
        return fail(c, key, "Expected field=value");
    *c->at++ = '\0';
    *ret = key;
    return 0;
}

/* ---- fields --------------------------------------------------------------------------------- */

/* Is `given` the field's name, or that without its unit? */
static bool field_is_called(const struct schema_field *field, const char *given, size_t len)
{
    if (strncmp(field->name, given, len) != 0)
        return false;
    const char *rest = field->name + len;
    return *rest == '\0' || strcmp(rest, "_ns") == 0 || strcmp(rest, "_bytes") == 0;
}

/* The field's index, or -1. Begins at `hint`, since fields mostly come in order; whole names first: an event may
 * have both `size` and `size_bytes`. */
static int find_field(const struct schema_event *schema, const char *name, size_t hint)
{
    size_t len = strlen(name);

    for (size_t i = 0, at = hint; i < schema->nr_fields; i++, at++) {
        at = at < schema->nr_fields ? at : 0;
        if (strcmp(schema->fields[at].name, name) == 0)
            return at;
    }
    for (size_t i = 0; i < schema->nr_fields; i++)
        if (field_is_called(&schema->fields[i], name, len))
            return i;
    return -1;
}

static int store_integer(struct cursor *c, const struct schema_field *field, const char *word, void *to)
{
    static const uint64_t largest[] = {
        [FT_u8] = UINT8_MAX, [FT_u16] = UINT16_MAX, [FT_u32] = UINT32_MAX, [FT_u64] = UINT64_MAX, [FT_i32] = INT32_MAX};
    bool negative = field->type == FT_i32 && *word == '-';
    uint64_t value;

    const char *wrong = parse_number(word + negative, word + strlen(word), &value);
    if (!wrong && value > largest[field->type] + negative)
        wrong = "does not fit the field";
    if (wrong)
        return fail(c, word, "'%s' %s", word, wrong);
    switch (field->type) {
    case FT_u8:
        *(uint8_t *)to = value;
        break;
    case FT_u16:
        *(uint16_t *)to = value;
        break;
    case FT_u32:
        *(uint32_t *)to = value;
        break;
    case FT_i32:
        *(int32_t *)to = negative ? (int32_t)-value : (int32_t)value;
        break;
    default:
        *(uint64_t *)to = value;
    }
    return 0;
}

static int store_enum(struct cursor *c, const struct schema_field *field, const char *word, void *to)
{
    int number = schema_enum_number(field->en, word);
    uint64_t value;

    if (number < 0) {
        if (parse_number(word, word + strlen(word), &value) || value > UINT8_MAX)
            return fail(c, word, "'%s' is no %s", word, field->en->name);
        number = value;
    }
    *(uint8_t *)to = number;
    return 0;
}

/* Numbers with commas between, put behind those of the line's other sequences. */
static int store_words(struct cursor *c, char *word, struct text_line *line, struct tr_seq64 *to)
{
    *to = (struct tr_seq64){.words = line->words + line->nr_words};
    for (char *end; *word; word = *end ? end + 1 : end) {
        end = strchrnul(word, ',');
        if (line->nr_words == TEXT_WORDS_MAX)
            return fail(c, word, "More than %d numbers", TEXT_WORDS_MAX);
        const char *wrong = parse_number(word, end, &line->words[line->nr_words]);
        if (wrong)
            return fail(c, word, "'%.*s' %s", (int)(end - word), word, wrong);
        line->nr_words++;
        to->nr++;
    }
    return 0;
}

static int parse_field(struct cursor *c, const struct schema_event *schema, struct text_line *line, uint64_t *given,
                       size_t *hint)
{
    char *key, *word, *fields = (char *)&line->event.u;
    int rc = parse_key(c, &key);

    if (rc < 0)
        return rc;
    int index = find_field(schema, key, *hint);
    if (index < 0)
        return fail(c, key, "The event %s has no field '%s'", schema->name, key);
    if (*given & 1ull << index)
        return fail(c, key, "The field '%s' is given twice", key);
    *given |= 1ull << index;
    *hint = index + 1;

    const struct schema_field *field = &schema->fields[index];
    if ((rc = parse_word(c, &word)) < 0)
        return rc;
    if (field->type == FT_str) {
        *(const char **)(fields + field->offset) = word;
        return 0;
    }
    if (field->type == FT_seq64)
        return store_words(c, word, line, (struct tr_seq64 *)(fields + field->offset));
    return field->type == FT_enum ? store_enum(c, field, word, fields + field->offset)
                                  : store_integer(c, field, word, fields + field->offset);
}

/* ---- what is left out ----------------------------------------------------------------------- */

static const uint64_t *u64_field(const struct schema_event *schema, const struct event *event, const char *name)
{
    for (size_t i = 0; i < schema->nr_fields; i++)
        if (strcmp(schema->fields[i].name, name) == 0)
            return (const uint64_t *)((const char *)&event->u + schema->fields[i].offset);
    return NULL;
}

static uint64_t default_start(const struct schema_event *schema, const struct event *event)
{
    const uint64_t *length = u64_field(schema, event, "dur_ns");

    if (!length)
        length = u64_field(schema, event, "age_ns");
    return length ? event->ts_ns - (*length < event->ts_ns ? *length : event->ts_ns) : event->ts_ns;
}

static void fill_left_out(const struct schema_event *schema, struct event *event, uint64_t given)
{
    for (size_t i = 0; i < schema->nr_fields; i++) {
        const struct schema_field *field = &schema->fields[i];
        void *to = (char *)&event->u + field->offset;

        if (given & 1ull << i)
            continue;
        if (field->type == FT_str)
            *(const char **)to = "";
        else if (strcmp(field->name, "tid") == 0)
            *(uint32_t *)to = event->u.who.pid;
        else if (strcmp(field->name, "start_ns") == 0)
            *(uint64_t *)to = default_start(schema, event);
        else if (strcmp(field->name, "at_ns") == 0)
            *(uint64_t *)to = event->ts_ns;
    }
}

/* ---- lines ---------------------------------------------------------------------------------- */

static int parse_event(struct cursor *c, struct text_line *ret)
{
    struct event *event = &ret->event;
    char *time, *host, *kind;
    uint64_t given = 0;
    size_t hint = 0;
    int rc;

    ret->what = TEXT_EVENT;
    ret->nr_words = 0;
    if ((rc = expect_word(c, "The time", &time)) < 0)
        return rc;
    const char *wrong = parse_number(time, time + strlen(time), &event->ts_ns);
    if (wrong)
        return fail(c, time, "The time '%s' %s", time, wrong);
    if ((rc = expect_word(c, "The host", &host)) < 0 || (rc = expect_word(c, "The event", &kind)) < 0)
        return rc;
    ret->host = host;
    event->kind = schema_find(kind);
    if (event->kind == EV_MAX) {
        (void)fail(c, kind, "There is no event '%s'", kind);
        return -ENOENT;
    }

    const struct schema_event *schema = schema_event(event->kind);
    memset(&event->u, 0, schema->size);
    while (!at_end(c))
        if ((rc = parse_field(c, schema, ret, &given, &hint)) < 0)
            return rc;
    fill_left_out(schema, event, given);
    return 0;
}

static int parse_epoch(struct cursor *c, const char *word, int64_t *ret)
{
    bool negative = *word == '-';
    uint64_t value;

    const char *wrong = parse_number(word + negative, word + strlen(word), &value);
    if (!wrong && value > INT64_MAX)
        wrong = "is too large";
    if (wrong)
        return fail(c, word, "The epoch '%s' %s", word, wrong);
    *ret = negative ? -(int64_t)value : (int64_t)value;
    return 0;
}

static int parse_host(struct cursor *c, struct text_line *ret)
{
    char *host, *key, *word;
    int rc = expect_word(c, "The host", &host);

    if (rc < 0)
        return rc;
    ret->what = TEXT_HOST;
    ret->host = ret->name = host;
    ret->boot = "";
    ret->epoch_ns = 0;
    while (!at_end(c)) {
        if ((rc = parse_key(c, &key)) < 0 || (rc = parse_word(c, &word)) < 0)
            return rc;
        if (strcmp(key, "name") == 0)
            ret->name = word;
        else if (strcmp(key, "boot") == 0)
            ret->boot = word;
        else if (strcmp(key, "epoch_ns") == 0 || strcmp(key, "epoch") == 0)
            rc = parse_epoch(c, word, &ret->epoch_ns);
        else
            return fail(c, key, "A host has no '%s'", key);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int parse_count(struct cursor *c, enum text_what what, struct text_line *ret)
{
    char *host;
    int rc = expect_word(c, "The host", &host);

    ret->what = what;
    if (rc < 0 || (rc = expect_count(c, &ret->count)) < 0)
        return rc;
    ret->host = host;
    return at_end(c) ? 0 : fail(c, c->at, "Nothing may follow the count");
}

static int parse_problem(struct cursor *c, struct text_line *ret)
{
    char *problem;
    int rc = expect_word(c, "The problem", &problem);

    if (rc < 0)
        return rc;
    ret->what = TEXT_PROBLEM;
    ret->problem = problem;
    return at_end(c) ? 0 : fail(c, c->at, "Nothing may follow the problem; is it quoted?");
}

int text_parse(char *line, struct text_line *ret, struct text_error *error)
{
    struct cursor c = {.line = line, .at = line, .error = error};
    char *word;

    ret->what = TEXT_NOTHING;
    if (at_end(&c))
        return 0;
    if (*c.at >= '0' && *c.at <= '9')
        return parse_event(&c, ret);

    int rc = parse_word(&c, &word);
    if (rc < 0)
        return rc;
    if (strcmp(word, "host") == 0)
        return parse_host(&c, ret);
    if (strcmp(word, "lost") == 0)
        return parse_count(&c, TEXT_LOST, ret);
    if (strcmp(word, "unknown") == 0)
        return parse_count(&c, TEXT_UNKNOWN, ret);
    if (strcmp(word, "problem") == 0)
        return parse_problem(&c, ret);
    return fail(&c, word, "A line begins with a time, or with host, lost, unknown, problem or #");
}

/* The end of the word at text, which may be quoted. */
static const char *word_end(const char *text, const char *end)
{
    if (text < end && *text == '"') {
        for (text++; text < end && *text != '"'; text++)
            if (*text == '\\' && text + 1 < end)
                text++;
        return text < end ? text + 1 : end;
    }
    while (text < end && !is_blank(*text))
        text++;
    return text;
}

static const char *skip_blanks(const char *text, const char *end)
{
    while (text < end && is_blank(*text))
        text++;
    return text;
}

int text_parse_time(const char *line, size_t len, uint64_t *ret_ts, const char **ret_host, size_t *ret_host_len)
{
    const char *end = line + len, *time = skip_blanks(line, end), *time_end = word_end(time, end);
    const char *host = skip_blanks(time_end, end), *host_end = word_end(host, end);

    if (host == host_end || time == time_end || *time < '0' || *time > '9' || parse_number(time, time_end, ret_ts))
        return 0;
    *ret_host = host;
    *ret_host_len = host_end - host;
    return 1;
}
