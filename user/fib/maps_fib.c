// SPDX-License-Identifier: GPL-2.0-only
/*
 * sl_fib: chunks of memory for the compiled FIB, all but the first made as they are needed, and
 * looking at them.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "maps_internal.h"

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

/* Read and written by the caller, once it is an inner map of sl_fib. */
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

void *maps_write_fib_chunk(void *ctx, uint32_t n)
{
	_cleanup_close_ int made = -1;
	struct maps *maps = ctx;

	if (maps->no_fib)
		return NULL;
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

void maps_fib_unmap(void *chunks[SIXLANE_FIB_CHUNKS])
{
	for (uint32_t n = 0; n < SIXLANE_FIB_CHUNKS; n++) {
		if (chunks[n])
			munmap(chunks[n], SIXLANE_FIB_CHUNK_BYTES);
		chunks[n] = NULL;
	}
}

/*
 * Packets under way are waited for, since older kernels free an inner map before they do. Where
 * that is refused (nohz_full) there is no compiled FIB: neither could its own memory ever be used
 * again.
 */
int maps_fib_drop(struct maps *maps)
{
	int err;

	maps_write_fib(maps, (union sixlane_fib){ 0 });
	maps->no_fib = maps_write_grace(maps) != 0;
	for (uint32_t n = 0; n < SIXLANE_FIB_CHUNKS && !maps->no_fib; n++) {
		err = maps_erase(maps, LOADER_FIB, &n);
		if (err && err != -ENOENT)
			return err;
	}
	return 0;
}

int maps_view(const struct maps *maps, struct compiled_view *view)
{
	struct compiled_view seen = { .fib.word = ATOMIC_LOAD(&maps->fib_head->fib.word) };
	uint32_t id;
	int err = seen.fib.word ? 0 : -ENODATA;

	for (uint32_t n = 0; n < SIXLANE_FIB_CHUNKS && !err; n++) {
		_cleanup_close_ int fd = -1;

		if (bpf_map_lookup_elem(maps->fd[LOADER_FIB], &n, &id))
			continue;
		fd = bpf_map_get_fd_by_id(id);
		/* gone since */
		if (fd < 0 && errno == ENOENT)
			continue;
		if (fd >= 0)
			seen.chunks[n] = map_chunk(fd, PROT_READ);
		if (!seen.chunks[n])
			err = -errno;
	}
	if (err)
		maps_unview(&seen);
	else
		*view = seen;
	return err;
}

void maps_unview(struct compiled_view *view)
{
	for (uint32_t n = 0; n < SIXLANE_FIB_CHUNKS; n++) {
		if (view->chunks[n])
			munmap((void *)view->chunks[n], SIXLANE_FIB_CHUNK_BYTES);
	}
	*view = (struct compiled_view){ 0 };
}
