/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Primitives of maps/: single entries of hashes and tries, ordered stores to mapped arrays, and
 * waiting for packets under way. Private to maps/.
 */
#ifndef USER_MAPS_ACCESS_H
#define USER_MAPS_ACCESS_H

#include "maps.h"

/* The datapath loads and stores the same words. */
#define ATOMIC_STORE(ptr, value) __atomic_store_n(ptr, value, __ATOMIC_RELEASE)
#define ATOMIC_LOAD(ptr) __atomic_load_n(ptr, __ATOMIC_ACQUIRE)

/*
 * Release stores order what a packet sees if its CPU loads in program order. Other CPUs may load
 * what a flag allows before the flag, and store it after the flag. BPF has no barrier against that,
 * but what is stored a grace period before the flag is seen by all who see the flag.
 */
#if defined(__x86_64__) || defined(__i386__) || defined(__s390x__)
#define LOADS_IN_ORDER true
#else
#define LOADS_IN_ORDER false
#endif

/* 0 or -errno. */
int maps_update(const struct maps *maps, enum loader_map map, const void *key, const void *value);
int maps_erase(const struct maps *maps, enum loader_map map, const void *key);

/* Longest match for addr in a trie. 0 and *value, -ENOENT, or -errno. */
int maps_trie_lookup(const struct maps *maps, enum loader_map trie, uint32_t table,
		     const union sixlane_addr *addr, uint32_t *value);

/* Wait until every packet that was under way at the call has left. 0 or -errno. */
int maps_write_grace(void *ctx);

#endif
