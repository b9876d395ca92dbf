/* json.h - writes JSON as it comes, with yajl_gen underneath: nothing is kept in memory.
 *
 *     json_open(json, "findings", '[');
 *     json_row(json);                       the next value starts a line of its own
 *     json_open(json, NULL, '{');
 *     json_text(json, "id", "disk-full");
 *     json_close(json, '}');
 *     json_close(json, ']');
 *
 * `key` is NULL in arrays. Strings that are not UTF-8 get U+FFFD for each wrong byte. Errors (of the output, of memory)
 * are kept: json_end() returns the first. */
#ifndef TRSHIM_ANALYSIS_JSON_H
#define TRSHIM_ANALYSIS_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct json;

/* out is borrowed until json_end(). 0 or -ENOMEM. */
int json_begin(FILE *out, struct json **ret);
/* Ends the document with a newline, flushes, frees. 0 or -errno. */
int json_end(struct json *json);

void json_open(struct json *json, const char *key, char bracket);
void json_close(struct json *json, char bracket);
void json_row(struct json *json);

void json_int(struct json *json, const char *key, int64_t value);
void json_uint(struct json *json, const char *key, uint64_t value);
void json_real(struct json *json, const char *key, double value); /* null unless finite */
void json_bool(struct json *json, const char *key, bool value);
void json_text(struct json *json, const char *key, const char *value); /* NULL is null */
void json_null(struct json *json, const char *key);

#endif
