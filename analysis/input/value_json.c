/* value_json.c - a JSON file that is one document, as a tree of values; see value.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_parse.h>

#include "analysis/input/value.h"
#include "analysis/model/arena.h"

#define DEPTH_MAX 64

struct builder {
    struct arena *arena;
    struct value *open[DEPTH_MAX]; /* containers around the next value, the outermost first */
    size_t depth;
    struct value *root;
    int rc;
};

static int put(struct builder *builder, struct value *value)
{
    if (!value)
        builder->rc = -ENOMEM;
    else if (builder->depth)
        builder->rc = value_add(builder->arena, builder->open[builder->depth - 1], value);
    else
        builder->root = value;
    return builder->rc == 0;
}

static int put_number(struct builder *builder, enum value_kind kind, int64_t number)
{
    struct value *value = value_new(builder->arena, kind);

    if (value)
        value->u.number = number;
    return put(builder, value);
}

static int on_null(void *arg)
{
    return put_number(arg, VALUE_none, 0);
}

static int on_bool(void *arg, int is_true)
{
    return put_number(arg, VALUE_bool, is_true);
}

static int on_integer(void *arg, long long number)
{
    return put_number(arg, VALUE_int, number);
}

static int on_double(void *arg, double real)
{
    struct builder *builder = arg;
    struct value *value = value_new(builder->arena, VALUE_float);

    if (value)
        value->u.real = real;
    return put(builder, value);
}

static int on_text(void *arg, const unsigned char *text, size_t len)
{
    struct builder *builder = arg;

    return put(builder, value_new_text(builder->arena, (const char *)text, len));
}

static int begin(struct builder *builder, enum value_kind kind)
{
    struct value *value = value_new(builder->arena, kind);

    if (builder->depth == DEPTH_MAX)
        builder->rc = -EINVAL;
    else if (put(builder, value))
        builder->open[builder->depth++] = value;
    return builder->rc == 0;
}

static int on_begin_map(void *arg)
{
    return begin(arg, VALUE_dict);
}

static int on_begin_array(void *arg)
{
    return begin(arg, VALUE_list);
}

static int on_end(void *arg)
{
    ((struct builder *)arg)->depth--;
    return 1;
}

static const yajl_callbacks callbacks = {
    .yajl_null = on_null,
    .yajl_boolean = on_bool,
    .yajl_integer = on_integer,
    .yajl_double = on_double,
    .yajl_string = on_text,
    .yajl_start_map = on_begin_map,
    .yajl_map_key = on_text,
    .yajl_end_map = on_end,
    .yajl_start_array = on_begin_array,
    .yajl_end_array = on_end,
};

int value_from_json(struct arena *arena, const char *text, size_t len, const struct value **ret, char **ret_error)
{
    struct builder builder = {.arena = arena};
    yajl_handle parser = yajl_alloc(&callbacks, NULL, &builder);

    if (!parser)
        return -ENOMEM;
    yajl_config(parser, yajl_dont_validate_strings, 1);
    yajl_status status = yajl_parse(parser, (const unsigned char *)text, len);
    if (status == yajl_status_ok)
        status = yajl_complete_parse(parser);
    int rc = builder.rc;
    if (rc != -ENOMEM && (status != yajl_status_ok || !builder.root)) {
        (void)asprintf(ret_error, "no valid JSON: %s at byte %zu",
                       rc ? "nested too deep" : "it breaks off or is damaged", yajl_get_bytes_consumed(parser));
        rc = -EINVAL;
    }
    yajl_free(parser);
    if (rc == 0)
        *ret = builder.root;
    return rc;
}
