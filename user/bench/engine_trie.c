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

static int fill(struct bench_side *side, struct bench_bpf *bpf)
{
	int fd = bpf_map__fd(bench_bpf_map(bpf, "trie"));
	struct sixlane_route_key key = { .table = htonl(SIXLANE_TABLE_MAIN) };

	for (size_t i = 0; i < side->table->n; i++) {
		uint32_t value = (uint32_t)i + 1;

		key.prefix_len = SIXLANE_TABLE_BITS + side->table->prefixes[i].len;
		key.addr = side->table->prefixes[i].addr;
		if (bpf_map_update_elem(fd, &key, &value, BPF_ANY))
			return bench_fail(-errno, "trie: route %zu of %zu", i + 1, side->table->n);
	}
	side->bytes = bench_bpf_map_bytes(fd);
	return 0;
}

const struct bench_engine bench_trie = {
	.name = "trie",
	.bpf = &(const struct bench_bpf_engine){ "bench-lookup.bpf.o", "trie", prepare, fill,
						 NULL },
	.open = bench_bpf_open,
	.measure = bench_bpf_measure,
	.answers = bench_bpf_answers,
	.close = bench_bpf_close,
};
