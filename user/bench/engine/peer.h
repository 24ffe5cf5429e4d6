/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a library of lookups has to offer to be measured: a shared object that exports bench_peers,
 * an array of these that ends with a NULL name. Any language that exports C functions will do.
 * What fails says why on standard error: begin() returns another than 0, fill() returns NULL.
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
	/* Before each fill(); NULL: nothing is to be done. cpu: where lookups will run. */
	int (*begin)(int cpu);
	/*
	 * A table of these prefixes, whose values are 1, 2, 3 … in their order. The prefixes stay
	 * where they are. ns: how long it took, if that is not the time of the call.
	 */
	void *(*fill)(const struct bench_prefix *prefixes, size_t n, uint64_t *ns);
	/* What it takes for them; 0: not known. */
	uint64_t (*bytes)(const void *fib);
	/*
	 * Look n addresses up, as the library would the packets of a program: the value of the
	 * longest match of each, 0 for none.
	 */
	void (*find)(const void *fib, const uint8_t (*addrs)[16], uint32_t *values, size_t n);
	/*
	 * The same, each when the answer before it is there. For languages that take long to be
	 * called from C; NULL: find() is called for one address at a time.
	 */
	void (*find_in_turn)(const void *fib, const uint8_t (*addrs)[16], uint32_t *values,
			     size_t n);
};

extern const struct bench_peer bench_peers[];

#endif
