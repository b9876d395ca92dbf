/* names.c - see names.h. The lookup through parents is job_name(), for only the job knows who they are. */
#include "analysis/model/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/model/kernel_kinds.h"

void names_done(struct names *names)
{
    for (struct name *name = names->first, *next; name; name = next) {
        next = name->next;
        free((char *)name->text);
        free(name);
    }
    map_done(&names->by_id);
    map_done(&names->by_text);
    *names = (struct names){0};
}

static struct map_key id_key(uint32_t host, uint32_t pid, uint32_t id)
{
    return (struct map_key){host, (uint64_t)pid << 32 | id};
}

static struct name *intern(struct names *names, uint32_t host, const struct tr_name *event)
{
    struct map_key key = map_hash(event->text, (uint64_t)host << 8 | event->kind);
    struct name *name = map_find(&names->by_text, key);
    if (name)
        return name;
    name = calloc(1, sizeof(*name));
    char *text = strdup(event->text);
    if (!name || !text || map_put(&names->by_text, key, name)) {
        free(name);
        free(text);
        return NULL;
    }
    *name = (struct name){.text = text, .dev = event->dev, .host = host, .pid = event->pid, .kind = event->kind};
    name->kernel_kind = event->kind == TR_name_kind_kernel ? kernel_kind_of(text) : KERNEL_compute;
    if (names->last)
        names->last->next = name;
    else
        names->first = name;
    names->last = name;
    names->nr++;
    return name;
}

int names_learn(struct names *names, uint32_t host, const struct tr_name *event)
{
    struct name *name = intern(names, host, event);
    if (!name)
        return -ENOMEM;
    name->shared |= name->pid != event->pid;
    if (!name->dev)
        name->dev = event->dev; /* a later announcement may know the device */
    return map_put(&names->by_id, id_key(host, event->pid, event->id), name);
}

struct name *names_own(const struct names *names, uint32_t host, uint32_t pid, uint32_t id)
{
    return map_find(&names->by_id, id_key(host, pid, id));
}
