/* make_trace.c - writes LTTng-like CTF 1.8 traces without LTTng: `make_trace [OPTION...] DIR < events.text`.
 *
 * Input is an events text; the events of each host become DIR/<host>-<boot>/ust/uid/1000/64-bit/ in the layout of
 * lttng-ust 2.13 (packed fields, large event headers, packets with sequence and discard counters, an index), spread
 * over CPUs by thread, metadata made from traces/schema.h. `lost HOST N` makes that host's data_0 lose N events
 * there. The same input gives the same bytes.
 *
 *   --cpus N       streams per channel (1)
 *   --packet N     bytes of a packet (4096)
 *   --rotate N     a new chunk below archives/ after every N events of a host (never)
 *   --skip N       leave the N-th packet of data_0 out of its file, as a full disk or an overrun does (none)
 *   --no-index     no index/ files
 *   --foreign      as if by another provider: events have names this program does not know
 *   --generate N   no input: N events of a training job
 *   --kernels      with it: N kernels in batches instead */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analysis/input/text_form.h"
#include "traces/kernel_batch.h"
#include "traces/schema.h"

enum { MAX_CPUS = 64, MAX_HOSTS = 16, PACKET_HEAD = 32 + 6 * 8 + 4 };

struct stream {
    FILE *file, *index;
    uint8_t *packet; /* options.packet bytes */
    size_t len;      /* of the packet so far; 0: none begun */
    uint64_t begin_ns, end_ns, seq, discarded, offset;
};

struct host {
    char *label, *name, *boot;
    int64_t epoch_ns;
    struct stream streams[CH_MAX][MAX_CPUS];
    uint64_t nr_events, nr_chunks;
    bool open; /* its files are */
};

static struct {
    const char *dir;
    unsigned cpus;
    size_t packet;
    uint64_t rotate, skip, generate;
    bool index, foreign, kernels;
} options = {.cpus = 1, .packet = 4096, .index = true};

static struct host hosts[MAX_HOSTS];
static size_t nr_hosts;

static void die(const char *what, const char *where)
{
    fprintf(stderr, "make_trace: %s: %s: %s\n", what, where, strerror(errno));
    exit(2);
}

/* ---- metadata ------------------------------------------------------------------------------- */

static const char metadata_head[] =
    "/* CTF 1.8 */\n\n"
    "typealias integer { size = 8; align = 8; signed = false; } := uint8_t;\n"
    "typealias integer { size = 16; align = 8; signed = false; } := uint16_t;\n"
    "typealias integer { size = 32; align = 8; signed = false; } := uint32_t;\n"
    "typealias integer { size = 64; align = 8; signed = false; } := uint64_t;\n"
    "typealias integer { size = 64; align = 8; signed = false; } := unsigned long;\n\n"
    "trace {\n\tmajor = 1;\n\tminor = 8;\n\tuuid = \"%s\";\n\tbyte_order = le;\n"
    "\tpacket.header := struct {\n\t\tuint32_t magic;\n\t\tuint8_t  uuid[16];\n\t\tuint32_t stream_id;\n"
    "\t\tuint64_t stream_instance_id;\n\t};\n};\n\n"
    "env {\n\thostname = \"%s\";\n\tdomain = \"ust\";\n\ttracer_name = \"lttng-ust\";\n\ttracer_major = 2;\n"
    "\ttracer_minor = 13;\n\ttracer_buffering_scheme = \"uid\";\n\ttracer_buffering_id = 1000;\n"
    "\tarchitecture_bit_width = 64;\n};\n\n"
    "clock {\n\tname = \"monotonic\";\n\tuuid = \"%s\";\n\tdescription = \"Monotonic Clock\";\n"
    "\tfreq = 1000000000; /* Frequency, in Hz */\n\toffset = %" PRId64 ";\n};\n\n"
    "typealias integer {\n\tsize = 32; align = 8; signed = false;\n\tmap = clock.monotonic.value;\n"
    "} := uint32_clock_monotonic_t;\n\n"
    "typealias integer {\n\tsize = 64; align = 8; signed = false;\n\tmap = clock.monotonic.value;\n"
    "} := uint64_clock_monotonic_t;\n\n"
    "struct packet_context {\n\tuint64_clock_monotonic_t timestamp_begin;\n\tuint64_clock_monotonic_t timestamp_end;\n"
    "\tuint64_t content_size;\n\tuint64_t packet_size;\n\tuint64_t packet_seq_num;\n\tunsigned long events_discarded;\n"
    "\tuint32_t cpu_id;\n};\n\n"
    "struct event_header_large {\n\tenum : uint16_t { compact = 0 ... 65534, extended = 65535 } id;\n"
    "\tvariant <id> {\n\t\tstruct {\n\t\t\tuint32_clock_monotonic_t timestamp;\n\t\t} compact;\n\t\tstruct {\n"
    "\t\t\tuint32_t id;\n\t\t\tuint64_clock_monotonic_t timestamp;\n\t\t} extended;\n\t} v;\n} align(8);\n\n";

/* Both from the host's name, so that runs agree. The trace's is also in each packet. */
static void make_uuid(const char *name, uint8_t uuid[16])
{
    uint64_t hash = 1469598103934665603u;

    for (const char *c = name; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 1099511628211u;
    memcpy(uuid, &hash, 8);
    hash *= 1099511628211u;
    memcpy(uuid + 8, &hash, 8);
}

static void print_uuid(const uint8_t uuid[16], char text[40])
{
    size_t at = 0;

    for (int i = 0; i < 16; i++)
        at += sprintf(text + at, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", uuid[i]);
}

static void write_field_class(FILE *out, const struct schema_field *field)
{
    static const unsigned bits[] = {[FT_u8] = 8, [FT_u16] = 16, [FT_u32] = 32, [FT_u64] = 64, [FT_i32] = 32};

    if (field->type == FT_str)
        fprintf(out, "\t\tstring _%s;\n", field->name);
    else if (field->type == FT_seq64)
        fprintf(out,
                "\t\tinteger { size = 16; align = 8; signed = 0; encoding = none; base = 10; } __%s_length;\n"
                "\t\tinteger { size = 64; align = 8; signed = 0; encoding = none; base = 10; } _%s[ __%s_length ];\n",
                field->name, field->name, field->name);
    else if (field->type == FT_enum) {
        fprintf(out, "\t\tenum : integer { size = 8; align = 8; signed = 0; encoding = none; base = 10; } { ");
        for (unsigned i = 0; field->en->values[i]; i++)
            fprintf(out, "\"%s\" = %u, ", field->en->values[i], i);
        fprintf(out, "} _%s;\n", field->name);
    } else
        fprintf(out, "\t\tinteger { size = %u; align = 8; signed = %d; encoding = none; base = 10; } _%s;\n",
                bits[field->type], field->type == FT_i32, field->name);
}

static void write_event_class(FILE *out, enum event_kind kind)
{
    const struct schema_event *schema = schema_event(kind);

    fprintf(out,
            "event {\n\tname = \"%s:%s\";\n\tid = %u;\n\tstream_id = %u;\n\tloglevel = 13;\n\tfields := struct {\n",
            options.foreign ? "other" : "trshim", schema->name, kind, schema->channel);
    for (unsigned i = 0; i < schema->nr_fields; i++)
        write_field_class(out, &schema->fields[i]);
    fputs("\t};\n};\n\n", out);
}

static void write_metadata_text(FILE *out, const struct host *host)
{
    uint8_t uuid[16];
    char trace[40], boot[40];

    make_uuid(host->label, uuid);
    print_uuid(uuid, trace);
    make_uuid(host->boot, uuid);
    print_uuid(uuid, boot);
    fprintf(out, metadata_head, trace, host->name, strlen(host->boot) == 36 ? host->boot : boot, host->epoch_ns);
    for (unsigned c = 0; c < CH_MAX; c++)
        fprintf(out,
                "stream {\n\tid = %u;\n\tevent.header := struct event_header_large;\n"
                "\tpacket.context := struct packet_context;\n};\n\n",
                c);
    for (enum event_kind kind = 0; kind < EV_MAX; kind++)
        write_event_class(out, kind);
}

/* The text in packets of 4096 bytes, as LTTng writes it. */
static void write_metadata(const char *path, const struct host *host)
{
    enum { SIZE = 4096, HEAD = 37 };
    char *text = NULL;
    size_t len = 0;
    FILE *memory = open_memstream(&text, &len), *out = fopen(path, "w");

    if (!memory || !out)
        die("cannot write", path);
    write_metadata_text(memory, host);
    (void)fclose(memory);
    for (size_t at = 0; at < len; at += SIZE - HEAD) {
        size_t part = len - at < SIZE - HEAD ? len - at : SIZE - HEAD;
        uint8_t packet[SIZE] = {0};
        uint32_t magic = 0x75d11d57, content = 8 * (HEAD + part), size = 8 * SIZE;
        memcpy(packet, &magic, 4);
        make_uuid(host->label, packet + 4);
        memcpy(packet + 24, &content, 4);
        memcpy(packet + 28, &size, 4);
        packet[35] = 1;
        packet[36] = 8;
        memcpy(packet + HEAD, text + at, part);
        fwrite(packet, 1, SIZE, out);
    }
    if (fclose(out) != 0)
        die("cannot write", path);
    free(text);
}

/* ---- streams -------------------------------------------------------------------------------- */

static void *put(void *at, const void *bytes, size_t len)
{
    if (len) /* an empty sequence has no bytes to point at */
        memcpy(at, bytes, len);
    return (uint8_t *)at + len;
}

static void *put_u64(void *at, uint64_t value)
{
    return put(at, &value, 8);
}

static void *put_u32(void *at, uint32_t value)
{
    return put(at, &value, 4);
}

static void write_index(struct stream *stream, unsigned channel, unsigned cpu)
{
    uint64_t entry[] = {stream->offset, 8 * options.packet, 8 * stream->len, stream->begin_ns,
                        stream->end_ns, stream->discarded,  channel,         cpu,
                        stream->seq};

    for (size_t i = 0; i < sizeof(entry) / sizeof(*entry); i++)
        entry[i] = __builtin_bswap64(entry[i]);
    fwrite(entry, sizeof(entry), 1, stream->index);
}

static void close_packet(struct host *host, unsigned channel, unsigned cpu)
{
    struct stream *stream = &host->streams[channel][cpu];
    void *at = stream->packet;

    if (stream->len == 0)
        return;
    at = put_u32(at, 0xc1fc1fc1);
    make_uuid(host->label, at);
    at = put_u32((uint8_t *)at + 16, channel);
    at = put_u64(at, cpu);
    at = put_u64(at, stream->begin_ns);
    at = put_u64(at, stream->end_ns);
    at = put_u64(at, 8 * stream->len);
    at = put_u64(at, 8 * options.packet);
    at = put_u64(at, stream->seq);
    at = put_u64(at, stream->discarded);
    put_u32(at, cpu);
    if (!(options.skip && channel == CH_DATA && cpu == 0 && stream->seq + 1 == options.skip)) {
        if (stream->index)
            write_index(stream, channel, cpu);
        memset(stream->packet + stream->len, 0, options.packet - stream->len);
        fwrite(stream->packet, 1, options.packet, stream->file);
        stream->offset += options.packet;
    }
    stream->seq++;
    stream->len = 0;
}

static FILE *create(const char *dir, const char *name, unsigned channel, unsigned cpu)
{
    char path[4096];

    (void)snprintf(path, sizeof(path), name, dir, schema_channel_names[channel], cpu);
    FILE *file = fopen(path, "w");
    if (!file)
        die("cannot write", path);
    return file;
}

static void make_dirs(const char *path)
{
    char copy[4096];

    (void)snprintf(copy, sizeof(copy), "%s", path);
    for (char *slash = copy; (slash = strchr(slash + 1, '/'));) {
        *slash = '\0';
        (void)mkdir(copy, 0777);
        *slash = '/';
    }
    if (mkdir(copy, 0777) < 0 && errno != EEXIST)
        die("cannot make", copy);
}

static void open_streams(struct host *host, const char *dir)
{
    static const uint32_t index_head[] = {0xc1dcf1c1, 0x01000000, 0x01000000, 72u << 24};

    for (unsigned c = 0; c < CH_MAX; c++)
        for (unsigned cpu = 0; cpu < options.cpus; cpu++) {
            struct stream *stream = &host->streams[c][cpu];
            stream->file = create(dir, "%s/%s_%u", c, cpu);
            stream->offset = 0;
            if (!stream->packet)
                stream->packet = malloc(options.packet);
            if (options.index) {
                stream->index = create(dir, "%s/index/%s_%u.idx", c, cpu);
                fwrite(index_head, sizeof(index_head), 1, stream->index);
            }
        }
}

static void close_streams(struct host *host)
{
    for (unsigned c = 0; c < CH_MAX; c++)
        for (unsigned cpu = 0; cpu < options.cpus; cpu++) {
            struct stream *stream = &host->streams[c][cpu];
            close_packet(host, c, cpu);
            if (fclose(stream->file) != 0 || (stream->index && fclose(stream->index) != 0))
                die("cannot write", options.dir);
            stream->index = NULL;
        }
    host->open = false;
}

/* A chunk of the host's trace: where LTTng puts it when the session rotates. */
static void open_chunk(struct host *host)
{
    char dir[4000], index[4096];
    int len = snprintf(dir, sizeof(dir), "%s/%s-%s", options.dir, host->name, host->boot);

    if (options.rotate)
        len += snprintf(dir + len, sizeof(dir) - len, "/archives/20261130T000000+0000-20261130T010000+0000-%" PRIu64,
                        ++host->nr_chunks);
    (void)snprintf(dir + len, sizeof(dir) - len, "/ust/uid/1000/64-bit");
    (void)snprintf(index, sizeof(index), "%s/index", dir);
    make_dirs(options.index ? index : dir);
    (void)snprintf(index, sizeof(index), "%s/metadata", dir);
    write_metadata(index, host);
    open_streams(host, dir);
    host->open = true;
}

static size_t field_size(const struct schema_field *field, const void *value)
{
    static const size_t sizes[] = {[FT_u8] = 1, [FT_u16] = 2, [FT_u32] = 4, [FT_u64] = 8, [FT_i32] = 4, [FT_enum] = 1};

    if (field->type == FT_seq64)
        return 2 + 8 * (size_t)((const struct tr_seq64 *)value)->nr;
    return field->type == FT_str ? strlen(*(char *const *)value) + 1 : sizes[field->type];
}

static uint8_t *put_header(uint8_t *at, const struct event *event, uint64_t last_ns)
{
    bool compact = event->ts_ns >= last_ns && event->ts_ns - last_ns < UINT32_MAX;
    uint16_t id = compact ? event->kind : 65535;

    at = put(at, &id, 2);
    if (compact)
        return put_u32(at, (uint32_t)event->ts_ns);
    return put_u64(put_u32(at, event->kind), event->ts_ns);
}

static uint8_t *put_field(uint8_t *at, const struct schema_field *field, const void *value)
{
    const struct tr_seq64 *seq = value;
    uint16_t nr;

    if (field->type == FT_str)
        return put(at, *(void *const *)value, field_size(field, value));
    if (field->type != FT_seq64)
        return put(at, value, field_size(field, value));
    nr = seq->nr;
    return put(put(at, &nr, 2), seq->words, 8 * (size_t)nr);
}

static void write_event(struct host *host, const struct event *event)
{
    const struct schema_event *schema = schema_event(event->kind);
    const char *fields = (const char *)&event->u;
    unsigned cpu = event->u.who.tid % options.cpus;
    size_t size = 14;

    if (host->open && options.rotate && host->nr_events % options.rotate == 0)
        close_streams(host);
    if (!host->open)
        open_chunk(host);
    host->nr_events++;

    struct stream *stream = &host->streams[schema->channel][cpu];
    for (unsigned i = 0; i < schema->nr_fields; i++)
        size += field_size(&schema->fields[i], fields + schema->fields[i].offset);
    if (size > options.packet - PACKET_HEAD) {
        stream->discarded++; /* as LTTng does */
        return;
    }
    if (stream->len + size > options.packet)
        close_packet(host, schema->channel, cpu);
    if (stream->len == 0) {
        stream->len = PACKET_HEAD;
        stream->begin_ns = stream->end_ns = event->ts_ns;
    }

    uint8_t *at = put_header(stream->packet + stream->len, event, stream->end_ns);
    for (unsigned i = 0; i < schema->nr_fields; i++)
        at = put_field(at, &schema->fields[i], fields + schema->fields[i].offset);
    stream->len = at - stream->packet;
    stream->end_ns = event->ts_ns;
}

/* ---- input ---------------------------------------------------------------------------------- */

static struct host *find_host(const char *label)
{
    for (size_t i = 0; i < nr_hosts; i++)
        if (strcmp(hosts[i].label, label) == 0)
            return &hosts[i];
    if (nr_hosts == MAX_HOSTS) {
        fputs("make_trace: too many hosts\n", stderr);
        exit(2);
    }
    hosts[nr_hosts] = (struct host){.label = strdup(label), .name = strdup(label), .boot = strdup("boot")};
    return &hosts[nr_hosts++];
}

static void lose(struct host *host, uint64_t count)
{
    if (!host->open)
        open_chunk(host);
    close_packet(host, CH_DATA, 0);
    host->streams[CH_DATA][0].discarded += count;
}

static void take_line(const struct text_line *line)
{
    struct host *host = line->what == TEXT_NOTHING || line->what == TEXT_PROBLEM ? NULL : find_host(line->host);

    if (line->what == TEXT_EVENT)
        write_event(host, &line->event);
    else if (line->what == TEXT_LOST)
        lose(host, line->count);
    else if (line->what == TEXT_HOST) {
        free(host->name);
        free(host->boot);
        host->name = strdup(line->name);
        host->boot = strdup(*line->boot ? line->boot : "boot");
        host->epoch_ns = line->epoch_ns;
    }
}

static void take_text(FILE *in)
{
    struct text_error error;
    struct text_line line;
    char *text = NULL;
    size_t capacity = 0, number = 0;
    ssize_t len;

    while ((len = getline(&text, &capacity, in)) > 0) {
        number++;
        text[len - (text[len - 1] == '\n')] = '\0';
        if (text_parse(text, &line, &error) < 0) {
            fprintf(stderr, "make_trace: line %zu, column %zu: %s\n", number, error.column, error.message);
            exit(2);
        }
        take_line(&line);
    }
    free(text);
}

/* A training job as far as a reader's speed goes: mostly reads and waits, of two ranks with workers. */
static void generate(void)
{
    struct host *host = find_host("node-a");
    struct event event = {.kind = EV_proc};

    host->epoch_ns = 1700000000000000000;
    event.u.proc = (struct tr_proc){.pid = 10,
                                    .tid = 10,
                                    .schema = TR_SCHEMA,
                                    .world = 1,
                                    .host = "node-a",
                                    .boot = "boot",
                                    .comm = "python3",
                                    .cmd = "python3 train.py"};
    write_event(host, &event);
    for (uint64_t i = 1; i < options.generate; i++) {
        uint32_t pid = 10 + i % 8, tid = pid + i / 8 % 4;
        event.ts_ns = 1000000000 + i * 1000;
        if (i % 3) {
            event.kind = EV_file_io;
            event.u.file_io = (struct tr_file_io){.pid = pid,
                                                  .tid = tid,
                                                  .count = 4,
                                                  .name = i % 200,
                                                  .size_bytes = 65536,
                                                  .busy_ns = 700,
                                                  .start_ns = event.ts_ns - 800,
                                                  .dur_ns = 800};
        } else {
            event.kind = EV_wait;
            event.u.wait = (struct tr_wait){.pid = pid,
                                            .tid = tid,
                                            .kind = i % TR_wait_kind_MAX,
                                            .count = 1,
                                            .obj = i % 50,
                                            .start_ns = event.ts_ns - 900,
                                            .dur_ns = 900};
        }
        write_event(host, &event);
    }
}

/* Kernels as a GPU's records bring them: two streams, twenty names, ten microseconds apart. */
static void generate_kernels(void)
{
    struct host *host = find_host("node-a");
    struct kernel_batch batch = {0};

    for (uint64_t i = 0; i < options.generate; i++) {
        struct tr_kernel kernel = {.pid = 10,
                                   .tid = 10 + (i % 3 == 0),
                                   .stream = 7 + (i % 5 == 0),
                                   .name = 1 + i % 20,
                                   .correlation = (uint32_t)i + 1,
                                   .blocks = 132,
                                   .queued_ns = 1000000000 + i * 10000,
                                   .start_ns = 1000400000 + i * 10000,
                                   .dur_ns = 8000};
        if (kernel_batch_add(&batch, &kernel) != BATCH_ADDED)
            abort(); /* these fit, and a full batch is sent below */
        if (batch.nr < KERNEL_BATCH_MAX && i + 1 < options.generate)
            continue;
        struct event event = {.kind = EV_kernels, .ts_ns = kernel.start_ns + kernel.dur_ns};
        event.u.kernels = (struct tr_kernels){.pid = 10, .tid = 10, .base_ns = batch.base_ns};
        event.u.kernels.groups = (struct tr_seq64){batch.groups, batch.nr_groups * KERNEL_GROUP_WORDS};
        event.u.kernels.records = (struct tr_seq64){batch.records, batch.nr * KERNEL_RECORD_WORDS};
        write_event(host, &event);
        batch.nr = batch.nr_groups = 0;
    }
}

static uint64_t number(const char *text)
{
    char *end;
    uint64_t value = strtoull(text, &end, 10);

    if (!*text || *end) {
        fprintf(stderr, "make_trace: not a number: %s\n", text);
        exit(2);
    }
    return value;
}

static void parse_options(int argc, char **argv)
{
    static const struct option table[] = {
        {"cpus", 1, NULL, 'c'},     {"packet", 1, NULL, 'p'},   {"rotate", 1, NULL, 'r'},
        {"skip", 1, NULL, 's'},     {"no-index", 0, NULL, 'i'}, {"foreign", 0, NULL, 'f'},
        {"generate", 1, NULL, 'g'}, {"kernels", 0, NULL, 'k'},  {0}};
    int key;

    while ((key = getopt_long(argc, argv, "", table, NULL)) != -1) {
        if (key == 'c')
            options.cpus = number(optarg);
        else if (key == 'p')
            options.packet = number(optarg);
        else if (key == 'r')
            options.rotate = number(optarg);
        else if (key == 's')
            options.skip = number(optarg);
        else if (key == 'i')
            options.index = false;
        else if (key == 'f')
            options.foreign = true;
        else if (key == 'g')
            options.generate = number(optarg);
        else if (key == 'k')
            options.kernels = true;
        else
            exit(2);
    }
    if (optind + 1 != argc || options.cpus < 1 || options.cpus > MAX_CPUS || options.packet < 256) {
        fputs("Usage: make_trace [OPTION...] DIR < events.text\n", stderr);
        exit(2);
    }
    options.dir = argv[optind];
}

int main(int argc, char **argv)
{
    parse_options(argc, argv);
    if (options.generate && options.kernels)
        generate_kernels();
    else if (options.generate)
        generate();
    else
        take_text(stdin);
    for (size_t i = 0; i < nr_hosts; i++) {
        if (!hosts[i].open)
            open_chunk(&hosts[i]);
        close_streams(&hosts[i]);
        for (unsigned c = 0; c < CH_MAX; c++)
            for (unsigned cpu = 0; cpu < options.cpus; cpu++)
                free(hosts[i].streams[c][cpu].packet);
        free(hosts[i].label);
        free(hosts[i].name);
        free(hosts[i].boot);
    }
    return 0;
}
