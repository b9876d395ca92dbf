/* mutate.c - damages a trace, the same way for the same seed: `mutate SEED DIR` changes one file below DIR and says
 * how.
 *
 * Kinds of damage: bytes flipped, a range zeroed, the end cut off, a range doubled, garbage appended. */
#include <errno.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FILES = 256 };

static char *files[MAX_FILES];
static size_t nr_files;
static uint64_t state;

static uint64_t next_random(uint64_t below)
{
    state += 0x9e3779b97f4a7c15u;
    uint64_t z = state;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (z ^ z >> 31) % below;
}

static int collect(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)ftw;
    if (type == FTW_F && st->st_size > 0 && nr_files < MAX_FILES)
        files[nr_files++] = strdup(path);
    return 0;
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static uint8_t *read_file(const char *path, size_t *ret_size)
{
    FILE *file = fopen(path, "r");
    uint8_t *bytes = NULL;

    if (file && fseek(file, 0, SEEK_END) == 0) {
        *ret_size = ftell(file);
        rewind(file);
        bytes = malloc(2 * *ret_size + 4096);
        if (bytes && fread(bytes, 1, *ret_size, file) != *ret_size)
            bytes = NULL;
    }
    if (!bytes) {
        fprintf(stderr, "mutate: cannot read %s: %s\n", path, strerror(errno));
        exit(2);
    }
    (void)fclose(file);
    return bytes;
}

/* Returns the new size. bytes has room for twice the old one and 4096. */
static size_t damage(uint8_t *bytes, size_t size, const char **what)
{
    size_t at = next_random(size), len = 1 + next_random(64) * next_random(64);

    len = len < size - at ? len : size - at;
    switch (next_random(5)) {
    case 0:
        *what = "bytes flipped";
        for (uint64_t n = 1 + next_random(8); n > 0; n--)
            bytes[next_random(size)] ^= 1 + next_random(255);
        return size;
    case 1:
        *what = "range zeroed";
        memset(bytes + at, 0, len);
        return size;
    case 2:
        *what = "end cut off";
        return at;
    case 3:
        *what = "range doubled";
        memmove(bytes + at + len, bytes + at, size - at);
        return size + len;
    default:
        *what = "garbage appended";
        for (size_t i = 0; i < len; i++)
            bytes[size + i] = next_random(256);
        return size + len;
    }
}

int main(int argc, char **argv)
{
    size_t size = 0;
    const char *what;

    if (argc != 3 || nftw(argv[2], collect, 16, FTW_PHYS) != 0 || nr_files == 0) {
        fputs("Usage: mutate SEED DIR\n", stderr);
        return 2;
    }
    state = strtoull(argv[1], NULL, 10);
    qsort(files, nr_files, sizeof(*files), compare);

    const char *path = files[next_random(nr_files)];
    uint8_t *bytes = read_file(path, &size);
    size_t changed = damage(bytes, size, &what);
    FILE *file = fopen(path, "w");
    if (!file || fwrite(bytes, 1, changed, file) != changed || fclose(file) != 0) {
        fprintf(stderr, "mutate: cannot write %s: %s\n", path, strerror(errno));
        return 2;
    }
    printf("%s: %s, %zu of %zu bytes\n", path, what, changed, size);
    free(bytes);
    for (size_t i = 0; i < nr_files; i++)
        free(files[i]);
    return 0;
}
