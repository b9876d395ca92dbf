/* uses_nccl.c - calls NCCL as a framework does, and checks every result. Returns the number of the first check that
 * failed. A library, so that a Python process can load it with NCCL behind it, out of sight of RTLD_NEXT. */
#include <stdlib.h>
#include <string.h>

typedef struct comm *comm_t;
struct id {
    char bytes[128];
};
struct config {
    size_t size;
    unsigned magic, version;
    int numbers[4];
    const char *net;
    int more[2];
    const char *name;
};

int ncclCommInitRank(comm_t *, int, struct id, int);
int ncclCommInitRankConfig(comm_t *, int, struct id, int, struct config *);
int ncclCommInitAll(comm_t *, int, const int *);
int ncclCommSplit(comm_t, int, int, comm_t *, struct config *);
int ncclCommDestroy(comm_t);
int ncclAllReduce(const void *, void *, size_t, int, int, comm_t, void *);
int ncclReduce(const void *, void *, size_t, int, int, int, comm_t, void *);
int ncclBcast(void *, size_t, int, int, comm_t, void *);
int ncclAlltoAll(const void *, void *, size_t, int, comm_t, void *);
int ncclSend(const void *, size_t, int, int, comm_t, void *);
int ncclRecv(void *, size_t, int, int, comm_t, void *);
int ncclGroupStart(void);
int ncclGroupEnd(void);
int ncclGroupSimulateEnd(void *);
int ncclMemAlloc(void **, size_t);
int ncclMemFree(void *);

#define STREAM ((void *)7)
#define MAX 2 /* ncclMax */
#define FLOAT 7
#define CHECK(x)                                                                                                       \
    do {                                                                                                               \
        if (!(x))                                                                                                      \
            return __LINE__;                                                                                           \
    } while (0)

static char a[64], b[64];

static struct id make_id(unsigned char n)
{
    struct id id = {{(char)n}};
    for (int i = 8; i < 128; i++)
        id.bytes[i] = (char)i;
    return id;
}

int use_nccl(void)
{
    comm_t world, named, none = (comm_t)1, halves[2], local[2], refused = NULL;
    struct config config = {.size = sizeof(config), .magic = 0xcafebeef, .name = "pp 3"};
    const int devices[] = {5, 6};
    void *memory;

    CHECK(ncclCommInitRank(&world, 8, make_id(21), 6) == 0);
    CHECK(ncclCommInitRankConfig(&named, 4, make_id(22), 3, &config) == 0);
    CHECK(ncclCommInitRank(&refused, 2000, make_id(23), 0) == 1 && !refused);
    CHECK(ncclCommInitAll(local, 2, devices) == 0);
    CHECK(ncclCommSplit(world, -1, 0, &none, NULL) == 0 && !none);
    CHECK(ncclGroupStart() == 0); /* two at once: each is told of on a thread of its own */
    CHECK(ncclCommInitRank(&halves[0], 16, make_id(24), 1) == 0);
    CHECK(ncclCommSplit(world, 3, 0, &halves[1], &config) == 0);
    CHECK(ncclGroupEnd() == 0);

    CHECK(ncclAllReduce(a, b, 1000, FLOAT, MAX, world, STREAM) == 0);
    CHECK(ncclAllReduce(a, b, 2000, FLOAT, MAX, world, STREAM) == 0);
    CHECK(ncclReduce(a, b, 77, 0, MAX, 3, named, STREAM) == 0);
    CHECK(ncclBcast(a, 88, 1, 2, named, STREAM) == 0);
    CHECK(ncclAllReduce(a, b, 1, 99, MAX, world, STREAM) == 4); /* refused, and not counted */
    CHECK(ncclAlltoAll(a, b, 99, FLOAT, world, STREAM) == 0);

    CHECK(ncclGroupStart() == 0);
    CHECK(ncclSend(a, 10, FLOAT, 7, world, STREAM) == 0);
    CHECK(ncclGroupStart() == 0);
    CHECK(ncclRecv(b, 20, FLOAT, 5, world, STREAM) == 0);
    CHECK(ncclGroupEnd() == 0);
    CHECK(ncclAllReduce(b, a, 3000, FLOAT, MAX, halves[1], STREAM) == 0);
    CHECK(ncclGroupEnd() == 0);
    CHECK(ncclSend(a, 11, FLOAT, 7, world, STREAM) == 0);

    CHECK(ncclGroupStart() == 0);
    CHECK(ncclAllReduce(a, b, 4444, FLOAT, MAX, world, STREAM) == 0);
    CHECK(ncclGroupSimulateEnd(NULL) == 0);

    CHECK(ncclGroupStart() == 0); /* more than there is room for */
    for (int i = 0; i < 3000; i++)
        CHECK(ncclAllReduce(a, b, 5555, FLOAT, MAX, local[0], STREAM) == 0);
    CHECK(ncclGroupEnd() == 0);

    setenv("FAKE_NCCL_GROUP_FAILS", "1", 1);
    CHECK(ncclGroupStart() == 0);
    CHECK(ncclAllReduce(a, b, 6666, FLOAT, MAX, local[1], STREAM) == 0);
    CHECK(ncclGroupEnd() == 3);
    CHECK(ncclGroupEnd() == 5);
    unsetenv("FAKE_NCCL_GROUP_FAILS");

    CHECK(ncclMemAlloc(&memory, 12345) == 0 && memory);
    CHECK(ncclMemFree(memory) == 0);
    CHECK(ncclCommDestroy(named) == 0);
    return 0;
}
