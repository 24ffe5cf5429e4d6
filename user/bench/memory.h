/* SPDX-License-Identifier: GPL-2.0-only */
/* Whether there is the memory for what is going to be filled. Knows no engine and no router. */
#ifndef USER_BENCH_MEMORY_H
#define USER_BENCH_MEMORY_H

#include <stdint.h>

/* -ENOMEM (said): these many bytes are not left. what: "table 1m: its routes"; where: "the maps".
 */
int bench_memory_check(const char *what, const char *where, uint64_t bytes);

#endif
