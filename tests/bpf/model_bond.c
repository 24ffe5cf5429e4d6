// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which slave of a bond takes a tagged frame: xmit_hash_policy as Documentation/networking/bonding
 * and bond_xmit_hash() have it.
 */
#include <string.h>

#include "model_walk.h"

enum { AH = 51, ICMP = 1, ICMPV6 = 58 };

static uint32_t word_at(const struct walk *w, size_t at)
{
	uint32_t word;

	memcpy(&word, w->bare.bytes + at, sizeof(word));
	return word;
}

static bool holds(const struct walk *w, size_t bytes)
{
	return bytes <= AT_IP6 + 40 + (size_t)frame_get16(&w->bare, AT_PAYLOAD_LEN);
}

/* Ports, or what counts as such. */
static bool read_ports(const struct walk *w, uint8_t proto, size_t at, uint32_t *ports)
{
	*ports = 0;
	if (proto == AH)
		at += 4;
	else if (!model_has_ports(proto))
		return true;
	if (!holds(w, at + 4))
		return false;
	*ports = word_at(w, at);
	return true;
}

/* Type, code and identifier, which is never 0. */
static uint32_t read_icmp(const struct walk *w)
{
	static const uint8_t with_id[] = { 0, 8, 13, 14, 128, 129 };
	uint8_t icmp[4] = { w->bare.bytes[AT_PAYLOAD], w->bare.bytes[AT_PAYLOAD + 1] };
	uint16_t id = frame_get16(&w->bare, AT_PAYLOAD + 4);
	uint32_t word;

	if (!memchr(with_id, icmp[0], sizeof(with_id)))
		return 0;
	id = id ? id : 1;
	memcpy(icmp + 2, &id, sizeof(id));
	memcpy(&word, icmp, sizeof(word));
	return word;
}

/* Ports and addresses, of a packet in an ICMPv6 error of that one. */
static bool read_flow(const struct walk *w, bool ports_count, uint32_t *upper, uint32_t *addrs)
{
	uint8_t proto = w->bare.bytes[AT_NEXT_HEADER], type = w->bare.bytes[AT_PAYLOAD];
	bool is_error = proto == ICMPV6 && type >= 1 && type <= 4;
	size_t header = is_error ? AT_PAYLOAD + 8 : AT_IP6;

	if (proto == ICMP || (proto == ICMPV6 && !holds(w, AT_PAYLOAD + 8)) ||
	    !holds(w, header + 40))
		return false;
	*addrs = 0;
	for (size_t at = header + 8; at < header + 40; at += 4)
		*addrs ^= word_at(w, at);
	if (!ports_count)
		return true;
	if (proto != ICMPV6 || is_error)
		return read_ports(w, w->bare.bytes[header + 6], header + 40, upper);
	*upper = read_icmp(w);
	return true;
}

enum sixlane_verdict model_choose_slave(const struct walk *w, const struct sixlane_port *egress,
					const uint8_t dst_mac[6], uint32_t *slave)
{
	uint32_t hash = dst_mac[5] ^ egress->mac.bytes[5] ^ egress->slaves_type, addrs;

	if (egress->slaves_by != SIXLANE_SLAVES_BY_L2) {
		bool ports_count = egress->slaves_by == SIXLANE_SLAVES_BY_L34;

		if (!read_flow(w, ports_count, &hash, &addrs))
			return SIXLANE_PUNT_HASH;
		hash ^= addrs;
		hash = hash ^ hash >> 16 ^ (hash ^ hash >> 16) >> 8;
		hash >>= ports_count;
	}
	if (!egress->n_slaves || hash % egress->n_slaves >= SIXLANE_MAX_SLAVES)
		return SIXLANE_PASS_EGRESS_DOWN;
	*slave = egress->slaves[hash % egress->n_slaves];
	return *slave ? SIXLANE_FORWARD : SIXLANE_PASS_EGRESS_DOWN;
}
