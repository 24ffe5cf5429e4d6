// SPDX-License-Identifier: GPL-2.0-only
/* See forward_side.h. */
#include "forward_side.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <limits.h>
#include <linux/bpf.h>
#include <string.h>

#define OBJECT "bench-forward.bpf.o"
#define BATCH 4096
#ifndef BPF_F_XDP_HAS_FRAGS
#define BPF_F_XDP_HAS_FRAGS (1u << 5)
#endif

static int compare_keys(const void *a, const void *b)
{
	const struct sixlane_route_key *x = a, *y = b;
	int order = memcmp(&x->addr, &y->addr, sizeof(x->addr));

	return order ? order : (x->prefix_len > y->prefix_len) - (x->prefix_len < y->prefix_len);
}

/* All keys of the table that ports look in, in the order in which the kernel dumps routes. */
static int read_keys(int fd, struct sixlane_route_key **keys, size_t *n)
{
	struct sixlane_route_key key, *previous = NULL;
	size_t room = 0;

	*keys = NULL;
	for (*n = 0; !bpf_map_get_next_key(fd, previous, &key); previous = &(*keys)[(*n)++]) {
		if (*n == room) {
			struct sixlane_route_key *more;

			room = room ? 2 * room : BATCH;
			more = reallocarray(*keys, room, sizeof(key));
			if (!more)
				return -ENOMEM;
			*keys = more;
		}
		(*keys)[*n] = key;
	}
	if (!*n)
		return -ENODATA;
	qsort(*keys, *n, sizeof(key), compare_keys);
	return 0;
}

/* The bare trie: the same keys, in a map of its own. */
static int copy_routes(const struct bpf_object *object, int routes_fd)
{
	int fd = bpf_object__find_map_fd_by_name(object, "bare_routes");
	_cleanup_free_ struct sixlane_route_key *keys = NULL;
	size_t n = 0;
	int ret = read_keys(routes_fd, &keys, &n);

	for (size_t i = 0; !ret && i < n; i++) {
		uint32_t value = (uint32_t)i;

		if (bpf_map_update_elem(fd, &keys[i], &value, 0))
			ret = -errno;
	}
	return ret ? bench_fail(ret, "cannot copy the routes") : 0;
}

/* The next hop of `least`. */
static int put_hop(const struct bpf_object *object, const struct forward_config *config)
{
	struct forward_hop hop = { .egress = config->egress };
	uint32_t key = 0;

	memcpy(hop.dst_mac, config->dst_mac, sizeof(hop.dst_mac));
	memcpy(hop.src_mac, config->src_mac, sizeof(hop.src_mac));
	if (bpf_map_update_elem(bpf_object__find_map_fd_by_name(object, "hops"), &key, &hop, 0))
		return bench_fail(-errno, "cannot write the next hop");
	return 0;
}

static int load(struct bpf_object *object, const struct forward_config *config)
{
	struct bpf_program *prog = NULL;
	struct bpf_map *map = NULL;
	int ret = 0;

	while ((map = bpf_object__next_map(object, map)))
		if (strstr(bpf_map__name(map), ".rodata"))
			ret = ret ?: bpf_map__set_initial_value(map, config, sizeof(*config));
	while ((prog = bpf_object__next_program(object, prog)))
		if (config->large)
			ret = ret ?: bpf_program__set_flags(prog, BPF_F_XDP_HAS_FRAGS);
	ret = ret ?: bpf_object__load(object);
	return ret ? bench_fail(ret, "cannot load the programs to compare with") : 0;
}

int forward_sides_open(const struct forward_config *config, int routes_fd, struct bpf_object **out)
{
	struct bpf_object *object;
	char path[PATH_MAX];
	int ret = bench_find_file(OBJECT, path, sizeof(path));

	if (ret)
		return bench_fail(ret, "%s", path);
	object = bpf_object__open_file(path, NULL);
	if (!object)
		return bench_fail(-errno, "%s", path);
	ret = load(object, config) ?: copy_routes(object, routes_fd) ?: put_hop(object, config);
	if (ret)
		bpf_object__close(object);
	else
		*out = object;
	return ret;
}

int forward_sides_prog(const struct bpf_object *object, const char *name)
{
	const struct bpf_program *prog;
	char program[32];

	snprintf(program, sizeof(program), "side_%s", name);
	prog = bpf_object__find_program_by_name(object, program);
	return prog ? bpf_program__fd(prog) : -ENOENT;
}

int forward_sides_passed(const struct bpf_object *object, uint64_t *out)
{
	size_t n = (size_t)libbpf_num_possible_cpus();
	_cleanup_free_ uint64_t *counts = calloc(n, sizeof(*counts));
	int fd = bpf_object__find_map_fd_by_name(object, "passed");
	uint32_t zero = 0;

	if (!counts || bpf_map_lookup_elem(fd, &zero, counts))
		return bench_fail(counts ? -errno : -ENOMEM, "cannot read what was passed");
	*out = 0;
	for (size_t i = 0; i < n; i++)
		*out += counts[i];
	return 0;
}

int forward_open_attached(uint32_t ifindex)
{
	uint32_t id = 0;
	int ret = bpf_xdp_query_id((int)ifindex, 0, &id);

	if (!ret && !id)
		ret = -ENOENT;
	if (!ret) {
		ret = bpf_prog_get_fd_by_id(id);
		ret = ret < 0 ? -errno : ret;
	}
	return ret < 0 ? bench_fail(ret, "the program on the ingress port") : ret;
}
