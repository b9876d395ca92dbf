/* saves.c - see saves.h. One slot per path holds the latest writing under that name. */
#include "analysis/model/saves.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "analysis/model/job.h"
#include "analysis/model/names.h"
#include "analysis/pass/thresholds.h"

struct save_slot {
    struct save_slot *next;
    struct save *latest; /* in the list, or open and not in the list yet */
    bool listed;
};

void saves_done(struct saves *saves)
{
    for (struct save_slot *slot = saves->slots, *next; slot; slot = next) {
        next = slot->next;
        if (slot->latest && !slot->listed)
            free(slot->latest);
        free(slot);
    }
    for (struct save *save = saves->first, *next; save; save = next) {
        next = save->next;
        free(save);
    }
    map_done(&saves->by_name);
    *saves = (struct saves){0};
}

void saves_each_open(const struct saves *saves, void (*fn)(void *arg, const struct save *save), void *arg)
{
    for (const struct save_slot *slot = saves->slots; slot; slot = slot->next)
        if (slot->latest && !slot->latest->closed)
            fn(arg, slot->latest);
}

static struct map_key key_of(const struct name *name)
{
    return (struct map_key){1, (uintptr_t)name};
}

static struct save_slot *slot_get(struct saves *saves, const struct name *name)
{
    struct save_slot *slot = map_find(&saves->by_name, key_of(name));
    if (slot)
        return slot;
    slot = calloc(1, sizeof(*slot));
    if (!slot || map_put(&saves->by_name, key_of(name), slot)) {
        free(slot);
        return NULL;
    }
    slot->next = saves->slots;
    return saves->slots = slot;
}

static void set_latest(struct save_slot *slot, struct save *save, bool listed)
{
    if (slot->latest && slot->latest != save && !slot->listed)
        free(slot->latest);
    slot->latest = save;
    slot->listed = listed;
}

static void list_append(struct saves *saves, struct save *save)
{
    if (saves->last)
        saves->last->next = save;
    else
        saves->first = save;
    saves->last = save;
}

bool save_named_so(const char *path)
{
    static const char *const words[] = {"ckpt", "checkpoint", ".pt", ".pth", ".safetensors", "model", "optim"};
    const char *base = strrchr(path, '/') ? strrchr(path, '/') : path;
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        if (strcasestr(base, words[i]))
            return true;
    return strcasestr(path, "checkpoint") || strcasestr(path, "ckpt");
}

static int created(struct saves *saves, struct process *process, struct thread *thread, const struct name *name,
                   const struct tr_file_op *op)
{
    struct save_slot *slot = slot_get(saves, name);
    struct save *save = slot ? calloc(1, sizeof(*save)) : NULL;
    if (!save)
        return -ENOMEM;
    *save = (struct save){.process = process,
                          .thread = thread,
                          .name = name,
                          .final = name,
                          .create_ns = op->start_ns,
                          .end_ns = op->start_ns + op->dur_ns,
                          .create_anchors = thread->nr_anchors,
                          .in_place = slot->latest && slot->listed && !slot->latest->removed_ns};
    if (save->in_place)
        slot->latest->removed_ns = op->start_ns;
    set_latest(slot, save, false);
    return 0;
}

/* Not even a candidate: too small for any checkpoint. */
static bool negligible(const struct save *save)
{
    return save->bytes <
           (save_named_so(save->name->text) ? (uint64_t)TH_CKPT_NAMED_BYTES : (uint64_t)TH_CKPT_TRAINER_BYTES);
}

static void closed(struct saves *saves, struct thread *thread, struct save_slot *slot, const struct tr_file_op *op)
{
    struct save *save = slot->latest;
    if (!save || save->closed)
        return;
    save->closed = true;
    save->close_ns = save->end_ns = op->start_ns + op->dur_ns;
    save->close_anchors = thread->nr_anchors;
    save->bytes = op->size_bytes;
    if (negligible(save)) {
        set_latest(slot, NULL, false);
        return;
    }
    list_append(saves, save);
    slot->listed = true;
    saves->recent = save;
}

static void extend(struct save *save, const struct tr_file_op *op)
{
    uint64_t end = op->start_ns + op->dur_ns;
    if (end > save->end_ns)
        save->end_ns = end;
}

static bool is_below(const char *path, const char *dir)
{
    size_t len = strlen(dir);
    return !strncmp(path, dir, len) && path[len] == '/';
}

static void synced(struct saves *saves, struct process *process, const struct name *name, struct save_slot *slot,
                   const struct tr_file_op *op)
{
    struct save *recent = saves->recent;
    if (slot->latest) {
        slot->latest->fsynced = true;
        extend(slot->latest, op);
    } else if (recent && recent->process == process && is_below(recent->final->text, name->text) &&
               op->start_ns < recent->end_ns + TH_CKPT_TAIL_NS) {
        extend(recent, op); /* of its directory, so that the new name lasts */
    }
}

/* A checkpoint made of several files is made safe by renaming their directory. */
static void dir_renamed(struct saves *saves, const struct name *from, const struct name *to,
                        const struct tr_file_op *op)
{
    for (struct save *save = saves->first; save; save = save->next)
        if (!save->removed_ns && is_below(save->final->text, from->text)) {
            save->renamed = true;
            save->moved_to = to->text;
            if (op->start_ns < save->end_ns + TH_CKPT_SET_NS)
                extend(save, op);
        }
}

static int renamed(struct saves *saves, struct save_slot *slot, const struct name *from, const struct name *to,
                   const struct tr_file_op *op)
{
    struct save *save = slot->latest;
    if (!save) {
        dir_renamed(saves, from, to, op);
        return 0;
    }
    struct save_slot *target = slot_get(saves, to);
    if (!target)
        return -ENOMEM;
    if (target->latest && target->listed && !target->latest->removed_ns)
        target->latest->removed_ns = op->start_ns;
    bool listed = slot->listed;
    slot->latest = NULL;
    slot->listed = false;
    set_latest(target, save, listed);
    save->final = to;
    save->renamed = true;
    extend(save, op);
    return 0;
}

static void removed(struct save_slot *slot, const struct tr_file_op *op)
{
    if (slot->latest && slot->listed && !slot->latest->removed_ns)
        slot->latest->removed_ns = op->start_ns;
}

static void failed(struct saves *saves, const struct name *name, const struct tr_file_op *op)
{
    if (op->err != ENOSPC && op->err != EDQUOT)
        return;
    if (!saves->full.count++) {
        saves->full.name = name;
        saves->full.first_ns = op->start_ns;
        saves->full.err = op->err;
    }
}

int saves_learn(struct saves *saves, struct process *process, struct thread *thread, const struct name *name,
                const struct name *name2, const struct tr_file_op *op)
{
    if (op->err)
        failed(saves, name, op);
    if (!name || (op->err && op->op != TR_file_act_close))
        return 0;
    if (op->op == TR_file_act_create)
        return created(saves, process, thread, name, op);
    struct save_slot *slot = map_find(&saves->by_name, key_of(name));
    struct save_slot none = {0};
    if (!slot)
        slot = &none; /* nothing was written under that name; it can be a directory */
    switch (op->op) {
    case TR_file_act_close:
        closed(saves, thread, slot, op);
        break;
    case TR_file_act_fsync:
        synced(saves, process, name, slot, op);
        break;
    case TR_file_act_rename:
        return name2 ? renamed(saves, slot, name, name2, op) : 0;
    case TR_file_act_unlink:
        removed(slot, op);
        break;
    default:
        break;
    }
    return 0;
}
