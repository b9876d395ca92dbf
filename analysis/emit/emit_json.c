/* emit_json.c - the report as JSON, schema trshim-report/1: one line for each row, nothing kept in memory.
 *
 * Every key of the schema is there in every report; what this program cannot know yet is an empty array or null. */
#include "analysis/emit/columns.h"
#include "analysis/emit/emit.h"
#include "analysis/emit/json.h"

static void cell(struct json *json, const struct column *column, const void *row)
{
    struct cell value = cell_value(column, row);

    switch (value.kind) {
    case CELL_UNKNOWN:
        json_null(json, column->id);
        break;
    case CELL_INT:
        json_int(json, column->id, value.i);
        break;
    case CELL_UINT:
        json_uint(json, column->id, value.u);
        break;
    case CELL_REAL:
        json_real(json, column->id, value.d);
        break;
    case CELL_TEXT:
        json_text(json, column->id, value.s);
        break;
    case CELL_TRUTH:
        json_bool(json, column->id, value.b);
        break;
    }
}

static void cells(struct json *json, const struct columns *columns, const void *row)
{
    for (size_t i = 0; i < columns->nr; i++)
        if (columns->column[i].id)
            cell(json, &columns->column[i], row);
}

static void table(struct json *json, const char *key, const struct columns *columns, const void *rows, size_t nr,
                  size_t row_size)
{
    json_open(json, key, '[');
    for (size_t i = 0; i < nr; i++) {
        json_row(json);
        json_open(json, NULL, '{');
        cells(json, columns, (const char *)rows + i * row_size);
        json_close(json, '}');
    }
    json_close(json, ']');
}

#define TABLE(json, report, name)                                                                                      \
    table(json, #name, &columns_##name, (report)->name, (report)->nr_##name, sizeof *(report)->name)

static void ranks(struct json *json, const struct report *report)
{
    json_open(json, "ranks", '[');
    for (size_t i = 0; i < report->nr_ranks; i++) {
        const struct report_rank *rank = &report->ranks[i];
        json_row(json);
        json_open(json, NULL, '{');
        cells(json, &columns_ranks, rank);
        json_open(json, "versions", '{');
        for (size_t v = 0; v < rank->nr_versions; v++)
            json_text(json, rank->versions[v].key, rank->versions[v].value);
        json_close(json, '}');
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void communicators(struct json *json, const struct report *report)
{
    json_open(json, "communicators", '[');
    for (size_t i = 0; i < report->nr_communicators; i++) {
        const struct report_communicator *row = &report->communicators[i];
        json_row(json);
        json_open(json, NULL, '{');
        cells(json, &columns_communicators, row);
        json_open(json, "ranks", '[');
        for (size_t j = 0; j < row->nr_ranks; j++)
            json_int(json, NULL, row->ranks[j]);
        json_close(json, ']');
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void transports(struct json *json, const struct report *report)
{
    json_open(json, "transports", '[');
    for (size_t i = 0; i < report->nr_transports; i++) {
        const struct report_transport *row = &report->transports[i];
        json_row(json);
        json_open(json, NULL, '{');
        cells(json, &columns_transports, row);
        json_open(json, "source", '[');
        for (int j = 0; j < TRANSPORT_SOURCE_MAX; j++)
            if (row->sources & 1u << j)
                json_text(json, NULL, transport_source_names[j]);
        json_close(json, ']');
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void sites(struct json *json, const struct report_memory *memory)
{
    json_open(json, "sites", '[');
    for (size_t i = 0; i < memory->nr_sites; i++) {
        const struct report_site *row = &memory->sites[i];
        json_row(json);
        json_open(json, NULL, '{');
        cells(json, &columns_sites, row);
        table(json, "frames", &columns_frames, row->frames, row->nr_frames, sizeof *row->frames);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void memory(struct json *json, const struct report *report)
{
    json_open(json, "memory", '[');
    for (size_t i = 0; i < report->nr_memory; i++) {
        const struct report_memory *row = &report->memory[i];
        json_row(json);
        json_open(json, NULL, '{');
        cells(json, &columns_memory, row);
        table(json, "owners", &columns_owners, row->owners, row->nr_owners, sizeof *row->owners);
        sites(json, row);
        table(json, "failures", &columns_failures, row->failures, row->nr_failures, sizeof *row->failures);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static int step(void *arg, const struct report_step *row)
{
    struct json *json = arg;

    json_row(json);
    json_open(json, NULL, '{');
    cells(json, &columns_steps, row);
    json_close(json, '}');
    return 0;
}

static int steps(struct json *json, struct report *report)
{
    json_open(json, "steps", '{');
    json_text(json, "method", report->steps.method);
    json_real(json, "confidence", report->steps.confidence);
    json_uint(json, "count", report->steps.count);
    json_uint(json, "warmup", report->steps.warmup);
    json_open(json, "list", '[');
    int rc = report_each_step(report, step, json);
    json_close(json, ']');
    json_close(json, '}');
    return rc;
}

/* The mean has no rank; without any window it is null. */
static void breakdown_row(struct json *json, const char *key, const struct report_breakdown *row, bool with_rank)
{
    if (!row->steps) {
        json_null(json, key);
        return;
    }
    json_open(json, key, '{');
    if (with_rank)
        json_int(json, "rank", row->rank);
    cells(json, &columns_breakdown, row);
    json_close(json, '}');
}

static void breakdown(struct json *json, const struct report *report)
{
    json_open(json, "breakdown", '{');
    breakdown_row(json, "mean", &report->mean, false);
    json_open(json, "per_rank", '[');
    for (size_t i = 0; i < report->nr_per_rank; i++) {
        json_row(json);
        breakdown_row(json, NULL, &report->per_rank[i], true);
    }
    json_close(json, ']');
    json_close(json, '}');
}

static void ints(struct json *json, const char *key, const int *values, size_t nr)
{
    json_open(json, key, '[');
    for (size_t i = 0; i < nr; i++)
        json_int(json, NULL, values[i]);
    json_close(json, ']');
}

static void texts(struct json *json, const char *key, const char *const *values, size_t nr)
{
    json_open(json, key, '[');
    for (size_t i = 0; i < nr; i++)
        json_text(json, NULL, values[i]);
    json_close(json, ']');
}

static void finding(struct json *json, const struct report_finding *f)
{
    json_open(json, NULL, '{');
    json_text(json, "id", f->id);
    json_text(json, "severity", severity_names[f->severity]);
    json_real(json, "confidence", f->confidence);
    if (f->lost_ns == TR_UNKNOWN)
        json_null(json, "lost_ns");
    else
        json_int(json, "lost_ns", f->lost_ns);
    json_real(json, "lost_gpu_seconds", f->lost_gpu_seconds);
    ints(json, "ranks", f->ranks, f->nr_ranks);
    ints(json, "victims", f->victims, f->nr_victims);
    texts(json, "hosts", f->hosts, f->nr_hosts);
    json_text(json, "caused_by", f->caused_by);
    json_text(json, "what", f->what);
    texts(json, "evidence", f->evidence, f->nr_evidence);
    json_text(json, "cause", f->cause);
    json_text(json, "fix", f->fix);
    texts(json, "others", f->others, f->nr_others);
    json_close(json, '}');
}

static void findings(struct json *json, const struct report *report)
{
    json_open(json, "findings", '[');
    for (size_t i = 0; i < report->nr_findings; i++) {
        json_row(json);
        finding(json, &report->findings[i]);
    }
    json_close(json, ']');
}

static void notes(struct json *json, const struct report *report)
{
    json_open(json, "notes", '[');
    for (size_t i = 0; i < report->nr_notes; i++) {
        json_row(json);
        json_open(json, NULL, '{');
        json_text(json, "key", report->notes[i].key);
        json_text(json, "text", report->notes[i].text);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void quality(struct json *json, const struct report *report)
{
    json_open(json, "quality", '{');
    cells(json, &columns_quality, &report->quality);
    json_close(json, '}');
}

static void empty(struct json *json, const char *key)
{
    json_row(json);
    json_open(json, key, '[');
    json_close(json, ']');
}

int emit_json(struct report *report, FILE *out)
{
    struct json *json;
    int rc = json_begin(out, &json);
    if (rc)
        return rc;

    json_open(json, NULL, '{');
    json_text(json, "schema", REPORT_SCHEMA);
    json_row(json);
    TABLE(json, report, inputs);
    json_row(json);
    ranks(json, report);
    json_row(json);
    if (report->world_size < 0)
        json_null(json, "world_size");
    else
        json_int(json, "world_size", report->world_size);
    json_row(json);
    int steps_rc = steps(json, report);
    json_row(json);
    breakdown(json, report);
    json_row(json);
    TABLE(json, report, collectives);
    json_row(json);
    communicators(json, report);
    json_row(json);
    transports(json, report);
    json_row(json);
    TABLE(json, report, kernels);
    json_row(json);
    TABLE(json, report, copies);
    json_row(json);
    TABLE(json, report, gpus);
    json_row(json);
    memory(json, report);
    json_row(json);
    TABLE(json, report, io);
    json_row(json);
    TABLE(json, report, workers);
    empty(json, "node");
    json_row(json);
    TABLE(json, report, checkpoints);
    json_row(json);
    findings(json, report);
    json_row(json);
    notes(json, report);
    json_row(json);
    quality(json, report);
    json_close(json, '}');

    rc = json_end(json);
    return steps_rc ? steps_rc : rc;
}
