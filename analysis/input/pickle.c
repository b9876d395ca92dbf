/* pickle.c - reads the part of Python's pickle format that plain data needs: None, numbers, texts, lists, tuples and
 * dicts, of protocols 0 to 5. See value.h.
 *
 * A pickle is a program for a stack machine, and some of its instructions import and call what the file names. Those
 * are refused, not skipped: a file that holds one is not the plain data it claims to be. Every instruction costs bytes
 * of the file, so memory is bounded by its size. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/input/value.h"
#include "analysis/model/arena.h"

struct machine {
    struct arena *arena;
    const uint8_t *at, *begin, *end;
    struct value **stack; /* owned; NULL entries are marks */
    size_t nr, capacity;
    struct value **memo; /* owned; NULL entries are not set */
    size_t nr_memo, memo_capacity;
    char **ret_error;
};

static int refuse(struct machine *machine, const char *why)
{
    if (!*machine->ret_error)
        (void)asprintf(machine->ret_error, "no valid pickle: %s at byte %zu", why,
                       (size_t)(machine->at - machine->begin));
    return -EINVAL;
}

/* ---- the file ------------------------------------------------------------------------------- */

static bool has(const struct machine *machine, uint64_t bytes)
{
    return (uint64_t)(machine->end - machine->at) >= bytes;
}

/* A number of `size` bytes, little endian. */
static int take(struct machine *machine, size_t size, uint64_t *ret)
{
    if (!has(machine, size))
        return refuse(machine, "it breaks off");
    *ret = 0;
    for (size_t i = 0; i < size; i++)
        *ret |= (uint64_t)machine->at[i] << 8 * i;
    machine->at += size;
    return 0;
}

/* The rest of the line, without its end. */
static int take_line(struct machine *machine, const char **ret, size_t *ret_len)
{
    const uint8_t *end = memchr(machine->at, '\n', machine->end - machine->at);

    if (!end)
        return refuse(machine, "it breaks off");
    *ret = (const char *)machine->at;
    *ret_len = end - machine->at;
    machine->at = end + 1;
    return 0;
}

/* ---- stack and memo ------------------------------------------------------------------------- */

static int grow(struct value ***list, size_t *capacity, size_t wanted)
{
    size_t size = *capacity ? *capacity : 64;

    if (wanted <= *capacity)
        return 0;
    while (size < wanted)
        size *= 2;
    struct value **larger = realloc(*list, size * sizeof(*larger));
    if (!larger)
        return -ENOMEM;
    memset(larger + *capacity, 0, (size - *capacity) * sizeof(*larger));
    *list = larger;
    *capacity = size;
    return 0;
}

static int push_any(struct machine *machine, struct value *value)
{
    int rc = grow(&machine->stack, &machine->capacity, machine->nr + 1);

    if (rc == 0)
        machine->stack[machine->nr++] = value;
    return rc;
}

static int push_mark(struct machine *machine)
{
    return push_any(machine, NULL);
}

static int push(struct machine *machine, struct value *value)
{
    return value ? push_any(machine, value) : -ENOMEM;
}

/* The value `depth` below the top; NULL, with the error set, if that is a mark or nothing. */
static struct value *peek(struct machine *machine, size_t depth)
{
    struct value *value = depth < machine->nr ? machine->stack[machine->nr - 1 - depth] : NULL;

    if (!value)
        (void)refuse(machine, "its stack is empty");
    return value;
}

/* Index of the topmost mark. */
static int find_mark(struct machine *machine, size_t *ret)
{
    for (size_t i = machine->nr; i-- > 0;)
        if (!machine->stack[i]) {
            *ret = i;
            return 0;
        }
    return refuse(machine, "a mark is missing");
}

static int memo_put(struct machine *machine, uint64_t index)
{
    struct value *value = peek(machine, 0);

    if (!value)
        return -EINVAL;
    /* Writers number densely; a number beyond the file's size is damage, not a reason to ask for memory. */
    if (index > (uint64_t)(machine->end - machine->begin))
        return refuse(machine, "a memo number is out of range");
    int rc = grow(&machine->memo, &machine->memo_capacity, index + 1);
    if (rc == 0)
        machine->memo[index] = value;
    if (rc == 0 && index >= machine->nr_memo)
        machine->nr_memo = index + 1;
    return rc;
}

static int memo_get(struct machine *machine, uint64_t index)
{
    struct value *value = index < machine->nr_memo ? machine->memo[index] : NULL;

    return value ? push_any(machine, value) : refuse(machine, "it refers to a memo that is not there");
}

/* ---- values --------------------------------------------------------------------------------- */

static int push_number(struct machine *machine, enum value_kind kind, int64_t number)
{
    struct value *value = value_new(machine->arena, kind);

    if (value)
        value->u.number = number;
    return push(machine, value);
}

static int push_unsigned(struct machine *machine, size_t size)
{
    uint64_t number;
    int rc = take(machine, size, &number);

    return rc ? rc : push_number(machine, VALUE_int, (int64_t)number);
}

static int push_int32(struct machine *machine)
{
    uint64_t number;
    int rc = take(machine, 4, &number);

    return rc ? rc : push_number(machine, VALUE_int, (int32_t)(uint32_t)number);
}

/* Two's complement of any length; what does not fit becomes the nearest that does. */
static int push_long(struct machine *machine, size_t size_bytes)
{
    uint64_t len, number = 0;
    int rc = take(machine, size_bytes, &len);

    if (rc)
        return rc;
    if (!has(machine, len))
        return refuse(machine, "it breaks off");
    const uint8_t *bytes = machine->at;
    bool negative = len && bytes[len - 1] & 0x80, fits = true;
    for (uint64_t i = 8; i < len; i++)
        fits &= bytes[i] == (negative ? 0xff : 0);
    for (uint64_t i = 0; i < 8; i++)
        number |= (uint64_t)(i < len ? bytes[i] : negative ? 0xff : 0) << 8 * i;
    machine->at += len;
    if (!fits || (number >> 63) != negative)
        number = negative ? (uint64_t)INT64_MIN : INT64_MAX;
    return push_number(machine, VALUE_int, (int64_t)number);
}

static int push_float(struct machine *machine)
{
    uint64_t bits;
    int rc = take(machine, 8, &bits);
    struct value *value = rc ? NULL : value_new(machine->arena, VALUE_float);

    if (!value)
        return rc ? rc : -ENOMEM;
    bits = __builtin_bswap64(bits);
    memcpy(&value->u.real, &bits, sizeof(bits));
    return push(machine, value);
}

/* A text of `size_bytes` of length and then so many bytes. */
static int push_text(struct machine *machine, size_t size_bytes)
{
    uint64_t len;
    int rc = take(machine, size_bytes, &len);

    if (rc)
        return rc;
    if (!has(machine, len))
        return refuse(machine, "it breaks off");
    rc = push(machine, value_new_text(machine->arena, (const char *)machine->at, len));
    machine->at += len;
    return rc;
}

/* Protocol 0 writes numbers and texts as lines: I01\n, L5L\n, F1.5\n, Vtext\n, S'text'\n. */
static int push_line(struct machine *machine, uint8_t code)
{
    const char *line;
    size_t len;
    int rc = take_line(machine, &line, &len);
    char word[64];

    if (rc)
        return rc;
    if (code == 'S' && (len < 2 || (line[0] != '\'' && line[0] != '"') || line[len - 1] != line[0]))
        return refuse(machine, "a text has no quotes");
    if (code == 'S')
        return push(machine, value_new_text(machine->arena, line + 1, len - 2));
    if (code == 'V')
        return push(machine, value_new_text(machine->arena, line, len));
    if (len == 0 || len >= sizeof(word))
        return refuse(machine, "a number is damaged");
    memcpy(word, line, len);
    word[len] = '\0';
    if (code == 'I' && (strcmp(word, "00") == 0 || strcmp(word, "01") == 0))
        return push_number(machine, VALUE_bool, word[1] == '1');
    if (code != 'F')
        return push_number(machine, VALUE_int, strtoll(word, NULL, 10));
    struct value *value = value_new(machine->arena, VALUE_float);
    if (value)
        value->u.real = strtod(word, NULL);
    return push(machine, value);
}

/* Moves what lies from `from` on the stack into `to`. */
static int move(struct machine *machine, size_t from, struct value *to)
{
    int rc = 0;

    if (to->kind == VALUE_dict && (machine->nr - from) % 2)
        return refuse(machine, "a key has no value");
    for (size_t i = from; i < machine->nr && rc == 0; i++)
        rc = machine->stack[i] ? value_add(machine->arena, to, machine->stack[i]) : refuse(machine, "a mark too many");
    machine->nr = from;
    return rc;
}

/* A new container of the values since the mark, which goes. */
static int push_marked(struct machine *machine, enum value_kind kind)
{
    struct value *value = value_new(machine->arena, kind);
    size_t mark;
    int rc = find_mark(machine, &mark);

    if (rc || !value)
        return rc ? rc : -ENOMEM;
    rc = move(machine, mark + 1, value);
    machine->nr = mark;
    return rc ? rc : push(machine, value);
}

static int push_tuple(struct machine *machine, size_t nr)
{
    struct value *value = value_new(machine->arena, VALUE_list);

    if (nr && !peek(machine, nr - 1))
        return -EINVAL;
    int rc = value ? move(machine, machine->nr - nr, value) : -ENOMEM;
    return rc ? rc : push(machine, value);
}

/* Adds the `nr` values on top, or those since the mark, to the container below them. */
static int extend(struct machine *machine, enum value_kind kind, size_t nr)
{
    size_t mark = machine->nr - nr - 1, from = machine->nr - nr;

    if (nr ? !peek(machine, nr) : find_mark(machine, &mark) != 0)
        return -EINVAL;
    if (!nr)
        from = mark + 1, mark--;
    if (mark >= machine->nr || !machine->stack[mark] || machine->stack[mark]->kind != kind)
        return refuse(machine, "values go into what is no container for them");
    int rc = move(machine, from, machine->stack[mark]);
    machine->nr = mark + 1;
    return rc;
}

static int pop_mark(struct machine *machine)
{
    size_t mark;
    int rc = find_mark(machine, &mark);

    if (rc == 0)
        machine->nr = mark;
    return rc;
}

static int memo_by_line(struct machine *machine, bool put)
{
    const char *line;
    size_t len;
    int rc = take_line(machine, &line, &len);
    uint64_t index = 0;

    for (size_t i = 0; rc == 0 && i < len && index < UINT32_MAX; i++)
        index = index * 10 + (uint8_t)(line[i] - '0') % 10;
    return rc ? rc : put ? memo_put(machine, index) : memo_get(machine, index);
}

static int memo_by_number(struct machine *machine, size_t size, bool put)
{
    uint64_t index;
    int rc = take(machine, size, &index);

    return rc ? rc : put ? memo_put(machine, index) : memo_get(machine, index);
}

static int pass_over(struct machine *machine, size_t size)
{
    uint64_t number;

    return take(machine, size, &number);
}

/* ---- instructions --------------------------------------------------------------------------- */

/* Names as in CPython's pickletools. */
/* clang-format off */
static int execute(struct machine *machine, uint8_t code)
{
    switch (code) {
    case 0x80: return pass_over(machine, 1);                                       /* PROTO */
    case 0x95: return pass_over(machine, 8);                                       /* FRAME */
    case '(': return push_mark(machine);                                           /* MARK */
    case '0': return peek(machine, 0) ? (machine->nr--, 0) : -EINVAL;              /* POP */
    case '1': return pop_mark(machine);                                            /* POP_MARK */
    case '2': return peek(machine, 0) ? push_any(machine, peek(machine, 0)) : -EINVAL; /* DUP */
    case 'N': return push_number(machine, VALUE_none, 0);                          /* NONE */
    case 0x88: return push_number(machine, VALUE_bool, 1);                         /* NEWTRUE */
    case 0x89: return push_number(machine, VALUE_bool, 0);                         /* NEWFALSE */
    case 'J': return push_int32(machine);                                          /* BININT */
    case 'K': return push_unsigned(machine, 1);                                    /* BININT1 */
    case 'M': return push_unsigned(machine, 2);                                    /* BININT2 */
    case 0x8a: return push_long(machine, 1);                                       /* LONG1 */
    case 0x8b: return push_long(machine, 4);                                       /* LONG4 */
    case 'G': return push_float(machine);                                          /* BINFLOAT */
    case 'I': case 'L': case 'F': case 'S': case 'V': return push_line(machine, code);
    case 'T': case 'B': case 'X': return push_text(machine, 4);                    /* BINSTRING, BINBYTES, BINUNICODE */
    case 'U': case 'C': case 0x8c: return push_text(machine, 1);                   /* the short ones */
    case 0x8d: case 0x8e: return push_text(machine, 8);                            /* BINUNICODE8, BINBYTES8 */
    case ']': return push(machine, value_new(machine->arena, VALUE_list));         /* EMPTY_LIST */
    case 'a': return extend(machine, VALUE_list, 1);                               /* APPEND */
    case 'e': return extend(machine, VALUE_list, 0);                               /* APPENDS */
    case 'l': case 't': return push_marked(machine, VALUE_list);                   /* LIST, TUPLE */
    case ')': return push_tuple(machine, 0);                                       /* EMPTY_TUPLE */
    case 0x85: case 0x86: case 0x87: return push_tuple(machine, code - 0x84);      /* TUPLE1 .. TUPLE3 */
    case '}': return push(machine, value_new(machine->arena, VALUE_dict));         /* EMPTY_DICT */
    case 'd': return push_marked(machine, VALUE_dict);                             /* DICT */
    case 's': return extend(machine, VALUE_dict, 2);                               /* SETITEM */
    case 'u': return extend(machine, VALUE_dict, 0);                               /* SETITEMS */
    case 'p': case 'g': return memo_by_line(machine, code == 'p');                 /* PUT, GET */
    case 'q': case 'h': return memo_by_number(machine, 1, code == 'q');            /* BINPUT, BINGET */
    case 'r': case 'j': return memo_by_number(machine, 4, code == 'r');            /* LONG_BINPUT, LONG_BINGET */
    case 0x94: return memo_put(machine, machine->nr_memo);                         /* MEMOIZE */
    }
    machine->at--;
    return refuse(machine, strchr("cRiob\x81\x82\x83\x84\x92\x93PQ", code) && code ? "it wants to run code"
                                                                                  : "an unknown instruction");
}
/* clang-format on */

int value_from_pickle(struct arena *arena, const void *bytes, size_t len, const struct value **ret, char **ret_error)
{
    struct machine machine = {
        .arena = arena, .begin = bytes, .at = bytes, .end = (const uint8_t *)bytes + len, .ret_error = ret_error};
    int rc = 0;

    while (rc == 0 && has(&machine, 1) && *machine.at != '.')
        rc = execute(&machine, *machine.at++);
    if (rc == 0 && !has(&machine, 1))
        rc = refuse(&machine, "it breaks off");
    if (rc == 0) {
        struct value *root = peek(&machine, 0);
        rc = root ? 0 : -EINVAL;
        *ret = root ? root : *ret;
    }
    free(machine.stack);
    free(machine.memo);
    return rc;
}
