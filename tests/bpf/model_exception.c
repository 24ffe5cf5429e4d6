// SPDX-License-Identifier: GPL-2.0-only
/* The model's exceptions, and what the kernel learns from messages to this machine. */
#include <string.h>

#include "model.h"

static const struct world_exception *find(const struct walk *w, const uint8_t *addr)
{
	for (size_t i = 0; i < w->world->n_exceptions; i++)
		if (!memcmp(w->world->exceptions[i].dst.bytes, addr, 16))
			return &w->world->exceptions[i];
	return NULL;
}

static bool checks_filters(const struct walk *w)
{
	return w->world->meta.flags & SIXLANE_META_CHECK_PUNTED;
}

static bool is_fresh(const struct walk *w, const uint8_t *addr)
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

/* Of what has no entry. */
static bool is_punt(const struct walk *w, const uint8_t *addr)
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

static bool apply(const struct walk *w, const struct sixlane_exception *value, struct way *way)
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

bool model_may_have_exception(const struct walk *w, const uint8_t *addr, uint32_t table,
			      bool marked)
{
	const struct world_exception *found = find(w, addr);

	if (!marked && !checks_filters(w))
		return false;
	return is_fresh(w, addr) ||
	       (found ? is_unclear(found) || found->value.table == table : is_punt(w, addr));
}

bool model_apply_exception(const struct walk *w, struct way *way, struct model_result *result)
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
	/* long ago, if ever: what the kernel learnt may hold longer than is known */
	if (found->value.expires_ns && found->value.expires_ns < 1000)
		return !fresh && found->value.flags &
					 (SIXLANE_EXCEPTION_OPERATOR | SIXLANE_EXCEPTION_OBSERVE);
	result->hit = &found->dst;
	if (fresh || found->value.flags & SIXLANE_EXCEPTION_OBSERVE)
		return !fresh;
	return apply(w, &found->value, way);
}

/* --- ICMP events --------------------------------------------------------------------------------
 */

#define AT_TYPE AT_PAYLOAD
#define AT_ICMP6_MTU (AT_PAYLOAD + 4)
#define AT_INNER (AT_PAYLOAD + 8)
#define AT_REDIRECTED (AT_PAYLOAD + 24) /* behind the target */

/* Addressed to us, though nobody has asked the routes yet. */
static bool is_ours(const struct walk *w)
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

/* Such verdicts come before the frame was looked at. */
static bool is_of_port(const struct walk *w, enum sixlane_verdict verdict)
{
	if (verdict == SIXLANE_PASS_NOT_READY)
		return w->world->meta.abi == SIXLANE_ABI;
	return verdict == SIXLANE_PASS_ALL || verdict == SIXLANE_PUNT_RULES ||
	       verdict == SIXLANE_PASS_PORT || verdict == SIXLANE_PASS_PORT_UPPER ||
	       verdict == SIXLANE_PASS_FIREWALL || verdict == SIXLANE_PASS_TC;
}

/* An IPv6 header behind up to two tags, whatever these are. */
static bool find_header(struct walk *w)
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

static bool is_reported(struct walk *w, enum sixlane_verdict verdict)
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

static bool is_from_link(const struct walk *w)
{
	const uint8_t *src = w->bare.bytes + AT_SRC;

	return w->bare.bytes[AT_HOP_LIMIT] == 255 && src[0] == 0xfe && src[1] >> 6 == 2;
}

/* Advertisements of routers on the link, Packet Too Big of no less than 1280, and redirects from
 * the link. */
static bool read_icmp_event(const struct walk *w, struct sixlane_icmp_event *icmp_event)
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

void model_icmp_event(struct walk *w, struct model_result *result)
{
	memset(&result->icmp_event, 0, sizeof(result->icmp_event));
	result->has_icmp_event =
		is_reported(w, result->verdict) && w->bare.bytes[AT_NEXT_HEADER] == 58 &&
		read_icmp_event(w, &result->icmp_event) &&
		(result->verdict != SIXLANE_PASS_OTHER_MAC || result->icmp_event.type == 134);
}
