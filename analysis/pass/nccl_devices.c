/* nccl_devices.c - see nccl_devices.h. */
#include "analysis/pass/nccl_devices.h"

#include <stdio.h>
#include <string.h>

/* The next "[i]name:port/kind"; where it ends, or NULL. */
static const char *next_device(const char *at, const char **name, int *name_len, bool *ib)
{
    while (at && (at = strchr(at, ']'))) {
        size_t len = strcspn(++at, ":/ [");
        const char *end = at + strcspn(at, " ["), *slash = memchr(at, '/', end - at);
        if (!slash)
            continue;
        *name = at;
        *name_len = (int)len;
        *ib = strncmp(slash + 1, "IB", 2) == 0;
        return end;
    }
    return NULL;
}

struct nccl_devices nccl_devices(const char *list)
{
    struct nccl_devices devices = {0};
    const char *name;
    int len;
    bool ib;

    while ((list = next_device(list, &name, &len, &ib))) {
        devices.nr++;
        devices.ib += ib;
        devices.roce += !ib;
    }
    return devices;
}

void nccl_devices_list(const char *list, bool wanted, char *text, size_t size)
{
    const char *name;
    size_t used = 0;
    int len;
    bool ib;

    *text = '\0';
    while ((list = next_device(list, &name, &len, &ib)) && used < size)
        if (ib == wanted)
            used += (size_t)snprintf(text + used, size - used, "%s%.*s", used ? "," : "", len, name);
}
