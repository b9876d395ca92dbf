/* kineto_row.h - a Kineto or Chrome trace file as a sequence of rows, and what the file says of the whole.
 *
 * Knows the form of the file and nothing of what rows mean: {"traceEvents": [row, ...], ...} or [row, ...], a row
 * being an object with "ph", "name", "ts" and so on. Values of the wrong type are taken as missing. */
#ifndef TRSHIM_ANALYSIS_KINETO_ROW_H
#define TRSHIM_ANALYSIS_KINETO_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KINETO_NAME_SIZE 4096 /* longer names are cut off */
#define KINETO_WORD_SIZE 64
#define KINETO_GROUP_SIZE 128
#define KINETO_RANKS_SIZE 1024 /* PyTorch names 30 ranks at most */
#define KINETO_DEVICES_MAX 64
#define KINETO_UNKNOWN INT64_MIN

/* Numbers of a row's "args" that are read. ARG(field, "key") */
#define KINETO_ARGS(ARG)                                                                                               \
    ARG(device, "device")                                                                                              \
    ARG(stream, "stream")                                                                                              \
    ARG(correlation, "correlation")                                                                                    \
    ARG(bytes, "bytes")                                                                                                \
    ARG(graph, "graph id")                                                                                             \
    ARG(memory_bytes, "Bytes")                                                                                         \
    ARG(memory_address, "Addr")                                                                                        \
    ARG(memory_device, "Device Id")                                                                                    \
    ARG(memory_device_type, "Device Type")                                                                             \
    ARG(memory_allocated, "Total Allocated")                                                                           \
    ARG(memory_reserved, "Total Reserved")                                                                             \
    ARG(in_elements, "In msg nelems")                                                                                  \
    ARG(out_elements, "Out msg nelems")                                                                                \
    ARG(group_size, "Group size")                                                                                      \
    ARG(group_first, "Global rank start")                                                                              \
    ARG(group_stride, "Global rank stride")                                                                            \
    ARG(seq, "Seq")

/* Texts of them. TEXT(field, "key", size) */
#define KINETO_ARG_TEXTS(TEXT)                                                                                         \
    TEXT(arg_name, "name", KINETO_WORD_SIZE)                                                                           \
    TEXT(collective, "Collective name", KINETO_WORD_SIZE)                                                              \
    TEXT(type, "dtype", KINETO_WORD_SIZE)                                                                              \
    TEXT(in_split, "In split size", KINETO_WORD_SIZE)                                                                  \
    TEXT(group_name, "Process Group Name", KINETO_GROUP_SIZE)                                                          \
    TEXT(group_desc, "Process Group Description", KINETO_GROUP_SIZE)                                                   \
    TEXT(group_ranks, "Process Group Ranks", KINETO_RANKS_SIZE)

/* Texts are "" and numbers KINETO_UNKNOWN where the row does not say. */
struct kineto_row {
    char ph[4];
    char category[KINETO_WORD_SIZE];
    char name[KINETO_NAME_SIZE];
    char pid[KINETO_WORD_SIZE], tid[KINETO_WORD_SIZE]; /* as text, whatever they were */
    int64_t ts_ns, dur_ns;
    uint64_t blocks; /* of args.grid; 0 unknown */
    /* Of the inputs by "Input Dims" and "Input type", which profiles with record_shapes have: elements of all, 0
     * unknown, and the type of the first one. */
    uint64_t input_elements;
    char input_type[KINETO_WORD_SIZE];
#define TEXT(field, key, size) char field[size];
    KINETO_ARG_TEXTS(TEXT)
#undef TEXT
#define ARG(field, key) int64_t field;
    KINETO_ARGS(ARG)
#undef ARG
};

struct kineto_device {
    int64_t id, memory_bytes, multiprocessors;
    char name[KINETO_WORD_SIZE];
};

struct kineto_about {
    bool is_trace;   /* it has a traceEvents array, or is an array of rows */
    int64_t base_ns; /* baseTimeNanoseconds: what times are counted from, since 1970; KINETO_UNKNOWN */
    int64_t rank, world;
    char nccl_version[KINETO_WORD_SIZE], cuda_driver[KINETO_WORD_SIZE], cuda_runtime[KINETO_WORD_SIZE];
    struct kineto_device devices[KINETO_DEVICES_MAX];
    size_t nr_devices;
};

/* Returns 0 to go on, or -errno. The row is borrowed until return. */
typedef int (*kineto_row_fn)(void *arg, const struct kineto_row *row);

/* Reads all rows. 0 with *ret_problem as json_read, or -errno. */
int kineto_read(const char *path, kineto_row_fn fn, void *arg, struct kineto_about *ret_about, char **ret_problem);

/* Whether the file or pipe looks like JSON, compressed or not, by its first bytes; they stay where they are. */
bool kineto_looks_like_json(const char *path);

/* Whether what is at `path` begins with that; a pipe is not consumed. */
bool kineto_begins_with(const char *path, const char *with);

/* A number as written, in ns per `unit_ns`, exactly, rounded down. False (nothing set) if it is none or too large. */
bool kineto_number(const char *text, size_t len, int64_t unit_ns, int64_t *ret);

#endif
