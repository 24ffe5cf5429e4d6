// SPDX-License-Identifier: GPL-2.0-only
/*
 * The model's exceptions, what the kernel learns from messages to this machine, and what becomes of
 * a packet over an MTU: by ip6_forward() and ip6_fragment(), and by icmp6_send() of those that the
 * datapath answers for them.
 */
#include <string.h>

#include "model.h"

static const struct world_exception *find(const struct packet *w, const uint8_t *addr)
{
	for (size_t i = 0; i < w->world->n_exceptions; i++)
		if (!memcmp(w->world->exceptions[i].dst.bytes, addr, 16))
			return &w->world->exceptions[i];
	return NULL;
}

static bool checks_filters(const struct packet *w)
{
	return w->world->meta.flags & SIXLANE_META_CHECK_PUNTED;
}

static bool is_fresh(const struct packet *w, const uint8_t *addr)
{
	uint32_t halves[SIXLANE_FRESH_NUMBERS] = { 0 };

	if (!checks_filters(w))
		return false;
	for (size_t i = 0; i < w->world->n_fresh; i++) {
		const struct world_fresh *fresh = &w->world->fresh[i];

		if (memcmp(fresh->dst.bytes, addr, 16))
			continue;
		for (uint32_t number = 0; number < SIXLANE_FRESH_NUMBERS; number++)
			halves[number] |= 1u << fresh->halves[number];
	}
	return halves[0] & halves[1] & halves[2];
}

/* Whether the destination is in sl_punted; only asked if it has no entry. */
static bool is_punt(const struct packet *w, const uint8_t *addr)
{
	for (size_t i = 0; i < w->world->n_punted; i++)
		if (!memcmp(w->world->punted[i].bytes, addr, 16))
			return true;
	return false;
}

static bool is_unclear(const struct world_exception *found)
{
	return found->value.check != sixlane_exception_check(&found->dst) ||
	       found->value.flags & SIXLANE_EXCEPTION_CHANGING;
}

static bool apply(const struct packet *w, const struct sixlane_exception *value, struct way *way)
{
	if (value->flags & SIXLANE_EXCEPTION_NEXT_HOP) {
		if (!value->next_hop || value->next_hop >= SIXLANE_MAX_NEXT_HOPS)
			return false;
		way->nh_entry = model_next_hop(w->world, value->next_hop)->nh_entry;
		way->own_hop = true;
	}
	if (value->flags & SIXLANE_EXCEPTION_MTU) {
		way->mtu = value->mtu;
		way->locked = value->flags & SIXLANE_EXCEPTION_LOCKED;
		way->own_mtu = true;
	}
	way->by_operator = value->flags & SIXLANE_EXCEPTION_OPERATOR;
	return true;
}

bool model_may_have_exception(const struct packet *w, const uint8_t *addr, uint32_t table,
			      bool marked)
{
	const struct world_exception *found = find(w, addr);

	if (!marked && !checks_filters(w))
		return false;
	return is_fresh(w, addr) ||
	       (found ? is_unclear(found) || found->value.table == table : is_punt(w, addr));
}

bool model_apply_exception(const struct packet *w, struct way *way, struct model_result *result)
{
	const bool marked = w->value & SIXLANE_ROUTE_EXCEPTIONS;
	const uint8_t *dst = w->bare.bytes + AT_DST;
	const struct world_exception *found = find(w, dst);
	const bool fresh = is_fresh(w, dst);

	if (way->nh_entry.type != SIXLANE_FORWARD || (!marked && !checks_filters(w)))
		return true;
	if (!found)
		return !fresh && !is_punt(w, dst);
	if (is_unclear(found))
		return false;
	if (found->value.table != w->table)
		return !fresh;
	/* long ago, if ever: what the kernel learned may hold longer than is known */
	if (found->value.expires_ns && found->value.expires_ns < 1000)
		return !fresh && found->value.flags &
					 (SIXLANE_EXCEPTION_OPERATOR | SIXLANE_EXCEPTION_OBSERVE);
	result->hit = &found->dst;
	if (fresh || found->value.flags & SIXLANE_EXCEPTION_OBSERVE)
		return !fresh;
	return apply(w, &found->value, way);
}

#define AT_TYPE AT_PAYLOAD
#define AT_ICMP6_MTU (AT_PAYLOAD + 4)
#define AT_INNER (AT_PAYLOAD + 8)
#define AT_REDIRECTED (AT_PAYLOAD + 24) /* behind the target */

/* Addressed to us, though nobody has asked the routes yet. */
static bool is_ours(const struct packet *w)
{
	const struct world *world = w->world;
	uint32_t table = w->port->table, value, type;

	if (model_addr_stays(w->bare.bytes + AT_DST))
		return true;
	if (model_has(w->port, SIXLANE_PORT_RULES) && !model_has(w->port, SIXLANE_PORT_VRF))
		table = 255;
	if (!model_longest(world->routes, world->n_routes, table, w->bare.bytes + AT_DST, &value))
		return false;
	type = model_next_hop(world, sixlane_route_next_hop(value))->nh_entry.type;
	return type == SIXLANE_PASS_LOCAL || type == SIXLANE_PASS_ANYCAST;
}

/* Whether the verdict is the port's, so that the program has not read the frame. */
static bool is_of_port(const struct packet *w, enum sixlane_verdict verdict)
{
	if (verdict == SIXLANE_PASS_NOT_READY)
		return w->world->meta.abi == SIXLANE_ABI;
	return verdict == SIXLANE_PASS_ALL || verdict == SIXLANE_PUNT_RULES ||
	       verdict == SIXLANE_PASS_PORT || verdict == SIXLANE_PASS_PORT_UPPER ||
	       verdict == SIXLANE_PASS_FIREWALL || verdict == SIXLANE_PASS_TC;
}

/* An IPv6 header behind up to two tags, whatever these are. */
static bool find_header(struct packet *w)
{
	for (size_t tag_bytes = 0; tag_bytes <= 8; tag_bytes += 4) {
		if (w->in->len < AT_PAYLOAD + tag_bytes ||
		    frame_get16(w->in, AT_ETHERTYPE + tag_bytes) != 0x86dd)
			continue;
		w->bare = *w->in;
		frame_pop(&w->bare, tag_bytes);
		return true;
	}
	return false;
}

static bool is_reported(struct packet *w, enum sixlane_verdict verdict)
{
	if (!w->port)
		return false;
	if (is_of_port(w, verdict))
		return find_header(w) && is_ours(w);
	if (verdict == SIXLANE_PASS_SOURCE || verdict == SIXLANE_PASS_PROXY_NDP)
		return is_ours(w);
	return verdict == SIXLANE_PASS_LOCAL || verdict == SIXLANE_PASS_ANYCAST ||
	       verdict == SIXLANE_PASS_DESTINATION || verdict == SIXLANE_PASS_OTHER_MAC;
}

static bool is_from_link(const struct packet *w)
{
	const uint8_t *src = w->bare.bytes + AT_SRC;

	return w->bare.bytes[AT_HOP_LIMIT] == 255 && src[0] == 0xfe && src[1] >> 6 == 2;
}

/* Advertisements of routers on the link, Packet Too Big of no less than 1280, and redirects from
 * the link. */
static bool read_icmp_event(const struct packet *w, struct sixlane_icmp_event *icmp_event)
{
	const uint8_t *bytes = w->bare.bytes;
	size_t stated = frame_get16(&w->bare, AT_PAYLOAD_LEN), there = w->bare.len - AT_PAYLOAD;
	size_t payload = stated < there ? stated : there;

	icmp_event->type = bytes[AT_TYPE];
	icmp_event->ifindex = w->port->ifindex;
	if (icmp_event->type == 134)
		return payload >= 16 && is_from_link(w);
	if (icmp_event->type == 2 && payload >= 48) {
		memcpy(icmp_event->dst.bytes, bytes + AT_INNER + 24, 16);
		return frame_get16(&w->bare, AT_ICMP6_MTU) ||
		       frame_get16(&w->bare, AT_ICMP6_MTU + 2) >= 1280;
	}
	memcpy(icmp_event->dst.bytes, bytes + AT_REDIRECTED, 16);
	return icmp_event->type == 137 && payload >= 40 && bytes[AT_HOP_LIMIT] == 255;
}

void model_icmp_event(struct packet *w, struct model_result *result)
{
	memset(&result->icmp_event, 0, sizeof(result->icmp_event));
	result->has_icmp_event =
		is_reported(w, result->verdict) && w->bare.bytes[AT_NEXT_HEADER] == 58 &&
		read_icmp_event(w, &result->icmp_event) &&
		(result->verdict != SIXLANE_PASS_OTHER_MAC || result->icmp_event.type == 134);
}

/* --- packets over an MTU --------------------------------------------------------------------- */

static bool is_first_of_prefix(const uint8_t *addr, uint32_t len)
{
	for (uint32_t bit = len; bit < 128; bit++)
		if (addr[bit / 8] >> (7 - bit % 8) & 1)
			return false;
	return true;
}

enum sender { NOBODY, NEIGHBOUR, SOMEBODY };

/* The packet's source by the routes of the port's table; of a neighbour sets its MAC. */
static enum sender find_sender(const struct packet *w, const struct sixlane_port *egress,
			       const uint8_t **mac)
{
	const uint8_t *src = w->bare.bytes + AT_SRC;
	const struct world *world = w->world;
	const struct sixlane_next_hop *next_hop;
	const struct sixlane_neigh *neigh;
	uint32_t value;

	if (!model_longest(world->routes, world->n_routes, w->port->table, src, &value))
		return SOMEBODY;
	next_hop = model_next_hop(world, sixlane_route_next_hop(value));
	if (sixlane_route_next_hop(value) >= SIXLANE_MAX_NEXT_HOPS)
		return SOMEBODY;
	if (next_hop->nh_entry.type == SIXLANE_PASS_LOCAL ||
	    next_hop->nh_entry.type == SIXLANE_PASS_ANYCAST)
		return NOBODY;
	if (next_hop->nh_entry.type != SIXLANE_FORWARD)
		return SOMEBODY;
	/* the anycast address of routers */
	if (!next_hop->nh_entry.neighbour && sixlane_route_len(value) < 127 &&
	    is_first_of_prefix(src, sixlane_route_len(value)))
		return NOBODY;
	if (!model_has(w->port, SIXLANE_PORT_SOURCE) ||
	    w->port->flags & (SIXLANE_PORT_RULES | SIXLANE_PORT_VRF | SIXLANE_PORT_SLAVES |
			      SIXLANE_PORT_NO_XMIT) ||
	    model_has(egress, SIXLANE_PORT_VRF) || value & SIXLANE_ROUTE_EXCEPTIONS ||
	    model_may_have_exception(w, src, w->port->table, false) ||
	    next_hop->flags & SIXLANE_NEXT_HOP_NO_ANSWER || next_hop->nh_entry.port != w->slot)
		return SOMEBODY;
	neigh = model_neighbour(w, next_hop->nh_entry.neighbour, src, w->port->ifindex);
	if (!neigh || !(neigh->mac.flags & SIXLANE_MAC_VALID))
		return SOMEBODY;
	*mac = neigh->mac.bytes;
	return NEIGHBOUR;
}

static bool is_error_or_unclear(const struct packet *w)
{
	const uint8_t *packet = w->bare.bytes + AT_IP6;
	uint8_t next = packet[6];
	size_t at = 40;

	for (int headers = 0; at <= ANSWER_QUOTED - 4; headers++) {
		switch (next) {
		case 58:
			return packet[at] < 128;
		case 44: /* fragment */
			if (packet[at + 2] * 256 + packet[at + 3] >= 8)
				return false;
			next = packet[at];
			at += 8;
			break;
		case 0:
		case 43:
		case 60:
			next = packet[at];
			at += 8 + 8 * (size_t)packet[at + 1];
			break;
		case 51: /* authentication */
			next = packet[at];
			at += 8 + 4 * (size_t)packet[at + 1];
			break;
		default:
			return false;
		}
		if (headers == 8)
			return true;
	}
	return true;
}

static const uint8_t none[8];

static enum sixlane_verdict answer(const struct packet *w, const struct sixlane_port *egress,
				   bool by_operator, struct answer *answer_,
				   struct model_result *result)
{
	enum sixlane_verdict refusal = by_operator ? SIXLANE_DROP_TOO_BIG : SIXLANE_PASS_TOO_BIG;
	enum sender sender = find_sender(w, egress, &answer_->dst_mac);
	size_t length = 40 + (size_t)frame_get16(&w->bare, AT_PAYLOAD_LEN);
	uint32_t tags[2];
	size_t n_tags = model_tags(w->port, tags);

	if (length <= 1280)
		return refusal;
	if (w->generic && (!by_operator || length > w->port->mtu))
		return SIXLANE_PASS_TOO_BIG;
	if (!w->generic && !model_has(w->port, SIXLANE_PORT_XMIT))
		return refusal;
	if (is_error_or_unclear(w) || sender == NOBODY)
		return refusal;
	/* the first half is written last */
	if (!memcmp(w->port->source.bytes, none, sizeof(none)))
		return refusal;
	if (sender == SOMEBODY) {
		answer_->dst_mac = w->bare.bytes + AT_SRC_MAC;
		if (!by_operator || answer_->dst_mac[0] & 1)
			return refusal;
	}
	/* Tests have no tokens or as many as they like. */
	if (w->world->meta.answer_ns && !w->world->meta.answer_burst)
		return SIXLANE_DROP_TOO_BIG_RATE;
	if (w->in->meta + 48 + 4 * n_tags > MODEL_HEADROOM + w->tag_bytes)
		return by_operator ? SIXLANE_DROP_TOO_BIG : SIXLANE_PASS_NO_HEADROOM;
	answer_->src_mac = w->port->mac.bytes;
	answer_->src = w->port->source.bytes;
	answer_->hop_limit = (uint8_t)w->port->hop_limit;
	answer_build(&result->out, &w->bare, answer_);
	frame_push(&result->out, tags, n_tags);
	return SIXLANE_ANSWER_TOO_BIG;
}

enum sixlane_verdict model_check_mtu(const struct packet *w, const struct way *way,
				     const struct sixlane_port *egress, struct model_result *result)
{
	size_t length = 40 + (size_t)frame_get16(&w->bare, AT_PAYLOAD_LEN);
	bool locked = way->locked && way->mtu;
	size_t own = locked ? way->mtu : egress->mtu, first = own > 1280 ? own : 1280;
	struct answer reply = { 0 };
	bool known, by_operator;
	uint32_t tags[2];

	if (length <= egress->mtu && (!way->mtu || length <= way->mtu))
		return SIXLANE_FORWARD;
	if (model_has(w->port, SIXLANE_PORT_FLOWS)) /* rules see it first */
		return SIXLANE_PASS_TOO_BIG;
	if (length > first) { /* ip6_forward() */
		reply.mtu = (uint32_t)first;
		known = locked && way->own_mtu;
	} else if (way->mtu && length > way->mtu) { /* ip6_fragment() */
		reply.mtu = way->mtu;
		reply.decremented = true;
		known = way->own_mtu;
	} else { /* the driver */
		return SIXLANE_PASS_TOO_BIG;
	}
	by_operator = way->by_operator && (known || way->own_hop);
	if (reply.mtu < 1280)
		return SIXLANE_PASS_TOO_BIG;
	/* what the port takes by XDP may be less than its MTU */
	if (length > first && !locked && !by_operator && model_tags(egress, tags) == 2)
		return SIXLANE_PASS_TOO_BIG;
	if (!known && !by_operator && !(w->world->meta.flags & SIXLANE_META_ANSWER))
		return SIXLANE_PASS_TOO_BIG;
	return answer(w, egress, by_operator, &reply, result);
}
