// SPDX-License-Identifier: GPL-2.0-only
/*
 * DPDK's tables of IPv6 routes for `sixlane bench lookup` (user/bench/lookup/dpdk.h): rte_fib6, a
 *trie with scalar lookups, and rte_lpm6. One address a call, as a lookup of one packet is; they
 *have no huge pages, as sixlane's maps have none.
 *
 *	bench-dpdk dpdk-fib6|dpdk-lpm6 CPU
 */
#include "../../user/bench/lookup/dpdk.h"
#include "../../user/bench/lookup/user_walk.h"

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_fib6.h>
#include <rte_lpm6.h>
#include <rte_malloc.h>
#include <rte_version.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#if RTE_VERSION >= RTE_VERSION_NUM(24, 11, 0, 0)
#define ADDR(addr) ((const struct rte_ipv6_addr *)(addr))
#else
#define ADDR(addr) ((uint8_t(*)[16])(uintptr_t)(addr))
#endif
#define PREFIX_ADDR(prefix) (*ADDR(&(prefix)->addr))

static struct bench_dpdk_table *table;
static struct rte_fib6 *fib6;
static struct rte_lpm6 *lpm6;
static uint32_t lpm6_default; /* it takes no prefix of length 0 */

static int complain(const char *what, int error)
{
	fprintf(stderr, "bench-dpdk: %s: %s\n", what, rte_strerror(error));
	return -1;
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* --- filling -------------------------------------------------------------------------------- */

/*
 * Tables of 256 entries that the prefixes may need beyond the first 24 bits, if none shares any
 * with another, and how many they do need: one for each string of 24, 32, 40 … bits that a longer
 * prefix begins with. Prefixes are in order.
 */
static uint32_t most_tbl8(void)
{
	uint32_t n = 1;

	for (uint64_t i = 0; i < table->n; i++)
		if (table->prefixes[i].len > 24)
			n += (table->prefixes[i].len - 17u) / 8;
	return n;
}

static uint32_t least_tbl8(void)
{
	uint32_t n = 1;

	for (unsigned int bytes = 3; bytes < 16; bytes++) {
		const struct prefix *last = NULL;

		for (uint64_t i = 0; i < table->n; i++) {
			const struct prefix *prefix = &table->prefixes[i];

			if (prefix->len <= 8 * bytes)
				continue;
			n += !last || memcmp(&last->addr, &prefix->addr, bytes);
			last = prefix;
		}
	}
	return n;
}

static int fill_fib6(uint32_t n_tbl8)
{
	struct rte_fib6_conf conf = {
		.type = RTE_FIB6_TRIE,
		.max_routes = (int)table->n + 1,
		.trie = { .nh_sz = RTE_FIB6_TRIE_4B, .num_tbl8 = n_tbl8 },
	};

	fib6 = rte_fib6_create("bench", SOCKET_ID_ANY, &conf);
	if (!fib6 || rte_fib6_select_lookup(fib6, RTE_FIB6_LOOKUP_TRIE_SCALAR))
		return -rte_errno;
	for (uint64_t i = 0; i < table->n; i++) {
		const struct prefix *prefix = &table->prefixes[i];

		int rc = rte_fib6_add(fib6, PREFIX_ADDR(prefix), prefix->len, i + 1);

		if (rc) {
			rte_fib6_free(fib6);
			return rc;
		}
	}
	return 0;
}

static int fill_lpm6(uint32_t n_tbl8)
{
	struct rte_lpm6_config conf = { .max_rules = (uint32_t)table->n, .number_tbl8s = n_tbl8 };

	lpm6 = rte_lpm6_create("bench", SOCKET_ID_ANY, &conf);
	if (!lpm6)
		return -rte_errno;
	for (uint64_t i = 0; i < table->n; i++) {
		const struct prefix *prefix = &table->prefixes[i];
		int rc;

		if (!prefix->len) {
			lpm6_default = (uint32_t)i + 1;
			continue;
		}
		rc = rte_lpm6_add(lpm6, PREFIX_ADDR(prefix), prefix->len, (uint32_t)i + 1);
		if (rc) {
			rte_lpm6_free(lpm6);
			return rc;
		}
	}
	return 0;
}

/* Both reserve more tables than they use, rte_fib6 by the order of the routes, and take no more
 * when these are gone. */
static int fill(const char *engine, uint64_t *insert_ns)
{
	int rc = -ENOSPC;

	for (uint32_t n = least_tbl8(); rc == -ENOSPC; n += n / 4 + 256) {
		uint64_t start = now_ns();

		rc = strcmp(engine, "dpdk-fib6") ? fill_lpm6(n) : fill_fib6(n);
		*insert_ns = now_ns() - start;
		if (n > most_tbl8())
			break;
	}
	return rc ? complain(engine, -rc) : 0;
}

static int begin(const char *cpu)
{
	/* The first 24 bits' table, those of 8 bits, the routes; none of it before it is used. */
	uint64_t bytes = (1u << 27) + most_tbl8() * 2048ull + table->n * 1024 + (256u << 20);
	char megabytes[32];
	const char *argv[] = {
		"bench-dpdk",  "--no-huge", "--no-pci", "--no-shconf", "--no-telemetry",
		"--log-level", "*:error",   "-l",	cpu,	       "-m",
		megabytes
	};

	snprintf(megabytes, sizeof(megabytes), "%llu", (unsigned long long)(bytes >> 20));
	if (rte_eal_init(sizeof(argv) / sizeof(*argv), (char **)argv) < 0)
		return complain("rte_eal_init", rte_errno);
	return 0;
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

/* --- looking up ----------------------------------------------------------------------------- */

static inline uint32_t find_fib6(const void *ctx, const union sixlane_addr *addr)
{
	uint64_t next_hop = 0;

	rte_fib6_lookup_bulk(fib6, ADDR(addr), &next_hop, 1);
	return (uint32_t)next_hop;
}

static inline uint32_t find_lpm6(const void *ctx, const union sixlane_addr *addr)
{
	uint32_t next_hop = lpm6_default;

	rte_lpm6_lookup(lpm6, PREFIX_ADDR((const struct prefix *)addr), &next_hop);
	return next_hop;
}

static void answer(const struct bench_dpdk_question *question, struct bench_dpdk_answer *out)
{
	const struct bench_user_walk walk = {
		.list = table->addresses.at,
		.cursor = question->cursor,
		.dependent = question->what == BENCH_DPDK_DEPENDENT,
		.lookups = question->lookups,
	};

	if (question->what == BENCH_DPDK_ANSWERS) {
		for (uint32_t i = 0; i < BENCH_ADDRESSES; i++) {
			const union sixlane_addr *addr = &table->addresses.at[i];

			table->answers.at[i] = fib6 ? find_fib6(NULL, addr) : find_lpm6(NULL, addr);
		}
		return;
	}
	out->dry_ns = bench_user_walk(&walk, bench_user_find_nothing, NULL);
	out->gross_ns = fib6 ? bench_user_walk(&walk, find_fib6, NULL)
			     : bench_user_walk(&walk, find_lpm6, NULL);
}

static int serve(int to, const struct bench_dpdk_answer *filled)
{
	struct bench_dpdk_answer out = *filled;
	struct bench_dpdk_question question;

	while (write(to, &out, sizeof(out)) == sizeof(out) &&
	       read(STDIN_FILENO, &question, sizeof(question)) == sizeof(question)) {
		out = (struct bench_dpdk_answer){ 0 };
		answer(&question, &out);
	}
	return 0;
}

static int map_table(void)
{
	struct stat stat;
	void *at;

	if (fstat(BENCH_DPDK_MEMORY, &stat))
		return -1;
	at = mmap(NULL, (size_t)stat.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, BENCH_DPDK_MEMORY,
		  0);
	if (at == MAP_FAILED)
		return -1;
	table = at;
	return 0;
}

int main(int argc, char **argv)
{
	struct bench_dpdk_answer filled = { 0 };
	uint64_t before;
	int rc, to;

	/* also while DPDK begins, and reads no input */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (argc != 3 || map_table()) {
		fprintf(stderr, "bench-dpdk: is started by sixlane bench lookup\n");
		return 2;
	}
	/* DPDK writes what it has to say to the standard output */
	to = dup(STDOUT_FILENO);
	dup2(STDERR_FILENO, STDOUT_FILENO);
	if (begin(argv[2]))
		return 1;
	/* it makes one in any case, and has no use for it */
	rmdir(rte_eal_get_runtime_dir());
	before = heap_bytes();
	rc = fill(argv[1], &filled.insert_ns);
	filled.bytes = heap_bytes() - before;
	rc = rc ?: serve(to, &filled);
	rte_eal_cleanup();
	return rc ? 1 : 0;
}
