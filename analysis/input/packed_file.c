/* packed_file.c - see packed_file.h. zlib tells by itself whether a file is compressed. */
#include "analysis/input/packed_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

enum { INPUT_BUFFER = 1 << 17 };

struct packed_file {
    gzFile gz;
    const char *problem;
};

int packed_file_open(const char *path, struct packed_file **ret)
{
    struct packed_file *file = calloc(1, sizeof(*file));

    if (!file)
        return -ENOMEM;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        int rc = -errno;
        free(file);
        return rc;
    }
    file->gz = gzdopen(fd, "rb");
    if (!file->gz) {
        (void)close(fd);
        free(file);
        return -ENOMEM;
    }
    (void)gzbuffer(file->gz, INPUT_BUFFER);
    *ret = file;
    return 0;
}

void packed_file_close(struct packed_file *file)
{
    if (!file)
        return;
    (void)gzclose_r(file->gz);
    free(file);
}

ssize_t packed_file_read(struct packed_file *file, void *data, size_t size)
{
    int got = file->problem ? 0 : gzread(file->gz, data, size), why = Z_OK;

    if (got > 0 || file->problem)
        return got;
    (void)gzerror(file->gz, &why);
    switch (why) {
    case Z_OK:
    case Z_STREAM_END:
        return 0;
    case Z_ERRNO:
        return errno ? -errno : -EIO;
    case Z_MEM_ERROR:
        return -ENOMEM;
    case Z_BUF_ERROR:
        file->problem = "the compressed file is cut off";
        return 0;
    default:
        file->problem = "the compressed file is damaged";
        return 0;
    }
}

const char *packed_file_problem(const struct packed_file *file)
{
    return file->problem;
}
