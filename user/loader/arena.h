/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The arena in which the compiled FIB lies where the kernel has such (bpf/fib_arena.h): whether it
 * does, making and mapping one, and which object and which pinned maps go together.
 */
#ifndef USER_LOADER_ARENA_H
#define USER_LOADER_ARENA_H

#include <limits.h>

#include "loader.h"

/* The kernel makes arenas, its JIT reads them, and this process may map one: 1, 0 or -errno. */
int loader_arena_usable(void);

/* Of addresses; what is in use of them is less. */
size_t loader_arena_bytes(void);

/* At an address whose lower half is SIXLANE_FIB_ARENA. A descriptor or -errno. */
int loader_arena_new(uint64_t at);

/* All of one, where the kernel says that it is, once in a process; or NULL, with errno. */
void *loader_arena_map(int fd, int prot);
void loader_arena_unmap(void *at);

/* What to think of if these maps could not be mapped, as words behind the error; may be "". */
const char *loader_arena_hint(const struct loader_maps *maps, int error);

/* The flavour of the object that goes with these maps: in path, or the object itself. */
const char *loader_object_for(const char *object, const struct loader_maps *maps,
			      char path[PATH_MAX]);

/* 1: programs of this object read an arena, which this kernel has; 0; or -errno. */
int loader_wants_arena(const char *object, char *err);

/* Pin an arena beside the other pins, if nobody has yet. 0 or -errno. */
int loader_arena_pin(char *err);

/*
 * For the daemon, at its start: open maps get an arena if its object wants one. If it does not, an
 * arena that is pinned, as by a daemon before, is emptied and pinned no more. 0 or -errno.
 */
int loader_arena_settle(const char *object, struct loader_maps *maps, char *err);

#endif
