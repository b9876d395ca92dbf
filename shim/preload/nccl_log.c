/* nccl_log.c - see nccl_log.h. Without TRSHIM_NCCL_LOG nothing here ever runs. With it every write through stdio passes
 * a look at its beginning; NCCL itself writes a line at a time, by fwrite (to 2.28) or vfprintf (later).
 *
 * Own writes are bare system calls into a file that is opened at the first line and stays open, at most MAX_BYTES of
 * it. A process that is killed leaves all lines but, of NCCL's own file, what the C library still holds of a line. */
#include "shim/preload/nccl_log.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shim/preload/hook.h"
#include "traces/control.h"

#define LINE_MAX_BYTES 2048 /* NCCL's buffer has 1024 */
#define LOOK_BYTES 512      /* its mark comes after host name, process, thread and, in a warning, a source file */
#define MAX_BYTES (256u << 20)
#define NO_FILE (-1)

static char directory[4096];          /* of the files; ends with '/' */
static bool wants_warnings;           /* of what NCCL writes to our file the user had asked for warnings */
static bool wants_version;            /* or for NCCL's version */
static _Atomic(FILE *) file_of_nccl;  /* that is ours */
static atomic_int own_file = NO_FILE; /* lines that NCCL wrote elsewhere */
static _Atomic uint64_t own_inode;
static atomic_uint own_pid, own_bytes;

static struct real libc; /* as they were */

/* ---- NCCL opens its file ---------------------------------------------------------------------------------------- */

static bool is_ours(const char *path)
{
    return path && strncmp(path, directory, strlen(directory)) == 0;
}

/* NCCL opens the file that record has named. If the job has set NCCL_DEBUG itself since, it wants the lines on its
 * standard output: there NCCL writes when the file cannot be opened. And if ours cannot be had, nowhere. */
static FILE *open_log(FILE *(*real_fopen)(const char *, const char *), const char *path, const char *mode)
{
    const char *level = is_ours(path) ? getenv("NCCL_DEBUG") : NULL;
    if (!level)
        return real_fopen(path, mode);
    if (strcmp(level, TR_NCCL_LEVEL) != 0) {
        errno = ENOENT;
        return NULL;
    }
    FILE *file = real_fopen(path, mode);
    if (!file)
        file = real_fopen("/dev/null", mode);
    if (file)
        setvbuf(file, NULL, _IOLBF, 0); /* early releases do not, and lose the end when killed */
    atomic_store(&file_of_nccl, file);
    return file;
}

static FILE *log_fopen(const char *path, const char *mode)
{
    return open_log(libc.fopen, path, mode);
}

static FILE *log_fopen64(const char *path, const char *mode)
{
    return open_log(libc.fopen64, path, mode);
}

/* ---- NCCL writes a line ----------------------------------------------------------------------------------------- */

static void append_number(char *text, size_t room, unsigned long n)
{
    char digits[24], *d = digits + sizeof(digits);
    for (*--d = 0; d == digits + sizeof(digits) - 1 || n; n /= 10)
        *--d = (char)('0' + n % 10);
    strncat(text, d, room - strlen(text) - 1);
}

static uint64_t inode_of(int file)
{
    struct statx st;
    return syscall(SYS_statx, file, "", AT_EMPTY_PATH, STATX_INO, &st) == 0 ? st.stx_ino : 0;
}

/* The file of this process: `own-<pid>.log`. A job may have closed it, and been given its number for something else. */
static int own_log(void)
{
    char path[sizeof(directory) + 40];
    unsigned pid = (unsigned)getpid();
    int file = atomic_load(&own_file);
    if (file != NO_FILE && atomic_load(&own_pid) == pid && inode_of(file) == atomic_load(&own_inode))
        return file;
    strcpy(path, directory);
    strcat(path, "own-");
    append_number(path, sizeof(path), pid);
    strcat(path, ".log");
    int made = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (made < 0)
        return NO_FILE;
    /* Away from the numbers that a job may close in a row, or give to its children. */
    int high = (int)syscall(SYS_fcntl, made, F_DUPFD_CLOEXEC, 700);
    if (high >= 0) {
        syscall(SYS_close, made);
        made = high;
    }
    if (atomic_exchange(&own_pid, pid) != pid)
        atomic_store(&own_bytes, 0);
    atomic_store(&own_inode, inode_of(made));
    int before = file;
    if (!atomic_compare_exchange_strong(&own_file, &before, made)) {
        syscall(SYS_close, made); /* another thread was faster */
        made = before;
    }
    return made;
}

static void keep(const char *line, size_t n)
{
    int file;
    if (atomic_fetch_add(&own_bytes, (unsigned)n) > MAX_BYTES || (file = own_log()) == NO_FILE)
        return;
    (void)!syscall(SYS_write, file, line, n);
}

/* Whether NCCL wrote it: all its lines have its name and a word for their level. */
static const char *nccl_mark(const char *text, size_t n)
{
    static const char *const levels[] = {"INFO ", "WARN ", "version ", "TRACE ", "CALL "};
    const char *end = text + (n < LOOK_BYTES ? n : LOOK_BYTES), *at = text;
    while ((at = memmem(at, (size_t)(end - at), "NCCL ", 5))) {
        at += 5;
        for (size_t i = 0; i < sizeof(levels) / sizeof(*levels); i++)
            if ((size_t)(text + n - at) >= strlen(levels[i]) && memcmp(at, levels[i], strlen(levels[i])) == 0)
                return at;
    }
    return NULL;
}

/* What was written to our file instead of standard output, and would have been written there. */
static void pass_on(const char *line, size_t n, const char *mark)
{
    static const char version[] = "INFO NCCL version ";
    size_t skip = (size_t)(mark - line);
    if (wants_warnings && memcmp(mark, "WARN ", 5) == 0)
        libc.fwrite(line, 1, n, stdout);
    else if (wants_version && n - skip > sizeof(version) && memcmp(mark, version, sizeof(version) - 1) == 0)
        libc.fwrite(mark + 5, 1, n - skip - 5, stdout); /* at those levels it has nothing before it */
}

static void saw(const char *line, size_t n, FILE *file)
{
    const char *mark = n >= 8 && n <= LINE_MAX_BYTES ? nccl_mark(line, n) : NULL;
    if (!mark)
        return;
    int saved_errno = errno;
    if (file == atomic_load_explicit(&file_of_nccl, memory_order_relaxed))
        pass_on(line, n, mark);
    else
        keep(line, n);
    errno = saved_errno;
}

static size_t log_fwrite(const void *buf, size_t size, size_t n, FILE *file)
{
    size_t rc = libc.fwrite(buf, size, n, file);
    if (size == 1)
        saw(buf, n, file);
    return rc;
}

/* The text a second time, for us. Its arguments may be read once only, so from a copy. */
static void saw_format(FILE *file, const char *format, va_list copy)
{
    char line[LINE_MAX_BYTES];
    if (!nccl_mark(format, strlen(format)))
        return; /* what NCCL prints has its mark in the format */
    int n = vsnprintf(line, sizeof(line), format, copy);
    if (n > 0)
        saw(line, (size_t)n < sizeof(line) ? (size_t)n : sizeof(line) - 1, file);
}

static int log_vfprintf(FILE *file, const char *format, va_list args)
{
    va_list copy;
    va_copy(copy, args);
    int rc = libc.vfprintf(file, format, args);
    saw_format(file, format, copy);
    va_end(copy);
    return rc;
}

static int log_vfprintf_chk(FILE *file, int flag, const char *format, va_list args)
{
    va_list copy;
    va_copy(copy, args);
    int rc = libc.__vfprintf_chk(file, flag, format, args);
    saw_format(file, format, copy);
    va_end(copy);
    return rc;
}

/* ---- set up ------------------------------------------------------------------------------------------------------ */

void nccl_log_set_up(void)
{
    const char *told = getenv("TRSHIM_NCCL_LOG"), *level = getenv("TRSHIM_NCCL_DEBUG");
    if (!told || told[0] != '/' || strlen(told) + 2 > sizeof(directory))
        return;
    strcpy(directory, told);
    strcat(directory, "/");
    wants_warnings = level && strcasecmp(level, "WARN") == 0;
    wants_version = wants_warnings || (level && strcasecmp(level, "VERSION") == 0);
    libc = real;
    real.fopen = log_fopen;
    real.fopen64 = log_fopen64;
    real.fwrite = log_fwrite;
    real.vfprintf = log_vfprintf;
    real.__vfprintf_chk = log_vfprintf_chk;
}
