/* packed_file.c - see packed_file.h.
 *
 * With inflate() rather than gzread(): that one keeps to itself what it unpacked just before the damage. */
#include "analysis/input/packed_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

enum { INPUT_BUFFER = 1 << 17, GZIP_ONLY = 16 + MAX_WBITS };

/* A gzip file is one or more members, each complete in itself. */
struct packed_file {
    int fd;
    bool packed;
    bool member_ended; /* what was unpacked last is a whole member */
    bool ended;
    z_stream z; /* its input lies in `input` */
    const char *problem;
    unsigned char input[INPUT_BUFFER];
};

/* Reads the next input, the last one being used up. Returns how many bytes, 0 at the end of the file, or -errno. */
static ssize_t fill(struct packed_file *file)
{
    ssize_t got;

    do
        got = read(file->fd, file->input, sizeof(file->input));
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return -errno;
    file->z.next_in = file->input;
    file->z.avail_in = got;
    return got;
}

static int begin(struct packed_file *file)
{
    ssize_t got = fill(file);

    if (got < 0)
        return got;
    file->packed = got >= 2 && file->input[0] == 0x1f && file->input[1] == 0x8b;
    return file->packed && inflateInit2(&file->z, GZIP_ONLY) != Z_OK ? -ENOMEM : 0;
}

int packed_file_open(const char *path, struct packed_file **ret)
{
    struct packed_file *file = calloc(1, sizeof(*file));

    if (!file)
        return -ENOMEM;
    file->fd = open(path, O_RDONLY | O_CLOEXEC);
    int rc = file->fd < 0 ? -errno : begin(file);
    if (rc < 0) {
        packed_file_close(file);
        return rc;
    }
    *ret = file;
    return 0;
}

void packed_file_close(struct packed_file *file)
{
    if (!file)
        return;
    if (file->packed)
        (void)inflateEnd(&file->z);
    if (file->fd >= 0)
        (void)close(file->fd);
    free(file);
}

static void take_input(struct packed_file *file, unsigned char **to, size_t *left)
{
    size_t take = file->z.avail_in < *left ? file->z.avail_in : *left;

    memcpy(*to, file->z.next_in, take);
    file->z.next_in += take;
    file->z.avail_in -= take;
    *to += take;
    *left -= take;
}

/* Unpacks what is in the input. What follows the last member is no part of the file, as for gzip itself. */
static int unpack(struct packed_file *file, unsigned char **to, size_t *left)
{
    if (file->member_ended && (file->z.next_in[0] != 0x1f || inflateReset(&file->z) != Z_OK)) {
        file->ended = true;
        return 0;
    }
    file->z.next_out = *to;
    file->z.avail_out = *left;
    int rc = inflate(&file->z, Z_NO_FLUSH);
    *to = file->z.next_out;
    *left = file->z.avail_out;
    file->member_ended = rc == Z_STREAM_END;
    if (rc == Z_MEM_ERROR)
        return -ENOMEM;
    if (rc != Z_OK && rc != Z_STREAM_END && rc != Z_BUF_ERROR) {
        file->problem = "The compressed file is damaged";
        file->ended = true;
    }
    return 0;
}

ssize_t packed_file_read(struct packed_file *file, void *data, size_t size)
{
    unsigned char *to = data;
    size_t left = size;

    while (left == size && !file->ended) {
        ssize_t got = file->z.avail_in ? 1 : fill(file);
        if (got < 0)
            return got;
        if (got == 0) {
            file->ended = true;
            if (file->packed && !file->member_ended)
                file->problem = "The compressed file is cut off";
        } else if (!file->packed)
            take_input(file, &to, &left);
        else if (unpack(file, &to, &left) < 0)
            return -ENOMEM;
    }
    return size - left;
}

const char *packed_file_problem(const struct packed_file *file)
{
    return file->problem;
}
