/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The interface of a lookup library: a shared object exports bench_peers, an array that ends with a
 * NULL name. Any language that exports C functions will do. On failure begin() returns non-zero and
 * fill() NULL, and the library prints the reason on standard error.
 */
#ifndef BENCH_ENGINE_PEER_H
#define BENCH_ENGINE_PEER_H

#include <stddef.h>
#include <stdint.h>

/* In order of address and length, each once. */
struct bench_prefix {
	uint8_t addr[16]; /* network byte order; bits beyond len are 0 */
	uint32_t len;	  /* 0 to 128; host byte order */
	uint32_t zero;
};

struct bench_peer {
	const char *name;
	/* Called before each fill(), unless NULL. cpu: of the lookups. */
	int (*begin)(int cpu);
	/*
	 * Returns a table of these prefixes with the values 1, 2, 3 … in their order. The prefixes
	 * stay valid. ns: set it if filling took another time than the call.
	 */
	void *(*fill)(const struct bench_prefix *prefixes, size_t n, uint64_t *ns);
	/* Memory of the table in bytes; 0: unknown. */
	uint64_t (*bytes)(const void *fib);
	/*
	 * Look up n addresses as a program would those of its packets: values of the longest
	 * matches, 0 for none.
	 */
	void (*find)(const void *fib, const uint8_t (*addrs)[16], uint32_t *values, size_t n);
	/*
	 * The same, each lookup after the answer of the one before: for languages with slow calls
	 * from C. NULL: find() is called with one address at a time.
	 */
	void (*find_in_turn)(const void *fib, const uint8_t (*addrs)[16], uint32_t *values,
			     size_t n);
};

extern const struct bench_peer bench_peers[];

#endif
