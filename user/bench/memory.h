/* SPDX-License-Identifier: GPL-2.0-only */
/* Whether there is the memory for what is going to be filled. Knows no engine and no router. */
#ifndef USER_BENCH_MEMORY_H
#define USER_BENCH_MEMORY_H

#include <stdint.h>

/* Bytes that the cgroups of a list as /proc/self/cgroup, and those above them, have left, by their
 * files under root; UINT64_MAX: no limit. */
uint64_t bench_memory_left_of_cgroups(const char *list, const char *root);

/* -ENOMEM (said): these many bytes are not left, of the machine or of this process's
 * cgroups. what: "table 1m: its routes"; where: "the maps".
 */
int bench_memory_check(const char *what, const char *where, uint64_t bytes);

#endif
