/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The memory of the compiled FIB: chunks of sl_fib_arena where programs read that, else of sl_fib.
 * All chunks but the first are created as they are needed.
 */
#ifndef USER_MAPS_FIB_H
#define USER_MAPS_FIB_H

#include <stdbool.h>

#include "../compiled/compiled.h"

struct maps;

/*
 * The compiled FIB as it is now, for reading; its contents go on changing. Its chunks stay mapped
 * until maps_unview(). 0, -ENODATA: there is none, the trie answers; or -errno.
 */
int maps_view(const struct maps *maps, struct compiled_view *view);
void maps_unview(struct compiled_view *view);

/* Map the arena, or the first chunk: fd[LOADER_FIB_ARENA] or fd[LOADER_FIB_FIRST]. 0 or -errno. */
int maps_fib_open(struct maps *maps, bool arena, bool writable);
/* Unmap that and the chunks of this process. */
void maps_fib_close(struct maps *maps);
/* For struct compiled_memory; ctx is struct maps. */
void *maps_write_fib_chunk(void *ctx, uint32_t n);
void maps_write_fib(void *ctx, union sixlane_fib fib);
/* Make the trie answer, and free the memory of an earlier daemon. 0 or -errno. */
int maps_fib_drop(struct maps *maps);

#endif
