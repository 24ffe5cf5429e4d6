/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the files about the maps share. Nothing outside includes it.
 */
#ifndef USER_MAPS_MAPS_INTERNAL_H
#define USER_MAPS_MAPS_INTERNAL_H

#include "maps.h"

/* The datapath stores and reads as well. */
#define ATOMIC_STORE(ptr, value) __atomic_store_n(ptr, value, __ATOMIC_RELEASE)
#define ATOMIC_LOAD(ptr) __atomic_load_n(ptr, __ATOMIC_ACQUIRE)

/* All entries of a map; value_bytes as bpf_map_lookup_elem() fills them, so those of all CPUs. */
struct maps_walk {
	int fd;
	size_t key_bytes, value_bytes;
	/* 0 or -errno, which ends the walk. Keys and values of whole 8 bytes are aligned to 8. */
	int (*fn)(void *ctx, const void *key, const void *value);
	void *ctx;
};

/* In no order; fn may delete the entry that it is given. 0 or -errno, which may be fn's. */
int maps_walk(const struct maps_walk *walk);
/* About a thousand more of a hash, which may change between the calls: as far as that goes an entry
 * that is there all the time is met once. 1: there may be more; else as maps_walk(). */
int maps_walk_some(const struct maps_walk *walk, struct maps_cursor *cursor);

/* 0 or -errno. */
int maps_update(const struct maps *maps, enum loader_map map, const void *key, const void *value);
int maps_erase(const struct maps *maps, enum loader_map map, const void *key);

/*
 * The release stores of this folder order what a packet sees, if its CPU loads in the order of the
 * program. Others may load what a flag allows ahead of the flag, and store it after the flag. BPF
 * has no barrier against that, but what is stored a grace period before the flag is seen by whoever
 * sees the flag.
 */
#if defined(__x86_64__) || defined(__i386__) || defined(__s390x__)
#define LOADS_IN_ORDER true
#else
#define LOADS_IN_ORDER false
#endif

/* write.c: of fib_writer. */
int maps_write_grace(void *ctx);

/* guard.c: a slot is about to be another device's: all its pairs are held back. */
void maps_guard_clear(struct maps *maps, uint32_t slot);

/* --- fib.c: of fib_writer, and what remains of an earlier one ---------------------------- */

/* Map the arena, or else the head of the chunks: of fd[LOADER_FIB_ARENA] or fd[LOADER_FIB_FIRST].
 * 0 or -errno. */
int maps_fib_open(struct maps *maps, bool arena, bool writable);
/* That, and the chunks that there are. */
void maps_fib_close(struct maps *maps);
void *maps_write_fib_chunk(void *ctx, uint32_t n);
void maps_write_fib(void *ctx, union sixlane_fib fib);
/* The trie answers, and the memory of an earlier daemon is the kernel's again. 0 or -errno. */
int maps_fib_drop(struct maps *maps);

/* --- exception.c: of fib_writer ------------------------------------------------------- */

int maps_write_exception(void *ctx, const union sixlane_addr *dst,
			 const struct sixlane_exception *value);
int maps_write_exception_del(void *ctx, const union sixlane_addr *dst);

#endif
