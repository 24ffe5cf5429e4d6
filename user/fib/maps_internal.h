/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the files about the maps share. Nothing outside includes it.
 */
#ifndef FIB_MAPS_INTERNAL_H
#define FIB_MAPS_INTERNAL_H

#include "maps.h"

/* The datapath stores and reads as well. */
#define ATOMIC_STORE(ptr, value) __atomic_store_n(ptr, value, __ATOMIC_RELEASE)
#define ATOMIC_LOAD(ptr) __atomic_load_n(ptr, __ATOMIC_ACQUIRE)

typedef int (*maps_entry_fn)(void *ctx, const void *key, uint32_t value);

/* Every entry of a map whose values are of 32 bits. 0, -errno, or fn's non-zero return. */
int maps_entry_each(int fd, size_t key_size, maps_entry_fn fn, void *ctx);

/* 0 or -errno. */
int maps_erase(const struct maps *maps, enum loader_map map, const void *key);

#endif
