/* state.c - habits, whether CUPTI can be used at all, and the clock of its stamps. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/sim/cupti/cupti.h"

static struct cupti_habits habits;
static pid_t owner;

/* What cuptiGetVersion() says in a release of CUDA. */
static const struct {
    const char *release;
    uint32_t version;
} releases[] = {{"11.2", 15}, {"11.5", 16},     {"11.6", 17},     {"11.7", 17},     {"11.8", 18},     {"12.0", 19},
                {"12.2", 20}, {"12.3", 21},     {"12.4", 22},     {"12.5", 23},     {"12.6", 24},     {"12.8", 26},
                {"12.9", 27}, {"13.0", 130000}, {"13.1", 130100}, {"13.2", 130200}, {"13.3", 130300}, {"13.4", 130400},
                {"11", 18},   {"12", 26},       {"13", 130000}};
#define OLDEST 15 /* whose records we know */

/* A release of CUDA, or the number itself. */
static uint32_t version_of(const char *text)
{
    for (size_t i = 0; i < sizeof(releases) / sizeof(*releases); i++)
        if (!strcmp(text, releases[i].release))
            return releases[i].version;
    char *end;
    unsigned long number = strtoul(text, &end, 10);
    if (!*end && number >= OLDEST && number <= UINT32_MAX)
        return (uint32_t)number;
    fprintf(stderr, "sim: SIM_CUPTI: version=%s: say a release of CUDA from 11.2 on, or CUPTI's number of it\n", text);
    exit(2);
}

static void set_habit(const char *name, const char *text)
{
    unsigned long value = strtoul(text, NULL, 10);
    if (!strcmp(name, "version"))
        habits.version = version_of(text);
    else if (!strcmp(name, "zero"))
        habits.zero = (unsigned)value;
    else if (!strcmp(name, "drop"))
        habits.drop = (unsigned)value;
    else if (!strcmp(name, "late"))
        habits.late_ms = (unsigned)value;
    else if (!strcmp(name, "thread"))
        habits.thread = true;
    else if (!strcmp(name, "nothread"))
        habits.thread = false;
    else if (!strcmp(name, "taken"))
        habits.taken = true;
    else if (!strcmp(name, "nodriver"))
        habits.no_driver = true;
    else
        fprintf(stderr, "sim: SIM_CUPTI: no such habit: %s\n", name);
}

static void read_habits(void)
{
    char text[256];
    const char *given = getenv("SIM_CUPTI");
    owner = getpid();
    habits.version = cupti_default_version;
    habits.thread = habits.version >= 130000;
    snprintf(text, sizeof(text), "%s", given ? given : "");
    for (char *save = NULL, *word = strtok_r(text, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
        char *value = strchr(word, '=');
        if (value)
            *value++ = '\0';
        set_habit(word, value ? value : "");
    }
}

const struct cupti_habits *cupti_habits(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_habits);
    return &habits;
}

int cupti_usable(void)
{
    if (cupti_habits()->no_driver || !sim_settings()->driver)
        return CUPTI_UNKNOWN;
    if (getpid() != owner) {
        fprintf(stderr, "sim: CUPTI was called in a child of fork\n");
        return CUPTI_UNKNOWN;
    }
    static void *driver;
    if (!driver)
        driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    return driver ? CUPTI_OK : CUPTI_UNKNOWN;
}

static cupti_clock *clock_fn;
static int64_t clock_offset;

void cupti_set_clock(cupti_clock *fn)
{
    clock_offset = fn ? (int64_t)(fn() - sim_realtime(sim_now())) : 0;
    clock_fn = fn;
}

uint64_t cupti_stamp(uint64_t ns)
{
    return sim_realtime(ns) + (uint64_t)(clock_fn ? clock_offset : 0);
}
