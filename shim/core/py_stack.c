/* py_stack.c - see py_stack.h. On the tender only. */
#include "shim/core/py_stack.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "shim/core/py_lines.h"

#define MAX_FRAMES 24
#define MAX_THREADS 4096
#define MAX_LINETABLE 65536
#define NO_FIELD 0xffffu

/* Where the fields lie that are read, in bytes; NO_FIELD: there is none. */
struct layout {
    uint16_t interpreters; /* in _PyRuntime */
    uint32_t next_interpreter, threads;
    uint16_t next_thread, thread_id;
    uint16_t cframe;                                      /* 3.11, 3.12: the record that has the frame */
    uint16_t frame;                                       /* in the thread, or in that record */
    uint16_t back, code;                                  /* in a frame */
    uint16_t place;                                       /* f_lasti, or the address of the instruction */
    uint16_t owner;                                       /* NO_FIELD before 3.11 */
    uint16_t filename, name, first_line, lines, bytecode; /* in a code object; bytecode from 3.11 on */
    uint16_t ascii_header, compact_header;                /* sizes in front of a string's characters */
};

#define OLD_CODE .filename = 104, .name = 112, .first_line = 40, .lines = 120, .bytecode = NO_FIELD
#define OLD_STATE .interpreters = 32, .threads = 8, .next_thread = 8, .thread_id = 176, .cframe = NO_FIELD, .frame = 24
#define OLD_TEXT .ascii_header = 48, .compact_header = 72
static const struct layout python_3_8 = {OLD_STATE,         .back = 24, .code = 32, .place = 104,
                                         .owner = NO_FIELD, OLD_CODE,   OLD_TEXT};
static const struct layout python_3_10 = {OLD_STATE,         .back = 24, .code = 32, .place = 96,
                                          .owner = NO_FIELD, OLD_CODE,   OLD_TEXT};
static const struct layout python_3_11 = {.interpreters = 40,
                                          .threads = 16,
                                          .next_thread = 8,
                                          .thread_id = 152,
                                          .cframe = 56,
                                          .frame = 8,
                                          .back = 48,
                                          .code = 32,
                                          .place = 56,
                                          .owner = 69,
                                          .filename = 112,
                                          .name = 128,
                                          .first_line = 72,
                                          .lines = 136,
                                          .bytecode = 184,
                                          OLD_TEXT};
static const struct layout python_3_12 = {.interpreters = 40,
                                          .threads = 72,
                                          .next_thread = 8,
                                          .thread_id = 136,
                                          .cframe = 56,
                                          .frame = 0,
                                          .back = 8,
                                          .code = 0,
                                          .place = 56,
                                          .owner = 70,
                                          .filename = 112,
                                          .name = 128,
                                          .first_line = 68,
                                          .lines = 136,
                                          .bytecode = 192,
                                          .ascii_header = 40,
                                          .compact_header = 56};

struct python {
    int minor; /* of 3; 0: none that is known */
    uintptr_t runtime;
    struct layout at;
};

/* ---- reading ---------------------------------------------------------------------------------------------------- */

static bool read_at(uintptr_t address, void *ret, size_t size)
{
    struct iovec to = {ret, size}, from = {(void *)address, size};
    return address && process_vm_readv(getpid(), &to, 1, &from, 1, 0) == (ssize_t)size;
}

static uintptr_t pointer_at(uintptr_t address)
{
    uintptr_t value;
    return read_at(address, &value, sizeof(value)) ? value : 0;
}

/* A str, as far as its characters are 7 or 8 bits wide; others become '?'. */
static bool read_text(const struct layout *l, uintptr_t text, char *ret, size_t size)
{
    struct {
        uint64_t length, hash;
        uint32_t state; /* bits 2 to 4 kind, 5 compact, 6 ascii; where `interned` is wider: 16 to 18, 19, 20 */
    } head;
    if (!read_at(text + 16, &head, sizeof(head)) || head.length >= 4096)
        return false;
    if (!(head.state & 0xfffcu))
        head.state >>= 14;
    if (!(head.state >> 5 & 1))
        return false;
    unsigned kind = head.state >> 2 & 7u, is_ascii = head.state >> 6 & 1u;
    size_t n = head.length < size - 1 ? head.length : size - 1;
    /* Of a path the end tells more than the begin. */
    uintptr_t from = text + (is_ascii ? l->ascii_header : l->compact_header) + (head.length - n) * (kind ? kind : 1);
    unsigned char wide[4 * 256];
    if (!kind || kind > 4 || n > 256 || !read_at(from, wide, n * kind))
        return false;
    for (size_t i = 0; i < n; i++) {
        unsigned char low = wide[i * kind];
        bool plain = low >= ' ' && low < 127 && low != ';';
        for (unsigned k = 1; k < kind; k++)
            plain &= !wide[i * kind + k];
        ret[i] = plain ? (char)low : '?';
    }
    ret[n] = '\0';
    return n > 0;
}

/* ---- which Python ----------------------------------------------------------------------------------------------- */

/* From 3.13 on the runtime begins with a table of its own layout, numbers of 64 bits each. */
static bool read_own_layout(uintptr_t runtime, int minor, struct layout *ret)
{
    uint64_t t[64];
    unsigned more = minor >= 14, frames = more ? 31 : 28; /* 3.14 has a field more of interpreters, two at their end */
    if (!read_at(runtime, t, sizeof(t)) || memcmp(t, "xdebugpy", 8) != 0 || t[2])
        return false; /* t[2]: free-threaded, where code lies elsewhere */
    /* thread: size prev next interp frame thread_id native chunk status; frame: size previous executable instr
     * localsplus owner (stackpointer tlbc); code: size filename name qualname linetable firstlineno .. 9: bytecode */
    const uint64_t *thread = t + (more ? 22 : 19), *frame = t + frames, *code = frame + (more ? 8 : 6);
    *ret = (struct layout){.interpreters = (uint16_t)t[5],
                           .next_interpreter = (uint32_t)t[8],
                           .threads = (uint32_t)t[9],
                           .next_thread = (uint16_t)thread[2],
                           .thread_id = (uint16_t)thread[5],
                           .cframe = NO_FIELD,
                           .frame = (uint16_t)thread[4],
                           .back = (uint16_t)frame[1],
                           .code = (uint16_t)frame[2],
                           .place = (uint16_t)frame[3],
                           .owner = (uint16_t)frame[5],
                           .filename = (uint16_t)code[1],
                           .name = (uint16_t)code[3],
                           .first_line = (uint16_t)code[5],
                           .lines = (uint16_t)code[4],
                           .bytecode = (uint16_t)code[9],
                           .ascii_header = 40,
                           .compact_header = 56};
    return true;
}

static bool look(struct python *p)
{
    const char *(*version)(void) = (const char *(*)(void))dlsym(RTLD_DEFAULT, "Py_GetVersion");
    void *runtime = dlsym(RTLD_DEFAULT, "_PyRuntime");
    (void)dlerror();
    const char *text = version && runtime ? version() : "";
    *p = (struct python){0};
    if (strncmp(text, "3.", 2) != 0)
        return false;
    p->minor = (int)strtol(text + 2, NULL, 10);
    p->runtime = (uintptr_t)runtime;
    if (p->minor >= 13)
        return p->minor <= 14 && read_own_layout(p->runtime, p->minor, &p->at);
    if (p->minor < 8)
        return false;
    p->at = p->minor == 12 ? python_3_12 : p->minor == 11 ? python_3_11 : p->minor == 10 ? python_3_10 : python_3_8;
    return true;
}

/* ---- frames ----------------------------------------------------------------------------------------------------- */

static uintptr_t thread_with_id(const struct python *p, uint64_t pthread)
{
    uintptr_t interpreter = pointer_at(p->runtime + p->at.interpreters);
    for (int i = 0; interpreter && i < 64; i++, interpreter = pointer_at(interpreter + p->at.next_interpreter)) {
        uintptr_t thread = pointer_at(interpreter + p->at.threads);
        for (int k = 0; thread && k < MAX_THREADS; k++, thread = pointer_at(thread + p->at.next_thread))
            if (pointer_at(thread + p->at.thread_id) == pthread)
                return thread;
    }
    return 0;
}

static int line_of(const struct python *p, uintptr_t frame, uintptr_t code)
{
    static unsigned char table[MAX_LINETABLE]; /* the tender's alone */
    uintptr_t lines = pointer_at(code + p->at.lines);
    uint64_t size = pointer_at(lines + 16); /* of a bytes object */
    int first = 0, last = 0;
    if (!read_at(code + p->at.first_line, &first, sizeof(first)) || !lines || size > sizeof(table) ||
        (size && !read_at(lines + 32, table, size)))
        return 0;
    if (p->minor >= 11) {
        size_t at = pointer_at(frame + p->at.place) - (code + p->at.bytecode);
        return py_line_locations(table, size, first, at);
    }
    if (!read_at(frame + p->at.place, &last, sizeof(last)) || last < 0)
        return 0;
    return p->minor == 10 ? py_line_ranges(table, size, first, (size_t)last * 2)
                          : py_line_lnotab(table, size, first, (size_t)last);
}

/* Frames that are no Python function's: what the interpreter itself puts in between (owner 3 and above). */
static bool is_pythons(const struct python *p, uintptr_t frame)
{
    signed char owner = 0;
    return p->at.owner == NO_FIELD || (read_at(frame + p->at.owner, &owner, 1) && owner < 3);
}

/* "function (file:line)"; 0: it cannot be read. */
static size_t tell_frame(const struct python *p, uintptr_t frame, char *ret, size_t size)
{
    char name[96], file[160];
    uintptr_t code = pointer_at(frame + p->at.code) & ~(uintptr_t)(p->minor >= 14 ? 7 : 0);
    if (!code || !read_text(&p->at, pointer_at(code + p->at.name), name, sizeof(name)) ||
        !read_text(&p->at, pointer_at(code + p->at.filename), file, sizeof(file)))
        return 0;
    int line = line_of(p, frame, code);
    int n = line > 0 ? snprintf(ret, size, "%s (%s:%d)", name, file, line) : snprintf(ret, size, "%s (%s)", name, file);
    return n > 0 && (size_t)n < size ? (size_t)n : 0;
}

bool py_stack_of(uint64_t pthread, char *ret, size_t size)
{
    struct python p;
    size_t used = 0;
    uintptr_t thread = look(&p) ? thread_with_id(&p, pthread) : 0;
    uintptr_t from = thread && p.at.cframe != NO_FIELD ? pointer_at(thread + p.at.cframe) : thread;
    uintptr_t frame = from ? pointer_at(from + p.at.frame) : 0;
    for (int i = 0; frame && i < MAX_FRAMES; i++, frame = pointer_at(frame + p.at.back)) {
        char text[288];
        size_t n = is_pythons(&p, frame) ? tell_frame(&p, frame, text, sizeof(text)) : 0;
        if (!n)
            continue;
        if (used + n + 3 > size)
            break;
        used += (size_t)snprintf(ret + used, size - used, "%s%s", used ? "; " : "", text);
    }
    return used > 0;
}
