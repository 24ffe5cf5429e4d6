/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Arithmetic of bond_xmit_hash(), which selects the slave of a bond. Knows neither packets nor
 * maps.
 */
#ifndef SIXLANE_BOND_HASH_H
#define SIXLANE_BOND_HASH_H

#include "abi/sixlane.h"

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

/* Fields after the IPv6 header, in the kernel's layout; 0: none. */
union bond_upper {
	__u32 word;
	struct {
		__be16 src, dst;
	} ports;
	struct {
		__u8 type, code;
		__u16 id; /* host order, never 0 */
	} icmp;
};

/* icmp_has_id(), which does not check the protocol: the first four types are those of ICMP */
static __always_inline int bond_icmp_has_id(__u8 type)
{
	return type == 0 || type == 8 || type == 13 || type == 14 || type == 128 || type == 129;
}

/* icmpv6_is_err() */
static __always_inline int bond_icmp_is_error(__u8 type)
{
	return type >= 1 && type <= 4;
}

/* ipv6_addr_hash() of both addresses, combined as in bond_ip_hash() */
static __always_inline __u32 bond_fold(const union sixlane_addr *src, const union sixlane_addr *dst)
{
	return src->words[0] ^ src->words[1] ^ src->words[2] ^ src->words[3] ^ dst->words[0] ^
	       dst->words[1] ^ dst->words[2] ^ dst->words[3];
}

/* bond_eth_hash(). dst, src: the last byte of the MAC; type: the ethertype, host order. */
static __always_inline __u32 bond_hash_macs(__u32 dst, __u32 src, __u32 type)
{
	return dst ^ src ^ type;
}

/* __bond_xmit_hash() for one of SIXLANE_SLAVES_BY_*. addrs: bond_fold() */
static __always_inline __u32 bond_hash(__u32 by, __u32 macs, __u32 addrs, union bond_upper upper)
{
	__u32 hash = by == SIXLANE_SLAVES_BY_L34 ? upper.word : macs;

	if (by == SIXLANE_SLAVES_BY_L2)
		return hash;
	hash ^= addrs;
	hash ^= hash >> 16;
	hash ^= hash >> 8;
	return by == SIXLANE_SLAVES_BY_L34 ? hash >> 1 : hash;
}

#endif
