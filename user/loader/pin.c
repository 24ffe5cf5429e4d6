// SPDX-License-Identifier: GPL-2.0-only
/* See pin.h. */
#include "pin.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "../../bpf/abi/sixlane.h"
#include "arena.h"
#include "bpf_object.h"
#include "error.h"
#include "paths.h"
#include "query.h"

static int read_meta(int meta_fd, const char *where, struct sixlane_meta *meta, char *err)
{
	uint32_t zero = 0;

	if (bpf_map_lookup_elem(meta_fd, &zero, meta))
		return loader_fail_errno(err, -errno, "cannot read map sl_meta");
	if (meta->abi == 0 || meta->abi == SIXLANE_ABI)
		return 0;
	return loader_fail(
		err, -EPROTO,
		"the maps in %s have ABI %u, this sixlane has ABI %u: use the version that made them, or run 'sixlane detach all' and 'sixlane unpin', then start again",
		where, meta->abi, SIXLANE_ABI);
}

static int open_pin(enum loader_map map, const char *path, bool read_only)
{
	LIBBPF_OPTS(bpf_obj_get_opts, opts);

	if (read_only && !loader_map_is_mmapable(map))
		opts.file_flags = BPF_F_RDONLY;
	return bpf_obj_get_opts(path, &opts);
}

/* Opens and checks a pin. -ENOENT, without a message: there is none. */
static int open_one(enum loader_map map, bool read_only, struct loader_maps *maps, char *err)
{
	char path[PATH_MAX];

	loader_pin_path(map, path);
	maps->fd[map] = open_pin(map, path, read_only);
	if (maps->fd[map] >= 0)
		return loader_check_map(map, maps->fd[map], loader_pin_dir(), &maps->id[map], err);
	return errno == ENOENT ? -ENOENT : loader_fail_errno(err, -errno, "cannot open %s", path);
}

static int open_arena(struct loader_maps *maps, char *err)
{
	int rc = open_one(LOADER_FIB_ARENA, false, maps, err);

	maps->arena = !rc;
	return rc;
}

/* Opens and checks the pins that exist. Returns how many of the required ones do, or -errno with
 * none left open. */
static int open_pins(struct loader_maps *maps, bool read_only, char *err)
{
	struct sixlane_meta meta = { 0 };
	int found = 0, rc = 0;

	loader_reset_maps(maps);
	libbpf_log_reset();
	for (int i = 0; i < LOADER_N_MAPS && !rc; i++) {
		rc = loader_map_is_required(i) ? open_one(i, read_only, maps, err) : -ENOENT;
		found += !rc;
		rc = rc == -ENOENT ? 0 : rc;
	}
	if (!rc && maps->fd[LOADER_META] >= 0)
		rc = read_meta(maps->fd[LOADER_META], loader_pin_dir(), &meta, err);
	maps->fib_memory = meta.fib_memory;
	if (!rc && meta.fib_memory != SIXLANE_FIB_IN_ARRAYS)
		rc = open_arena(maps, err);
	if (!rc || rc == -ENOENT)
		return found;
	loader_close_maps(maps);
	return rc;
}

int loader_open_maps(struct loader_maps *maps, bool read_only, char *err)
{
	struct loader_maps opened;
	int rc;

	rc = loader_check_bpffs(err);
	if (rc)
		return rc;
	rc = open_pins(&opened, read_only, err);
	if (rc < 0)
		return rc;
	if (rc == LOADER_N_REQUIRED_MAPS) {
		*maps = opened;
		return 0;
	}
	loader_close_maps(&opened);
	if (rc)
		return loader_fail(
			err, -ENOENT,
			"only %d of sixlane's %d maps are pinned in %s: run 'sixlane attach DEV' or start sixlaned to create the others",
			rc, LOADER_N_REQUIRED_MAPS, loader_pin_dir());
	return loader_fail(
		err, -ENOENT,
		"no sixlane maps are pinned in %s: attach a port first, with 'sixlane attach DEV', 'sixlaned DEV' or 'ip link set dev DEV xdp obj %s sec xdp'",
		loader_pin_dir(), loader_object_path());
}

/* Pins the maps of a program that pinned none. After a failure, none is pinned. */
static int pin_prog_maps(const struct loader_maps *of, const char *port, char *err)
{
	char path[PATH_MAX];
	struct sixlane_meta meta;
	int i, rc = 0;
	uint32_t id;

	for (i = 0; i < LOADER_N_MAPS && !rc; i++) {
		/* a map that the program does not use is made from the object later */
		if (of->fd[i] >= 0)
			rc = loader_check_map(i, of->fd[i], port, &id, err);
	}
	if (!rc && of->fd[LOADER_META] >= 0)
		rc = read_meta(of->fd[LOADER_META], port, &meta, err);
	for (i = 0; i < LOADER_N_MAPS && !rc; i += !rc) {
		if (of->fd[i] < 0)
			continue;
		loader_pin_path(i, path);
		/* an arena alone belongs to no set: an earlier start was interrupted */
		if (!loader_map_is_required(i))
			unlink(path);
		if (bpf_obj_pin(of->fd[i], path))
			rc = loader_fail_errno(err, -errno, "cannot pin %s", path);
	}
	/* remove only what was pinned here */
	while (rc && --i >= 0) {
		loader_pin_path(i, path);
		if (of->fd[i] >= 0)
			unlink(path);
	}
	return rc;
}

/* Pins the maps of the first port that runs sixlane without pins. */
static int adopt_unpinned(char *err)
{
	struct if_nameindex *ports = if_nameindex();
	struct loader_maps of;
	struct loader_prog prog;
	int rc = 0;

	for (struct if_nameindex *port = ports; port && port->if_index; port++) {
		if (loader_query(port->if_index, NULL, &prog) || prog.owner != LOADER_OTHER_MAPS)
			continue;
		if (loader_open_prog_maps(prog.id, NULL, &of))
			continue;
		rc = pin_prog_maps(&of, port->if_name, err);
		loader_close_maps(&of);
		break;
	}
	if (ports)
		if_freenameindex(ports);
	return rc;
}

/* libbpf makes and pins the missing maps when it loads the object without programs. */
static int create_pins(const char *path, char *err)
{
	struct bpf_object *object;
	struct bpf_program *prog;
	int rc;

	rc = loader_object_open(path, &object, err);
	if (rc)
		return rc;
	rc = loader_check_object(object, path, err);
	if (!rc) {
		bpf_object__for_each_program(prog, object)
		{
			bpf_program__set_autoload(prog, false);
		}
		rc = bpf_object__load(object);
		if (rc)
			rc = loader_fail_errno(err, rc, "cannot create the maps of %s", path);
	}
	bpf_object__close(object);
	return rc;
}

/* Makes the missing pins; found exist. */
static int make_missing(const char *object, int found, struct loader_maps *maps, char *err)
{
	int reads = loader_object_reads_arena(object, err), rc = reads < 0 ? reads : 0;

	if (!rc && !found)
		rc = adopt_unpinned(err);
	if (!rc && reads)
		rc = loader_arena_pin(err);
	if (!rc)
		rc = create_pins(object, err);
	if (!rc)
		rc = loader_open_maps(maps, false, err);
	/* an incomplete set would make the next attempt fail */
	if (rc && !found)
		loader_unpin(NULL);
	return rc;
}

int loader_make_maps(const char *object, struct loader_maps *maps, char *err)
{
	struct loader_maps opened;
	int found, rc;

	rc = loader_make_pin_dir(err);
	if (rc)
		return rc;
	found = open_pins(&opened, false, err);
	if (found < 0)
		return found;
	if (found < LOADER_N_REQUIRED_MAPS) {
		loader_close_maps(&opened);
		return make_missing(object, found, maps, err);
	}
	*maps = opened;
	return 0;
}

bool loader_have_pins(void)
{
	char path[PATH_MAX];

	for (int i = 0; i < LOADER_N_MAPS; i++) {
		loader_pin_path(i, path);
		if (!access(path, F_OK) || errno != ENOENT)
			return true;
	}
	return false;
}

int loader_unpin(char *err)
{
	char path[PATH_MAX];

	for (int i = 0; i < LOADER_N_MAPS; i++) {
		loader_pin_path(i, path);
		if (unlink(path) && errno != ENOENT)
			return loader_fail_errno(err, -errno, "cannot remove %s", path);
	}
	return 0;
}

/* After this, programs find no compiled FIB in the arena. 0 or -errno. */
static int clear_arena(const struct loader_maps *maps, char *err)
{
	struct sixlane_fib_head *head =
		loader_arena_map(maps->fd[LOADER_FIB_ARENA], PROT_READ | PROT_WRITE);
	int rc = head ? 0 : -errno;

	if (rc)
		return loader_fail(err, rc, "cannot map the pinned arena, to leave it empty: %s%s",
				   strerror(-rc), loader_arena_advice(maps, rc));
	__atomic_store_n(&head->fib.word, 0, __ATOMIC_RELAXED);
	loader_arena_unmap(head);
	return 0;
}

static int remove_arena(struct loader_maps *maps, char *err)
{
	char path[PATH_MAX];
	/* an arena that no daemon has written is empty */
	int rc = maps->fib_memory == SIXLANE_FIB_IN_ARENA && maps->arena ? clear_arena(maps, err)
									 : 0;

	if (rc)
		return rc;
	loader_pin_path(LOADER_FIB_ARENA, path);
	if (unlink(path) && errno != ENOENT)
		return loader_fail_errno(err, -errno, "cannot remove %s", path);
	util_close(&maps->fd[LOADER_FIB_ARENA]);
	maps->fd[LOADER_FIB_ARENA] = -1;
	maps->id[LOADER_FIB_ARENA] = 0;
	maps->arena = false;
	return 0;
}

int loader_arena_reconcile(const char *object, struct loader_maps *maps, char *err)
{
	int reads = loader_object_reads_arena(object, err), rc;

	if (reads < 0)
		return reads;
	if (!reads)
		return remove_arena(maps, err);
	if (maps->arena)
		return 0;
	rc = loader_arena_pin(err);
	return rc ? rc : open_arena(maps, err);
}
