/* session_note.c - see session_note.h. */
#include "analysis/input/session_note.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <yajl/yajl_tree.h>

#include "traces/schema.h"

#define SESSION_FILE "session.json"
#define SIZE_MAX_BYTES 65536 /* it is 1 KiB; what is larger is something else */

/* Ends that were asked for: the trace is all it was to be. */
static const char *const planned[] = {"the job ended", "stopped by the user", "the time asked for was over"};

/* The file's text, owned by the caller; NULL if there is none. */
static char *read_file(const char *dir)
{
    char *path, *text = NULL;
    if (asprintf(&path, "%s/%s", dir, SESSION_FILE) < 0)
        return NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    free(path);
    if (fd < 0)
        return NULL;
    if ((text = calloc(1, SIZE_MAX_BYTES))) {
        ssize_t n, len = 0;
        while (len < SIZE_MAX_BYTES - 1 && (n = read(fd, text + len, SIZE_MAX_BYTES - 1 - len)) > 0)
            len += n;
    }
    close(fd);
    return text;
}

static const char *string_at(yajl_val root, const char *name)
{
    const char *path[] = {name, NULL};
    yajl_val value = yajl_tree_get(root, path, yajl_t_string);
    return value ? YAJL_GET_STRING(value) : "";
}

static bool is_complete(yajl_val root)
{
    const char *path[] = {"complete", NULL};
    yajl_val value = yajl_tree_get(root, path, yajl_t_any);
    return value && YAJL_IS_TRUE(value);
}

static bool was_planned(const char *why)
{
    for (size_t i = 0; i < sizeof(planned) / sizeof(*planned); i++)
        if (strcmp(why, planned[i]) == 0)
            return true;
    return false;
}

static char *note_of(yajl_val root)
{
    const char *why = string_at(root, "why");
    const char *losses = is_complete(root) ? "" : "; how many events were lost by then is not known";
    char *note = NULL;
    if (strcmp(string_at(root, "state"), "recording") == 0)
        return strdup("recording has not ended, or its recorder was killed; how many events were lost is not known");
    if (*why && (!was_planned(why) || *losses) && asprintf(&note, "recording ended early: %s%s", why, losses) < 0)
        return NULL;
    return note;
}

char *session_note(const char *dir)
{
    char *text = read_file(dir);
    yajl_val root = text ? yajl_tree_parse(text, NULL, 0) : NULL;
    char *note = root ? note_of(root) : NULL;
    yajl_tree_free(root);
    free(text);
    return note;
}

static bool has_no_snapshot(const char *dir)
{
    const char *path[] = {"snapshots", NULL};
    char *text = read_file(dir);
    yajl_val root = text ? yajl_tree_parse(text, NULL, 0) : NULL;
    yajl_val value = root ? yajl_tree_get(root, path, yajl_t_number) : NULL;
    bool none = value && YAJL_IS_INTEGER(value) && YAJL_GET_INTEGER(value) == 0;

    yajl_tree_free(root);
    free(text);
    return none;
}

bool session_took_no_snapshot(const char *dir)
{
    struct dirent **list;
    bool none = has_no_snapshot(dir);
    int nr = none ? 0 : scandir(dir, &list, NULL, alphasort);

    for (int i = 0; i < nr; i++) {
        char *path = NULL;
        if (!none && list[i]->d_name[0] != '.' && asprintf(&path, "%s/%s", dir, list[i]->d_name) >= 0) {
            none = has_no_snapshot(path);
            free(path);
        }
        free(list[i]);
    }
    if (nr > 0)
        free(list);
    return none;
}

static uint64_t number_at(yajl_val object, const char *name)
{
    const char *path[] = {name, NULL};
    yajl_val value = yajl_tree_get(object, path, yajl_t_number);
    return value && YAJL_IS_INTEGER(value) && YAJL_GET_INTEGER(value) > 0 ? YAJL_GET_INTEGER(value) : 0;
}

static bool is_asked_for(yajl_val channel, unsigned channels)
{
    for (unsigned c = 0; c < CH_MAX; c++)
        if (channels & 1u << c && strcmp(string_at(channel, "name"), schema_channel_names[c]) == 0)
            return true;
    return false;
}

uint64_t session_lost(const char *dir, unsigned channels)
{
    const char *path[] = {"channels", NULL};
    char *text = read_file(dir);
    yajl_val root = text ? yajl_tree_parse(text, NULL, 0) : NULL;
    yajl_val list = root ? yajl_tree_get(root, path, yajl_t_array) : NULL;
    uint64_t lost = 0;

    for (size_t i = 0; list && i < list->u.array.len; i++)
        if (is_asked_for(list->u.array.values[i], channels))
            lost +=
                number_at(list->u.array.values[i], "lost_events") + number_at(list->u.array.values[i], "lost_packets");
    yajl_tree_free(root);
    free(text);
    return lost;
}
