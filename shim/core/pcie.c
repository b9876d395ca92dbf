/* pcie.c - see pcie.h. Reads files of sysfs, from the tender thread; needs no CUDA and calls no driver.
 *
 * What the link does at the moment says nothing: an idle GPU lets it run slowly. What it can do at most is the lesser
 * of the device's and the slot's abilities, and the slot is the port above the device. */
#include "shim/core/pcie.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

struct link {
    unsigned speed_tenths; /* of GT/s, per lane; 0 unknown */
    unsigned lanes;        /* 0 unknown */
};

/* The number a file begins with, in tenths: not by strtod, for the job may have a locale with a comma. */
static unsigned read_tenths(const char *dir, const char *file)
{
    char path[512], text[64];
    unsigned whole, tenths = 0;
    int len = snprintf(path, sizeof(path), "%s/%s", dir, file);
    int fd = len > 0 && (size_t)len < sizeof(path) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0)
        return 0;
    ssize_t got = read(fd, text, sizeof(text) - 1);
    close(fd);
    text[got > 0 ? got : 0] = 0;
    /* "Unknown" is none. */
    return sscanf(text, "%5u.%1u", &whole, &tenths) >= 1 ? whole * 10 + tenths : 0;
}

static struct link read_link(const char *dir)
{
    unsigned lanes = read_tenths(dir, "max_link_width") / 10;
    /* 255 is what a port without a link says. */
    return (struct link){read_tenths(dir, "max_link_speed"), lanes <= 32 ? lanes : 0};
}

bool pcie_link(const char *devices, const char *address, char *ret, size_t size)
{
    char name[32], dir[384];
    size_t i = 0;
    for (; address[i] && i < sizeof(name) - 1; i++)
        name[i] = (char)tolower((unsigned char)address[i]);
    name[i] = 0;
    if (!i || name[0] == '.' || (size_t)snprintf(dir, sizeof(dir), "%s/%s/..", devices, name) >= sizeof(dir))
        return false;
    struct link slot = read_link(dir);
    snprintf(dir, sizeof(dir), "%s/%s", devices, name);
    struct link link = read_link(dir);
    if (!link.speed_tenths || !link.lanes)
        return false;
    if (slot.speed_tenths && slot.speed_tenths < link.speed_tenths)
        link.speed_tenths = slot.speed_tenths;
    if (slot.lanes && slot.lanes < link.lanes)
        link.lanes = slot.lanes;
    snprintf(ret, size, "%u.%u GT/s x%u", link.speed_tenths / 10, link.speed_tenths % 10, link.lanes);
    return true;
}
