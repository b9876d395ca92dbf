/* settings.c - the host that is simulated, and its links: settings.def, read once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/sim/nccl/inside.h"

static struct nccl_settings settings;
static char host[64];

/* NCCL puts what its files say into the environment, behind what is there: NCCL_CONF_FILE or ~/.nccl.conf, then
 * /etc/nccl.conf; lines NAME=value. */
static void read_conf(const char *path)
{
    char line[1024];
    FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof(line), f)) {
        line[strcspn(line, "\r\n")] = '\0';
        char *value = strchr(line, '=');
        if (*line == '#' || !value || value == line)
            continue;
        *value++ = '\0';
        setenv(line, value, 0);
    }
    if (f)
        fclose(f);
}

static void read_confs(void)
{
    char path[4096] = "";
    const char *file = getenv("NCCL_CONF_FILE"), *home = getenv("HOME");
    if (file && *file)
        snprintf(path, sizeof(path), "%s", file);
    else if (home)
        snprintf(path, sizeof(path), "%s/.nccl.conf", home);
    read_conf(path);
    read_conf("/etc/nccl.conf");
}

const char *nccl_variable(const char *name)
{
    static pthread_once_t once_conf = PTHREAD_ONCE_INIT;
    pthread_once(&once_conf, read_confs);
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

int64_t nccl_variable_number(const char *name, int64_t otherwise)
{
    const char *value = nccl_variable(name);
    char *end;
    if (!value)
        return otherwise;
    int64_t number = strtoll(value, &end, 0);
    return end == value ? otherwise : number;
}

static void set(const char *name, const char *value)
{
    char *end;
    double number = strtod(value, &end);
#define TEXT(name_, otherwise, what)                                                                                   \
    if (strcmp(name, #name_) == 0) {                                                                                   \
        settings.name_ = strdup(value);                                                                                \
        return;                                                                                                        \
    }
#define NUMBER(name_, otherwise, what)                                                                                 \
    if (strcmp(name, #name_) == 0 && end != value && !*end) {                                                          \
        settings.name_ = number;                                                                                       \
        return;                                                                                                        \
    }
#include "tests/sim/nccl/settings.def"
#undef TEXT
#undef NUMBER
    fprintf(stderr, "sim: NCCL has no such setting: %s=%s\n", name, value);
}

static void read_file(const char *dir)
{
    char path[4096], line[512], whose[64], name[64], value[256];
    snprintf(path, sizeof(path), "%s/nccl", dir);
    FILE *f = fopen(path, "re");
    if (!f)
        return;
    while (fgets(line, sizeof(line), f))
        if (sscanf(line, "%63s %63s %255s", whose, name, value) == 3 && *whose != '#' &&
            (strcmp(whose, "*") == 0 || strcmp(whose, host) == 0))
            set(name, value);
    fclose(f);
}

static void read_variable(const char *text)
{
    char *copy = strdup(text), *rest = copy;
    for (char *item = strtok_r(copy, ",", &rest); item; item = strtok_r(NULL, ",", &rest)) {
        char *value = strchr(item, '=');
        if (value)
            *value++ = '\0';
        set(item, value ? value : "1");
    }
    free(copy);
}

static void read_settings(void)
{
    settings = (struct nccl_settings){
#define TEXT(name, otherwise, what) .name = otherwise,
#define NUMBER(name, otherwise, what) .name = otherwise,
#include "tests/sim/nccl/settings.def"
#undef TEXT
#undef NUMBER
    };
    const char *id = nccl_variable("NCCL_HOSTID");
    if (id)
        snprintf(host, sizeof(host), "%s", id);
    else if (gethostname(host, sizeof(host) - 1) < 0)
        snprintf(host, sizeof(host), "localhost");
    if (sim_settings()->dir)
        read_file(sim_settings()->dir);
    if (nccl_variable("SIM_NCCL"))
        read_variable(getenv("SIM_NCCL"));
}

static pthread_once_t once = PTHREAD_ONCE_INIT;

const struct nccl_settings *nccl_settings(void)
{
    pthread_once(&once, read_settings);
    return &settings;
}

const char *nccl_host(void)
{
    pthread_once(&once, read_settings);
    return host;
}

int nccl_version(void)
{
    int major = 2, minor = 0, patch = 0;
    sscanf(nccl_settings()->version, "%d.%d.%d", &major, &minor, &patch);
    return major * 10000 + minor * 100 + patch; /* the scheme since 2.9; older ones are not simulated */
}
