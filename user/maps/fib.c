// SPDX-License-Identifier: GPL-2.0-only
/* See fib.h. */
#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "../loader/arena.h"
#include "access.h"

/* The start of the arena or of the first chunk. NULL, with errno, on error. */
static struct sixlane_fib_head *map_head(const struct maps *maps, bool arena, int prot)
{
	void *at;

	if (arena)
		return loader_arena_map(maps->fd[LOADER_FIB_ARENA], prot);
	at = mmap(NULL, sizeof(struct sixlane_fib_head), prot, MAP_SHARED,
		  maps->fd[LOADER_FIB_FIRST], 0);
	return at == MAP_FAILED ? NULL : at;
}

static void unmap_head(struct sixlane_fib_head *head, bool arena)
{
	if (head && arena)
		loader_arena_unmap(head);
	else if (head)
		munmap(head, sizeof(*head));
}

int maps_fib_open(struct maps *maps, bool arena, bool writable)
{
	int prot = writable ? PROT_READ | PROT_WRITE : PROT_READ;

	maps->fib_head = map_head(maps, arena, prot);
	if (!maps->fib_head)
		return -errno;
	maps->arena = arena ? (uint8_t *)maps->fib_head : NULL;
	return 0;
}

void maps_fib_close(struct maps *maps)
{
	unmap_head(maps->fib_head, maps->arena);
	maps->fib_head = NULL;
	maps->arena = NULL;
	for (uint32_t n = 0; n < SIXLANE_FIB_CHUNKS; n++) {
		if (maps->fib_chunks[n])
			munmap(maps->fib_chunks[n], SIXLANE_FIB_CHUNK_BYTES);
		maps->fib_chunks[n] = NULL;
	}
}

static void *map_chunk(int fd, int prot)
{
	void *at = mmap(NULL, SIXLANE_FIB_CHUNK_BYTES, prot, MAP_SHARED, fd, 0);

	return at == MAP_FAILED ? NULL : at;
}

static int make_chunk(void)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts);

	opts.map_flags = BPF_F_MMAPABLE;
	return bpf_map_create(BPF_MAP_TYPE_ARRAY, "sl_fib_chunk", sizeof(uint32_t),
			      SIXLANE_FIB_CHUNK_BYTES, 1, &opts);
}

/* Make a new map an inner map of sl_fib, and map it. NULL on error. */
static void *insert_chunk(struct maps *maps, uint32_t n, int fd)
{
	void *at = map_chunk(fd, PROT_READ | PROT_WRITE);

	if (!at)
		return NULL;
	if (maps_update(maps, LOADER_FIB, &n, &fd)) {
		munmap(at, SIXLANE_FIB_CHUNK_BYTES);
		return NULL;
	}
	maps->fib_chunks[n] = at;
	return at;
}

/*
 * Populates all pages now, since a page that is refused later, at a store, would kill the daemon.
 * At a cgroup's memory limit even populating is not refused, but some process is killed. An array
 * map is refused there, so one is created first, to see whether there is room.
 */
static void *arena_chunk(const struct maps *maps, uint32_t n)
{
	void *at = maps->arena + (size_t)n * SIXLANE_FIB_CHUNK_BYTES;
	int room = make_chunk();

	if (room < 0)
		return NULL;
	util_close(&room);
	return madvise(at, SIXLANE_FIB_CHUNK_BYTES, MADV_POPULATE_WRITE) ? NULL : at;
}

void *maps_write_fib_chunk(void *ctx, uint32_t n)
{
	_cleanup_close_ int made = -1;
	struct maps *maps = ctx;

	if (maps->no_fib)
		return NULL;
	if (maps->arena)
		return arena_chunk(maps, n);
	if (!n)
		return insert_chunk(maps, n, maps->fd[LOADER_FIB_FIRST]);
	made = make_chunk();
	return made < 0 ? NULL : insert_chunk(maps, n, made);
}

void maps_write_fib(void *ctx, union sixlane_fib fib)
{
	struct maps *maps = ctx;

	ATOMIC_STORE(&maps->fib_head->fib.word, fib.word);
}

/* Programs that do not read the arena would go on using the arrays of an earlier daemon. */
static int empty_arrays(const struct maps *maps)
{
	struct sixlane_fib_head *head = map_head(maps, false, PROT_READ | PROT_WRITE);

	if (!head)
		return -errno;
	ATOMIC_STORE(&head->fib.word, 0);
	unmap_head(head, false);
	return 0;
}

/*
 * Waits for packets under way, since older kernels free an inner map before they leave. If that is
 * refused (nohz_full), there is no compiled FIB: its own memory could never be used again either.
 */
int maps_fib_drop(struct maps *maps)
{
	int err;

	maps_write_fib(maps, (union sixlane_fib){ 0 });
	err = maps->arena ? empty_arrays(maps) : 0;
	if (err)
		return err;
	maps->no_fib = maps_write_grace(maps) != 0;
	for (uint32_t n = 0; n < SIXLANE_FIB_CHUNKS && !maps->no_fib; n++) {
		err = maps_erase(maps, LOADER_FIB, &n);
		if (err && err != -ENOENT)
			return err;
	}
	return 0;
}

static void view_arena(const struct maps *maps, struct compiled_view *view)
{
	view->lent = true;
	for (size_t n = 0; n < SIXLANE_FIB_CHUNKS; n++)
		view->chunks[n] = maps->arena + n * SIXLANE_FIB_CHUNK_BYTES;
}

/* 0 or -errno, with nothing left mapped. */
static int view_chunks(const struct maps *maps, struct compiled_view *view)
{
	uint32_t id;
	int err = 0;

	for (uint32_t n = 0; n < SIXLANE_FIB_CHUNKS && !err; n++) {
		_cleanup_close_ int fd = -1;

		if (bpf_map_lookup_elem(maps->fd[LOADER_FIB], &n, &id))
			continue;
		fd = bpf_map_get_fd_by_id(id);
		/* It was deleted in between. */
		if (fd < 0 && errno == ENOENT)
			continue;
		if (fd >= 0)
			view->chunks[n] = map_chunk(fd, PROT_READ);
		if (!view->chunks[n])
			err = -errno;
	}
	if (err)
		maps_unview(view);
	return err;
}

int maps_view(const struct maps *maps, struct compiled_view *view)
{
	struct compiled_view seen = { .fib.word = ATOMIC_LOAD(&maps->fib_head->fib.word) };
	int err = 0;

	if (!seen.fib.word)
		return -ENODATA;
	if (maps->arena)
		view_arena(maps, &seen);
	else
		err = view_chunks(maps, &seen);
	if (!err)
		*view = seen;
	return err;
}

void maps_unview(struct compiled_view *view)
{
	for (uint32_t n = 0; n < SIXLANE_FIB_CHUNKS; n++) {
		if (view->chunks[n] && !view->lent)
			munmap((void *)view->chunks[n], SIXLANE_FIB_CHUNK_BYTES);
	}
	*view = (struct compiled_view){ 0 };
}
