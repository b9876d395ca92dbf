/* session_wake.c - see session_wake.h. */
#include "traces/session_wake.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define WORD_SIZE 4096

static void word_name(char *name, size_t size, uid_t uid)
{
    snprintf(name, size, "/lttng-ust-wait-8-%u", (unsigned)uid);
}

int wake_open(uid_t uid)
{
    char name[64];
    word_name(name, sizeof(name), uid);
    /* As LTTng makes it, so that a job that starts later finds what it expects. */
    int fd = shm_open(name, O_RDWR | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR | S_IRGRP);
    if (fd < 0)
        return -errno;
    struct stat st;
    if (fstat(fd, &st) < 0 || (st.st_size < WORD_SIZE && ftruncate(fd, WORD_SIZE) < 0)) {
        int rc = -errno;
        close(fd);
        return rc;
    }
    return fd;
}

int wake_check(uid_t uid)
{
    char name[64];
    word_name(name, sizeof(name), uid);
    int fd = shm_open(name, O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0)
        return errno == ENOENT ? 0 : -errno;
    close(fd);
    return 0;
}

int wake_set(int fd, bool here)
{
    int32_t *word = mmap(NULL, WORD_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (word == MAP_FAILED)
        return -errno;
    __atomic_store_n(word, here ? 1 : 0, __ATOMIC_SEQ_CST);
    int rc = 0;
    if (here && syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0) < 0)
        rc = -errno;
    munmap(word, WORD_SIZE);
    return rc;
}

void wake_forget(uid_t uid)
{
    char name[64];
    word_name(name, sizeof(name), uid);
    (void)shm_unlink(name);
}
