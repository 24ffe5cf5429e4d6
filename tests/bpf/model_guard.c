// SPDX-License-Identifier: GPL-2.0-only
/*
 * The model's guard: pairs that a firewall holds, policies, checksums that a sender left open.
 */
#include "model.h"

/* RFC 8200, section 8.1: the sum of the pseudo header, in ones' complement. */
static uint16_t pseudo_sum(const uint8_t *bytes)
{
	uint32_t sum = 0;

	for (size_t at = AT_SRC; at < AT_PAYLOAD; at += 2)
		sum += (uint32_t)(bytes[at] << 8 | bytes[at + 1]);
	sum += (uint32_t)(bytes[AT_PAYLOAD_LEN] << 8 | bytes[AT_PAYLOAD_LEN + 1]);
	sum += bytes[AT_NEXT_HEADER];
	while (sum > 0xffff)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

static bool is_tunnel(uint16_t port)
{
	static const uint16_t ports[] = { 1701, 2152, 4754, 4789, 4790, 6080, 6081, 6635, 8472 };

	for (size_t i = 0; i < sizeof(ports) / sizeof(ports[0]); i++) {
		if (ports[i] == port)
			return true;
	}
	return false;
}

static bool checksum_may_be_open(const struct frame *frame)
{
	const uint8_t next = frame->bytes[AT_NEXT_HEADER];
	size_t at = AT_PAYLOAD + (next == 6 ? 16 : 6);

	if (next == 50 || next == 58 || next == 59)
		return false;
	if ((next != 6 && next != 17) || at + 2 > frame->len)
		return true;
	if (next == 17 && is_tunnel(frame_get16(frame, AT_PAYLOAD + 2)))
		return true;
	return frame_get16(frame, at) == pseudo_sum(frame->bytes);
}

static bool has_policy(const struct world *world, const uint8_t *bytes)
{
	uint32_t sources, held;

	return model_longest(world->policies, world->n_policies, 0, bytes + AT_DST, &sources) &&
	       model_longest(world->policies, world->n_policies, sources, bytes + AT_SRC, &held);
}

/* Routing, fragment, authentication, destination options. */
static bool may_be_fragment(uint8_t next)
{
	return next == 43 || next == 44 || next == 51 || next == 60;
}

enum sixlane_verdict model_check_guard(const struct walk *w, uint32_t out)
{
	const uint32_t flags = w->world->meta.flags;
	const uint8_t *bytes = w->bare.bytes;

	if (model_has(w->port, SIXLANE_PORT_OPEN_CHECKSUMS) && checksum_may_be_open(&w->bare))
		return SIXLANE_PASS_CHECKSUM;
	if (!model_has(w->port, SIXLANE_PORT_GUARD))
		return SIXLANE_FORWARD;
	if (flags & SIXLANE_META_IPSEC_ALL)
		return SIXLANE_PASS_IPSEC;
	if (flags & SIXLANE_META_IPSEC_ICMP6 &&
	    (bytes[AT_NEXT_HEADER] == 58 || may_be_fragment(bytes[AT_NEXT_HEADER])))
		return SIXLANE_PASS_IPSEC;
	if (flags & SIXLANE_META_IPSEC && has_policy(w->world, bytes))
		return SIXLANE_PASS_IPSEC;
	if (flags & SIXLANE_META_FRAGMENTS && may_be_fragment(bytes[AT_NEXT_HEADER]))
		return SIXLANE_PASS_FIREWALL;
	return out >= SIXLANE_MAX_PORTS || (out < WORLD_PORTS && w->world->held[w->slot][out])
		       ? SIXLANE_PASS_FIREWALL
		       : SIXLANE_FORWARD;
}
