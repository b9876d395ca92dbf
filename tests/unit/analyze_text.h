/* analyze_text.h - events as text in, a report out: what tests of passes begin with. */
#ifndef TRSHIM_TESTS_ANALYZE_TEXT_H
#define TRSHIM_TESTS_ANALYZE_TEXT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "analysis/engine.h"
#include "analysis/input/trace.h"
#include "analysis/options.h"
#include "analysis/report/report.h"

/* Text that grows; say() adds a line by format. */
struct script {
    char *text;
    size_t len;
    FILE *out;
};

static inline void script_begin(struct script *script)
{
    *script = (struct script){0};
    script->out = open_memstream(&script->text, &script->len);
    assert_non_null(script->out);
    fputs("#! trshim-events 1\n", script->out);
}

__attribute__((format(printf, 2, 3), unused)) static inline void say(struct script *script, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vfprintf(script->out, format, args);
    va_end(args);
    fputc('\n', script->out);
}

/* Analyzes the script and frees it; the report is the caller's. */
static inline struct report *script_analyze(struct script *script, const struct options *options)
{
    char path[] = "/tmp/trshim-test-XXXXXX", *paths[] = {path}, *error = NULL;
    struct trace *trace = NULL;
    struct report *report = NULL;
    fclose(script->out);
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, script->text, script->len), script->len);
    close(fd);
    free(script->text);
    int rc = trace_open(paths, 1, &trace, &error);
    if (rc)
        fail_msg("%s", error ? error : "trace_open");
    unlink(path);
    assert_int_equal(report_new(LANG_EN, &report), 0);
    assert_int_equal(analyze(trace, options, report), 0);
    for (size_t i = 0; i < report->nr_inputs; i++)
        if (report->inputs[i].problem)
            fail_msg("%s", report->inputs[i].problem);
    trace_free(trace);
    return report;
}

/* The step rows of a report, in order; freed by the caller. */
struct step_rows {
    struct report_step rows[512];
    size_t nr;
};

static inline int step_rows_add(void *arg, const struct report_step *row)
{
    struct step_rows *rows = arg;
    assert_true(rows->nr < sizeof(rows->rows) / sizeof(*rows->rows));
    rows->rows[rows->nr++] = *row;
    return 0;
}

__attribute__((unused)) static inline const struct report_finding *find_finding(const struct report *report,
                                                                                const char *id)
{
    for (size_t i = 0; i < report->nr_findings; i++)
        if (!strcmp(report->findings[i].id, id))
            return &report->findings[i];
    return NULL;
}

#endif
