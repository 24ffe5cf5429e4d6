// SPDX-License-Identifier: GPL-2.0-only
/* See arena.h. */
#include "arena.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "../../bpf/abi/sixlane.h"
#include "bpf_object.h"
#include "error.h"
#include "paths.h"

/* The size of the address range; less of it is in use. */
static size_t arena_bytes(void)
{
	return SIXLANE_FIB_ARENA_PAGES * (size_t)sysconf(_SC_PAGESIZE);
}

/* Without libbpf, which from 1.4 on maps the arenas that it makes and unmaps them with the object.
 */
int loader_arena_new(uint64_t at)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts);
	int fd;

	opts.map_flags = BPF_F_MMAPABLE;
	opts.map_extra = at;
	fd = bpf_map_create(SIXLANE_MAP_TYPE_ARENA, loader_map_name(LOADER_FIB_ARENA), 0, 0,
			    SIXLANE_FIB_ARENA_PAGES, &opts);
	return fd < 0 ? -errno : fd;
}

void *loader_arena_map(int fd, int prot)
{
	struct bpf_map_info info = { 0 };
	uint32_t size = sizeof(info);
	void *at;

	if (bpf_obj_get_info_by_fd(fd, &info, &size))
		return NULL;
	at = mmap((void *)(uintptr_t)info.map_extra, arena_bytes(), prot,
		  MAP_SHARED | MAP_FIXED_NOREPLACE, fd, 0);
	return at == MAP_FAILED ? NULL : at;
}

void loader_arena_unmap(void *at)
{
	munmap(at, arena_bytes());
}

const char *loader_arena_advice(const struct loader_maps *maps, int error)
{
	static char advice[160];

	advice[0] = '\0';
	if (maps->arena && error == -ENOMEM)
		snprintf(
			advice, sizeof(advice),
			" (the compiled FIB's arena needs %zu MiB of address space: raise ulimit -v)",
			arena_bytes() >> 20);
	if (maps->arena && error == -EEXIST)
		snprintf(
			advice, sizeof(advice),
			" (the compiled FIB's arena must be at 0x%x, where this process has something "
			"else: build it as a position-independent executable)",
			SIXLANE_FIB_ARENA);
	return advice;
}

/* A process with less address space (ulimit -v) may need all of it for its routes. */
#define ENOUGH_ADDRESSES (4ull << 30)

static bool can_map(int fd)
{
	struct rlimit limit;
	void *at;

	if (!getrlimit(RLIMIT_AS, &limit) && limit.rlim_cur < ENOUGH_ADDRESSES)
		return false;
	at = loader_arena_map(fd, PROT_READ | PROT_WRITE);
	if (at)
		loader_arena_unmap(at);
	return at;
}

/* Loads a program that reads an arena: the kernel makes arenas even if its JIT cannot read them. */
static int load_reader(int fd)
{
	const struct bpf_insn insns[] = {
		{ .code = BPF_LD | BPF_DW /* BPF_IMM */, .src_reg = BPF_PSEUDO_MAP_FD, .imm = fd },
		{ 0 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	_cleanup_close_ int prog = bpf_prog_load(BPF_PROG_TYPE_XDP, "sl_try_arena", "GPL", insns,
						 ARRAY_SIZE(insns), NULL);

	return prog < 0 ? -errno : 0;
}

/* Makes one and maps it. 1, 0 or -errno. */
static int try_arena(void)
{
	_cleanup_close_ int fd = loader_arena_new(SIXLANE_FIB_ARENA);
	int rc = fd < 0 ? fd : load_reader(fd);

	/* no such map type, no JIT for it, or no 4 GiB of kernel address space */
	if (rc == -EINVAL || rc == -EOPNOTSUPP || rc == -ENOMEM)
		return 0;
	return rc ?: can_map(fd);
}

int loader_arena_usable(void)
{
	static int usable = -ENODATA;

	if (usable < 0)
		usable = try_arena();
	return usable;
}

/* 1 if the object has an arena, 0 or -errno. */
static int reads_arena(const char *object, char *err)
{
	struct bpf_object *opened;
	int rc = loader_object_open(object, &opened, err);

	if (rc)
		return rc;
	rc = loader_check_object(opened, object, err);
	if (!rc)
		rc = bpf_object__find_map_by_name(opened, loader_map_name(LOADER_FIB_ARENA)) !=
		     NULL;
	bpf_object__close(opened);
	return rc;
}

/* The arena flavour must also have an xdp.frags flavour if the object for array maps has one. */
static bool is_complete(const char *object, const char *arena)
{
	char frags[PATH_MAX];

	return !access(arena, R_OK) &&
	       (!loader_flavour_path(object, "frags", frags) || access(frags, R_OK) ||
		(loader_flavour_path(arena, "frags", frags) && !access(frags, R_OK)));
}

const char *loader_object_for(const char *object, const struct loader_maps *maps,
			      char path[PATH_MAX])
{
	return maps->arena && loader_flavour_path(object, "arena", path) &&
			       is_complete(object, path)
		       ? path
		       : object;
}

int loader_object_reads_arena(const char *object, char *err)
{
	static const struct loader_maps with_arena = { .arena = true };
	int usable = loader_arena_usable(), reads;
	char path[PATH_MAX];

	if (usable < 0)
		return loader_fail_errno(err, usable, "cannot tell whether the kernel has arenas");
	reads = reads_arena(usable ? loader_object_for(object, &with_arena, path) : object, err);
	if (reads > 0 && !usable)
		return loader_fail(
			err, -EOPNOTSUPP,
			"%s needs an arena: this kernel has none (Linux 6.9, later on some CPUs), or ulimit -v is below %llu MiB; use sixlane.bpf.o",
			object, ENOUGH_ADDRESSES >> 20);
	return reads;
}

int loader_arena_pin(char *err)
{
	_cleanup_close_ int fd = loader_arena_new(SIXLANE_FIB_ARENA);
	char path[PATH_MAX];

	if (fd < 0)
		return loader_fail_errno(err, fd, "cannot create an arena");
	loader_pin_path(LOADER_FIB_ARENA, path);
	if (bpf_obj_pin(fd, path) && errno != EEXIST)
		return loader_fail_errno(err, -errno, "cannot pin %s", path);
	return 0;
}
