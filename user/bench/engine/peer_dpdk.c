// SPDX-License-Identifier: GPL-2.0-only
/*
 * DPDK's table of IPv6 routes, rte_fib6, as a peer: by one address a call, as the lookup of one
 * packet is, and by 32 a call with vector instructions. It has no huge pages, as sixlane's maps
 * have none.
 */
#include "peer.h"

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_fib6.h>
#include <rte_malloc.h>
#include <rte_version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if RTE_VERSION >= RTE_VERSION_NUM(24, 11, 0, 0)
#define ADDR(addr) ((const struct rte_ipv6_addr *)(addr))
#else
#define ADDR(addr) ((uint8_t(*)[16])(uintptr_t)(addr))
#endif
#define VECTOR 32

struct table {
	struct rte_fib6 *fib6;
	uint64_t bytes;
};

static void complain(const char *what, int error)
{
	fprintf(stderr, "peer-dpdk: %s: %s\n", what, rte_strerror(error));
}

/* Memory is reserved, where no arena of sixlane is wanted, and taken when it is used. */
static int begin(int cpu)
{
	static int rc = 1;
	char core[16], megabytes[32];
	const char *argv[] = { "peer-dpdk",
			       "--no-huge",
			       "--no-pci",
			       "--no-shconf",
			       "--no-telemetry",
			       "--force-max-simd-bitwidth=512",
			       "--base-virtaddr=0x100000000000",
			       "--log-level",
			       "*:error",
			       "-l",
			       core,
			       "-m",
			       megabytes };
	long pages = sysconf(_SC_PHYS_PAGES) / 4 * 3, page = sysconf(_SC_PAGESIZE);

	if (rc <= 0)
		return rc;
	snprintf(core, sizeof(core), "%d", cpu);
	snprintf(megabytes, sizeof(megabytes), "%ld", pages / 1024 * page / 1024);
	rc = rte_eal_init(sizeof(argv) / sizeof(*argv), (char **)argv) < 0 ? -1 : 0;
	if (rc)
		complain("rte_eal_init", rte_errno);
	/* It makes a directory in any case, and has no use for it. */
	rmdir(rte_eal_get_runtime_dir());
	return rc;
}

static uint64_t heap_bytes(void)
{
	struct rte_malloc_socket_stats stats;
	uint64_t bytes = 0;

	for (int socket = 0; socket < RTE_MAX_NUMA_NODES; socket++)
		if (!rte_malloc_get_socket_stats(socket, &stats))
			bytes += stats.heap_allocsz_bytes;
	return bytes;
}

/* --- filling -------------------------------------------------------------------------------- */

/*
 * Tables of 256 entries that the prefixes need beyond the first 24 bits: one for each string of 24,
 * 32, 40 … bits that a longer prefix begins with. most: if none shared any with another.
 */
static uint32_t count_tbl8(const struct bench_prefix *prefixes, size_t n, uint32_t *most)
{
	uint32_t least = 1;

	*most = 1;
	for (size_t i = 0; i < n; i++)
		if (prefixes[i].len > 24)
			*most += (prefixes[i].len - 17u) / 8;
	for (unsigned int bytes = 3; bytes < 16; bytes++) {
		const struct bench_prefix *last = NULL;

		for (size_t i = 0; i < n; i++) {
			if (prefixes[i].len <= 8 * bytes)
				continue;
			least += !last || memcmp(last->addr, prefixes[i].addr, bytes);
			last = &prefixes[i];
		}
	}
	return least;
}

static int fill_fib6(struct table *table, const struct bench_prefix *prefixes, size_t n,
		     uint32_t tbl8, enum rte_fib6_lookup_type type)
{
	struct rte_fib6_conf conf = {
		.type = RTE_FIB6_TRIE,
		.max_routes = (int)n + 1,
		.trie = { .nh_sz = RTE_FIB6_TRIE_4B, .num_tbl8 = tbl8 },
	};
	char name[32];
	int rc = 0;

	snprintf(name, sizeof(name), "%p", (void *)table);
	table->fib6 = rte_fib6_create(name, SOCKET_ID_ANY, &conf);
	if (!table->fib6)
		return -rte_errno;
	rc = rte_fib6_select_lookup(table->fib6, type);
	for (size_t i = 0; i < n && !rc; i++)
		rc = rte_fib6_add(table->fib6, *ADDR(prefixes[i].addr), (uint8_t)prefixes[i].len,
				  i + 1);
	if (rc)
		rte_fib6_free(table->fib6);
	return rc;
}

/* It reserves more tables than it uses, by the order of the routes, and takes no more routes when
 * these are gone. */
static void *fill(enum rte_fib6_lookup_type type, const struct bench_prefix *prefixes, size_t n,
		  uint64_t *ns)
{
	struct table *table = calloc(1, sizeof(*table));
	uint32_t most, tbl8 = count_tbl8(prefixes, n, &most);
	uint64_t before;
	int rc = -ENOSPC;

	if (!table)
		return NULL;
	before = heap_bytes();
	for (; rc == -ENOSPC; tbl8 += tbl8 / 4 + 256) {
		uint64_t start = rte_get_tsc_cycles();

		rc = fill_fib6(table, prefixes, n, tbl8, type);
		*ns = (uint64_t)((double)(rte_get_tsc_cycles() - start) * 1e9 /
				 (double)rte_get_tsc_hz());
		if (tbl8 > most)
			break;
	}
	if (rc)
		complain(rc == -EINVAL ? "rte_fib6 (vectors need AVX512)" : "rte_fib6", -rc);
	table->bytes = heap_bytes() - before;
	return rc ? NULL : table;
}

static void *fill_scalar(const struct bench_prefix *prefixes, size_t n, uint64_t *ns)
{
	return fill(RTE_FIB6_LOOKUP_TRIE_SCALAR, prefixes, n, ns);
}

static void *fill_vector(const struct bench_prefix *prefixes, size_t n, uint64_t *ns)
{
	return fill(RTE_FIB6_LOOKUP_TRIE_VECTOR_AVX512, prefixes, n, ns);
}

static uint64_t bytes(const void *fib)
{
	return ((const struct table *)fib)->bytes;
}

/* --- looking up ----------------------------------------------------------------------------- */

static void find_fib6(const void *fib, const uint8_t (*addrs)[16], uint32_t *values, size_t n)
{
	const struct table *table = fib;

	for (size_t i = 0; i < n; i++) {
		uint64_t next_hop = 0;

		rte_fib6_lookup_bulk(table->fib6, ADDR(&addrs[i]), &next_hop, 1);
		values[i] = (uint32_t)next_hop;
	}
}

static void find_fib6_vector(const void *fib, const uint8_t (*addrs)[16], uint32_t *values,
			     size_t n)
{
	const struct table *table = fib;
	uint64_t next_hops[VECTOR];

	for (size_t i = 0; i < n; i += VECTOR) {
		size_t some = n - i < VECTOR ? n - i : VECTOR;

		rte_fib6_lookup_bulk(table->fib6, ADDR(&addrs[i]), next_hops, (int)some);
		for (size_t k = 0; k < some; k++)
			values[i + k] = (uint32_t)next_hops[k];
	}
}

const struct bench_peer bench_peers[] = {
	{ "dpdk-fib6", begin, fill_scalar, bytes, find_fib6, NULL },
	{ "dpdk-fib6-vector", begin, fill_vector, bytes, find_fib6_vector, NULL },
	{ NULL, NULL, NULL, NULL, NULL, NULL },
};
