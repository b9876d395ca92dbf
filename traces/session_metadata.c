/* session_metadata.c - see session_metadata.h. */
#include "traces/session_metadata.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOOK_EVERY_MS 10
#define MAX_METADATA (8u << 20)

/* Packets of text: CTF 1.8, section 7.1. */
struct packet_header {
    uint32_t magic;
    uint8_t uuid[16];
    uint32_t checksum;
    uint32_t content_bits, packet_bits; /* header included; the rest is padding */
    uint8_t compression, encryption, checksum_scheme, major, minor;
} __attribute__((packed));

static unsigned count(const char *text, const char *word)
{
    unsigned n = 0;
    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word))
        n++;
    return n;
}

/* Joins the text of the whole packets in place; a word may lie across two. */
static void unpack(char *bytes, size_t size)
{
    size_t out = 0, at = 0;
    struct packet_header header;
    while (at + sizeof(header) <= size) {
        memcpy(&header, bytes + at, sizeof(header));
        size_t content = header.content_bits / 8, packet = header.packet_bits / 8;
        if (header.magic != 0x75d11d57 || content < sizeof(header) || packet < content || packet > size - at)
            break;
        memmove(bytes + out, bytes + at + sizeof(header), content - sizeof(header));
        out += content - sizeof(header);
        at += packet;
    }
    bytes[out] = '\0';
}

/* Events that the file describes. */
static unsigned events_in(int dir_fd)
{
    int fd = openat(dir_fd, "metadata", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return 0;
    unsigned n = 0;
    off_t size = lseek(fd, 0, SEEK_END);
    char *bytes = size > 0 && size < (off_t)MAX_METADATA ? malloc((size_t)size + 1) : NULL;
    if (bytes && pread(fd, bytes, (size_t)size, 0) == size) {
        unpack(bytes, (size_t)size);
        n = count(bytes, "\nevent {");
    }
    free(bytes);
    close(fd);
    return n;
}

/* True if every directory below fd that holds metadata has it complete. */
static bool complete(int fd, unsigned nr_events)
{
    int again = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = again < 0 ? NULL : fdopendir(again);
    if (!dir) {
        if (again >= 0)
            close(again);
        return true;
    }
    bool all = true;
    struct dirent *entry;
    while (all && (entry = readdir(dir))) {
        if (entry->d_name[0] == '.')
            continue;
        if (!strcmp(entry->d_name, "metadata")) {
            all = events_in(fd) >= nr_events;
            continue;
        }
        int sub = openat(fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (sub < 0)
            continue;
        all = complete(sub, nr_events);
        close(sub);
    }
    closedir(dir);
    return all;
}

int metadata_wait(int session_fd, unsigned nr_events, unsigned timeout_ms)
{
    for (unsigned waited_ms = 0; waited_ms <= timeout_ms; waited_ms += LOOK_EVERY_MS) {
        if (complete(session_fd, nr_events))
            return 0;
        usleep(LOOK_EVERY_MS * 1000);
    }
    return -ETIMEDOUT;
}
