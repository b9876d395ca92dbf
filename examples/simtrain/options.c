/* options.c - the command line. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "examples/simtrain/job.h"

static const struct {
    const char *name;
    bool everywhere;
    double size;
    const char *what;
} faults[FAULT_MAX] = {
#define FAULT(id, name, everywhere, standard, what) {name, everywhere, standard, what},
#include "examples/simtrain/faults.def"
#undef FAULT
};

bool fault_here(const struct rank *r, enum fault f)
{
    return fault_on(r->o, f, r->rank);
}

double fault_size(const struct rank *r, enum fault f)
{
    return r->o->faults[f].size;
}

static void usage(void)
{
    puts("usage: simtrain [--ranks N] [--hosts N] [--steps N] [--layers N] [--workers N] [--seed N]\n"
         "                [--tp N] [--pp N] [--micro N] [--gpipe] [--gradient-mb N] [--bucket-mb N] [--coalesce N]\n"
         "                [--batch-mb N] [--checkpoint-every STEPS] [--checkpoint-mb N] [--marks none|nvtx|step]\n"
         "                [--dir DIR] [--truth FILE] [--fault ID[:rank=R][:size=V]]...\n\n"
         "A training job on the simulated node. Ranks are spread over hosts; --tp of them share a layer, --pp stages\n"
         "pass on --micro micro-batches, and the others share nothing but the weights. Gradients are --gradient-mb a\n"
         "layer (0: ranks that share only weights go apart), sent as soon as there are --bucket-mb of them, by "
         "--coalesce\n"
         "all-reduces in one launch.\n"
         "Faults, with what their size is:");
    for (int i = 0; i < FAULT_MAX; i++)
        printf("  %-22s %g %s\n", faults[i].name, faults[i].size, faults[i].what);
}

static int wrong(const char *what, const char *text)
{
    fprintf(stderr, "simtrain: %s: %s (see --help)\n", what, text);
    return -1;
}

static int parse_fault(struct options *o, const char *text)
{
    size_t length = strcspn(text, ":");
    int f = 0;
    while (f < FAULT_MAX && (strlen(faults[f].name) != length || strncmp(faults[f].name, text, length)))
        f++;
    if (f == FAULT_MAX)
        return wrong("no such fault", text);
    o->faults[f].on = true;
    o->faults[f].rank = faults[f].everywhere ? -1 : -2; /* -2: the last, known when all options are */
    o->faults[f].size = faults[f].size;
    for (const char *at = text + length; *at == ':'; at += 1 + strcspn(at + 1, ":"))
        if (sscanf(at, ":rank=%d", &o->faults[f].rank) != 1 && sscanf(at, ":size=%lf", &o->faults[f].size) != 1)
            return wrong("a fault takes rank=R and size=V", text);
    return 0;
}

static int parse_marks(struct options *o, const char *text)
{
    static const char *const names[] = {"none", "nvtx", "step"};
    for (int i = 0; i < 3; i++)
        if (strcmp(names[i], text) == 0) {
            o->marks = (enum marks)i;
            return 0;
        }
    return wrong("no such marks", text);
}

static int put(char *target, size_t size, const char *text)
{
    return snprintf(target, size, "%s", text) < (int)size ? 0 : wrong("too long", text);
}

static int check_shape(const struct options *o)
{
    if (o->ranks < 1 || o->hosts < 1 || o->steps < 1 || o->layers < 1 || o->workers < 0 || o->ranks % o->hosts)
        return wrong("needs at least one rank, host, step and layer, and as many ranks on each host", "options");
    if (o->tp < 1 || o->pp < 1 || o->micro < 1 || o->coalesce < 1 || o->ranks % (o->tp * o->pp) || o->layers % o->pp)
        return wrong("--tp times --pp must divide the ranks, --pp the layers, and there is one micro-batch at least",
                     "options");
    return 0;
}

static int check(struct options *o)
{
    if (o->faults[FAULT_BUBBLE].on)
        o->micro = (int)o->faults[FAULT_BUBBLE].size;
    if (o->micro == 0) /* not told */
        o->micro = o->pp > 1 ? 4 * o->pp : 1;
    if (check_shape(o))
        return -1;
    for (int f = 0; f < FAULT_MAX; f++) {
        if (o->faults[f].rank == -2)
            o->faults[f].rank = o->ranks - 1;
        if (o->faults[f].on && o->faults[f].rank >= o->ranks)
            return wrong("there is no such rank for the fault", faults[f].name);
    }
    return 0;
}

/* ---- The command line as a table: what an option sets, and what its number counts
 * ---------------------------------------- */
struct setting {
    const char *name;
    int *number;
    size_t *bytes; /* told in MB */
};

#define SETTINGS_MAX 16
enum {
    OPTION_SETTING = 256,
    OPTION_SEED = 512,
    OPTION_MARKS,
    OPTION_DIR,
    OPTION_TRUTH,
    OPTION_FAULT,
    OPTION_GPIPE,
    OPTION_HELP
};

static size_t settings_of(struct options *o, struct setting ret[SETTINGS_MAX])
{
    const struct setting all[] = {{"ranks", &o->ranks, 0},
                                  {"hosts", &o->hosts, 0},
                                  {"steps", &o->steps, 0},
                                  {"layers", &o->layers, 0},
                                  {"workers", &o->workers, 0},
                                  {"tp", &o->tp, 0},
                                  {"pp", &o->pp, 0},
                                  {"micro", &o->micro, 0},
                                  {"coalesce", &o->coalesce, 0},
                                  {"checkpoint-every", &o->checkpoint_every, 0},
                                  {"batch-mb", 0, &o->batch_bytes},
                                  {"gradient-mb", 0, &o->gradient_bytes},
                                  {"bucket-mb", 0, &o->bucket_bytes},
                                  {"checkpoint-mb", 0, &o->checkpoint_bytes}};
    memcpy(ret, all, sizeof(all));
    return sizeof(all) / sizeof(all[0]);
}

static int take(struct options *o, int option, const char *value)
{
    switch (option) {
    case OPTION_SEED:
        o->seed = strtoull(value, NULL, 10);
        return 0;
    case OPTION_MARKS:
        return parse_marks(o, value);
    case OPTION_DIR:
        o->keep = true;
        return put(o->dir, sizeof(o->dir), value);
    case OPTION_TRUTH:
        return put(o->truth, sizeof(o->truth), value);
    case OPTION_FAULT:
        return parse_fault(o, value);
    case OPTION_GPIPE:
        o->gpipe = true;
        return 0;
    case OPTION_HELP:
        usage();
        return 1;
    default:
        return -1;
    }
}

int options_parse(struct options *o, int argc, char **argv)
{
    struct option longs[SETTINGS_MAX + 8] = {{"seed", 1, 0, OPTION_SEED},   {"marks", 1, 0, OPTION_MARKS},
                                             {"dir", 1, 0, OPTION_DIR},     {"truth", 1, 0, OPTION_TRUTH},
                                             {"fault", 1, 0, OPTION_FAULT}, {"gpipe", 0, 0, OPTION_GPIPE},
                                             {"help", 0, 0, OPTION_HELP}};
    struct setting settings[SETTINGS_MAX];
    *o = (struct options){.ranks = 2,
                          .hosts = 1,
                          .steps = 120,
                          .layers = 16,
                          .workers = 2,
                          .tp = 1,
                          .pp = 1,
                          .coalesce = 1,
                          .gradient_bytes = 24000000,
                          .bucket_bytes = 24000000,
                          .batch_bytes = 8000000,
                          .checkpoint_every = 50,
                          .checkpoint_bytes = 72u << 20};
    size_t nr = settings_of(o, settings);
    for (size_t i = 0; i < nr; i++)
        longs[7 + i] = (struct option){settings[i].name, 1, 0, OPTION_SETTING + (int)i};
    for (int c, error; (c = getopt_long(argc, argv, "", longs, NULL)) != -1;) {
        bool setting = c >= OPTION_SETTING && c < OPTION_SETTING + (int)nr;
        const struct setting *s = &settings[setting ? c - OPTION_SETTING : 0];
        if (setting && s->number)
            *s->number = atoi(optarg);
        else if (setting)
            *s->bytes = (size_t)(atof(optarg) * 1e6);
        else if ((error = take(o, c, optarg)))
            return error;
    }
    return optind < argc ? wrong("not an option", argv[optind]) : check(o);
}
