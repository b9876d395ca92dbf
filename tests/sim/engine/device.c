/* device.c - the devices of the node and what they say about themselves. A process sees them through
 * CUDA_VISIBLE_DEVICES (numbers only), in that order. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/engine/inside.h"

static struct sim_device devices[SIM_DEVICES_MAX];
static int nr_devices;
static __thread int current;

static void device_init(struct sim_device *d, int index, int physical)
{
    d->index = index;
    d->total = sim_settings()->memory;
    d->pci_domain = 0;
    d->pci_bus = 0x1b + 0x10 * (unsigned)physical;
    for (int i = 0; i < 16; i++)
        d->uuid[i] = (uint8_t)(0x5a ^ (physical * 31 + i * 17));
    d->uuid[15] = (uint8_t)physical;
}

static void find_devices(void)
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    int all = sim_settings()->nr_devices;
    if (!visible) {
        for (; nr_devices < all; nr_devices++)
            device_init(&devices[nr_devices], nr_devices, nr_devices);
        return;
    }
    while (nr_devices < all) {
        char *end;
        long physical = strtol(visible, &end, 10);
        if (end == visible || physical < 0 || physical >= all)
            return; /* as the driver: what follows a wrong number is not seen */
        device_init(&devices[nr_devices], nr_devices, (int)physical);
        nr_devices++;
        if (*end != ',')
            return;
        visible = end + 1;
    }
}

int sim_init(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (!sim_settings()->driver)
        return SIM_INSUFFICIENT_DRIVER;
    pthread_once(&once, find_devices);
    return nr_devices ? SIM_OK : SIM_NO_DEVICE;
}

int sim_device_count(void)
{
    return sim_init() ? 0 : nr_devices;
}

struct sim_device *sim_device_at(int index)
{
    return index >= 0 && index < sim_device_count() ? &devices[index] : NULL;
}

int sim_current(void)
{
    return current;
}

int sim_set_current(int device)
{
    int error = sim_init();
    if (error)
        return error;
    if (!sim_device_at(device))
        return SIM_INVALID_DEVICE;
    current = device;
    return SIM_OK;
}

/* Those of a Hopper board (SXM, 132 multiprocessors). */
static const struct {
    int attribute, value;
} attributes[] = {
    {1, 1024},                                              /* threads per block */
    {2, 1024},                                              /* block x, y, z */
    {3, 1024},        {4, 64},    {5, 2147483647},          /* grid x, y, z */
    {6, 65535},       {7, 65535}, {8, 49152},               /* shared memory per block */
    {9, 65536},                                             /* constant memory */
    {10, 32},                                               /* warp */
    {11, 2147483647},                                       /* pitch */
    {12, 65536},                                            /* registers per block */
    {13, 1980000},                                          /* clock, kHz */
    {14, 512},                                              /* texture alignment */
    {15, 1},                                                /* overlap */
    {16, 132},                                              /* multiprocessors */
    {19, 1},                                                /* maps host memory */
    {31, 1},                                                /* concurrent kernels */
    {32, 1},                                                /* ECC */
    {36, 2619000},                                          /* memory clock */
    {37, 5120},                                             /* bus width */
    {38, 52428800},                                         /* L2 */
    {39, 2048},                                             /* threads per multiprocessor */
    {40, 3},                                                /* copy engines */
    {41, 1},                                                /* unified addressing */
    {51, 32},                                               /* pitch alignment */
    {75, 9},                                                /* compute capability */
    {76, 0},          {78, 1},                              /* stream priorities */
    {79, 1},          {80, 1},    {81, 233472},             /* shared memory per multiprocessor */
    {82, 65536},      {83, 1},                              /* managed memory */
    {89, 1},          {90, 1},    {91, 1},         {95, 1}, /* cooperative launch */
    {97, 232448},                                           /* shared memory per block, opt in */
    {99, 1},                                                /* host register */
    {102, 1},                                               /* virtual memory management */
    {103, 1},                                               /* POSIX file descriptors as handles */
    {106, 32},                                              /* blocks per multiprocessor */
    {111, 1024},      {113, 1},   {115, 1},                 /* memory pools */
    {119, 1},         {120, 1},                             /* clusters */
    {123, 1},         {125, 1},                             /* IPC events */
};

#define ATTRIBUTE_PCI_BUS 33
#define ATTRIBUTE_PCI_DEVICE 34
#define ATTRIBUTE_PCI_DOMAIN 50
#define ATTRIBUTE_HOST_NUMA 134

int sim_attribute(int device, int attribute, int *ret_value)
{
    struct sim_device *d = sim_device_at(device);
    if (!d)
        return SIM_INVALID_DEVICE;
    if (attribute <= 0 || attribute > 200)
        return SIM_INVALID_VALUE;
    *ret_value = 0;
    for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++)
        if (attributes[i].attribute == attribute)
            *ret_value = attributes[i].value;
    if (attribute == ATTRIBUTE_PCI_BUS)
        *ret_value = (int)d->pci_bus;
    else if (attribute == ATTRIBUTE_PCI_DEVICE)
        *ret_value = (int)d->pci_device;
    else if (attribute == ATTRIBUTE_PCI_DOMAIN)
        *ret_value = (int)d->pci_domain;
    else if (attribute == ATTRIBUTE_HOST_NUMA)
        *ret_value = device < 4 ? 0 : 1;
    return SIM_OK;
}
