/* shared.c - memory that the ranks of a communicator share: when each started what, and a bell for each to be woken by.
 * The first to come makes it, its name goes when all have it, so nothing stays behind whoever dies. Ordinals index
 * rings; that a slot is free before it is written again is its writer's business (launch.c). */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tests/sim/nccl/inside.h"

static void name_of(uint64_t hash, char ret[64])
{
    snprintf(ret, 64, "/nccl-%016llx", (unsigned long long)hash);
}

int shared_open(struct shared *s, uint64_t hash, int nranks)
{
    char name[64];
    size_t n = (size_t)nranks, ranks = n * sizeof(struct shared_rank), colls = n * COLL_RING * sizeof(struct slot),
           pairs = 2 * n * n * PAIR_RING * sizeof(struct slot), contacts = n * n * sizeof(struct contact);
    name_of(hash, name);
    int fd = shm_open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    *s = (struct shared){.nranks = nranks, .bytes = ranks + colls + pairs + contacts};
    void *p = ftruncate(fd, (off_t)s->bytes) < 0
                  ? MAP_FAILED
                  : mmap(NULL, s->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    int error = p == MAP_FAILED ? -errno : 0;
    close(fd);
    if (error)
        return error;
    s->ranks = p;
    s->colls = (struct slot *)((char *)p + ranks);
    s->pairs = (struct slot *)((char *)p + ranks + colls);
    s->contacts = (struct contact *)((char *)p + ranks + colls + pairs);
    return 0;
}

void shared_unlink(uint64_t hash)
{
    char name[64];
    name_of(hash, name);
    shm_unlink(name);
}

void shared_close(struct shared *s)
{
    if (s->ranks)
        munmap(s->ranks, s->bytes);
    s->ranks = NULL;
}

void shared_ring(struct shared *s, int rank)
{
    __atomic_add_fetch(&s->ranks[rank].bell, 1, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, &s->ranks[rank].bell, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void shared_wait(struct shared *s, int rank, uint32_t seen, uint64_t timeout_ns)
{
    struct timespec t = {(time_t)(timeout_ns / 1000000000u), (long)(timeout_ns % 1000000000u)};
    syscall(SYS_futex, &s->ranks[rank].bell, FUTEX_WAIT, seen, &t, NULL, 0);
}

struct slot *shared_coll(struct shared *s, int rank, uint64_t ordinal)
{
    return &s->colls[(size_t)rank * COLL_RING + ordinal % COLL_RING];
}

struct slot *shared_pair(struct shared *s, int from, int to, bool receiver, uint64_t ordinal)
{
    size_t pair = (size_t)from * (size_t)s->nranks + (size_t)to;
    return &s->pairs[(2 * pair + receiver) * PAIR_RING + ordinal % PAIR_RING];
}

struct contact *shared_contact(struct shared *s, int from, int to)
{
    return &s->contacts[(size_t)from * (size_t)s->nranks + (size_t)to];
}
