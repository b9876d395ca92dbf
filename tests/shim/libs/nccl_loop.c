/* nccl_loop.c - calls NCCL many times and says what one call took: single ones, and in groups of 8. With a libnccl that
 * does next to nothing the difference between two runs is the hooks'. Linked by tests/bench/nccl.py. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef struct comm *comm_t;
struct id {
    char bytes[128];
};
int ncclCommInitRank(comm_t *, int, struct id, int);
int ncclAllReduce(const void *, void *, size_t, int, int, comm_t, void *);
int ncclGroupStart(void);
int ncclGroupEnd(void);

static char a[8], b[8];

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
    int loops = argc > 1 ? atoi(argv[1]) : 1000;
    struct id id = {{1}};
    comm_t comm;
    for (int i = 8; i < 128; i++)
        id.bytes[i] = (char)i;
    if (ncclCommInitRank(&comm, 8, id, 0) != 0)
        return 1;
    double start = now_ns();
    for (int i = 0; i < loops; i++)
        if (ncclAllReduce(a, b, 1000, 7, 2, comm, (void *)7) != 0)
            return 2;
    printf("single %.1f\n", (now_ns() - start) / loops);
    start = now_ns();
    for (int i = 0; i < loops / 8; i++) {
        ncclGroupStart();
        for (int k = 0; k < 8; k++)
            if (ncclAllReduce(a, b, 1000, 7, 2, comm, (void *)7) != 0)
                return 3;
        ncclGroupEnd();
    }
    printf("grouped %.1f\n", (now_ns() - start) / (loops / 8 * 8));
    return 0;
}
