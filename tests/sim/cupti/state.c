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

static void set_habit(const char *name, unsigned long value)
{
    if (!strcmp(name, "version"))
        habits.version = (uint32_t)value;
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
        set_habit(word, value ? strtoul(value, NULL, 10) : 0);
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
