/* kineto_row.c - see kineto_row.h. */
#include "analysis/input/kineto_row.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/input/json_stream.h"
#include "analysis/input/packed_file.h"

struct reader {
    kineto_row_fn fn;
    void *arg;
    struct kineto_about *about;
    unsigned row_depth; /* containers around a row: 1 or 2; 0 while it is not known */
    bool in_row;
    unsigned grid_sides;
    uint64_t shape_elements; /* of the shape under way in "Input Dims"; 0: a scalar, or not known */
    unsigned shape_sides;
    struct kineto_row row;
};

/* ---- values --------------------------------------------------------------------------------- */

/* A number with an exponent, or hexadecimal: rare, and exact enough as long double. */
static bool odd_number(const char *text, size_t len, int64_t unit_ns, int64_t *ret)
{
    char copy[JSON_WORD_MAX + 1], *end;

    if (len == 0 || len >= sizeof(copy))
        return false;
    memcpy(copy, text, len);
    copy[len] = '\0';
    long double number = strtold(copy, &end) * unit_ns;
    if (end != copy + len || !isfinite(number) || fabsl(number) > 9e18L)
        return false;
    *ret = (int64_t)floorl(number);
    return true;
}

bool kineto_number(const char *text, size_t len, int64_t unit_ns, int64_t *ret)
{
    bool negative = len > 0 && text[0] == '-';
    size_t at = negative;
    int64_t number = 0, part = 0;

    if (at == len)
        return false;
    for (; at < len && isdigit((unsigned char)text[at]); at++)
        if (__builtin_mul_overflow(number, 10, &number) || __builtin_add_overflow(number, text[at] - '0', &number))
            return false;
    if (__builtin_mul_overflow(number, unit_ns, &number))
        return false;
    if (at < len && text[at] == '.') {
        int64_t digit_ns = unit_ns;
        for (at++; at < len && isdigit((unsigned char)text[at]); at++)
            part += (digit_ns /= 10) * (text[at] - '0');
    }
    if (at < len)
        return odd_number(text, len, unit_ns, ret);
    if (__builtin_add_overflow(number, part, &number))
        return false;
    *ret = negative ? -number : number;
    return true;
}

static int64_t number_or_unknown(const char *text, size_t len, int64_t unit_ns)
{
    int64_t number;

    return kineto_number(text, len, unit_ns, &number) ? number : KINETO_UNKNOWN;
}

/* Copies what fits, whole characters of UTF-8 only. A NUL within would end it early; it becomes '?'. */
static void copy_text(char *to, size_t size, const char *text, size_t len)
{
    if (len >= size) {
        len = size - 1;
        while (len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80)
            len--;
    }
    memcpy(to, text, len);
    to[len] = '\0';
    for (char *nul = to; (nul = memchr(nul, '\0', to + len - nul)); nul++)
        *nul = '?';
}

/* ---- rows ----------------------------------------------------------------------------------- */

static void clear_row(struct kineto_row *row)
{
    row->ph[0] = row->category[0] = row->name[0] = row->pid[0] = row->tid[0] = '\0';
    row->input_type[0] = '\0';
    row->ts_ns = row->dur_ns = KINETO_UNKNOWN;
    row->blocks = row->input_elements = 0;
#define TEXT(field, key, size) row->field[0] = '\0';
    KINETO_ARG_TEXTS(TEXT)
#undef TEXT
#define ARG(field, key) row->field = KINETO_UNKNOWN;
    KINETO_ARGS(ARG)
#undef ARG
}

static void row_value(struct kineto_row *row, const char *key, const char *text, size_t len)
{
    /* clang-format off */
    static const struct {
        const char *key;
        size_t offset, size;
    } texts[] = {
#define TEXT(key, field) {key, offsetof(struct kineto_row, field), sizeof(row->field)}
        TEXT("ph", ph), TEXT("cat", category), TEXT("name", name), TEXT("pid", pid), TEXT("tid", tid),
#undef TEXT
    };
    /* clang-format on */

    if (strcmp(key, "ts") == 0)
        row->ts_ns = number_or_unknown(text, len, 1000);
    else if (strcmp(key, "dur") == 0)
        row->dur_ns = number_or_unknown(text, len, 1000);
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        if (strcmp(texts[i].key, key) == 0)
            copy_text((char *)row + texts[i].offset, texts[i].size, text, len);
}

static void arg_value(struct kineto_row *row, const char *key, const char *text, size_t len)
{
    static const struct {
        const char *key;
        size_t offset;
    } numbers[] = {
#define ARG(field, key) {key, offsetof(struct kineto_row, field)},
        KINETO_ARGS(ARG)
#undef ARG
    };
    static const struct {
        const char *key;
        size_t offset, size;
    } texts[] = {
#define TEXT(field, key, size) {key, offsetof(struct kineto_row, field), size},
        KINETO_ARG_TEXTS(TEXT)
#undef TEXT
    };

    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        if (strcmp(texts[i].key, key) == 0)
            copy_text((char *)row + texts[i].offset, texts[i].size, text, len);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
        if (strcmp(numbers[i].key, key) == 0)
            *(int64_t *)((char *)row + numbers[i].offset) = number_or_unknown(text, len, 1);
}

static void grid_value(struct reader *reader, const char *text, size_t len)
{
    int64_t side = number_or_unknown(text, len, 1);

    if (reader->grid_sides++ == 0)
        reader->row.blocks = 1;
    if (side <= 0 || __builtin_mul_overflow(reader->row.blocks, (uint64_t)side, &reader->row.blocks))
        reader->row.blocks = 0;
}

static void side_value(struct reader *reader, const char *text, size_t len)
{
    int64_t side = number_or_unknown(text, len, 1);

    if (reader->shape_sides++ == 0)
        reader->shape_elements = 1;
    if (side <= 0 || __builtin_mul_overflow(reader->shape_elements, (uint64_t)side, &reader->shape_elements))
        reader->shape_elements = 0;
}

/* ---- what the file says of itself ----------------------------------------------------------- */

/* 12040 -> "12.4" */
static void copy_cuda_version(char *to, size_t size, const char *text, size_t len)
{
    int64_t version = number_or_unknown(text, len, 1);

    if (version >= 1000)
        (void)snprintf(to, size, "%" PRId64 ".%" PRId64, version / 1000, version % 1000 / 10);
}

static void about_top(struct kineto_about *about, const char *key, const char *text, size_t len)
{
    if (strcmp(key, "baseTimeNanoseconds") == 0)
        about->base_ns = number_or_unknown(text, len, 1);
    else if (strcmp(key, "cuda_driver_version") == 0)
        copy_cuda_version(about->cuda_driver, sizeof(about->cuda_driver), text, len);
    else if (strcmp(key, "cuda_runtime_version") == 0)
        copy_cuda_version(about->cuda_runtime, sizeof(about->cuda_runtime), text, len);
}

static void about_distributed(struct kineto_about *about, const char *key, const char *text, size_t len)
{
    if (strcmp(key, "rank") == 0)
        about->rank = number_or_unknown(text, len, 1);
    else if (strcmp(key, "world_size") == 0)
        about->world = number_or_unknown(text, len, 1);
    else if (strcmp(key, "nccl_version") == 0)
        copy_text(about->nccl_version, sizeof(about->nccl_version), text, len);
}

static void about_device(struct kineto_device *device, const char *key, const char *text, size_t len)
{
    if (strcmp(key, "id") == 0)
        device->id = number_or_unknown(text, len, 1);
    else if (strcmp(key, "name") == 0)
        copy_text(device->name, sizeof(device->name), text, len);
    else if (strcmp(key, "totalGlobalMem") == 0)
        device->memory_bytes = number_or_unknown(text, len, 1);
    else if (strcmp(key, "numSms") == 0)
        device->multiprocessors = number_or_unknown(text, len, 1);
}

static void about_value(struct kineto_about *about, const struct json_place *place, const char *text, size_t len)
{
    if (place->depth == 1)
        about_top(about, place->keys[0], text, len);
    else if (place->depth == 2 && strcmp(place->keys[0], "distributedInfo") == 0)
        about_distributed(about, place->keys[1], text, len);
    else if (place->depth == 3 && strcmp(place->keys[0], "deviceProperties") == 0 && about->nr_devices > 0)
        about_device(&about->devices[about->nr_devices - 1], place->keys[2], text, len);
}

static void about_begin(struct kineto_about *about, const struct json_place *place, char bracket)
{
    if (bracket == '{' && place->depth == 2 && strcmp(place->keys[0], "deviceProperties") == 0 &&
        about->nr_devices < KINETO_DEVICES_MAX)
        about->devices[about->nr_devices++] =
            (struct kineto_device){KINETO_UNKNOWN, KINETO_UNKNOWN, KINETO_UNKNOWN, ""};
}

/* ---- places --------------------------------------------------------------------------------- */

static int on_value(void *arg, const struct json_place *place, enum json_type type, const char *text, size_t len)
{
    struct reader *reader = arg;
    unsigned in = place->depth - reader->row_depth; /* containers of the row, itself included */

    if (type == JSON_null || place->depth == 0)
        return 0;
    if (!reader->in_row)
        about_value(reader->about, place, text, len);
    else if (in == 1)
        row_value(&reader->row, place->keys[reader->row_depth], text, len);
    else if (in >= 2 && strcmp(place->keys[reader->row_depth], "args") != 0)
        return 0;
    else if (in == 2)
        arg_value(&reader->row, place->keys[reader->row_depth + 1], text, len);
    else if (in == 3 && strcmp(place->keys[reader->row_depth + 1], "grid") == 0)
        grid_value(reader, text, len);
    else if (in == 3 && strcmp(place->keys[reader->row_depth + 1], "Input type") == 0 && !reader->row.input_type[0])
        copy_text(reader->row.input_type, sizeof(reader->row.input_type), text, len);
    else if (in == 4 && strcmp(place->keys[reader->row_depth + 1], "Input Dims") == 0)
        side_value(reader, text, len);
    return 0;
}

/* A shape in "Input Dims": in a row, in its args, in that list. */
static bool is_shape(const struct reader *reader, const struct json_place *place)
{
    return place->depth == reader->row_depth + 3 && strcmp(place->keys[reader->row_depth], "args") == 0 &&
           strcmp(place->keys[reader->row_depth + 1], "Input Dims") == 0;
}

/* Whether a container at this place holds rows. */
static bool holds_rows(const struct json_place *place)
{
    return place->depth == 0 || (place->depth == 1 && strcmp(place->keys[0], "traceEvents") == 0);
}

static bool is_row(const struct reader *reader, const struct json_place *place)
{
    return reader->row_depth && place->depth == reader->row_depth &&
           (place->depth == 1 || strcmp(place->keys[0], "traceEvents") == 0);
}

static int on_begin(void *arg, const struct json_place *place, char bracket)
{
    struct reader *reader = arg;

    if (reader->in_row) {
        if (is_shape(reader, place))
            reader->shape_elements = reader->shape_sides = 0;
        return 0;
    }
    if (bracket == '[' && holds_rows(place)) {
        reader->row_depth = place->depth + 1;
        reader->about->is_trace |= place->depth == 1;
    } else if (bracket == '{' && is_row(reader, place)) {
        reader->in_row = true;
        reader->grid_sides = 0;
        clear_row(&reader->row);
    } else
        about_begin(reader->about, place, bracket);
    return 0;
}

static int on_end(void *arg, const struct json_place *place, char bracket)
{
    struct reader *reader = arg;

    if (reader->in_row && is_shape(reader, place))
        reader->row.input_elements += reader->shape_elements;
    if (!reader->in_row || place->depth != reader->row_depth)
        return 0;
    reader->in_row = false;
    if (!reader->row.ph[0])
        return 0;
    reader->about->is_trace = true;
    return reader->fn(reader->arg, &reader->row);
}

int kineto_read(const char *path, kineto_row_fn fn, void *arg, struct kineto_about *ret_about, char **ret_problem)
{
    static const struct json_handler handler = {on_value, on_begin, on_end};
    struct reader *reader = calloc(1, sizeof(*reader));
    struct packed_file *file;

    *ret_problem = NULL;
    *ret_about = (struct kineto_about){.base_ns = KINETO_UNKNOWN, .rank = KINETO_UNKNOWN, .world = KINETO_UNKNOWN};
    if (!reader)
        return -ENOMEM;
    *reader = (struct reader){.fn = fn, .arg = arg, .about = ret_about};
    int rc = packed_file_open(path, &file);
    if (rc == 0) {
        rc = json_read(file, &handler, reader, ret_problem);
        packed_file_close(file);
    }
    free(reader);
    return rc;
}

/* The first bytes of a pipe, without taking them out of it: tee() copies what lies in it into another. */
static ssize_t peek_pipe(const char *path, char *first, size_t size)
{
    int ends[2] = {-1, -1}, fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t len = -1;

    if (fd >= 0 && pipe2(ends, O_CLOEXEC) == 0) {
        len = tee(fd, ends[1], size, 0);
        len = len > 0 ? read(ends[0], first, len) : len;
        (void)close(ends[0]);
        (void)close(ends[1]);
    }
    if (fd >= 0)
        (void)close(fd);
    return len;
}

static ssize_t first_bytes(const char *path, char *first, size_t size)
{
    struct packed_file *file;
    struct stat st;

    if (stat(path, &st) < 0 || (!S_ISREG(st.st_mode) && !S_ISFIFO(st.st_mode)))
        return -1;
    if (S_ISFIFO(st.st_mode))
        return peek_pipe(path, first, size);
    if (packed_file_open(path, &file) < 0)
        return -1;
    ssize_t len = packed_file_read(file, first, size);
    packed_file_close(file);
    return len;
}

bool kineto_looks_like_json(const char *path)
{
    char first[256];
    ssize_t len = first_bytes(path, first, sizeof(first)), at = 0;

    if (len >= 2 && memcmp(first, "\x1f\x8b", 2) == 0)
        return true; /* a pipe; no other input is compressed */
    if (len >= 3 && memcmp(first, "\xef\xbb\xbf", 3) == 0)
        at = 3;
    while (at < len && isspace((unsigned char)first[at]))
        at++;
    if (at < len && first[at] == '[') {
        /* An array of rows; not the "[rank0]:" of a log. */
        for (at++; at < len && isspace((unsigned char)first[at]); at++)
            ;
        return at >= len || first[at] == '{' || first[at] == ']';
    }
    return at < len && first[at] == '{';
}

bool kineto_begins_with(const char *path, const char *with)
{
    char first[64];
    ssize_t len = first_bytes(path, first, sizeof(first)), wanted = (ssize_t)strlen(with);

    return len >= wanted && memcmp(first, with, wanted) == 0;
}
