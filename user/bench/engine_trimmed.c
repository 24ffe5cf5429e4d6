// SPDX-License-Identifier: GPL-2.0-only
/* Builds the layout of trimmed.h, once: it knows no changes. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "bpf.h"
#include "trimmed.h"

struct build {
	const struct prefix *prefixes; /* in order */
	uint64_t *cells;
	uint32_t used;
};

static uint64_t leaf(size_t i)
{
	return TRIMMED_LEAF | (i + 1);
}

/* The 8 bits of an address from bit depth on. */
static uint32_t byte_at(const struct prefix *prefix, uint32_t depth)
{
	return prefix->addr.bytes[depth / 8];
}

/* By how many bits an index may be shifted: cells are alike in groups of so many. */
static uint32_t grain_of(const uint64_t *all)
{
	uint32_t grain = 0;

	for (; grain < 8; grain++)
		for (uint32_t i = 0; i < 256; i += 2u << grain)
			if (all[i] != all[i + (1u << grain)])
				return grain;
	return grain;
}

/* A cell that leads to these 256, or what all of them are. */
static uint64_t put_array(struct build *build, const uint64_t *all, uint64_t rest)
{
	uint32_t grain = grain_of(all), low = 0, end = 256u >> grain, base = build->used;

	while (low < end && all[low << grain] == rest)
		low++;
	while (end > low && all[(end - 1) << grain] == rest)
		end--;
	if (low == end)
		return rest;
	if (base + (end - low) + 1 > TRIMMED_CELLS)
		return 0;
	for (uint32_t i = low; i < end; i++)
		build->cells[build->used++] = all[i << grain];
	build->cells[build->used++] = rest;
	return base | (uint64_t)low << TRIMMED_LOW_SHIFT |
	       (uint64_t)(end - low) << TRIMMED_COUNT_SHIFT |
	       (uint64_t)grain << TRIMMED_GRAIN_SHIFT;
}

/*
 * The routes from first to end, which lie in one node and are longer than its depth; rest is the
 * leaf of what covers all of it. 0: there is no room.
 */
static uint64_t put_node(struct build *build, size_t first, size_t end, uint32_t depth,
			 uint64_t rest) /* NOLINT(misc-no-recursion): at most 14 levels */
{
	uint64_t all[256];

	for (int i = 0; i < 256; i++)
		all[i] = rest;
	/* What covers others comes before them. */
	for (size_t i = first; i < end; i++) {
		const struct prefix *prefix = &build->prefixes[i];
		uint32_t byte = byte_at(prefix, depth);

		for (uint32_t n = 0;
		     prefix->len <= depth + 8 && n < 1u << (depth + 8 - prefix->len); n++)
			all[byte + n] = leaf(i);
	}
	for (size_t i = first, next; i < end; i = next) {
		uint32_t byte = byte_at(&build->prefixes[i], depth);
		size_t begin = 0;

		for (next = i; next < end && byte_at(&build->prefixes[next], depth) == byte; next++)
			if (build->prefixes[next].len <= depth + 8)
				begin = next + 1;
		/* at one address the shorter ones come first, so what is longer is all behind */
		begin = begin ?: i;
		if (begin < next)
			all[byte] = put_node(build, begin, next, depth + 8, all[byte]);
		if (!all[byte])
			return 0;
	}
	return put_array(build, all, rest);
}

static int put_root(struct build *build, size_t n)
{
	for (uint32_t i = 0; i < TRIMMED_ROOT; i++)
		build->cells[i] = TRIMMED_LEAF;
	build->used = TRIMMED_ROOT;
	for (size_t i = 0, next; i < n; i = next) {
		const struct prefix *prefix = &build->prefixes[i];
		uint32_t at = (uint32_t)prefix->addr.bytes[0] << 8 | prefix->addr.bytes[1];

		next = i + 1;
		if (prefix->len <= 16) {
			for (uint32_t k = 0; k < 1u << (16 - prefix->len); k++)
				build->cells[at + k] = leaf(i);
			continue;
		}
		while (next < n && !memcmp(&build->prefixes[next].addr, &prefix->addr, 2))
			next++;
		build->cells[at] = put_node(build, i, next, 16, build->cells[at]);
		if (!build->cells[at])
			return -ENOSPC;
	}
	return 0;
}

static int prepare(struct bench_side *side, struct bench_bpf *bpf)
{
	(void)side;
	return bpf_map__set_autocreate(bench_bpf_map(bpf, "trimmed"), true);
}

static int fill(struct bench_side *side, struct bench_bpf *bpf)
{
	int fd = bpf_map__fd(bench_bpf_map(bpf, "trimmed")), ret;
	void *cells = mmap(NULL, sizeof(struct trimmed), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	struct build build = { .prefixes = side->table->prefixes, .cells = cells };

	if (cells == MAP_FAILED)
		return bench_fail(-errno, "trimmed");
	ret = put_root(&build, side->table->n);
	munmap(cells, sizeof(struct trimmed));
	side->bytes = build.used * sizeof(uint64_t);
	return ret ? bench_fail(ret, "trimmed: table %s", side->table->name) : 0;
}

static int open_trimmed(struct bench_side *side)
{
	static const struct bench_bpf_engine engine = { "bench-trimmed.bpf.o", "trimmed", prepare,
							fill };

	return bench_bpf_open(side, &engine);
}

const struct bench_engine bench_trimmed = {
	.name = "trimmed",
	.ours = true,
	.open = open_trimmed,
	.measure = bench_bpf_measure,
	.answers = bench_bpf_answers,
	.close = bench_bpf_close,
};
