/* nccl_line.c - cuts a line into messages and finds who wrote each; see nccl_line.h. What they say: nccl_message.c. */
#include "analysis/input/nccl_line.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/input/nccl_message.h"

#define INFO "NCCL INFO "
#define WARN "NCCL WARN "
#define VERSION "NCCL version "
#define WORD_LEN 10 /* of INFO and WARN */

static bool is_host(char c)
{
    return isalnum((unsigned char)c) || c == '-' || c == '.' || c == '_';
}

/* Colours: ESC [ ... letter. */
static void strip_colours(char *text)
{
    char *to = text;

    for (const char *at = text; *at;) {
        if (at[0] == '\033' && at[1] == '[') {
            at += 2;
            while (*at && !isalpha((unsigned char)*at))
                at++;
            at += *at != '\0';
        } else {
            *to++ = *at++;
        }
    }
    *to = '\0';
}

void nccl_line_begin(struct nccl_line *line, char *text)
{
    if (strchr(text, '\033'))
        strip_colours(text);
    line->rest = text;
}

bool nccl_line_is_nccl(const char *text)
{
    return strstr(text, " " INFO) || strstr(text, " " WARN) || strncmp(text, VERSION, strlen(VERSION)) == 0 ||
           strstr(text, ":" VERSION);
}

/* The number that ends before `end`; its first digit, or NULL. */
static char *number_before(char *from, char *end)
{
    char *at = end;

    while (at > from && isdigit((unsigned char)at[-1]))
        at--;
    return at < end && end - at <= 10 ? at : NULL;
}

/* The host that ends before `end`, without what another line left in front of it. NULL if there is none. */
static char *host_before(char *from, char *end)
{
    char *host = end, *skip;

    while (host > from && is_host(host[-1]))
        host--;
    for (skip = host; skip < end && isdigit((unsigned char)*skip); skip++)
        ;
    if (skip > host && host > from && host[-1] == '[' && *skip == 'm')
        return skip + 1 < end ? skip + 1 : NULL; /* "[33m": a colour that lost its ESC */
    if (skip > host && host > from + 1 && host[-1] == ':' && isdigit((unsigned char)host[-2]))
        host = skip; /* "node-a:12:34node-b:..." */
    return host < end ? host : NULL;
}

struct writer {
    char *start;              /* of the prefix */
    char *host;               /* not ended; NULL lost */
    char *host_end, *bracket; /* '[' of the device */
    uint32_t pid, tid;
};

/* Looks in [from, mark) for the prefix of the message whose "NCCL INFO" is at `mark`. */
static struct writer writer_before(char *from, char *mark)
{
    struct writer writer = {.start = mark};
    char *bracket = mark;

    while (bracket > from && *bracket != '[')
        bracket--;
    if (*bracket != '[' || bracket <= from || bracket[-1] != ' ' || !isdigit((unsigned char)bracket[1]))
        return writer;
    writer.bracket = writer.start = bracket;
    char *tid = number_before(from, bracket - 1);
    char *pid = tid && tid > from && tid[-1] == ':' ? number_before(from, tid - 1) : NULL;
    char *host = pid && pid > from && pid[-1] == ':' ? host_before(from, pid - 1) : NULL;
    if (!host)
        return writer;
    writer.start = writer.host = host;
    writer.host_end = pid - 1;
    writer.pid = strtoul(pid, NULL, 10);
    writer.tid = strtoul(tid, NULL, 10);
    return writer;
}

static char *find_mark(char *text)
{
    char *info = strstr(text, INFO), *warn = strstr(text, WARN);

    return !info || (warn && warn < info) ? warn : info;
}

/* "file.cc:93 " between the device and NCCL WARN; "" if there is none. */
static const char *place_before(const struct writer *writer, char *mark)
{
    char *at = writer->bracket ? strchr(writer->bracket, ' ') : NULL;

    if (!at || at + 1 >= mark)
        return "";
    mark[-1] = '\0';
    return at + 1;
}

static void trim(char *text)
{
    size_t len = strlen(text);

    while (len && isspace((unsigned char)text[len - 1]))
        text[--len] = '\0';
}

/* "NCCL version 2.4.7+cuda9.2", alone on a line or behind a launcher's prefix. */
static bool anonymous_version(struct nccl_line *line, struct nccl_message *ret)
{
    char *at = strstr(line->rest, VERSION);
    bool free_of_others = at && (at == line->rest || at[-1] == ' ' || at[-1] == ':');

    line->rest += strlen(line->rest);
    if (!free_of_others)
        return false;
    *ret = (struct nccl_message){.anonymous = true};
    trim(at);
    return nccl_message_parse(at, NULL, &ret->event);
}

bool nccl_line_next(struct nccl_line *line, struct nccl_message *ret)
{
    char *mark;

    while ((mark = find_mark(line->rest))) {
        struct writer writer = writer_before(line->rest, mark);
        char *text = mark + WORD_LEN, *next = find_mark(text);

        if (next) {
            /* Another line broke in: nobody can tell where this one's own text ends. */
            line->rest = writer_before(text, next).start;
            continue;
        }
        line->rest = text + strlen(text);
        *ret = (struct nccl_message){0};
        const char *place = mark[5] == 'W' ? place_before(&writer, mark) : NULL;
        trim(text);
        if (!nccl_message_parse(text, place, &ret->event))
            return false;
        if (writer.host) {
            *writer.host_end = '\0';
            ret->host = writer.host;
        }
        ret->event.u.who.pid = writer.pid;
        ret->event.u.who.tid = writer.tid;
        return true;
    }
    return *line->rest ? anonymous_version(line, ret) : false;
}
