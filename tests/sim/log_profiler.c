/* log_profiler.c - a profiler plugin of all versions that writes each callback as a line to $LOG_PROFILER.<pid>:
 *   CALL v=N tid=T [#EVENT TYPE parent=#P rank=R field=value ...]
 * Handles are numbers; those it did not give out are told as they are. $LOG_PROFILER_MASK is what it asks for;
 * $LOG_PROFILER_LAZY makes it leave every handle unwritten. Structures are declared here, from the interface alone. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static FILE *file;
static atomic_uint last_event;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void open_file(void)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s.%d", getenv("LOG_PROFILER") ? getenv("LOG_PROFILER") : "/dev/null", (int)getpid());
    file = fopen(getenv("LOG_PROFILER") ? path : "/dev/null", "ae");
    if (!file)
        abort();
    setvbuf(file, NULL, _IOLBF, 0);
}

static int tid(void)
{
    return (int)syscall(SYS_gettid);
}

struct header_1 {
    uint8_t type;
    void *parent;
    int rank;
};
struct header_5 {
    uint64_t type;
    void *parent;
    int rank;
};

/* Offsets 24 on, by version. */
struct coll_1 {
    const char *name;
    uint64_t hash, sequence;
    uint8_t func;
    const void *send;
    void *recv;
    size_t count;
    int root;
    uint8_t type;
    uint32_t op;
    size_t traffic;
    uint8_t channels, warps, algo, proto;
};
struct coll_2 {
    const char *name;
    uint64_t hash, sequence;
    const char *func;
    const void *send;
    void *recv;
    size_t count;
    int root;
    const char *type;
    size_t traffic;
    uint8_t channels, warps;
    const char *algo, *proto;
};
struct coll_3 {
    const char *name;
    uint64_t hash, sequence;
    const char *func;
    const void *send;
    void *recv;
    size_t count;
    int root;
    const char *type;
    uint8_t channels, warps;
    const char *algo, *proto;
};
struct coll_4 {
    uint64_t sequence;
    const char *func;
    const void *send;
    void *recv;
    size_t count;
    int root;
    const char *type;
    uint8_t channels, warps;
    const char *algo, *proto;
    void *group;         /* 5 on */
    const char *variant; /* 7 on, as what follows */
    bool symmetric;
    uint64_t tag;
};
struct p2p_4 {
    const char *func;
    void *buffer;
    const char *type;
    size_t count;
    int peer;
    uint8_t channels;
};
struct proxy_op {
    pid_t pid;
    uint8_t channel;
    int peer, steps, chunk, is_send;
};
struct coll_api {
    const char *func;
    size_t count;
    const char *type;
    int root;
    void *stream;
    bool captured;
};
struct p2p_api {
    const char *func;
    size_t count;
    const char *type;
    void *stream;
    bool captured;
};

static const char *type_name(uint64_t type)
{
    static const char *const names[] = {"Group",    "Coll",      "P2p",      "ProxyOp", "ProxyStep", "ProxyCtrl",
                                        "KernelCh", "NetPlugin", "GroupApi", "CollApi", "P2pApi",    "KernelLaunch"};
    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (type == 1u << i)
            return names[i];
    return "?";
}

static void print_coll(char *to, size_t size, int v, const void *at)
{
    const struct coll_1 *one = at;
    const struct coll_2 *two = at;
    const struct coll_3 *three = at;
    const struct coll_4 *four = at;
    if (v == 1)
        snprintf(to, size, "name=%s seq=%lu func=%u count=%zu type=%u op=%u nch=%u algo=%u proto=%u", one->name,
                 (unsigned long)one->sequence, one->func, one->count, one->type, one->op, one->channels, one->algo,
                 one->proto);
    else if (v == 2)
        snprintf(to, size, "name=%s seq=%lu func=%s count=%zu type=%s nch=%u algo=%s proto=%s", two->name,
                 (unsigned long)two->sequence, two->func, two->count, two->type, two->channels, two->algo, two->proto);
    else if (v == 3)
        snprintf(to, size, "name=%s seq=%lu func=%s count=%zu type=%s nch=%u algo=%s proto=%s",
                 three->name ? three->name : "NULL", (unsigned long)three->sequence, three->func, three->count,
                 three->type, three->channels, three->algo, three->proto);
    else
        snprintf(to, size, "seq=%lu func=%s count=%zu type=%s root=%d nch=%u algo=%s proto=%s tag=%lu",
                 (unsigned long)four->sequence, four->func, four->count, four->type, four->root, four->channels,
                 four->algo, four->proto, v >= 7 ? (unsigned long)four->tag : 0);
}

static void print_fields(char *to, size_t size, int v, uint64_t type, const char *at)
{
    const struct proxy_op *op = (const void *)at;
    const struct coll_api *coll = (const void *)at;
    const struct p2p_api *pair = (const void *)at;
    const struct p2p_4 *p2p = (const void *)at;
    *to = '\0';
    if (type == 0x2)
        print_coll(to, size, v, at);
    else if (type == 0x4 && v >= 4)
        snprintf(to, size, "func=%s count=%zu type=%s peer=%d nch=%u", p2p->func, p2p->count, p2p->type, p2p->peer,
                 p2p->channels);
    else if (type == 0x8)
        snprintf(to, size, "pid=%s ch=%u peer=%d steps=%d send=%d", op->pid == getpid() ? "own" : "foreign",
                 op->channel, op->peer, op->steps, op->is_send);
    else if (type == 0x10)
        snprintf(to, size, "step=%d", *(const int *)(const void *)at);
    else if (type == 0x40)
        snprintf(to, size, "ch=%u ptimer=%lu", (unsigned)*(const uint8_t *)at,
                 v >= 4 ? *(const unsigned long *)(const void *)(at + 8) : 0);
    else if (type == 0x100)
        snprintf(to, size, "captured=%d depth=%d", *(const bool *)at, *(const int *)(const void *)(at + 4));
    else if (type == 0x200)
        snprintf(to, size, "func=%s count=%zu type=%s captured=%d", coll->func, coll->count, coll->type,
                 coll->captured);
    else if (type == 0x400)
        snprintf(to, size, "func=%s count=%zu type=%s captured=%d", pair->func, pair->count, pair->type,
                 pair->captured);
}

static int start(int v, void *context, void **handle, const void *descriptor)
{
    const struct header_1 *one = descriptor;
    const struct header_5 *five = descriptor;
    uint64_t type = v < 5 ? one->type : five->type;
    char fields[512];
    unsigned event = atomic_fetch_add(&last_event, 1) + 1;
    print_fields(fields, sizeof(fields), v, type, (const char *)descriptor + 24);
    fprintf(file, "start v=%d tid=%d #%u %s parent=#%lu rank=%d ctx=#%lu %s\n", v, tid(), event, type_name(type),
            (unsigned long)(uintptr_t)five->parent, five->rank, (unsigned long)(uintptr_t)context, fields);
    if (getenv("LOG_PROFILER_LAZY"))
        return 0;
    *handle = (void *)(uintptr_t)event;
    return 0;
}

static int stop(int v, void *handle)
{
    fprintf(file, "stop v=%d tid=%d #%lu\n", v, tid(), (unsigned long)(uintptr_t)handle);
    return 0;
}

static int state(int v, void *handle, int s, void *args)
{
    bool sized = s >= 8 && s <= 12;
    fprintf(file, "state v=%d tid=%d #%lu %d args=%s value=%lu\n", v, tid(), (unsigned long)(uintptr_t)handle, s,
            args ? "there" : "NULL", args && (sized || s == 20 || s == 22) ? *(unsigned long *)args : 0);
    return 0;
}

static int begin(int v, void **context, int *mask, const char *name, uint64_t hash, int nodes, int nranks, int rank)
{
    pthread_once(&once, open_file);
    const char *wanted = getenv("LOG_PROFILER_MASK");
    __atomic_store_n(mask, (int)strtol(wanted ? wanted : "4095", NULL, 0), __ATOMIC_RELAXED);
    *context = (void *)(uintptr_t)(atomic_fetch_add(&last_event, 1) + 1);
    fprintf(file, "init v=%d tid=%d #%lu name=%s hash=%lx nodes=%d nranks=%d rank=%d\n", v, tid(),
            (unsigned long)(uintptr_t)*context, name ? name : "NULL", (unsigned long)hash, nodes, nranks, rank);
    return getenv("LOG_PROFILER_FAILS") ? 3 : 0;
}

static int end(int v, void *context)
{
    fprintf(file, "finalize v=%d tid=%d #%lu\n", v, tid(), (unsigned long)(uintptr_t)context);
    return 0;
}

#define OLD(v)                                                                                                         \
    static int init_##v(void **context, int *mask)                                                                     \
    {                                                                                                                  \
        return begin(v, context, mask, NULL, 0, 0, 0, -1);                                                             \
    }
#define NEW(v)                                                                                                         \
    static int init_##v(void **context, uint64_t hash, int *mask, const char *name, int nodes, int nranks, int rank,   \
                        void *log)                                                                                     \
    {                                                                                                                  \
        return begin(v, context, mask, name, hash, nodes, nranks, rank);                                               \
    }
static int init_4(void **context, int *mask, const char *name, uint64_t hash, int nodes, int nranks, int rank,
                  void *log)
{
    return begin(4, context, mask, name, hash, nodes, nranks, rank);
}
OLD(1)
OLD(2)
OLD(3)
NEW(5)
NEW(6)
NEW(7)

struct plugin {
    const char *name;
    void *init;
    int (*start)(void *, void **, void *);
    int (*stop)(void *);
    int (*state)(void *, int, void *);
    int (*finalize)(void *);
};

#define VERSION(v)                                                                                                     \
    static int start_##v(void *context, void **handle, void *descriptor)                                               \
    {                                                                                                                  \
        return start(v, context, handle, descriptor);                                                                  \
    }                                                                                                                  \
    static int stop_##v(void *handle)                                                                                  \
    {                                                                                                                  \
        return stop(v, handle);                                                                                        \
    }                                                                                                                  \
    static int state_##v(void *handle, int s, void *args)                                                              \
    {                                                                                                                  \
        return state(v, handle, s, args);                                                                              \
    }                                                                                                                  \
    static int end_##v(void *context)                                                                                  \
    {                                                                                                                  \
        return end(v, context);                                                                                        \
    }                                                                                                                  \
    EXPORT struct plugin ncclProfiler_v##v = {"log", (void *)init_##v, start_##v, stop_##v, state_##v, end_##v};

#ifdef ONLY_VERSION /* a plugin older than the NCCL that loads it */
#define VERSION_OF(v) VERSION(v)
VERSION_OF(ONLY_VERSION)
#else
VERSION(1)
VERSION(2)
VERSION(3)
VERSION(4)
VERSION(5)
VERSION(6)
VERSION(7)
#endif
