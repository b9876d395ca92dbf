/* pcie.h - what the PCIe link of a device can do, from sysfs. */
#ifndef TRSHIM_CORE_PCIE_H
#define TRSHIM_CORE_PCIE_H

#include <stdbool.h>
#include <stddef.h>

/* "16.0 GT/s x16": the most that device and slot can do together. `devices` is sysfs's folder of PCI devices, `address`
 * in any case. False, and nothing written: not known. */
bool pcie_link(const char *devices, const char *address, char *ret, size_t size);

#endif
