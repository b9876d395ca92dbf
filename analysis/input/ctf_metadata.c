/* ctf_metadata.c - see ctf_metadata.h. */
#include "analysis/input/ctf_metadata.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC 0x75d11d57u
#define PLAIN_HEAD "/* CTF 1.8"

/* A metadata packet begins with: magic 4, uuid 16, checksum 4, content size in bits 4, packet size in bits 4, five
 * single bytes. */
enum { HEAD = 37, AT_CONTENT = 24, AT_PACKET = 28 };

static uint32_t read_u32(const uint8_t *at, bool swapped)
{
    uint32_t value;

    memcpy(&value, at, sizeof(value));
    return swapped ? __builtin_bswap32(value) : value;
}

/* Appends the packets' text to `text`, which has room for all of it. Returns its length. */
static size_t unpack(const uint8_t *bytes, size_t size, char *text, bool *cut)
{
    bool swapped = read_u32(bytes, false) != MAGIC;
    size_t at = 0, len = 0;

    while (size - at >= HEAD && read_u32(bytes + at, swapped) == MAGIC) {
        size_t content = read_u32(bytes + at + AT_CONTENT, swapped) / 8;
        size_t packet = read_u32(bytes + at + AT_PACKET, swapped) / 8;
        if (content < HEAD || content > packet)
            break;
        size_t there = content < size - at ? content : size - at;
        memcpy(text + len, bytes + at + HEAD, there - HEAD);
        len += there - HEAD;
        at = packet < size - at ? at + packet : size;
        *cut |= there < content;
    }
    *cut |= at < size;
    return len;
}

/* The end of the last declaration at the outermost level. */
static size_t complete_length(const char *text, size_t len)
{
    size_t end = 0;
    int depth = 0;

    for (size_t i = 0; i < len; i++) {
        if (text[i] == '/' && i + 1 < len && text[i + 1] == '*') {
            const char *close = memmem(text + i + 2, len - i - 2, "*/", 2);
            if (!close)
                break;
            i = close + 1 - text;
        } else if (text[i] == '"') {
            for (i++; i < len && text[i] != '"'; i++)
                i += text[i] == '\\';
        } else if (text[i] == '{')
            depth++;
        else if (text[i] == '}')
            depth--;
        else if (text[i] == ';' && depth == 0)
            end = i + 1;
    }
    return end;
}

static bool is_packets(const uint8_t *bytes, size_t size)
{
    return size >= HEAD && (read_u32(bytes, false) == MAGIC || read_u32(bytes, true) == MAGIC);
}

static bool only_blanks(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (text[i] != ' ' && text[i] != '\n' && text[i] != '\t' && text[i] != '\r' && text[i] != '\0')
            return false;
    return true;
}

int ctf_metadata_salvage(const void *bytes, size_t size, char **ret_text, bool *ret_cut)
{
    static const char head[] = PLAIN_HEAD " */\n";
    bool cut = false;

    if (size == 0)
        return -ENODATA;
    char *text = malloc(sizeof(head) + size);
    if (!text)
        return -ENOMEM;
    /* Behind a head of its own, for the case that it has none; a second one is a comment. */
    memcpy(text, head, sizeof(head) - 1);
    char *body = text + sizeof(head) - 1;
    size_t len = size;
    if (is_packets(bytes, size))
        len = unpack(bytes, size, body, &cut);
    else
        memcpy(body, bytes, size);

    size_t complete = complete_length(body, len);
    if (complete == 0) {
        free(text);
        return -ENODATA;
    }
    *ret_cut = cut || !only_blanks(body + complete, len - complete);
    body[complete] = '\0';
    *ret_text = text;
    return 0;
}

bool ctf_metadata_ends_early(const char *path)
{
    uint8_t head[HEAD];
    FILE *file = fopen(path, "re");
    bool early = false;
    long at = 0;

    if (!file)
        return false;
    (void)fseek(file, 0, SEEK_END);
    long size = ftell(file);
    while (!early && at < size && fseek(file, at, SEEK_SET) == 0) {
        size_t got = fread(head, 1, HEAD, file);
        if (at == 0 && !is_packets(head, got))
            break; /* plain text, or nothing babeltrace2 would take for packets */
        size_t packet = got == HEAD ? read_u32(head + AT_PACKET, read_u32(head, false) != MAGIC) / 8 : 0;
        if (got == HEAD && packet < HEAD)
            break; /* damaged otherwise, which it notices */
        early = got < HEAD || packet > (size_t)(size - at);
        at += packet;
    }
    (void)fclose(file);
    return early;
}
