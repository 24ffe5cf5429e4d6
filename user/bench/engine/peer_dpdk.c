// SPDX-License-Identifier: GPL-2.0-only
/*
 * DPDK's table of IPv6 routes, rte_fib6, as a peer: by one address a call, as the lookup of one
 * packet is, and by 32 a call with vector instructions. It has no huge pages, as sixlane's maps
 * have none.
 */
#include "peer.h"

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_fib6.h>
#include <rte_malloc.h>
#include <rte_version.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#undef container_of /* DPDK's own */
#include "../../lib/util.h"

#if RTE_VERSION >= RTE_VERSION_NUM(24, 11, 0, 0)
#define ADDRS(addrs) ((const struct rte_ipv6_addr *)(addrs))
#define ADDR(addr) ADDRS(addr)
#else
#define ADDRS(addrs) ((uint8_t(*)[16])(uintptr_t)(addrs))
#define ADDR(addr) (*ADDRS(addr))
#endif
#define VECTOR 32

static uint64_t heap_growth; /* by the last table */

static void complain(const char *what, int error)
{
	fprintf(stderr, "peer-dpdk: %s: %s\n", what, rte_strerror(error));
}

/* Memory is reserved where sixlane places no arena. The kernel allocates it on first use. */
static int begin(int cpu)
{
	static int rc = 1;
	static char words[256];
	char *argv[16] = { 0 };
	int n = 0;

	if (rc <= 0)
		return rc;
	snprintf(words, sizeof(words),
		 "peer-dpdk --no-huge --no-pci --no-shconf --no-telemetry --log-level *:error "
		 "--force-max-simd-bitwidth=512 --base-virtaddr=0x100000000000 -l %d -m %ld",
		 cpu, sysconf(_SC_PHYS_PAGES) / 4 * 3 / 1024 * sysconf(_SC_PAGESIZE) / 1024);
	for (argv[n] = strtok(words, " "); argv[n]; argv[n] = strtok(NULL, " "))
		n++;
	rc = rte_eal_init(n, argv) < 0 ? -1 : 0;
	if (rc)
		complain("rte_eal_init", rte_errno);
	/* EAL always makes this directory, and does not need it here. */
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
 * Tables of 256 entries that the prefixes need beyond the first 24 bits, at the least: one for each
 * string of 24, 32, 40 … bits that a longer prefix begins with.
 */
static uint32_t count_tbl8(const struct bench_prefix *prefixes, size_t n)
{
	uint32_t least = 1;

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

/* Depending on the order of the routes, rte_fib6 reserves more tables than it uses, and refuses
 * routes when none is left. Then fill a new one with more tables. */
static void *fill(enum rte_fib6_lookup_type type, const struct bench_prefix *prefixes, size_t n,
		  uint64_t *ns)
{
	struct rte_fib6_conf conf = {
		.type = RTE_FIB6_TRIE,
		.max_routes = (int)n + 1,
		.trie = { .nh_sz = RTE_FIB6_TRIE_4B, .num_tbl8 = count_tbl8(prefixes, n) },
	};
	uint64_t before = heap_bytes(), start;
	struct rte_fib6 *fib = NULL;
	char name[32];
	int rc;

	snprintf(name, sizeof(name), "%p", (const void *)prefixes);
	do {
		rte_fib6_free(fib);
		start = util_now_ns();
		fib = rte_fib6_create(name, SOCKET_ID_ANY, &conf);
		rc = fib ? rte_fib6_select_lookup(fib, type) : -rte_errno;
		for (size_t i = 0; i < n && !rc; i++)
			rc = rte_fib6_add(fib, ADDR(prefixes[i].addr), (uint8_t)prefixes[i].len,
					  i + 1);
		*ns = util_now_ns() - start;
		conf.trie.num_tbl8 += conf.trie.num_tbl8 / 4 + 256;
	} while (rc == -ENOSPC);
	if (rc)
		complain(rc == -EINVAL ? "rte_fib6 (vectors need AVX512)" : "rte_fib6", -rc);
	heap_growth = heap_bytes() - before;
	return rc ? NULL : fib;
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
	(void)fib;
	return heap_growth;
}

/* --- looking up ----------------------------------------------------------------------------- */

static inline __attribute__((always_inline)) void
find_by(const void *fib, const uint8_t (*addrs)[16], uint32_t *values, size_t n, size_t batch)
{
	struct rte_fib6 *fib6 = (void *)(uintptr_t)fib;
	uint64_t next_hops[VECTOR];

	for (size_t i = 0; i < n; i += batch) {
		size_t some = n - i < batch ? n - i : batch;

		rte_fib6_lookup_bulk(fib6, ADDRS(&addrs[i]), next_hops, (int)some);
		for (size_t k = 0; k < some; k++)
			values[i + k] = (uint32_t)next_hops[k];
	}
}

static void find_one(const void *fib, const uint8_t (*addrs)[16], uint32_t *values, size_t n)
{
	find_by(fib, addrs, values, n, 1);
}

static void find_vector(const void *fib, const uint8_t (*addrs)[16], uint32_t *values, size_t n)
{
	find_by(fib, addrs, values, n, VECTOR);
}

const struct bench_peer bench_peers[] = {
	{ "dpdk-fib6", begin, fill_scalar, bytes, find_one, NULL },
	{ "dpdk-fib6-vector", begin, fill_vector, bytes, find_vector, NULL },
	{ NULL, NULL, NULL, NULL, NULL, NULL },
};
