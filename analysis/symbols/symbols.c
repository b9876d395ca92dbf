/* symbols.c - see symbols.h. The only file that uses libdw. One libdwfl session per file, kept until the end. */
#include "analysis/symbols/symbols.h"

#include <elfutils/libdwfl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/report/report.h"

struct file {
    struct file *next;
    char *path, *build_id; /* owned; as asked for */
    Dwfl *dwfl;
    Dwfl_Module *module; /* NULL: no such file, or another one */
    GElf_Addr bias;
};

struct symbols {
    struct file *files;
};

struct symbols *symbols_new(void)
{
    unsetenv("DEBUGINFOD_URLS"); /* libdw would ask servers of the user's, and wait for them */
    return calloc(1, sizeof(struct symbols));
}

static void file_free(struct file *file)
{
    dwfl_end(file->dwfl);
    free(file->path);
    free(file->build_id);
    free(file);
}

void symbols_free(struct symbols *symbols)
{
    for (struct file *file = symbols ? symbols->files : NULL, *next; file; file = next) {
        next = file->next;
        file_free(file);
    }
    free(symbols);
}

static bool is_it(const struct file *file, Dwfl_Module *module)
{
    const unsigned char *bits;
    GElf_Addr where;
    int n = dwfl_module_build_id(module, &bits, &where);
    if (!file->build_id)
        return true;
    char hex[2 * 64 + 1] = "";
    for (int i = 0; i < n && i < 64; i++)
        snprintf(hex + 2 * i, 3, "%02x", bits[i]);
    size_t told = strlen(file->build_id);
    return told && strncmp(hex, file->build_id, told) == 0;
}

static bool open_file(struct file *file, const char *path)
{
    static char *debug_path; /* NULL: libdw's own, beside the file and /usr/lib/debug */
    static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_build_id_find_elf,
                                             .find_debuginfo = dwfl_standard_find_debuginfo,
                                             .section_address = dwfl_offline_section_address,
                                             .debuginfo_path = &debug_path};
    file->dwfl = dwfl_begin(&callbacks);
    if (!file->dwfl)
        return false;
    Dwfl_Module *module = dwfl_report_offline(file->dwfl, path, path, -1);
    dwfl_report_end(file->dwfl, NULL, NULL);
    if (module && dwfl_module_getelf(module, &file->bias) && is_it(file, module)) {
        file->module = module;
        return true;
    }
    dwfl_end(file->dwfl);
    file->dwfl = NULL;
    return false;
}

static bool open_debug_file(struct file *file)
{
    char path[256];
    if (!file->build_id || strlen(file->build_id) < 3)
        return false;
    snprintf(path, sizeof(path), "/usr/lib/debug/.build-id/%.2s/%s.debug", file->build_id, file->build_id + 2);
    return open_file(file, path);
}

static bool same(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static struct file *file_of(struct symbols *symbols, const char *path, const char *build_id)
{
    struct file *file = symbols->files;
    while (file && !(same(file->path, path) && same(file->build_id, build_id)))
        file = file->next;
    if (file)
        return file;
    file = calloc(1, sizeof(*file));
    if (!file)
        return NULL;
    file->path = strdup(path);
    file->build_id = build_id ? strdup(build_id) : NULL;
    if (!file->path || (build_id && !file->build_id)) {
        file_free(file);
        return NULL;
    }
    if (!open_file(file, path))
        (void)open_debug_file(file);
    file->next = symbols->files;
    return symbols->files = file;
}

struct symbol symbols_find(struct symbols *symbols, const char *path, const char *build_id, uint64_t address)
{
    struct symbol found = {.line = TR_UNKNOWN};
    struct file *file = file_of(symbols, path, build_id);
    if (!file || !file->module)
        return found;
    GElf_Addr at = address + file->bias;
    GElf_Off within;
    GElf_Sym symbol;
    const char *name = dwfl_module_addrinfo(file->module, at, &within, &symbol, NULL, NULL, NULL);
    /* A nearest symbol that ends before the address is the name of something else: of the file only exports are left.
     */
    if (name && (symbol.st_size == 0 || within < symbol.st_size))
        found.function = name;
    Dwfl_Line *line = dwfl_module_getsrc(file->module, at);
    int number = 0;
    found.file = line ? dwfl_lineinfo(line, NULL, &number, NULL, NULL, NULL) : NULL;
    if (found.file && number > 0)
        found.line = number;
    return found;
}

static void resolve_frame(struct symbols *symbols, struct report *report, struct report_frame *frame)
{
    if (!frame->module || !*frame->module)
        return;
    /* A return address: the call is before it, maybe the last instruction of its line, or of its function. */
    struct symbol found = symbols_find(symbols, frame->module, frame->build_id, frame->offset ? frame->offset - 1 : 0);
    frame->function = report_str(report, found.function);
    frame->file = report_str(report, found.file);
    frame->line = found.line;
}

int symbols_resolve(struct report *report)
{
    struct symbols *symbols = NULL;
    for (size_t i = 0; i < report->nr_memory; i++) {
        for (size_t k = 0; k < report->memory[i].nr_sites; k++) {
            const struct report_site *site = &report->memory[i].sites[k];
            if (!symbols && !(symbols = symbols_new()))
                return -ENOMEM;
            for (size_t f = 0; f < site->nr_frames; f++)
                resolve_frame(symbols, report, &site->frames[f]);
        }
    }
    symbols_free(symbols);
    return 0;
}
