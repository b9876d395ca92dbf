/* kernel.c - kernels: what host stub launches which, how long one takes, and launching. A length comes from the caller
 * (first argument of a kernel so registered), from a model that was set, or from a default: waves of blocks. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/engine/inside.h"

struct sim_function {
    const void *stub;
    const char *name; /* owned, never freed: records point to it as to CUPTI's own */
    bool told;
    void (*body)(struct sim_op *, void **);
    void (*placed)(struct sim_op *);
    struct sim_function *next;
};

#define BUCKETS 1024
static struct sim_function *functions[BUCKETS]; /* guarded by functions_lock */
static pthread_mutex_t functions_lock = PTHREAD_MUTEX_INITIALIZER;
static sim_length_fn *model;
static void *model_context;

static struct sim_function **bucket(const void *stub)
{
    return &functions[((uintptr_t)stub >> 4) % BUCKETS];
}

struct sim_function *sim_function_of(const void *stub)
{
    pthread_mutex_lock(&functions_lock);
    struct sim_function *f = *bucket(stub);
    while (f && f->stub != stub)
        f = f->next;
    pthread_mutex_unlock(&functions_lock);
    return f;
}

struct sim_function *sim_function_register(const void *stub, const char *name)
{
    struct sim_function *f = sim_function_of(stub);
    if (f)
        return f;
    f = calloc(1, sizeof(*f));
    if (!f || !(f->name = strdup(name)))
        abort();
    f->stub = stub;
    pthread_mutex_lock(&functions_lock);
    f->next = *bucket(stub);
    *bucket(stub) = f;
    pthread_mutex_unlock(&functions_lock);
    return f;
}

const char *sim_function_name(const struct sim_function *f)
{
    return f->name;
}

void sim_set_kernel_model(sim_length_fn *length, void *context)
{
    model_context = context;
    model = length;
}

void sim_kernel_told(const void *stub)
{
    struct sim_function *f = sim_function_of(stub);
    if (f)
        f->told = true;
}

void sim_set_kernel_body(const void *stub, void (*body)(struct sim_op *, void **))
{
    struct sim_function *f = sim_function_of(stub);
    if (f)
        f->body = body;
}

void sim_set_kernel_placed(const void *stub, void (*placed)(struct sim_op *))
{
    struct sim_function *f = sim_function_of(stub);
    if (f)
        f->placed = placed;
}

/* Eight blocks at a time on each of 132 multiprocessors, 2 us each wave. */
static uint64_t default_length(const struct sim_launch *l)
{
    uint64_t blocks = (uint64_t)l->grid.x * l->grid.y * l->grid.z;
    return 2000 * ((blocks + 8 * 132 - 1) / (8 * 132));
}

static uint64_t length_of(const struct sim_function *f, const struct sim_launch *l, void **args)
{
    if (f->told)
        return args && args[0] ? *(uint64_t *)args[0] : 0;
    uint64_t ns = model ? model(f->name, l, args, model_context) : 0;
    return ns ? ns : default_length(l);
}

static int valid(const struct sim_launch *l)
{
    uint64_t threads = (uint64_t)l->block.x * l->block.y * l->block.z;
    return l->grid.x && l->grid.y && l->grid.z && threads && threads <= 1024;
}

/* ---- What kernels compute: a library for the framework whose kernels they are
 * -----------------------------------------
 */
static sim_kernel_work_fn *find_work;

static void load_kernels(void)
{
    const char *path = sim_settings()->kernels;
    void *library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (library)
        find_work = (sim_kernel_work_fn *)dlsym(library, "sim_kernel_work");
    if (path && !find_work)
        fprintf(stderr, "sim: SIM_KERNELS: %s\n", library ? "no sim_kernel_work in it" : dlerror());
}

static struct sim_work work_of(const char *name, const struct sim_launch *l, void **args)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct sim_work work = {0};
    pthread_once(&once, load_kernels);
    if (find_work && args && !find_work(name, l, args, &work))
        sim_say_missing(name);
    return work;
}

static int launch(struct sim_stream *s, const char *name, const struct sim_launch *l, uint64_t ns,
                  const struct sim_function *f, void **args, const struct sim_work *work)
{
    struct sim_op *op = valid(l) ? sim_op_new(SIM_OP_KERNEL) : NULL;
    if (!op) {
        free(work->state);
        return SIM_INVALID_VALUE;
    }
    op->work = *work;
    op->name = name;
    op->grid = l->grid;
    op->block = l->block;
    op->shared_bytes = l->shared_bytes;
    op->cooperative = l->cooperative;
    op->length = ns;
    if (f && (f->body || f->placed) && args) {
        op->body = f->body;
        op->placed = f->placed;
        for (int i = 0; i < SIM_ARGS_MAX && args[i]; i++)
            memcpy(&op->args[i], args[i], sizeof(op->args[i]));
    }
    struct sim_call *call = sim_call_current();
    if (call)
        call->symbol = name;
    struct sim_op *awaited = sim_settings()->blocking && !sim_capturing(s) ? sim_op_ref(op) : NULL;
    int error = sim_queue(s, op);
    if (awaited && !error)
        sim_op_wait(awaited);
    sim_op_unref(awaited);
    return error;
}

int sim_launch(struct sim_stream *s, struct sim_function *f, const struct sim_launch *l, void **args)
{
    struct sim_work work = f->body || f->placed ? (struct sim_work){0} : work_of(f->name, l, args);
    return launch(s, f->name, l, length_of(f, l, args), f, args, &work);
}

int sim_launch_work(struct sim_stream *s, const char *name, const struct sim_launch *l, uint64_t ns,
                    const struct sim_work *work)
{
    return launch(s, name, l, ns, NULL, NULL, work ? work : &(struct sim_work){0});
}

int sim_launch_named(struct sim_stream *s, const char *name, const struct sim_launch *l, uint64_t ns)
{
    return sim_launch_work(s, name, l, ns, NULL);
}
