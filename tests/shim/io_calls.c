/* io_calls.c - makes each hooked call on files once and prints the event it expects, one a line:
 *
 *     EVENT OP BYTES PATH
 *
 * Each call has a directory of its own below the one given, named after the call: what is small stands under its
 * directory, what is written under its file. tests/shim/io.t runs it recorded and looks for the lines. A call whose
 * result is wrong ends the program with status 1: the hooks must not change what calls return. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

/* What FORTIFY makes of the plain calls; not declared for programs. */
extern ssize_t __read_chk(int, void *, size_t, size_t);
extern ssize_t __pread_chk(int, void *, size_t, off_t, size_t);
extern ssize_t __pread64_chk(int, void *, size_t, off64_t, size_t);
extern size_t __fread_chk(void *, size_t, size_t, size_t, FILE *);
extern size_t __fread_unlocked_chk(void *, size_t, size_t, size_t, FILE *);
extern char *__fgets_chk(char *, size_t, int, FILE *);
extern char *__fgets_unlocked_chk(char *, size_t, int, FILE *);
extern int __open_2(const char *, int);
extern int __open64_2(const char *, int);
extern int __openat_2(int, const char *, int);
extern int __openat64_2(int, const char *, int);
#undef fread_unlocked
#undef fwrite_unlocked

static const char *top;
static char path[4096], buf[65536];

static void must(int good, const char *call)
{
    if (good)
        return;
    fprintf(stderr, "%s: wrong result: %s\n", call, strerror(errno));
    exit(1);
}

/* The call's directory with a file of `bytes` lines of text in it; path names the file. */
static void prepare(const char *call, size_t bytes)
{
    snprintf(path, sizeof(path), "%s/%s", top, call);
    must(mkdir(path, 0700) == 0 || errno == EEXIST, "mkdir");
    strcat(path, "/f");
    memset(buf, 'x', sizeof(buf));
    for (size_t i = 31; i < sizeof(buf); i += 32)
        buf[i] = '\n';
    FILE *f = fopen(path, "w");
    must(f && fwrite(buf, 1, bytes, f) == bytes && fclose(f) == 0, "prepare");
}

static void expect_read(const char *call, size_t bytes)
{
    printf("file_io read %zu %s/%s\n", bytes, top, call);
}

static void expect_write(const char *call, size_t bytes)
{
    printf("file_io write %zu %s/%s/f\n", bytes, top, call);
}

#define BYTES 640
#define READS(call, expr)                                                                                              \
    do {                                                                                                               \
        prepare(#call, BYTES);                                                                                         \
        int fd = open(path, O_RDONLY);                                                                                 \
        struct iovec iov[2] = {{buf, 100}, {buf + 100, BYTES}};                                                        \
        (void)iov;                                                                                                     \
        must(fd >= 0 && (expr) == BYTES, #call);                                                                       \
        close(fd);                                                                                                     \
        expect_read(#call, BYTES);                                                                                     \
    } while (0)

#define WRITES(call, expr)                                                                                             \
    do {                                                                                                               \
        prepare(#call, 0);                                                                                             \
        int fd = open(path, O_WRONLY);                                                                                 \
        struct iovec iov[2] = {{buf, 100}, {buf + 100, BYTES - 100}};                                                  \
        (void)iov;                                                                                                     \
        must(fd >= 0 && (expr) == BYTES, #call);                                                                       \
        close(fd);                                                                                                     \
        expect_write(#call, BYTES);                                                                                    \
    } while (0)

#define F_READS(call, expr, want)                                                                                      \
    do {                                                                                                               \
        prepare(#call, BYTES);                                                                                         \
        FILE *f = fopen(path, "r");                                                                                    \
        must(f && (expr), #call);                                                                                      \
        fclose(f);                                                                                                     \
        expect_read(#call, want);                                                                                      \
    } while (0)

#define F_WRITES(call, expr, want)                                                                                     \
    do {                                                                                                               \
        prepare(#call, 0);                                                                                             \
        FILE *f = fopen(path, "w");                                                                                    \
        must(f && (expr), #call);                                                                                      \
        fclose(f);                                                                                                     \
        expect_write(#call, want);                                                                                     \
    } while (0)

/* Opening is told by what is read from the descriptor: the hook must know the path. */
#define OPENS(call, expr)                                                                                              \
    do {                                                                                                               \
        prepare(#call, BYTES);                                                                                         \
        int fd = (expr);                                                                                               \
        must(fd >= 0 && read(fd, buf, sizeof(buf)) == BYTES, #call);                                                   \
        close(fd);                                                                                                     \
        expect_read(#call, BYTES);                                                                                     \
    } while (0)

static void descriptors(void)
{
    READS(read, read(fd, buf, sizeof(buf)));
    READS(__read_chk, __read_chk(fd, buf, sizeof(buf), sizeof(buf)));
    READS(pread, pread(fd, buf, sizeof(buf), 0));
    READS(pread64, pread64(fd, buf, sizeof(buf), 0));
    READS(__pread_chk, __pread_chk(fd, buf, sizeof(buf), 0, sizeof(buf)));
    READS(__pread64_chk, __pread64_chk(fd, buf, sizeof(buf), 0, sizeof(buf)));
    READS(readv, readv(fd, iov, 2));
    READS(preadv, preadv(fd, iov, 2, 0));
    READS(preadv64, preadv64(fd, iov, 2, 0));
    READS(preadv2, preadv2(fd, iov, 2, 0, 0));
    READS(preadv64v2, preadv64v2(fd, iov, 2, 0, 0));
    WRITES(write, write(fd, buf, BYTES));
    WRITES(pwrite, pwrite(fd, buf, BYTES, 0));
    WRITES(pwrite64, pwrite64(fd, buf, BYTES, 0));
    WRITES(writev, writev(fd, iov, 2));
    WRITES(pwritev, pwritev(fd, iov, 2, 0));
    WRITES(pwritev64, pwritev64(fd, iov, 2, 0));
    WRITES(pwritev2, pwritev2(fd, iov, 2, 0, 0));
    WRITES(pwritev64v2, pwritev64v2(fd, iov, 2, 0, 0));
}

static void streams(void)
{
    char *line = NULL;
    size_t room = 0;
    F_READS(fread, fread(buf, 1, BYTES, f) == BYTES, BYTES);
    F_READS(fread_unlocked, fread_unlocked(buf, 1, BYTES, f) == BYTES, BYTES);
    F_READS(__fread_chk, __fread_chk(buf, sizeof(buf), 1, BYTES, f) == BYTES, BYTES);
    F_READS(__fread_unlocked_chk, __fread_unlocked_chk(buf, sizeof(buf), 1, BYTES, f) == BYTES, BYTES);
    F_READS(fgets, fgets(buf, sizeof(buf), f) == buf, 32);
    F_READS(fgets_unlocked, fgets_unlocked(buf, sizeof(buf), f) == buf, 32);
    F_READS(__fgets_chk, __fgets_chk(buf, sizeof(buf), 1000, f) == buf, 32);
    F_READS(__fgets_unlocked_chk, __fgets_unlocked_chk(buf, sizeof(buf), 1000, f) == buf, 32);
    F_READS(getline, getline(&line, &room, f) == 32, 32);
    F_READS(getdelim, getdelim(&line, &room, '\n', f) == 32, 32);
    F_WRITES(fwrite, fwrite(buf, 1, BYTES, f) == BYTES, BYTES);
    F_WRITES(fwrite_unlocked, fwrite_unlocked(buf, 1, BYTES, f) == BYTES, BYTES);
    F_WRITES(fputs, fputs("hello, trace", f) >= 0, 12);
    free(line);
}

static void opens(void)
{
    OPENS(open, open(path, O_RDONLY));
    OPENS(open64, open64(path, O_RDONLY));
    OPENS(openat, openat(AT_FDCWD, path, O_RDONLY));
    OPENS(openat64, openat64(AT_FDCWD, path, O_RDONLY));
    OPENS(__open_2, __open_2(path, O_RDONLY));
    OPENS(__open64_2, __open64_2(path, O_RDONLY));
    OPENS(__openat_2, __openat_2(AT_FDCWD, path, O_RDONLY));
    OPENS(__openat64_2, __openat64_2(AT_FDCWD, path, O_RDONLY));
    OPENS(dup2, dup2(open(path, O_RDONLY), 77));
    OPENS(inside_libc, fileno(fopen(path, "r")));
    /* relative, through a directory descriptor */
    prepare("relative", BYTES);
    int dir = open(top, O_RDONLY | O_DIRECTORY), fd = openat(dir, "relative/f", O_RDONLY);
    must(fd >= 0 && read(fd, buf, sizeof(buf)) == BYTES, "relative");
    close(fd);
    close(dir);
    expect_read("relative", BYTES);
}

static void copies(void)
{
    int in, out;
    char target[4200];
    prepare("sendfile", BYTES);
    snprintf(target, sizeof(target), "%s.out", path);
    in = open(path, O_RDONLY);
    out = open(target, O_WRONLY | O_CREAT, 0600);
    must(sendfile(out, in, NULL, BYTES) == BYTES, "sendfile");
    close(in);
    close(out);
    expect_read("sendfile", BYTES);
    printf("file_io write %d %s\n", BYTES, target);

    prepare("copy_file_range", BYTES);
    snprintf(target, sizeof(target), "%s.out", path);
    in = open(path, O_RDONLY);
    out = open(target, O_WRONLY | O_CREAT, 0600);
    if (copy_file_range(in, NULL, out, NULL, BYTES, 0) == BYTES) { /* not on every file system */
        expect_read("copy_file_range", BYTES);
        printf("file_io write %d %s\n", BYTES, target);
    }
    close(in);
    close(out);
}

static void changes(void)
{
    char target[4200];
    struct stat st;
    prepare("changes", 0);
    int fd = open(path, O_RDWR);
    must(write(fd, buf, BYTES) == BYTES && fsync(fd) == 0 && fdatasync(fd) == 0, "fsync");
    must(ftruncate(fd, 4096) == 0, "ftruncate");
    char *map = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
    must(map != MAP_FAILED && map[0] == 'x', "mmap");
    close(fd);
    snprintf(target, sizeof(target), "%s.new", path);
    must(rename(path, target) == 0 && stat(target, &st) == 0 && unlink(target) == 0, "rename");
    errno = 0;
    must(unlink("/nonexistent/f") == -1 && errno == ENOENT, "errno of a failed call");
    printf("file_op create 0 %s\nfile_op fsync 0 %s\nfile_op truncate 4096 %s\nfile_op mmap 4096 %s\n"
           "file_op close 4096 %s\nfile_op rename 0 %s\nfile_op unlink 0 %s\nfile_op unlink 0 /nonexistent/f\n",
           path, path, path, path, path, path, target);
}

int main(int argc, char **argv)
{
    top = argc > 1 ? argv[1] : ".";
    descriptors();
    streams();
    opens();
    copies();
    changes();
    return 0;
}
