// SPDX-License-Identifier: GPL-2.0-only
/* sixlane without its compiled FIB: an LPM trie with the key of sl_routes. */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <errno.h>

#include "bpf.h"

static int prepare(struct lookup_side *side, struct bpf_object *object)
{
	struct bpf_map *map = bpf_object__find_map_by_name(object, "trie");

	return bpf_map__set_autocreate(map, true)
		       ?: bpf_map__set_max_entries(map, (uint32_t)side->table.n);
}

static int map_of(const struct lookup_side *side)
{
	return bpf_object__find_map_fd_by_name(((struct bpf_side *)side->state)->object, "trie");
}

static int change_in(int fd, const struct lookup_side *side, size_t i, bool back)
{
	const struct prefix prefix = lookup_prefix(&side->table.prefixes[i]);
	const struct sixlane_route_key key = { .prefix_len = SIXLANE_TABLE_BITS + prefix.len,
					       .table = htonl(SIXLANE_TABLE_MAIN),
					       .addr = prefix.addr };
	uint32_t value = (uint32_t)i + 1;
	int rc = back ? bpf_map_update_elem(fd, &key, &value, BPF_ANY)
		      : bpf_map_delete_elem(fd, &key);

	return rc ? plan_fail(-errno, "trie: route %zu of %zu", i + 1, side->table.n) : 0;
}

static int change(struct lookup_side *side, size_t i, bool back)
{
	return change_in(map_of(side), side, i, back);
}

static int open_trie(struct lookup_side *side)
{
	static const struct bpf_engine engine = { "bench-kernel.bpf.o", "trie", prepare };
	int ret = bpf_side_open(side, &engine, sizeof(struct bpf_side)), fd;
	uint64_t start = util_now_ns();

	if (ret)
		return ret;
	fd = map_of(side);
	for (size_t i = 0; i < side->table.n && !ret; i++)
		ret = change_in(fd, side, i, true);
	side->insert_ns = util_now_ns() - start;
	side->bytes = bpf_map_bytes(fd);
	return ret;
}

/* The kernel's trie is one of lookup_trie_depth()'s kind; a key has no other nodes. */
static int depth(struct lookup_side *side, uint32_t *nodes)
{
	*nodes = lookup_trie_depth(&side->table);
	return 0;
}

const struct lookup_engine lookup_trie = { "trie",	     open_trie, bpf_side_measure,
					   bpf_side_answers, change,	depth };
