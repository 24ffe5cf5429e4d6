// SPDX-License-Identifier: GPL-2.0-only
/* See pin.h. */
#include "pin.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>

#include "../../bpf/abi/sixlane.h"
#include "error.h"
#include "paths.h"

/* flags: those that must be set; an object may set more. */
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
	[LOADER_NH_BUCKETS] = { "sl_nh_buckets",
				ARRAY_OF(union sixlane_nh_bucket, SIXLANE_MAX_NH_BUCKETS) },
	[LOADER_EXCEPTIONS] = { "sl_exceptions", BPF_MAP_TYPE_PERCPU_HASH,
				sizeof(union sixlane_addr), sizeof(struct sixlane_exception),
				SIXLANE_MAX_EXCEPTIONS, BPF_F_NO_PREALLOC },
	[LOADER_PUNTED] = { "sl_punted", ARRAY_OF(uint64_t, SIXLANE_PUNTED_WORDS) },
	[LOADER_FRESH] = { "sl_fresh", ARRAY_OF(uint64_t, SIXLANE_FRESH_WORDS) },
	[LOADER_OPERATOR] = { "sl_operator", BPF_MAP_TYPE_HASH, sizeof(union sixlane_addr),
			      sizeof(struct sixlane_operator), SIXLANE_MAX_OPERATOR_EXCEPTIONS,
			      BPF_F_NO_PREALLOC },
	[LOADER_ICMP_EVENTS] = { "sl_icmp_events", BPF_MAP_TYPE_RINGBUF, 0, 0,
				 SIXLANE_ICMP_EVENTS_BYTES, 0 },
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

bool loader_map_is_required(enum loader_map map)
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

bool loader_map_is_mmapable(enum loader_map map)
{
	return specs[map].flags & BPF_F_MMAPABLE;
}

static const char advice[] =
	"use that version, or run 'sixlane detach all' and 'sixlane unpin', then start again";

/* Compares a map with the layout of this version. where, hint: for the message. */
static int check_layout(enum loader_map map, const struct map_spec *is, const char *where,
			const char *hint, char *err)
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
			want->name, where, fields[i].what, fields[i].is, fields[i].want, hint);
	}
	return 0;
}

int loader_check_map(enum loader_map map, int fd, const char *where, uint32_t *id, char *err)
{
	struct bpf_map_info info = { 0 };
	uint32_t size = sizeof(info);
	struct map_spec is;

	if (bpf_obj_get_info_by_fd(fd, &info, &size))
		return loader_fail_errno(err, -errno, "cannot inspect map %s", specs[map].name);
	is = (struct map_spec){ info.name,	 info.type,	   info.key_size,
				info.value_size, info.max_entries, info.map_flags };
	*id = info.id;
	return check_layout(map, &is, where, advice, err);
}

int loader_check_object(const struct bpf_object *object, const char *path, char *err)
{
	const struct bpf_map *map;
	struct map_spec is;
	int rc;

	for (int i = 0; i < LOADER_N_MAPS; i++) {
		map = bpf_object__find_map_by_name(object, specs[i].name);
		if (!map && !loader_map_is_required(i))
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

void loader_reset_maps(struct loader_maps *maps)
{
	*maps = (struct loader_maps){ 0 };
	for (int i = 0; i < LOADER_N_MAPS; i++)
		maps->fd[i] = -1;
}

void loader_close_maps(struct loader_maps *maps)
{
	for (int i = 0; i < LOADER_N_MAPS; i++)
		util_close(&maps->fd[i]);
	loader_reset_maps(maps);
}
