// SPDX-License-Identifier: GPL-2.0-only
/*
 * The model's groups: every member that a flow may be given, and for which packets the kernel's
 * hash is over fields that XDP does not reach (rt6_multipath_hash and the flow dissector).
 */
#include <string.h>

#include "model.h"

static void add_entry(struct packet *w, union sixlane_nh_entry nh_entry)
{
	for (size_t i = 0; i < w->n_entries; i++)
		if (w->nh_entries[i].word == nh_entry.word)
			return;
	if (w->n_entries < MODEL_ENTRIES)
		w->nh_entries[w->n_entries++] = nh_entry;
}

/* --- which fields there are --------------------------------------------------------------- */

#define PORT_FIELDS 0x30u /* source and destination port */
#define PROTO_FIELD 0x04u
#define INNER_FIELDS 0xfc0u
#define INNER_PORT_FIELDS 0xc00u

static bool is_options(uint8_t next) /* which the dissector walks through */
{
	return next == 0 || next == 43 || next == 60;
}

static bool is_tunnel(uint8_t next) /* IPv4, IPv6, GRE, MPLS */
{
	return next == 4 || next == 41 || next == 47 || next == 137;
}

static bool outer_is_known(const struct packet *w, uint32_t fields)
{
	uint8_t next = w->bare.bytes[AT_NEXT_HEADER];
	size_t payload = frame_get16(&w->bare, AT_PAYLOAD_LEN);

	if (fields & (PROTO_FIELD | PORT_FIELDS) && is_options(next))
		return false;
	if (fields & PROTO_FIELD && next == 44 && payload < 8)
		return false;
	if (fields & PORT_FIELDS && next == 51) /* AH: the SPI */
		return payload >= 8;
	return !(fields & PORT_FIELDS) || !model_has_ports(next) || payload >= 4;
}

/* Only IPv6 in IPv6, without ports, and nothing further in that. */
static bool inner_is_known(const struct packet *w, uint32_t inner_fields)
{
	size_t payload = frame_get16(&w->bare, AT_PAYLOAD_LEN);
	uint8_t inner;

	if (w->bare.bytes[AT_NEXT_HEADER] != 41 || payload < 40)
		return false;
	inner = w->bare.bytes[AT_PAYLOAD + 6];
	return !(inner_fields & INNER_PORT_FIELDS) && !is_tunnel(inner) && !is_options(inner) &&
	       inner != 44;
}

static bool hash_is_known(const struct packet *w)
{
	const union sixlane_hash_policy how = w->world->meta.hash_policy;
	uint8_t next = w->bare.bytes[AT_NEXT_HEADER];

	switch (how.policy) {
	case 0:
		return true;
	case 1:
		return outer_is_known(w, PROTO_FIELD | PORT_FIELDS);
	case 2:
		return is_tunnel(next) ? inner_is_known(w, 0) : outer_is_known(w, PROTO_FIELD);
	case 3:
		if (!outer_is_known(w, how.fields & ~INNER_FIELDS))
			return false;
		if (!(how.fields & INNER_FIELDS))
			return true;
		if (is_options(next))
			return false;
		return !is_tunnel(next) || inner_is_known(w, how.fields);
	default:
		return false;
	}
}

/* --- members ------------------------------------------------------------------------------ */

static bool is_skipped(const struct packet *w, const struct sixlane_next_hop *member, uint32_t skip)
{
	const struct sixlane_port *port = model_port(w->world, member->nh_entry.port);

	return member->nh_entry.type == SIXLANE_FORWARD && port && port->flags & skip;
}

static void add_verdict(struct packet *w, enum sixlane_verdict verdict)
{
	add_entry(w, (union sixlane_nh_entry){ .type = (uint16_t)verdict });
}

static void add_member(struct packet *w, uint32_t id, uint32_t skip)
{
	const struct sixlane_next_hop *member = model_next_hop(w->world, id);

	/* An empty word is no next hop. */
	if (!id || !member->nh_entry.word || is_skipped(w, member, skip))
		return;
	if (member->nh_entry.type >= SIXLANE_N_VERDICTS)
		add_verdict(w, SIXLANE_PUNT_ROUTE);
	else
		add_entry(w, member->nh_entry);
}

static enum sixlane_verdict choose_by_hash(struct packet *w)
{
	const union sixlane_nh_entry group = w->next_hop->nh_entry;
	uint32_t skip = w->next_hop->flags & SIXLANE_NEXT_HOP_OBJECT ? SIXLANE_PORT_SKIP_OBJECT
								     : SIXLANE_PORT_SKIP;

	if (group.n_buckets > 1 && !hash_is_known(w))
		return SIXLANE_PUNT_HASH;
	for (uint32_t i = 0; i < group.n_buckets; i++) {
		union sixlane_nh_bucket bucket = { .word = 0 };

		if (group.first_bucket + i < WORLD_BUCKETS)
			bucket = w->world->buckets[group.first_bucket + i];
		if (bucket.bound)
			add_member(w, bucket.below, skip);
		add_member(w, bucket.above, skip);
	}
	/* The program does not try all of so many buckets, and may find none in use. */
	if (!w->n_entries || group.n_buckets > 256)
		add_verdict(w, SIXLANE_PASS_EGRESS_DOWN);
	return SIXLANE_FORWARD;
}

/* Equal routes that are no set: the kernel prefers the one that leads back. */
static enum sixlane_verdict choose_first(struct packet *w)
{
	const union sixlane_nh_entry group = w->next_hop->nh_entry;
	uint32_t first;

	for (uint32_t i = 0; i < group.n_buckets && i < SIXLANE_MAX_EQUAL_METRIC; i++) {
		uint32_t id = group.first_bucket + i < WORLD_BUCKETS
				      ? w->world->buckets[group.first_bucket + i].below
				      : 0;
		const struct sixlane_next_hop *member = model_next_hop(w->world, id);
		const struct sixlane_port *port = model_port(w->world, member->nh_entry.port);

		if (member->nh_entry.type == SIXLANE_FORWARD && port &&
		    port->ifindex == w->port->ifindex)
			return SIXLANE_PASS_SAME_PORT;
	}
	if (!group.n_buckets || group.first_bucket >= WORLD_BUCKETS)
		return SIXLANE_PASS_SAME_PORT;
	first = w->world->buckets[group.first_bucket].below;
	if (!first || !model_next_hop(w->world, first)->nh_entry.word)
		return SIXLANE_PASS_SAME_PORT;
	add_member(w, first, 0);
	return SIXLANE_FORWARD;
}

enum sixlane_verdict model_choose(struct packet *w)
{
	uint32_t kind = w->next_hop->nh_entry.type;

	if (kind < SIXLANE_NH_GROUP) {
		add_entry(w, w->next_hop->nh_entry);
		return SIXLANE_FORWARD;
	}
	/* The tests' times are long past or far away. */
	if (w->next_hop->expires_ns && w->next_hop->expires_ns < 1000)
		return SIXLANE_PUNT_EXPIRES;
	if (kind == SIXLANE_NH_GROUP)
		return choose_by_hash(w);
	return kind == SIXLANE_NH_EQUAL_METRIC ? choose_first(w) : SIXLANE_PUNT_ROUTE;
}

/* --- which slave of a bond takes a tagged frame (bond_xmit_hash()) --------------------------- */

enum { AH = 51, ICMP = 1, ICMPV6 = 58 };

static uint32_t word_at(const struct packet *w, size_t at)
{
	uint32_t word;

	memcpy(&word, w->bare.bytes + at, sizeof(word));
	return word;
}

static bool has_bytes(const struct packet *w, size_t bytes)
{
	return bytes <= AT_IP6 + 40 + (size_t)frame_get16(&w->bare, AT_PAYLOAD_LEN);
}

/* Ports, or what counts as such. */
static bool read_ports(const struct packet *w, uint8_t proto, size_t at, uint32_t *ports)
{
	*ports = 0;
	if (proto == AH)
		at += 4;
	else if (!model_has_ports(proto))
		return true;
	if (!has_bytes(w, at + 4))
		return false;
	*ports = word_at(w, at);
	return true;
}

/* Type, code and identifier, which is never 0. */
static uint32_t read_icmp(const struct packet *w)
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
static bool read_flow(const struct packet *w, bool ports_count, uint32_t *upper, uint32_t *addrs)
{
	uint8_t proto = w->bare.bytes[AT_NEXT_HEADER], type = w->bare.bytes[AT_PAYLOAD];
	bool is_error = proto == ICMPV6 && type >= 1 && type <= 4;
	size_t header = is_error ? AT_PAYLOAD + 8 : AT_IP6;

	if (proto == ICMP || (proto == ICMPV6 && !has_bytes(w, AT_PAYLOAD + 8)) ||
	    !has_bytes(w, header + 40))
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

enum sixlane_verdict model_choose_slave(const struct packet *w, const struct sixlane_port *egress,
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
