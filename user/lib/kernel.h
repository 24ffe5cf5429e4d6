/* SPDX-License-Identifier: GPL-2.0-only */
/* The version and settings of the running kernel. */
#ifndef USER_LIB_KERNEL_H
#define USER_LIB_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

/* True also if the version cannot be read. */
bool kernel_before(unsigned int major, unsigned int minor);

/* A number below /proc/sys/; otherwise, if this kernel or namespace does not have it. */
uint32_t kernel_sysctl(const char *name, uint32_t otherwise);

#endif
