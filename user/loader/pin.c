// SPDX-License-Identifier: GPL-2.0-only
/*
 * The pinned maps: open, check, create, adopt, remove. Every map is held against the layouts of
 * bpf/abi/sixlane.h before anybody uses it, since a pin may be of another version, or not sixlane's
 * at all. Never changes what a map holds.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <limits.h>
#include <net/if.h>
#include <string.h>

#include "arena.h"
#include "query.h"

/* What bpf/abi/sixlane.h says of each map. flags: those that must be set; the object may set more.
 */
struct map_spec {
	const char *name;
	uint32_t type, key_size, value_size, max_entries, flags;
};

#define ARRAY_OF(type_, n) BPF_MAP_TYPE_ARRAY, sizeof(uint32_t), sizeof(type_), n, BPF_F_MMAPABLE
#define TRIE_OF(n)                                                                    \
	BPF_MAP_TYPE_LPM_TRIE, sizeof(struct sixlane_route_key), sizeof(uint32_t), n, \
		BPF_F_NO_PREALLOC
#define INDEX_OF(type_, n) BPF_MAP_TYPE_HASH, sizeof(type_), sizeof(uint32_t), n, 0

static const struct map_spec specs[LOADER_N_MAPS] = {
	[LOADER_META] = { "sl_meta", ARRAY_OF(struct sixlane_meta, 1) },
	[LOADER_ROUTES] = { "sl_routes", TRIE_OF(SIXLANE_MAX_ROUTES) },
	[LOADER_FIB] = { "sl_fib", BPF_MAP_TYPE_ARRAY_OF_MAPS, sizeof(uint32_t), sizeof(uint32_t),
			 SIXLANE_FIB_CHUNKS, 0 },
	[LOADER_FIB_FIRST] = { "sl_fib_first", BPF_MAP_TYPE_ARRAY, sizeof(uint32_t),
			       SIXLANE_FIB_CHUNK_BYTES, 1, BPF_F_MMAPABLE },
	[LOADER_FIB_ARENA] = { "sl_fib_arena", SIXLANE_MAP_TYPE_ARENA, 0, 0,
			       SIXLANE_FIB_ARENA_PAGES, BPF_F_MMAPABLE },
	[LOADER_SOURCES] = { "sl_src_routes", TRIE_OF(SIXLANE_MAX_SOURCES) },
	[LOADER_NEXT_HOPS] = { "sl_next_hops",
			       ARRAY_OF(struct sixlane_next_hop, SIXLANE_MAX_NEXT_HOPS) },
	[LOADER_BUCKETS] = { "sl_nh_buckets",
			     ARRAY_OF(union sixlane_nh_bucket, SIXLANE_MAX_NH_BUCKETS) },
	[LOADER_EXCEPTIONS] = { "sl_exceptions", BPF_MAP_TYPE_PERCPU_HASH,
				sizeof(union sixlane_addr), sizeof(struct sixlane_exception),
				SIXLANE_MAX_EXCEPTIONS, BPF_F_NO_PREALLOC },
	[LOADER_PUNTED] = { "sl_punted", ARRAY_OF(uint64_t, SIXLANE_PUNTED_WORDS) },
	[LOADER_FRESH] = { "sl_fresh", ARRAY_OF(uint64_t, SIXLANE_FRESH_WORDS) },
	[LOADER_OPERATOR] = { "sl_operator", BPF_MAP_TYPE_HASH, sizeof(union sixlane_addr),
			      sizeof(struct sixlane_operator), SIXLANE_MAX_OPERATOR_EXCEPTIONS,
			      BPF_F_NO_PREALLOC },
	[LOADER_HINTS] = { "sl_icmp_events", BPF_MAP_TYPE_RINGBUF, 0, 0, SIXLANE_ICMP_EVENTS_BYTES,
			   0 },
	[LOADER_CPU] = { "sl_cpu", BPF_MAP_TYPE_PERCPU_ARRAY, sizeof(uint32_t),
			 sizeof(struct sixlane_cpu), 1, 0 },
	[LOADER_NEIGH_INDEX] = { "sl_neigh_index",
				 INDEX_OF(struct sixlane_neigh_key, SIXLANE_MAX_NEIGHBOURS) },
	[LOADER_NEIGHBOURS] = { "sl_neighbours",
				ARRAY_OF(struct sixlane_neigh, SIXLANE_MAX_NEIGHBOURS) },
	[LOADER_SAMPLES] = { "sl_samples", BPF_MAP_TYPE_RINGBUF, 0, 0, SIXLANE_SAMPLES_BYTES, 0 },
	[LOADER_PORT_INDEX] = { "sl_port_index", INDEX_OF(uint32_t, SIXLANE_MAX_PORTS) },
	[LOADER_PORTS] = { "sl_ports", ARRAY_OF(struct sixlane_port, SIXLANE_MAX_PORTS) },
	[LOADER_VLANS] = { "sl_vlans", INDEX_OF(struct sixlane_vlan_key, SIXLANE_MAX_VLANS) },
	[LOADER_RULES] = { "sl_rules", ARRAY_OF(struct sixlane_rule, 2 * SIXLANE_MAX_RULES) },
	[LOADER_GUARD] = { "sl_guard", ARRAY_OF(uint64_t, SIXLANE_GUARD_WORDS) },
	[LOADER_POLICIES] = { "sl_policies", TRIE_OF(SIXLANE_MAX_POLICIES) },
	[LOADER_COUNTERS] = { "sl_counters", BPF_MAP_TYPE_PERCPU_ARRAY, sizeof(uint32_t),
			      sizeof(struct sixlane_counters), SIXLANE_MAX_PORTS, 0 },
};

#define N_NEEDED (LOADER_N_MAPS - 1)

bool loader_map_is_needed(enum loader_map map)
{
	return map != LOADER_FIB_ARENA;
}

const char *loader_map_name(enum loader_map map)
{
	return specs[map].name;
}

void loader_pin_path(enum loader_map map, char path[PATH_MAX])
{
	snprintf(path, PATH_MAX, "%s/%s", loader_pin_dir(), specs[map].name);
}

static const char start_anew[] =
	"use that version, or run 'sixlane detach all' and 'sixlane unpin', then start again";

/* Compare a map with the layout of this version. where, ICMP event: for the message. */
static int check_layout(enum loader_map map, const struct map_spec *is, const char *where,
			const char *icmp_event, char *err)
{
	const struct map_spec *want = &specs[map];
	const struct {
		const char *what;
		uint32_t is, want;
	} fields[] = {
		{ "type", is->type, want->type },
		{ "key size", is->key_size, want->key_size },
		{ "value size", is->value_size, want->value_size },
		{ "max entries", is->max_entries, want->max_entries },
		{ "flags", is->flags & want->flags, want->flags },
	};

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		if (fields[i].is == fields[i].want)
			continue;
		return loader_fail(
			err, -EPROTO,
			"map %s in %s is of another version of sixlane (%s %u, this one has "
			"%u): %s",
			want->name, where, fields[i].what, fields[i].is, fields[i].want,
			icmp_event);
	}
	return 0;
}

static int check_map(enum loader_map map, int fd, const char *where, uint32_t *id, char *err)
{
	struct bpf_map_info info = { 0 };
	uint32_t size = sizeof(info);
	struct map_spec is;

	if (bpf_obj_get_info_by_fd(fd, &info, &size))
		return loader_fail_errno(err, -errno, "cannot inspect map %s", specs[map].name);
	is = (struct map_spec){ info.name,	 info.type,	   info.key_size,
				info.value_size, info.max_entries, info.map_flags };
	*id = info.id;
	return check_layout(map, &is, where, start_anew, err);
}

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

static void reset_maps(struct loader_maps *maps)
{
	*maps = (struct loader_maps){ 0 };
	for (int i = 0; i < LOADER_N_MAPS; i++)
		maps->fd[i] = -1;
}

void loader_close_maps(struct loader_maps *maps)
{
	for (int i = 0; i < LOADER_N_MAPS; i++)
		util_close(&maps->fd[i]);
	reset_maps(maps);
}

/* The kernel maps no array by a read-only descriptor, not even for reading. */
static int open_pin(enum loader_map map, const char *path, bool read_only)
{
	LIBBPF_OPTS(bpf_obj_get_opts, opts);

	if (read_only && !(specs[map].flags & BPF_F_MMAPABLE))
		opts.file_flags = BPF_F_RDONLY;
	return bpf_obj_get_opts(path, &opts);
}

/* Open and check it. -ENOENT, with nothing said: there is none. */
static int open_one(enum loader_map map, bool read_only, struct loader_maps *maps, char *err)
{
	char path[PATH_MAX];

	loader_pin_path(map, path);
	maps->fd[map] = open_pin(map, path, read_only);
	if (maps->fd[map] >= 0)
		return check_map(map, maps->fd[map], loader_pin_dir(), &maps->id[map], err);
	return errno == ENOENT ? -ENOENT : loader_fail_errno(err, -errno, "cannot open %s", path);
}

int loader_open_arena(struct loader_maps *maps, char *err)
{
	int rc = open_one(LOADER_FIB_ARENA, false, maps, err);

	maps->arena = !rc;
	return rc;
}

/*
 * Open and check the pins that exist; the others are -1 in maps. Returns the number of those that
 * are needed or -errno, with nothing left open.
 */
static int open_pins(struct loader_maps *maps, bool read_only, char *err)
{
	struct sixlane_meta meta = { 0 };
	int found = 0, rc = 0;

	reset_maps(maps);
	loader_quiet();
	for (int i = 0; i < LOADER_N_MAPS && !rc; i++) {
		rc = loader_map_is_needed(i) ? open_one(i, read_only, maps, err) : -ENOENT;
		found += !rc;
		rc = rc == -ENOENT ? 0 : rc;
	}
	if (!rc && maps->fd[LOADER_META] >= 0)
		rc = read_meta(maps->fd[LOADER_META], loader_pin_dir(), &meta, err);
	maps->fib_memory = meta.fib_memory;
	if (!rc && meta.fib_memory != SIXLANE_FIB_IN_ARRAYS)
		rc = loader_open_arena(maps, err);
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
	if (rc == N_NEEDED) {
		*maps = opened;
		return 0;
	}
	loader_close_maps(&opened);
	if (rc)
		return loader_fail(
			err, -ENOENT,
			"only %d of sixlane's %d maps are pinned in %s: run 'sixlane attach DEV' or start sixlaned to create the others",
			rc, N_NEEDED, loader_pin_dir());
	return loader_fail(
		err, -ENOENT,
		"no sixlane maps are pinned in %s: attach a port first, with 'sixlane attach DEV', 'sixlaned DEV' or 'ip link set dev DEV xdp obj %s sec xdp'",
		loader_pin_dir(), loader_object_path());
}

/* Pin the maps of a program that pinned none. Nothing is pinned unless 0 is returned. */
static int pin_prog_maps(const struct loader_prog_maps *of, const char *port, char *err)
{
	char path[PATH_MAX];
	struct sixlane_meta meta;
	int i, rc = 0;
	uint32_t id;

	for (i = 0; i < LOADER_N_MAPS && !rc; i++) {
		/* A map that the program does not use is made from the object later. */
		if (of->fd[i] >= 0)
			rc = check_map(i, of->fd[i], port, &id, err);
	}
	if (!rc && of->fd[LOADER_META] >= 0)
		rc = read_meta(of->fd[LOADER_META], port, &meta, err);
	for (i = 0; i < LOADER_N_MAPS && !rc; i += !rc) {
		if (of->fd[i] < 0)
			continue;
		loader_pin_path(i, path);
		/* one that is alone is of no set: of a start that was cut short */
		if (!loader_map_is_needed(i))
			unlink(path);
		if (bpf_obj_pin(of->fd[i], path))
			rc = loader_fail_errno(err, -errno, "cannot pin %s", path);
	}
	/* only what was pinned here */
	while (rc && --i >= 0) {
		loader_pin_path(i, path);
		if (of->fd[i] >= 0)
			unlink(path);
	}
	return rc;
}

/* Make the maps of the first port that has sixlane, but no pins, the pinned ones. */
static int adopt_unpinned(char *err)
{
	struct if_nameindex *ports = if_nameindex();
	struct loader_prog_maps of;
	struct loader_prog prog;
	int rc = 0;

	for (struct if_nameindex *port = ports; port && port->if_index; port++) {
		if (loader_query(port->if_index, NULL, &prog) || prog.owner != LOADER_OTHER_MAPS)
			continue;
		if (loader_prog_maps_open(prog.id, &of))
			continue;
		rc = pin_prog_maps(&of, port->if_name, err);
		loader_prog_maps_close(&of);
		break;
	}
	if (ports)
		if_freenameindex(ports);
	return rc;
}

int loader_check_object(const struct bpf_object *object, const char *path, char *err)
{
	const struct bpf_map *map;
	struct map_spec is;
	int rc;

	for (int i = 0; i < LOADER_N_MAPS; i++) {
		map = bpf_object__find_map_by_name(object, specs[i].name);
		if (!map && !loader_map_is_needed(i))
			continue;
		if (!map)
			return loader_fail(err, -EPROTO,
					   "%s has no map %s: it is not a sixlane object", path,
					   specs[i].name);
		is = (struct map_spec){ specs[i].name,
					bpf_map__type(map),
					bpf_map__key_size(map),
					bpf_map__value_size(map),
					bpf_map__max_entries(map),
					bpf_map__map_flags(map) };
		rc = check_layout(i, &is, path, "build or install both together", err);
		if (rc)
			return rc;
	}
	return 0;
}

/* Let libbpf make and pin the maps that are missing: an object without programs to load. */
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

/* Complete the set of pins, of which found are there. */
static int make_missing(const char *object, int found, struct loader_maps *maps, char *err)
{
	int wants = loader_wants_arena(object, err), rc = wants < 0 ? wants : 0;

	if (!rc && !found)
		rc = adopt_unpinned(err);
	if (!rc && wants)
		rc = loader_arena_pin(err);
	if (!rc)
		rc = create_pins(object, err);
	if (!rc)
		rc = loader_open_maps(maps, false, err);
	/* Half a set would only be in the way of whoever tries next. */
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
	if (found < N_NEEDED) {
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
