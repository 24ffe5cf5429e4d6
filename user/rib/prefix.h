/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * IPv6 prefixes as values: cover, mask, text. Addresses are in network order. A prefix is
 * well-formed when its bits beyond len are zero; every function here keeps or assumes that.
 */
#ifndef RIB_PREFIX_H
#define RIB_PREFIX_H

#include <stdbool.h>
#include <stdint.h>

#include "../../bpf/abi/sixlane.h"

struct prefix {
	union sixlane_addr addr; /* bits beyond len are zero */
	uint8_t len;		 /* 0 to 128 */
};

/* The unspecified address, which stands for "none". */
static inline bool addr_is_zero(const union sixlane_addr *addr)
{
	return !(addr->halves[0] | addr->halves[1]);
}

/* True also when both are equal. */
bool prefix_covers(const struct prefix *outer, const struct prefix *inner);
bool prefix_equal(const struct prefix *a, const struct prefix *b);
/* Zero the bits beyond len. */
void prefix_mask(struct prefix *prefix);
/* First and last address, the one before and the one after; of ::/0 these two wrap around. */
#define PREFIX_EDGES 4
void prefix_edges(const struct prefix *prefix, union sixlane_addr edges[PREFIX_EDGES]);
/* "2001:db8::/32", or an address alone (/128). Masks bits beyond the length. 0 or -EINVAL. */
int prefix_parse(const char *text, struct prefix *out);
#define PREFIX_STRLEN 50 /* longest text, with the final zero */
const char *prefix_format(const struct prefix *prefix, char buf[PREFIX_STRLEN]);

#endif
