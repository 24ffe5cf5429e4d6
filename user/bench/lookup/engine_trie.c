// SPDX-License-Identifier: GPL-2.0-only
/* sixlane's trie as it is without the compiled FIB: a map of the same type and key as sl_routes. */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <errno.h>

#include "bpf.h"

static int prepare(struct bench_side *side, struct bench_bpf *bpf)
{
	struct bpf_map *map = bench_bpf_map(bpf, "trie");

	return bpf_map__set_autocreate(map, true)
		       ?: bpf_map__set_max_entries(map, (uint32_t)side->table->n);
}

static struct sixlane_route_key key_of(const struct prefix *prefix)
{
	return (struct sixlane_route_key){
		.prefix_len = SIXLANE_TABLE_BITS + prefix->len,
		.table = htonl(SIXLANE_TABLE_MAIN),
		.addr = prefix->addr,
	};
}

/* 0 or -errno. */
static int change(struct bench_side *side, size_t i, bool back)
{
	const struct bench_bpf *bpf = side->state;
	struct sixlane_route_key key = key_of(&side->table->prefixes[i]);
	int fd = bpf_map__fd(bench_bpf_map(bpf, "trie"));
	uint32_t value = (uint32_t)i + 1;
	int rc = back ? bpf_map_update_elem(fd, &key, &value, BPF_ANY)
		      : bpf_map_delete_elem(fd, &key);

	return rc ? -errno : 0;
}

static int fill(struct bench_side *side, struct bench_bpf *bpf)
{
	int ret;

	for (size_t i = 0; i < side->table->n; i++) {
		ret = change(side, i, true);
		if (ret)
			return bench_fail(ret, "trie: route %zu of %zu", i + 1, side->table->n);
	}
	side->bytes = bench_bpf_map_bytes(bpf_map__fd(bench_bpf_map(bpf, "trie")));
	return 0;
}

/* It is such a trie as bench_table_depth() counts: that of the whole key has no other nodes. */
static int depth(struct bench_side *side, uint32_t *nodes)
{
	*nodes = bench_table_depth(side->table);
	return 0;
}

const struct bench_engine bench_trie = {
	.name = "trie",
	.bpf = &(const struct bench_bpf_engine){ "bench-lookup.bpf.o", "trie", prepare, fill,
						 NULL },
	.open = bench_bpf_open,
	.measure = bench_bpf_measure,
	.answers = bench_bpf_answers,
	.change = change,
	.depth = depth,
	.close = bench_bpf_close,
};
