/* nccl_capture_job.c - one AllReduce launched, and one captured into a graph, by one rank. */
#include <stddef.h>

typedef struct {
    char bytes[128];
} unique_id;
int cudaMalloc(void **, size_t);
int cudaStreamCreate(void **);
int cudaStreamBeginCapture(void *, int);
int cudaStreamEndCapture(void *, void **);
int cudaStreamSynchronize(void *);
int ncclGetUniqueId(unique_id *);
int ncclCommInitRank(void **, int, unique_id, int);
int ncclCommDestroy(void *);
int ncclAllReduce(const void *, void *, size_t, int, int, void *, void *);

#define CHECK(x)                                                                                                       \
    do {                                                                                                               \
        if (!(x))                                                                                                      \
            return __LINE__ % 256;                                                                                     \
    } while (0)

int main(void)
{
    unique_id id;
    void *comm, *stream, *graph, *buffer;
    CHECK(cudaMalloc(&buffer, 4096) == 0 && cudaStreamCreate(&stream) == 0);
    CHECK(ncclGetUniqueId(&id) == 0 && ncclCommInitRank(&comm, 1, id, 0) == 0);
    CHECK(ncclAllReduce(buffer, buffer, 100, 7, 0, comm, stream) == 0);
    CHECK(cudaStreamBeginCapture(stream, 0) == 0);
    CHECK(ncclAllReduce(buffer, buffer, 200, 7, 0, comm, stream) == 0);
    CHECK(cudaStreamEndCapture(stream, &graph) == 0);
    CHECK(ncclAllReduce(buffer, buffer, 300, 7, 0, comm, stream) == 0);
    CHECK(cudaStreamSynchronize(stream) == 0);
    return ncclCommDestroy(comm);
}
