/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What this kernel is, and how it is set. Knows nothing of sixlane.
 */
#ifndef USER_LIB_KERNEL_H
#define USER_LIB_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

/* True also if its version cannot be told. */
bool kernel_before(unsigned int major, unsigned int minor);

/* A number below /proc/sys/. otherwise: what it is where this kernel, or namespace, has none. */
uint32_t kernel_sysctl(const char *name, uint32_t otherwise);

#endif
