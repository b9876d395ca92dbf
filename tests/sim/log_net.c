/* log_net.c - a network plugin of interfaces 6 to 12 for tests: TCP over loopback, every call a line in $LOG_NET.<pid>.
 * $LOG_NET_FAILS makes its init fail, $LOG_NET_DEVICES is how many it has (2). */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static FILE *file;

static void say(const char *format, ...)
{
    char path[4096];
    va_list args;
    snprintf(path, sizeof(path), "%s.%d", getenv("LOG_NET") ? getenv("LOG_NET") : "", (int)getpid());
    if (!file && !(file = fopen(getenv("LOG_NET") ? path : "/dev/null", "ae")))
        abort();
    setvbuf(file, NULL, _IOLBF, 0);
    va_start(args, format);
    vfprintf(file, format, args);
    va_end(args);
}

struct connection {
    int fd;
};
struct request {
    struct connection *on;
    char *data;
    size_t size, done;
    int out;
};

static int begin(int v, void **context)
{
    say("init v=%d\n", v);
    if (context)
        *context = malloc(1);
    return getenv("LOG_NET_FAILS") ? 2 : 0;
}
static int devices(int *nr)
{
    *nr = getenv("LOG_NET_DEVICES") ? atoi(getenv("LOG_NET_DEVICES")) : 2;
    say("devices %d\n", *nr);
    return 0;
}

struct properties {
    const char *name, *path;
    uint64_t guid;
    int memory, fields[8];
};
static int properties(int v, int device, struct properties *p)
{
    p->name = device ? "log1" : "log0";
    p->memory = 1;
    p->fields[v >= 9 ? 2 : v >= 8 ? 1 : 0] = 100000;
    return 0;
}

static int listen_on(void *handle, void **ret)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(a);
    struct connection *c = malloc(sizeof(*c));
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bind(c->fd, (struct sockaddr *)&a, sizeof(a));
    listen(c->fd, 1);
    getsockname(c->fd, (struct sockaddr *)&a, &len);
    memcpy(handle, &a, sizeof(a));
    *ret = c;
    say("listen\n");
    return 0;
}
static int connect_to(void *handle, void **ret)
{
    struct connection *c = malloc(sizeof(*c));
    static int tried;
    if (!tried++) { /* not at once, as the interface allows */
        free(c);
        return 0;
    }
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(c->fd, handle, sizeof(struct sockaddr_in)) < 0)
        return 2;
    fcntl(c->fd, F_SETFL, O_NONBLOCK);
    *ret = c;
    say("connect\n");
    return 0;
}
static int accept_on(void *listening, void **ret)
{
    int fd = accept4(((struct connection *)listening)->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0)
        return errno == EAGAIN ? 0 : 2;
    struct connection *c = malloc(sizeof(*c));
    c->fd = fd;
    *ret = c;
    say("accept\n");
    return 0;
}
static int reg(void *comm, void *data, size_t size, int type, void **ret)
{
    *ret = malloc(1);
    say("reg %zu %d\n", size, type);
    return 0;
}
static int dereg(void *comm, void *memory)
{
    free(memory);
    say("dereg\n");
    return 0;
}
static int post(void *comm, void *data, size_t size, int out, void **ret)
{
    struct request *r = malloc(sizeof(*r));
    *r = (struct request){comm, data, size, 0, out};
    *ret = r;
    say("%s %zu\n", out ? "isend" : "irecv", size);
    return 0;
}
static int test(void *request, int *done, int *sizes)
{
    struct request *r = request;
    while (r->done < r->size) {
        ssize_t n = r->out ? send(r->on->fd, r->data + r->done, r->size - r->done, MSG_NOSIGNAL)
                           : recv(r->on->fd, r->data + r->done, r->size - r->done, 0);
        if (n <= 0)
            return n < 0 && errno == EAGAIN ? 0 : 6;
        r->done += (size_t)n;
    }
    *done = 1;
    if (sizes)
        *sizes = (int)r->size;
    say("done %zu\n", r->size);
    free(r);
    return 0;
}
static int shut(void *comm)
{
    close(((struct connection *)comm)->fd);
    free(comm);
    say("close\n");
    return 0;
}
static int none(void)
{
    return 3;
}
static int finalize(void *context)
{
    say("finalize\n");
    free(context);
    return 0;
}

/* ---- The forms of the versions ---- */
static int init_6(void *log)
{
    return begin(6, NULL);
}
static int init_7(void *log)
{
    return begin(7, NULL);
}
static int init_8(void *log)
{
    return begin(8, NULL);
}
static int init_9(void *log)
{
    return begin(9, NULL);
}
static int init_10(void *log, void *prof)
{
    return begin(10, NULL);
}
static int init_11(void **context, uint64_t id, void *config, void *log, void *prof)
{
    return begin(11, context);
}
static int init_12(void **context, uint64_t id, void *config, void *log, void *prof)
{
    return begin(12, context);
}
static int properties_6(int d, struct properties *p)
{
    return properties(6, d, p);
}
static int properties_8(int d, struct properties *p)
{
    return properties(8, d, p);
}
static int properties_9(int d, struct properties *p)
{
    return properties(9, d, p);
}
static int listen_6(int d, void *handle, void **ret)
{
    return listen_on(handle, ret);
}
static int listen_11(void *context, int d, void *handle, void **ret)
{
    return listen_on(handle, ret);
}
static int connect_6(int d, void *handle, void **ret)
{
    return connect_to(handle, ret);
}
static int connect_7(int d, void *handle, void **ret, void **device)
{
    return connect_to(handle, ret);
}
static int connect_10(int d, void *config, void *handle, void **ret, void **device)
{
    return connect_to(handle, ret);
}
static int connect_11(void *context, int d, void *handle, void **ret, void **device)
{
    return connect_to(handle, ret);
}
static int accept_7(void *listening, void **ret, void **device)
{
    return accept_on(listening, ret);
}
static int reg_6(void *comm, void *data, int size, int type, void **ret)
{
    return reg(comm, data, (size_t)size, type, ret);
}
static int isend_6(void *c, void *data, int size, int tag, void *m, void **ret)
{
    return post(c, data, (size_t)size, 1, ret);
}
static int isend_9(void *c, void *data, size_t size, int tag, void *m, void **ret)
{
    return post(c, data, size, 1, ret);
}
static int isend_10(void *c, void *data, size_t size, int tag, void *m, void *of, void **ret)
{
    return post(c, data, size, 1, ret);
}
static int irecv_6(void *c, int n, void **data, int *size, int *tag, void **m, void **ret)
{
    return post(c, *data, (size_t)*size, 0, ret);
}
static int irecv_9(void *c, int n, void **data, size_t *size, int *tag, void **m, void **ret)
{
    return post(c, *data, *size, 0, ret);
}
static int irecv_10(void *c, int n, void **data, size_t *size, int *tag, void **m, void **of, void **ret)
{
    return post(c, *data, *size, 0, ret);
}

#define F(f) (void *)(f)
#define PLUGIN(v, p, l, c, a, r, s, x)                                                                                 \
    EXPORT const void *ncclNetPlugin_v##v[22];                                                                         \
    const void *ncclNetPlugin_v##v[22] = {"LogNet", F(init_##v), F(devices),  F(p),     F(l),    F(c),                 \
                                          F(a),     F(r),        F(none),     F(dereg), F(s),    F(x),                 \
                                          F(none),  F(test),     F(shut),     F(shut),  F(shut), F(none),              \
                                          F(none),  F(none),     F(finalize), F(none)};
PLUGIN(6, properties_6, listen_6, connect_6, accept_on, reg_6, isend_6, irecv_6)
PLUGIN(7, properties_6, listen_6, connect_7, accept_7, reg_6, isend_6, irecv_6)
PLUGIN(8, properties_8, listen_6, connect_7, accept_7, reg, isend_6, irecv_6)
PLUGIN(9, properties_9, listen_6, connect_7, accept_7, reg, isend_9, irecv_9)
PLUGIN(10, properties_9, listen_6, connect_10, accept_7, reg, isend_10, irecv_10)
PLUGIN(11, properties_9, listen_11, connect_11, accept_7, reg, isend_10, irecv_10)
PLUGIN(12, properties_9, listen_11, connect_11, accept_7, reg, isend_10, irecv_10)
