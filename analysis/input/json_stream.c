/* json_stream.c - see json_stream.h. */
#include "analysis/input/json_stream.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_parse.h>

#include "analysis/input/json_tame.h"

enum { CHUNK = 1 << 18 };

struct json_stream {
    const struct json_handler *handler;
    void *arg;
    struct json_place place; /* of what comes next */
    char top;                /* bracket of the outermost container, 0 none */
    int rc;                  /* why a callback stopped */

    yajl_handle yajl;
    struct json_tame tame;
    uint64_t parsed; /* bytes that yajl was given before the current ones */
    char *problem;
    char buffer[CHUNK];
};

/* ---- what yajl calls ------------------------------------------------------------------------ */

static int stopped(struct json_stream *json, int rc)
{
    json->rc = rc;
    return rc == 0;
}

static int value(struct json_stream *json, enum json_type type, const char *text, size_t len)
{
    return stopped(json, json->handler->value(json->arg, &json->place, type, text, len));
}

static int on_null(void *arg)
{
    return value(arg, JSON_null, "", 0);
}

static int on_boolean(void *arg, int truth)
{
    return value(arg, JSON_bool, truth ? "1" : "0", 1);
}

static int on_number(void *arg, const char *text, size_t len)
{
    return value(arg, JSON_number, text, len);
}

static int on_string(void *arg, const unsigned char *text, size_t len)
{
    return value(arg, JSON_string, (const char *)text, len);
}

static int on_key(void *arg, const unsigned char *text, size_t len)
{
    struct json_stream *json = arg;
    unsigned container = json->place.depth - 1;

    if (container < JSON_PLACES) {
        char *key = json->place.keys[container];
        len = len < JSON_KEY_SIZE ? len : JSON_KEY_SIZE - 1;
        memcpy(key, text, len);
        key[len] = '\0';
    }
    return 1;
}

static int begin(struct json_stream *json, char bracket)
{
    struct json_place *place = &json->place;

    if (place->depth == JSON_DEPTH_MAX)
        return stopped(json, -E2BIG);
    if (place->depth == 0)
        json->top = bracket;
    int rc = json->handler->begin(json->arg, place, bracket);
    if (place->depth < JSON_PLACES)
        place->keys[place->depth][0] = '\0';
    place->depth++;
    return stopped(json, rc);
}

static int end(struct json_stream *json, char bracket)
{
    json->place.depth--;
    return stopped(json, json->handler->end(json->arg, &json->place, bracket));
}

static int on_begin_map(void *arg)
{
    return begin(arg, '{');
}

static int on_end_map(void *arg)
{
    return end(arg, '{');
}

static int on_begin_array(void *arg)
{
    return begin(arg, '[');
}

static int on_end_array(void *arg)
{
    return end(arg, '[');
}

static const yajl_callbacks callbacks = {
    .yajl_null = on_null,
    .yajl_boolean = on_boolean,
    .yajl_number = on_number,
    .yajl_string = on_string,
    .yajl_start_map = on_begin_map,
    .yajl_map_key = on_key,
    .yajl_end_map = on_end_map,
    .yajl_start_array = on_begin_array,
    .yajl_end_array = on_end_array,
};

/* ---- what is wrong -------------------------------------------------------------------------- */

static int damaged(struct json_stream *json, uint64_t at, const char *what)
{
    if (asprintf(&json->problem, "The JSON is damaged at byte %" PRIu64 ": %s", at, what) < 0)
        json->problem = NULL;
    return json->problem ? -EBADMSG : -ENOMEM;
}

/* yajl stopped: it was told to, or does not understand. `data` is what it was given last, NULL nothing. */
static int explain(struct json_stream *json, yajl_status status, const char *data, size_t len)
{
    uint64_t at = json->parsed + (data ? yajl_get_bytes_consumed(json->yajl) : 0);

    if (status == yajl_status_client_canceled)
        return json->rc == -E2BIG ? damaged(json, at, "it is nested too deep") : json->rc;
    unsigned char *text = yajl_get_error(json->yajl, 0, (const unsigned char *)data, len);
    if (!text)
        return -ENOMEM;
    text[strcspn((char *)text, "\n")] = '\0';
    int rc = damaged(json, at, (char *)text);
    yajl_free_error(json->yajl, text);
    return rc;
}

static int ended_early(struct json_stream *json, const struct packed_file *file)
{
    const char *why = packed_file_problem(file);

    if (asprintf(&json->problem, "%s after %" PRIu64 " bytes", why ? why : "The JSON ends in the middle,",
                 json->parsed) < 0)
        json->problem = NULL;
    return json->problem ? -EBADMSG : -ENOMEM;
}

/* ---- reading -------------------------------------------------------------------------------- */

static int parse(struct json_stream *json, char *data, size_t len)
{
    yajl_status status = yajl_parse(json->yajl, (unsigned char *)data, len);

    if (status != yajl_status_ok)
        return explain(json, status, data, len);
    json->parsed += len;
    return 0;
}

static int parse_end(struct json_stream *json, const struct packed_file *file)
{
    bool whole_array = json->top == '[' && json->place.depth == 1;
    yajl_status status = yajl_complete_parse(json->yajl);

    if (status == yajl_status_client_canceled)
        return json->rc;
    if (packed_file_problem(file) || (status != yajl_status_ok && !whole_array))
        return ended_early(json, file);
    return 0;
}

/* A byte order mark is no JSON. */
static size_t mark_length(const struct json_stream *json, size_t len)
{
    return json->parsed == 0 && len >= 3 && memcmp(json->buffer, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

static int read_all(struct json_stream *json, struct packed_file *file)
{
    size_t held = 0; /* at the front of the buffer: what json_tame could not settle */

    for (;;) {
        ssize_t got = packed_file_read(file, json->buffer + held, CHUNK - held);
        if (got < 0)
            return got;
        size_t len = held + got, skip = mark_length(json, len), at;
        long settled = json_tame(&json->tame, json->buffer + skip, len - skip, got == 0, &at);
        if (settled < 0)
            return damaged(json, json->parsed + at, "a value there is too long");
        int rc = parse(json, json->buffer + skip, settled);
        if (rc < 0 || got == 0)
            return rc < 0 ? rc : parse_end(json, file);
        held = len - skip - settled;
        memmove(json->buffer, json->buffer + skip + settled, held);
    }
}

int json_read(struct packed_file *file, const struct json_handler *handler, void *arg, char **ret_problem)
{
    struct json_stream *json = calloc(1, sizeof(*json));

    *ret_problem = NULL;
    if (!json)
        return -ENOMEM;
    json->handler = handler;
    json->arg = arg;
    json->yajl = yajl_alloc(&callbacks, NULL, json);
    if (!json->yajl) {
        free(json);
        return -ENOMEM;
    }
    (void)yajl_config(json->yajl, yajl_dont_validate_strings, 1);
    int rc = read_all(json, file);
    *ret_problem = json->problem;
    yajl_free(json->yajl);
    free(json);
    return rc == -EBADMSG ? 0 : rc;
}
