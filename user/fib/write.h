/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Writes to the maps through the writer, counted in the statistics. Other files of fib/ call the
 * writer directly only where a write is more than a key and a value.
 */
#ifndef USER_FIB_WRITE_H
#define USER_FIB_WRITE_H

#include "writer.h"

struct fib;

/* 0 or -errno. Tries several times on -ENOMEM. */
int fib_write_set(struct fib *fib, enum fib_map map, const void *key, const void *value);
/* 0, also if there was no such entry, or -errno. */
int fib_write_del(struct fib *fib, enum fib_map map, const void *key);
void fib_write_store(struct fib *fib, enum fib_map map, uint32_t index, const void *value);
void fib_write_word(struct fib *fib, enum fib_map map, uint32_t index, uint64_t word);
void fib_write_bucket(struct fib *fib, uint32_t index, union sixlane_nh_bucket bucket);

#endif
