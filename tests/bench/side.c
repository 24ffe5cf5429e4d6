// SPDX-License-Identifier: GPL-2.0-only
/* See side.h. */
#include "side.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "../../bpf/abi/sixlane.h"
#include "../../user/lib/util.h"

static int complain(int err, const char *what)
{
	fprintf(stderr, "bench-forward: %s: %s\n", what, strerror(-err));
	return err;
}

/* --- the maps --- */

int side_open_pin(const char *pins, const char *map)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", pins, map);
	fd = bpf_obj_get(path);
	return fd < 0 ? complain(-errno, path) : fd;
}

static int copy_map(const struct bpf_map *map, const char *pins)
{
	_cleanup_close_ int from = side_open_pin(pins, bpf_map__name(map));
	union {
		struct sixlane_meta meta; /* the longest */
		uint8_t bytes[256];
	} value;
	uint8_t key[64], *previous = NULL;

	if (from < 0)
		return from;
	if (bpf_map__key_size(map) > sizeof(key) || bpf_map__value_size(map) > sizeof(value))
		return complain(-E2BIG, bpf_map__name(map));
	while (!bpf_map_get_next_key(from, previous, key)) {
		previous = key;
		if (bpf_map_lookup_elem(from, key, &value))
			continue;
		if (bpf_map_update_elem(bpf_map__fd(map), key, &value, BPF_ANY))
			return complain(-errno, bpf_map__name(map));
	}
	return 0;
}

static bool is_one_of(const struct bpf_map *map, const char *const names[], size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(bpf_map__name(map), names[i]))
			return true;
	return false;
}

/* The daemon's own, not copies. */
static const char *const shared[] = { "sl_routes", "sl_fib", "sl_fib_first", "sl_fib_arena" };

/* Nothing of this object is pinned. */
static int prepare_map(struct bpf_map *map, const char *pins)
{
	_cleanup_close_ int fd = -1;
	int ret = bpf_map__set_pin_path(map, NULL);

	if (ret || !is_one_of(map, shared, ARRAY_SIZE(shared)))
		return ret;
	fd = side_open_pin(pins, bpf_map__name(map));
	return fd < 0 ? fd : bpf_map__reuse_fd(map, fd);
}

/* Not what the datapath writes, nor exceptions: of these it has none. */
static bool is_copied(const struct bpf_map *map)
{
	static const char *const left_out[] = { "sl_counters",	  "sl_exceptions", "sl_operator",
						"sl_icmp_events", "sl_cpu",	   "sl_punted",
						"sl_fresh",	  "sl_samples",	   "sl_scratch" };

	return !strncmp(bpf_map__name(map), "sl_", 3) &&
	       !is_one_of(map, shared, ARRAY_SIZE(shared)) &&
	       !is_one_of(map, left_out, ARRAY_SIZE(left_out));
}

/* Else the trie would answer, and be taken for the compiled FIB. */
static int check_arena(const struct bpf_object *object, const char *pins)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/sl_fib_arena", pins);
	if (access(path, F_OK) || bpf_object__find_map_by_name(object, "sl_fib_arena"))
		return 0;
	fprintf(stderr,
		"bench-forward: the daemon's compiled FIB is in an arena, which this object "
		"does not read: give its .arena.bpf.o\n");
	return -EINVAL;
}

static int load(struct bpf_object *object, const char *pins)
{
	struct bpf_map *map;
	int ret = check_arena(object, pins);

	bpf_object__for_each_map(map, object) ret = ret ?: prepare_map(map, pins);
	ret = ret ?: bpf_object__load(object);
	bpf_object__for_each_map(map, object) if (!ret && is_copied(map)) ret = copy_map(map, pins);
	return ret;
}

int side_open(const char *file, const char *pins, struct bpf_object **out)
{
	struct bpf_object *object = bpf_object__open_file(file, NULL);
	int ret;

	if (!object)
		return complain(-errno, file);
	ret = load(object, pins);
	if (ret) {
		bpf_object__close(object);
		return complain(ret, file);
	}
	*out = object;
	return 0;
}

int side_prog_fd(const struct bpf_object *object)
{
	return bpf_program__fd(bpf_object__find_program_by_name(object, "sixlane"));
}

int side_counters_fd(const struct bpf_object *object)
{
	return bpf_object__find_map_fd_by_name(object, "sl_counters");
}

int side_counts(int counters_fd, uint32_t slot, struct side_counts *out)
{
	int n = libbpf_num_possible_cpus();
	struct sixlane_counters *counters = calloc((size_t)n, sizeof(*counters));
	int ret = 0;

	if (!counters)
		return -ENOMEM;
	if (bpf_map_lookup_elem(counters_fd, &slot, counters))
		ret = complain(-errno, "cannot read the counters");
	*out = (struct side_counts){ 0 };
	for (int i = 0; i < n; i++) {
		out->forwarded += counters[i].verdicts[SIXLANE_FORWARD].packets;
		out->checksum += counters[i].verdicts[SIXLANE_PASS_CHECKSUM].packets;
	}
	free(counters);
	return ret;
}
