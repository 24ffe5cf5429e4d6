/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The arena that contains the compiled FIB where the kernel has arenas (bpf/fib_arena.h): whether
 * this kernel has them, how to make and map one, and which object goes with which maps.
 *
 * Whether programs read an arena is decided when the maps are made, and at each start of the
 * daemon. Every program that is loaded later is of the flavour that goes with the maps.
 */
#ifndef USER_LOADER_ARENA_H
#define USER_LOADER_ARENA_H

#include "pin.h"

/* 1: the kernel has arenas, its JIT reads them, and this process can map one. 0 or -errno. */
int loader_arena_usable(void);

/* at: an address whose lower half is SIXLANE_FIB_ARENA. Returns a descriptor or -errno. */
int loader_arena_new(uint64_t at);

/* Maps all of an arena at the address that the kernel names. Once in a process. NULL with errno. */
void *loader_arena_map(int fd, int prot);
void loader_arena_unmap(void *at);

/* What may help if mapping these maps failed with error; to append to the message; may be "". */
const char *loader_arena_advice(const struct loader_maps *maps, int error);

/* The flavour of the object that goes with these maps: path, or the object itself. */
const char *loader_object_for(const char *object, const struct loader_maps *maps,
			      char path[PATH_MAX]);

/* 1: the object's programs read an arena, and this kernel has arenas. 0 or -errno. */
int loader_object_reads_arena(const char *object, char *err);

/* Makes and pins an arena, unless one is pinned. 0 or -errno. */
int loader_arena_pin(char *err);

#endif
