/* reads.c - a library that reads a file by calls of its own (libreads.so of lives.c). */
#include <fcntl.h>
#include <unistd.h>

int library_reads(const char *path);

__attribute__((visibility("default"))) int library_reads(const char *path)
{
    char buf[1000];
    int fd = open(path, O_RDONLY), n = (int)read(fd, buf, sizeof(buf));
    close(fd);
    return n;
}
