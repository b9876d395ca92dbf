/* json_tame.c - see json_tame.h. */
#include "analysis/input/json_tame.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "analysis/input/json_stream.h"

/* What numbers and words are made of, those that are not JSON's included: 1.#IND, -nan(ind). */
static bool is_word_byte(unsigned char c)
{
    return isalnum(c) || c == '-' || c == '+' || c == '.' || c == '#' || c == '(' || c == ')';
}

static bool is_json_word(const char *word, size_t len)
{
    size_t sign = len > 0 && word[0] == '-';

    if (len > sign && isdigit((unsigned char)word[sign]))
        return !memchr(word, '#', len);
    return (len == 4 && (memcmp(word, "true", 4) == 0 || memcmp(word, "null", 4) == 0)) ||
           (len == 5 && memcmp(word, "false", 5) == 0);
}

/* A number that is none becomes an empty string: no reader takes it for 0. */
static void tame_word(char *word, size_t len)
{
    if (len < 2 || is_json_word(word, len))
        return;
    memset(word, ' ', len);
    word[0] = word[1] = '"';
}

/* Inside a string, from data on. Returns the bytes that are settled: all, up to the closing quote and with it, or all
 * but a backslash whose companion is not there yet. */
static size_t tame_string(struct json_tame *tame, char *data, size_t len, bool at_end)
{
    for (size_t i = 0; i < len; i++) {
        if (data[i] == '"') {
            tame->in_string = false;
            return i + 1;
        }
        if (data[i] == '\\') {
            if (i + 1 == len)
                return at_end ? len : i;
            if (data[i + 1] && strchr("\"\\/bfnrtu", data[i + 1]))
                i++;
            else
                data[i] = '/'; /* a Windows path, not an escape */
        } else if ((unsigned char)data[i] < ' ')
            data[i] = ' ';
    }
    return len;
}

long json_tame(struct json_tame *tame, char *data, size_t len, bool at_end, size_t *ret_at)
{
    size_t at = 0;

    while (at < len) {
        size_t begin = at;
        *ret_at = begin;
        if (tame->in_string) {
            at += tame_string(tame, data + at, len - at, at_end);
            tame->string_bytes += at - begin;
            if (tame->string_bytes > JSON_STRING_MAX)
                return -EMSGSIZE;
            if (at == begin)
                return at;
        } else if (data[at] == '"') {
            tame->in_string = true;
            tame->string_bytes = 0;
            at++;
        } else if (is_word_byte(data[at])) {
            while (at < len && is_word_byte(data[at]))
                at++;
            if (at - begin > JSON_WORD_MAX)
                return -EMSGSIZE;
            if (at == len && !at_end)
                return begin;
            tame_word(data + begin, at - begin);
        } else
            at++;
    }
    return at;
}
