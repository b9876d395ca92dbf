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
    return r->o->faults[f].on && (r->o->faults[f].rank < 0 || r->o->faults[f].rank == r->rank);
}

double fault_size(const struct rank *r, enum fault f)
{
    return r->o->faults[f].size;
}

static void usage(void)
{
    puts("usage: simtrain [--ranks N] [--hosts N] [--steps N] [--layers N] [--workers N] [--seed N]\n"
         "                [--batch-mb N] [--checkpoint-every STEPS] [--checkpoint-mb N] [--marks none|nvtx|step]\n"
         "                [--dir DIR] [--truth FILE] [--fault ID[:rank=R][:size=V]]...\n\n"
         "A training job on the simulated node. Faults, with what their size is:");
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

static int check(struct options *o)
{
    if (o->ranks < 1 || o->hosts < 1 || o->steps < 1 || o->layers < 1 || o->workers < 0 || o->ranks % o->hosts)
        return wrong("needs at least one rank, host, step and layer, and as many ranks on each host", "options");
    for (int f = 0; f < FAULT_MAX; f++) {
        if (o->faults[f].rank == -2)
            o->faults[f].rank = o->ranks - 1;
        if (o->faults[f].on && o->faults[f].rank >= o->ranks)
            return wrong("there is no such rank for the fault", faults[f].name);
    }
    return 0;
}

int options_parse(struct options *o, int argc, char **argv)
{
    static const struct option longs[] = {{"ranks", 1, 0, 'r'},
                                          {"hosts", 1, 0, 'H'},
                                          {"steps", 1, 0, 's'},
                                          {"layers", 1, 0, 'l'},
                                          {"workers", 1, 0, 'w'},
                                          {"seed", 1, 0, 'S'},
                                          {"batch-mb", 1, 0, 'b'},
                                          {"checkpoint-every", 1, 0, 'c'},
                                          {"checkpoint-mb", 1, 0, 'C'},
                                          {"marks", 1, 0, 'm'},
                                          {"dir", 1, 0, 'd'},
                                          {"truth", 1, 0, 't'},
                                          {"fault", 1, 0, 'f'},
                                          {"help", 0, 0, 'h'},
                                          {0}};
    *o = (struct options){.ranks = 2,
                          .hosts = 1,
                          .steps = 120,
                          .layers = 16,
                          .workers = 2,
                          .batch_bytes = 8000000,
                          .checkpoint_every = 50,
                          .checkpoint_bytes = 72u << 20};
    for (int c, error; (c = getopt_long(argc, argv, "", longs, NULL)) != -1;) {
        error = c == '?' ? -1 : 0;
        switch (c) {
        case 'r':
            o->ranks = atoi(optarg);
            break;
        case 'H':
            o->hosts = atoi(optarg);
            break;
        case 's':
            o->steps = atoi(optarg);
            break;
        case 'l':
            o->layers = atoi(optarg);
            break;
        case 'w':
            o->workers = atoi(optarg);
            break;
        case 'S':
            o->seed = strtoull(optarg, NULL, 10);
            break;
        case 'b':
            o->batch_bytes = (size_t)(atof(optarg) * 1e6);
            break;
        case 'c':
            o->checkpoint_every = atoi(optarg);
            break;
        case 'C':
            o->checkpoint_bytes = (size_t)(atof(optarg) * 1e6);
            break;
        case 'm':
            error = parse_marks(o, optarg);
            break;
        case 'd':
            error = put(o->dir, sizeof(o->dir), optarg);
            o->keep = true;
            break;
        case 't':
            error = put(o->truth, sizeof(o->truth), optarg);
            break;
        case 'f':
            error = parse_fault(o, optarg);
            break;
        case 'h':
            usage();
            return 1;
        }
        if (error)
            return error;
    }
    return optind < argc ? wrong("not an option", argv[optind]) : check(o);
}
