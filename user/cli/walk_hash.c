// SPDX-License-Identifier: GPL-2.0-only
/*
 * The hash of the packet in question and the member of a group, or the slave of a bond, that it
 * falls upon: the arithmetic is the datapath's own (bpf/hash.h, bpf/bond_hash.h), what it is done
 * with is decided as bpf/group.h and bpf/bond.h do.
 */
#include <arpa/inet.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>

#include "../../bpf/bond_hash.h"
#include "../../bpf/hash.h"
#include "../../bpf/proto.h"
#include "walk.h"

#define IP6_BYTES 40u
#define PORTS_BYTES 4u
#define FRAGMENT_BYTES 8u

static uint32_t bytes_to_ports_end(uint8_t proto)
{
	if (proto == IPPROTO_AH)
		return PROTO_AH_SPI + PORTS_BYTES;
	return proto_has_ports(proto) ? PORTS_BYTES : 0;
}

static bool sees_outer(const struct walk_query *query, uint32_t fields)
{
	if (fields & (HASH_PROTO | HASH_PORTS) && proto_is_extension(query->proto))
		return false;
	if (fields & HASH_PROTO && query->proto == IPPROTO_FRAGMENT &&
	    query->ip_bytes < IP6_BYTES + FRAGMENT_BYTES)
		return false;
	return !(fields & HASH_PORTS) ||
	       query->ip_bytes >= IP6_BYTES + bytes_to_ports_end(query->proto);
}

/*
 * Behind the headers that packet.c builds there are zeros. An AH's SPI is one, but they are no
 * header inside a tunnel: one hides what the hash is over, as an extension header does.
 */
static bool sees_inner(const struct walk_query *query)
{
	return !proto_is_tunnel(query->proto) && !proto_is_extension(query->proto);
}

/* rt6_multipath_l3_keys() takes the next header as it is, the dissector what a fragment is of. */
static uint8_t proto_of(const struct walk_query *query, uint32_t policy)
{
	if (policy != SIXLANE_HASH_L3 && query->proto == IPPROTO_FRAGMENT)
		return 0;
	return query->proto;
}

static uint32_t outer_fields(union sixlane_hash_policy how)
{
	switch (how.policy) {
	case SIXLANE_HASH_L4:
		return HASH_L4;
	case SIXLANE_HASH_FIELDS:
		return how.fields & ~HASH_INNER;
	default:
		return HASH_L3;
	}
}

bool walk_hash(const struct maps *maps, const struct walk_query *query, uint64_t *hash)
{
	union sixlane_hash_policy how = { .word = walk_load64(&maps->meta->hash_policy.word) };
	struct hash_sum sum = { .seed = walk_load64(&maps->meta->hash_seed) };
	bool inner = how.policy == SIXLANE_HASH_INNER ||
		     (how.policy == SIXLANE_HASH_FIELDS && how.fields & HASH_INNER);
	bool ports = proto_has_ports(query->proto);
	uint32_t fields = outer_fields(how);
	struct hash_flow flow = {
		.label = htonl(query->label),
		.src_port = ports ? htons(query->sport) : 0,
		.dst_port = ports ? htons(query->dport) : 0,
		.proto = proto_of(query, how.policy),
	};

	if (how.policy > SIXLANE_HASH_FIELDS || (inner && !sees_inner(query)))
		return false;
	if (how.policy != SIXLANE_HASH_L3 && !sees_outer(query, fields))
		return false;
	hash_add_header(&sum, &query->src, &query->dst, &flow, fields);
	*hash = hash_finish(&sum);
	return true;
}

static uint32_t member_by_id(const struct walk_group *group, uint32_t id)
{
	for (uint32_t i = 0; id && i < group->n_members; i++) {
		if (group->members[i].hop.id == id)
			return i;
	}
	return WALK_NO_MEMBER;
}

/* The number of a member, counted from 1; 0: none that packets do not pass over. */
static uint32_t in_use(const struct walk_group *group, uint32_t id)
{
	uint32_t member = member_by_id(group, id);

	return member == WALK_NO_MEMBER || group->members[member].skipped ? 0 : member + 1;
}

static uint32_t draw(const struct maps *maps, union sixlane_fate fate, uint64_t hash,
		     struct walk_group *group)
{
	struct walk_draw *draw = &group->draws[group->n_draws++];
	uint64_t place = hash_place(fate, hash);
	union sixlane_cell cell = { 0 };

	draw->cell = (uint32_t)(place >> 32);
	if (fate.first_cell + draw->cell < SIXLANE_MAX_CELLS)
		cell.word = walk_load64(&maps->cells[fate.first_cell + draw->cell].word);
	draw->member = member_by_id(group, hash_pick(cell, place));
	if (draw->member != WALK_NO_MEMBER && group->members[draw->member].skipped)
		return WALK_NO_MEMBER;
	return draw->member;
}

static uint32_t scan(const struct maps *maps, union sixlane_fate fate, uint64_t hash,
		     struct walk_group *group)
{
	struct hash_race members = { 0 };

	group->scanned = true;
	for (uint32_t i = 0; i < HASH_SCAN && i < fate.n_cells; i++) {
		uint32_t number = hash_scan_cell(fate, hash, i), index = fate.first_cell + number;
		uint64_t mine = hash + 2ull * number;
		union sixlane_cell cell;

		if (index >= SIXLANE_MAX_CELLS)
			continue;
		cell.word = walk_load64(&maps->cells[index].word);
		hash_race_enter(&members, mine, cell.bound, in_use(group, cell.below));
		hash_race_enter(&members, mine + 1, HASH_WHOLE - cell.bound,
				in_use(group, cell.above));
	}
	return members.winner ? (uint32_t)members.winner - 1 : WALK_NO_MEMBER;
}

uint32_t walk_draw_member(const struct maps *maps, union sixlane_fate fate, uint64_t hash,
			  struct walk_group *group)
{
	uint32_t member = draw(maps, fate, hash, group);
	uint64_t next = hash;

	for (uint32_t i = 1; i < HASH_DRAWS && member == WALK_NO_MEMBER; i++) {
		next = hash_again(next, i);
		member = draw(maps, fate, next, group);
	}
	if (member == WALK_NO_MEMBER)
		member = scan(maps, fate, hash, group);
	group->chosen = member;
	return member;
}

/* --- the slave of a bond ----------------------------------------------------------------- */

/* Ports, or an echo without an identifier, which is what packet.c builds of ICMPv6. */
static union bond_upper bond_upper(const struct walk_query *query)
{
	union bond_upper upper = { 0 };

	if (query->proto == IPPROTO_ICMPV6) {
		upper.icmp.type = ICMP6_ECHO_REQUEST;
		upper.icmp.id = 1;
	} else if (proto_has_ports(query->proto)) {
		upper.ports.src = htons(query->sport);
		upper.ports.dst = htons(query->dport);
	}
	return upper;
}

static bool sees_bond_flow(const struct walk_query *query, uint32_t by)
{
	if (query->proto == IPPROTO_ICMP)
		return false;
	if (query->proto == IPPROTO_ICMPV6)
		return query->ip_bytes >= IP6_BYTES + sizeof(struct icmp6_hdr);
	return by != SIXLANE_SLAVES_BY_L34 ||
	       query->ip_bytes >= IP6_BYTES + bytes_to_ports_end(query->proto);
}

enum sixlane_verdict walk_choose_slave(const struct walk_query *query, struct walk_hop *hop)
{
	const struct sixlane_port *egress = &hop->egress;
	uint32_t by = egress->slaves_by, n = egress->n_slaves, macs, hash;

	if (by != SIXLANE_SLAVES_BY_L2 && query->has_flow && !sees_bond_flow(query, by))
		return SIXLANE_PUNT_HASH;
	if (!n || n > SIXLANE_MAX_SLAVES)
		return SIXLANE_PASS_EGRESS_DOWN;
	if (by != SIXLANE_SLAVES_BY_L2 && !query->has_flow)
		return SIXLANE_FORWARD;
	macs = bond_hash_macs(hop->neigh.mac.bytes[5], egress->mac.bytes[5], egress->slaves_type);
	hash = bond_hash(by, macs, bond_fold(&query->src, &query->dst), bond_upper(query));
	hop->slave = egress->slaves[hash % n];
	return hop->slave ? SIXLANE_FORWARD : SIXLANE_PASS_EGRESS_DOWN;
}
