/* SPDX-License-Identifier: GPL-2.0-only */
/* Lookups in the compiled FIB in user space, step by step as bpf/compiled.h does them. */
#ifndef USER_COMPILED_FIND_H
#define USER_COMPILED_FIND_H

#include <stdbool.h>
#include <stdint.h>

#include "../../bpf/abi/sixlane.h"

struct compiled_view {
	union sixlane_fib fib;
	const uint8_t *chunks[SIXLANE_FIB_CHUNKS];
	bool lent; /* the chunks belong to someone else */
};

/* 0 and *value (0: no route); -ENODATA: the LPM trie has to answer. addr is in network order. */
int compiled_find(const struct compiled_view *view, uint32_t table, const union sixlane_addr *addr,
		  uint32_t *value);
/* How many nodes the lookup visits. */
uint32_t compiled_depth(const struct compiled_view *view, uint32_t table,
			const union sixlane_addr *addr);

#endif
