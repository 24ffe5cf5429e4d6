// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a destination has of its own (bpf/exception.h), and what becomes of a packet that is too
 * big.
 */
#include <netinet/in.h>
#include <string.h>

#include "walk.h"

#define MTU_MIN 1280u /* RFC 8200 section 5: no answer says less */

/* --- the exception ----------------------------------------------------------------------- */

void walk_find_exception(const struct maps *maps, const struct walk_query *query, struct walk *walk)
{
	const struct sixlane_exception_key key = { .dst = query->dst, .table = walk->table };
	struct walk_exception *found = &walk->exception;

	if (!walk->marks)
		return;
	if (maps_exception(maps, &key, &found->value)) {
		found->outcome = maps_exception_may_be_missing(maps, &key.dst, walk->marks)
					 ? WALK_EXCEPTION_MISSING
					 : WALK_EXCEPTION_ABSENT;
		return;
	}
	if (found->value.expires_ns && util_now_ns() >= found->value.expires_ns)
		found->outcome = found->value.flags & SIXLANE_EXCEPTION_MORE
					 ? WALK_EXCEPTION_PUNTED
					 : WALK_EXCEPTION_EXPIRED;
	else if (found->value.flags & SIXLANE_EXCEPTION_OBSERVE)
		found->outcome = WALK_EXCEPTION_OBSERVED;
	else
		found->outcome = WALK_EXCEPTION_APPLIED;
}

static enum walk_exception_outcome punt(struct walk_hop *hop, enum walk_exception_outcome outcome)
{
	hop->verdict = SIXLANE_PUNT_EXCEPTION;
	return outcome;
}

/* What the operator's MTU turns back is never the kernel's. */
static bool is_punted(const struct walk_query *query, const struct sixlane_exception *value)
{
	const uint32_t operators = SIXLANE_EXCEPTION_OPERATOR | SIXLANE_EXCEPTION_MTU;

	return value->flags & SIXLANE_EXCEPTION_PUNT &&
	       ((value->flags & operators) != operators || query->ip_bytes <= value->mtu);
}

enum walk_exception_outcome walk_apply_exception(const struct maps *maps,
						 const struct walk_query *query,
						 const struct walk *walk, struct walk_hop *hop)
{
	const struct sixlane_exception *value = &walk->exception.value;
	enum walk_exception_outcome outcome = walk->exception.outcome;
	struct walk_limit limit = hop->limit;
	uint32_t id = value->flags & SIXLANE_EXCEPTION_NEXT_HOP ? value->next_hop : hop->id;

	if (outcome == WALK_EXCEPTION_MISSING || outcome == WALK_EXCEPTION_PUNTED)
		return punt(hop, outcome);
	if (outcome != WALK_EXCEPTION_APPLIED)
		return outcome;
	if (value->flags & SIXLANE_EXCEPTION_UNDER && hop->fate.word != value->under.word)
		return WALK_EXCEPTION_ELSEWHERE;
	if (is_punted(query, value) || !id || id >= SIXLANE_MAX_NEXT_HOPS)
		return punt(hop, WALK_EXCEPTION_PUNTED);
	if (value->flags & SIXLANE_EXCEPTION_MTU) {
		limit.mtu = value->mtu;
		limit.locked = value->flags & SIXLANE_EXCEPTION_LOCKED;
		limit.by_exception = true;
	}
	walk_fill_hop(maps, id, limit, hop);
	hop->excepted = true;
	return outcome;
}

/* --- too big (bpf/mtu.h) ----------------------------------------------------------------- */

/* Frames with two tags: the kernel's bound is higher than what XDP may send. */
static bool is_stacked(const struct sixlane_port *port)
{
	return port->flags & SIXLANE_PORT_TAGGED && port->tags[1].word;
}

/*
 * ip6_forward() asks a locked MTU or else that of the device, ip6_finish_output() then the other.
 * False: the answer is the kernel's in any case.
 */
static bool find_mtu(const struct walk_query *query, const struct walk *walk,
		     const struct walk_hop *hop, struct walk_answer *answer)
{
	const struct walk_limit *limit = &hop->limit;
	bool by_device = !limit->mtu || !limit->locked;
	uint32_t flags = walk->exception.value.flags;

	answer->mtu = by_device ? hop->egress.mtu : limit->mtu;
	if (answer->mtu < MTU_MIN)
		answer->mtu = MTU_MIN;
	if (query->ip_bytes <= answer->mtu) {
		/* over the device's, but not over a locked one: the kernel leaves it to the driver
		 */
		if (limit->mtu < MTU_MIN || query->ip_bytes <= limit->mtu)
			return false;
		answer->mtu = limit->mtu;
		answer->aged = true;
		by_device = false;
	}
	answer->by_exception = limit->by_exception && !by_device;
	answer->by_operator = hop->excepted && flags & SIXLANE_EXCEPTION_OPERATOR &&
			      (answer->by_exception || flags & SIXLANE_EXCEPTION_NEXT_HOP);
	return !by_device || !is_stacked(&hop->egress) || answer->by_operator;
}

/* --- the answer (bpf/icmp6.h) ------------------------------------------------------------ */

enum way { WAY_NONE, WAY_EXACT, WAY_UNSURE };

/* The first address of an on-link prefix is the routers' anycast address there. */
static bool is_anycast(const union sixlane_addr *addr, uint32_t len, const struct walk_hop *back)
{
	if (back->has_gateway || len >= 127)
		return false;
	for (uint32_t bit = len; bit < 128; bit++) {
		if (addr->bytes[bit / 8] >> (7 - bit % 8) & 1)
			return false;
	}
	return true;
}

/* The neighbour that the source's own route leads to, behind the port of arrival. */
static enum way find_way(const struct maps *maps, const struct walk_query *query,
			 const struct walk *walk, const struct walk_hop *hop,
			 struct walk_answer *answer)
{
	const uint32_t unlike =
		SIXLANE_PORT_RULES | SIXLANE_PORT_VRF | SIXLANE_PORT_SLAVES | SIXLANE_PORT_NO_XMIT;
	struct walk_hop back;
	uint32_t value, id;

	if (maps_route_lookup(maps, walk->in.table, &query->src, &value))
		return WAY_UNSURE;
	id = sixlane_route_next_hop(value);
	walk_fill_hop(maps, id, (struct walk_limit){ 0 }, &back);
	if (back.verdict == SIXLANE_PASS_LOCAL || back.verdict == SIXLANE_PASS_ANYCAST)
		return WAY_NONE;
	if (back.verdict)
		return WAY_UNSURE;
	if (is_anycast(&query->src, sixlane_route_len(value), &back))
		return WAY_NONE;
	if (hop->egress.flags & SIXLANE_PORT_VRF || !(walk->in.flags & SIXLANE_PORT_SOURCE) ||
	    walk->in.flags & unlike || back.port != walk->in_slot || value & WALK_MARKS ||
	    maps->next_hops[id].flags & SIXLANE_NEXT_HOP_NO_ANSWER)
		return WAY_UNSURE;
	if (!back.has_gateway)
		walk_find_on_link(maps, &query->src, &back);
	memcpy(answer->mac, back.neigh.mac.bytes, sizeof(answer->mac));
	return back.has_mac ? WAY_EXACT : WAY_UNSURE;
}

/* Behind an extension header that packet.c builds there are others, without end. */
static bool is_extension(uint8_t proto)
{
	return proto == IPPROTO_HOPOPTS || proto == IPPROTO_ROUTING || proto == IPPROTO_FRAGMENT ||
	       proto == IPPROTO_AH || proto == IPPROTO_DSTOPTS;
}

/* Whether it can be sent, and to whom. */
static bool find_receiver(const struct maps *maps, const struct walk_query *query,
			  const struct walk *walk, const struct walk_hop *hop,
			  struct walk_answer *answer)
{
	static const union sixlane_addr none;
	enum way way;

	if (query->ip_bytes <= MTU_MIN || is_extension(query->proto) ||
	    !(walk->generic || walk->in.flags & SIXLANE_PORT_XMIT))
		return false;
	answer->source = walk->in.source;
	way = find_way(maps, query, walk, hop, answer);
	answer->to_sender = way == WAY_UNSURE;
	return way == WAY_EXACT || (way == WAY_UNSURE && answer->by_operator &&
				    memcmp(&answer->source, &none, sizeof(none)) != 0);
}

/* In generic mode a frame may be several packets, which only the kernel can tell. */
static bool may_be_many(const struct walk_query *query, const struct walk *walk,
			const struct walk_answer *answer)
{
	return walk->generic && (!answer->by_operator || query->ip_bytes > walk->in.mtu);
}

enum sixlane_verdict walk_too_big(const struct maps *maps, const struct walk_query *query,
				  const struct walk *walk, struct walk_hop *hop)
{
	const struct sixlane_meta *meta = maps->meta;
	struct walk_answer answer = { 0 };

	if (!find_mtu(query, walk, hop, &answer))
		return SIXLANE_PASS_TOO_BIG;
	if (!answer.by_exception && !answer.by_operator &&
	    !(walk_load(&meta->flags) & SIXLANE_META_ANSWER))
		return SIXLANE_PASS_TOO_BIG;
	if (query->ip_bytes > MTU_MIN && may_be_many(query, walk, &answer))
		return SIXLANE_PASS_TOO_BIG;
	if (!find_receiver(maps, query, walk, hop, &answer))
		return answer.by_operator ? SIXLANE_DROP_TOO_BIG : SIXLANE_PASS_TOO_BIG;
	/* a bucket that nobody has taken from */
	if (walk_load64(&meta->answer_ns) && !walk_load64(&meta->answer_burst))
		return SIXLANE_DROP_TOO_BIG_RATE;
	hop->answer = answer;
	return SIXLANE_ANSWER_TOO_BIG;
}
