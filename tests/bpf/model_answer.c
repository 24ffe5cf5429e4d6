// SPDX-License-Identifier: GPL-2.0-only
/*
 * The model of what becomes of a packet over an MTU: by ip6_forward() and ip6_fragment(), and by
 * icmp6_send() of those that the datapath answers for them.
 */
#include <string.h>

#include "model.h"

/* --- to whom ------------------------------------------------------------------------------ */

static bool is_first_of_prefix(const uint8_t *addr, uint32_t len)
{
	for (uint32_t bit = len; bit < 128; bit++)
		if (addr[bit / 8] >> (7 - bit % 8) & 1)
			return false;
	return true;
}

enum sender { NOBODY, NEIGHBOUR, SOMEBODY };

/* The packet's source by the routes of the port's table; of a neighbour sets its MAC. */
static enum sender find_sender(const struct walk *w, const struct sixlane_port *egress,
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

/* --- about what --------------------------------------------------------------------------- */

static bool is_error_or_unclear(const struct walk *w)
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

/* --- the answer --------------------------------------------------------------------------- */

static const uint8_t none[8];

static enum sixlane_verdict answer(const struct walk *w, const struct sixlane_port *egress,
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

enum sixlane_verdict model_check_mtu(const struct walk *w, const struct way *way,
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
