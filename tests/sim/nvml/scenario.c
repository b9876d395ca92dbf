/* scenario.c - see scenario.h. */
#include "tests/sim/nvml/scenario.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/sim/engine/engine.h"

static const char *const names[V_MAX] = {
#define VALUE(name, standard) #name,
#include "tests/sim/nvml/values.def"
#undef VALUE
};
static const uint64_t standard_values[V_MAX] = {
#define VALUE(name, standard) standard,
#include "tests/sim/nvml/values.def"
#undef VALUE
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards all below */
static uint64_t values[SIM_DEVICES_MAX][V_MAX];
static struct timespec read_at;
static bool ever_read;

static void set(int device, const char *name, uint64_t value)
{
    for (int v = 0; v < V_MAX; v++)
        if (strcmp(names[v], name) == 0) {
            values[device][v] = value;
            return;
        }
    fprintf(stderr, "sim: scenario: no such value: %s\n", name);
}

static void set_line(const char *line)
{
    char device[16], name[64];
    unsigned long long value;
    if (sscanf(line, " %15[^# \n] %63s %lli", device, name, (long long *)&value) != 3)
        return;
    for (int d = 0; d < SIM_DEVICES_MAX; d++)
        if (strcmp(device, "*") == 0 || atoi(device) == d)
            set(d, name, value);
}

static void read_file(const char *path)
{
    struct stat st;
    bool there = path && stat(path, &st) == 0;
    if (ever_read && (!there || memcmp(&st.st_mtim, &read_at, sizeof(read_at)) == 0))
        return;
    ever_read = true;
    for (int d = 0; d < SIM_DEVICES_MAX; d++)
        memcpy(values[d], standard_values, sizeof(values[d]));
    FILE *file = there ? fopen(path, "re") : NULL;
    if (!file)
        return;
    read_at = st.st_mtim;
    char line[256];
    while (fgets(line, sizeof(line), file))
        set_line(line);
    fclose(file);
}

uint64_t scenario_value(int device, enum nvml_value value)
{
    char path[4096];
    const char *given = getenv("SIM_NVML"), *dir = sim_settings()->dir;
    if (!given && dir)
        snprintf(path, sizeof(path), "%s/nvml", dir);
    pthread_mutex_lock(&lock);
    read_file(given ? given : dir ? path : NULL);
    uint64_t result = values[device % SIM_DEVICES_MAX][value];
    pthread_mutex_unlock(&lock);
    return result;
}
