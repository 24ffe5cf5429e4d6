// SPDX-License-Identifier: GPL-2.0-only
/*
 * The model of the datapath, written from the verdicts' meanings in bpf/abi/sixlane.h and from what
 * the kernel's IPv6 input and forwarding do, not from the XDP program. Here: from the wire to the
 * route, and from the next hop to the wire.
 */
#include "model.h"

#include <string.h>

const struct sixlane_next_hop *model_next_hop(const struct world *world, uint32_t id)
{
	static const struct sixlane_next_hop empty;

	return id < WORLD_NEXT_HOPS ? &world->next_hops[id] : &empty;
}

const struct sixlane_port *model_port(const struct world *world, uint32_t slot)
{
	static const struct sixlane_port empty;

	if (slot >= SIXLANE_MAX_PORTS)
		return NULL;
	return slot < WORLD_PORTS ? &world->ports[slot] : &empty;
}

bool model_has_ports(uint8_t next)
{
	return next && memchr("\x06\x11\x21\x32\x84\x88", next, 6);
}

static bool slot_is_of(const struct world *world, uint32_t slot, uint32_t ifindex)
{
	const struct sixlane_port *port = model_port(world, slot);

	return slot && port && port->ifindex == ifindex;
}

static uint32_t find_slot(const struct world *world, uint32_t ifindex)
{
	if (slot_is_of(world, ifindex % SIXLANE_MAX_PORTS, ifindex))
		return ifindex % SIXLANE_MAX_PORTS;
	for (size_t i = 0; i < world->n_port_index; i++)
		if (world->port_index[i].ifindex == ifindex &&
		    slot_is_of(world, world->port_index[i].slot, ifindex))
			return world->port_index[i].slot;
	return 0;
}

static void enter(struct packet *w, uint32_t slot)
{
	w->slot = slot;
	w->port = slot ? model_port(w->world, slot) : NULL;
}

/* A packet by an active slave came in by the bond. */
static void find_port(struct packet *w, uint32_t ingress)
{
	enter(w, find_slot(w->world, ingress));
	if (!w->port)
		return;
	w->generic = model_has(w->port, SIXLANE_PORT_GENERIC);
	if (model_has(w->port, SIXLANE_PORT_SLAVE) && !model_has(w->port, SIXLANE_PORT_PASS))
		enter(w, find_slot(w->world, w->port->lower));
}

static enum sixlane_verdict check_switches(const struct packet *w)
{
	const struct sixlane_meta *meta = &w->world->meta;

	if (meta->abi != SIXLANE_ABI || !(meta->flags & SIXLANE_META_READY) ||
	    !(meta->flags & SIXLANE_META_GUARDED))
		return SIXLANE_PASS_NOT_READY;
	if (meta->flags & SIXLANE_META_PASS_ALL)
		return SIXLANE_PASS_ALL;
	return meta->flags & SIXLANE_META_RULES ? SIXLANE_PUNT_RULES : SIXLANE_FORWARD;
}

/* --- tags -------------------------------------------------------------------------------- */

static bool is_for_port(const struct packet *w)
{
	return !memcmp(w->in->bytes + AT_DST_MAC, w->port->mac.bytes, 6);
}

static bool has_tag_at(const struct packet *w, size_t at, size_t more)
{
	uint16_t type;

	if (at + 2 + more > w->in->len)
		return false;
	type = frame_get16(w->in, at);
	return type == 0x8100 || type == 0x88a8;
}

/* A tag that no device takes is passed over if it is a priority tag. */
static enum sixlane_verdict enter_vlan(struct packet *w, size_t at)
{
	const uint8_t *tag = w->in->bytes + at;
	const uint8_t own[4] = { tag[0], tag[1], tag[2] & 0x0f, tag[3] };
	uint32_t lower = w->port->ifindex;

	for (size_t i = 0; i < w->world->n_vlans; i++) {
		const struct sixlane_vlan_key *key = &w->world->vlans[i].key;
		const struct sixlane_port *port = model_port(w->world, w->world->vlans[i].slot);

		if (key->lower != lower || memcmp(&key->tag, own, 4))
			continue;
		if (!port || port->lower != lower || memcmp(&port->tag, own, 4) ||
		    !model_has(port, SIXLANE_PORT_UP))
			return SIXLANE_PASS_VLAN_UNKNOWN;
		enter(w, w->world->vlans[i].slot);
		return SIXLANE_FORWARD;
	}
	return own[2] || own[3] ? SIXLANE_PASS_VLAN_UNKNOWN : SIXLANE_FORWARD;
}

static enum sixlane_verdict check_tags(struct packet *w)
{
	enum sixlane_verdict verdict = SIXLANE_FORWARD;

	if (!w->port)
		return SIXLANE_FORWARD;
	while (verdict == SIXLANE_FORWARD && w->tag_bytes < 8 &&
	       has_tag_at(w, AT_ETHERTYPE + w->tag_bytes, 2)) {
		w->addressed = w->addressed || is_for_port(w);
		verdict = enter_vlan(w, AT_ETHERTYPE + w->tag_bytes);
		w->tag_bytes += 4;
	}
	if (verdict == SIXLANE_FORWARD && w->tag_bytes == 8 && has_tag_at(w, AT_ETHERTYPE + 8, 0))
		return SIXLANE_PUNT_VLAN_DEPTH;
	return verdict;
}

/* --- the frame --------------------------------------------------------------------------- */

static enum sixlane_verdict check_port(const struct packet *w)
{
	if (!w->port || !model_has(w->port, SIXLANE_PORT_INGRESS))
		return SIXLANE_PASS_UNKNOWN_PORT;
	if (model_has(w->port, SIXLANE_PORT_PASS))
		return SIXLANE_PASS_PORT;
	if (model_has(w->port, SIXLANE_PORT_BACKUP))
		return SIXLANE_PASS_BOND_SLAVE;
	if (model_has(w->port, SIXLANE_PORT_UPPER) || model_has(w->port, SIXLANE_PORT_SLAVE))
		return SIXLANE_PASS_PORT_UPPER;
	if (model_has(w->port, SIXLANE_PORT_IN_FIREWALL))
		return SIXLANE_PASS_FIREWALL;
	return model_has(w->port, SIXLANE_PORT_IN_TC) ? SIXLANE_PASS_TC : SIXLANE_FORWARD;
}

static enum sixlane_verdict check_frame(struct packet *w)
{
	const struct frame *frame = &w->bare;

	if (w->in->len < AT_IP6 + w->tag_bytes)
		return SIXLANE_PASS_TRUNCATED;
	w->bare = *w->in;
	frame_pop(&w->bare, w->tag_bytes);
	if (frame_get16(frame, AT_ETHERTYPE) != 0x86dd)
		return SIXLANE_PASS_NOT_IPV6;
	if (frame->len < AT_PAYLOAD)
		return SIXLANE_PASS_TRUNCATED;
	if ((frame->bytes[AT_VERSION] & 0xf0) != 0x60)
		return SIXLANE_PASS_NOT_IPV6;
	if (AT_PAYLOAD + (size_t)frame_get16(frame, AT_PAYLOAD_LEN) > frame->len)
		return SIXLANE_PASS_TRUNCATED;
	if (!is_for_port(w) && !w->addressed)
		return SIXLANE_PASS_OTHER_MAC;
	return model_has(w->port, SIXLANE_PORT_IPV6) ? SIXLANE_FORWARD : SIXLANE_PASS_IPV6_OFF;
}

bool model_is_entry(uint32_t verdict)
{
	return verdict != SIXLANE_FORWARD && verdict < SIXLANE_N_VERDICTS &&
	       verdict != SIXLANE_ANSWER_TOO_BIG;
}

bool model_addr_stays(const uint8_t *addr)
{
	bool zeros = true;

	for (int i = 0; i < 15; i++)
		zeros = zeros && !addr[i];
	if (zeros && addr[15] <= 1)
		return true; /* :: and ::1 */
	return addr[0] == 0xff || (addr[0] == 0xfe && (addr[1] & 0xc0) == 0x80);
}

static enum sixlane_verdict check_header(const struct packet *w)
{
	const uint8_t *bytes = w->bare.bytes;
	uint8_t next = bytes[AT_NEXT_HEADER];

	if (next == 0)
		return SIXLANE_PASS_HOP_BY_HOP;
	if (model_addr_stays(bytes + AT_SRC))
		return SIXLANE_PASS_SOURCE;
	if (model_addr_stays(bytes + AT_DST))
		return SIXLANE_PASS_DESTINATION;
	/* routing, fragment, authentication, ICMPv6, no next header, destination options */
	if (model_has(w->port, SIXLANE_PORT_PROXY_NDP) &&
	    (next == 43 || next == 44 || next == 51 || next == 58 || next == 59 || next == 60))
		return SIXLANE_PASS_PROXY_NDP;
	return SIXLANE_FORWARD;
}

/* --- the way out ------------------------------------------------------------------------- */

static enum sixlane_verdict check_device(const struct packet *w, const struct sixlane_port *egress)
{
	static const struct {
		uint32_t flag;
		enum sixlane_verdict verdict;
	} devices[] = {
		{ SIXLANE_PORT_BRIDGE, SIXLANE_PUNT_BRIDGE },
		{ SIXLANE_PORT_MACVLAN, SIXLANE_PUNT_MACVLAN },
		{ SIXLANE_PORT_TUNNEL, SIXLANE_PUNT_TUNNEL },
		{ SIXLANE_PORT_UNSUPPORTED, SIXLANE_PASS_EGRESS_DEVICE },
	};

	if (!egress)
		return SIXLANE_PASS_EGRESS_DOWN;
	if (egress->ifindex == w->port->ifindex)
		return SIXLANE_PASS_SAME_PORT;
	if (!egress->ifindex || !model_has(egress, SIXLANE_PORT_UP | SIXLANE_PORT_IPV6))
		return SIXLANE_PASS_EGRESS_DOWN;
	if (model_has(egress, SIXLANE_PORT_OUT_FIREWALL))
		return SIXLANE_PASS_FIREWALL;
	if (model_has(egress, SIXLANE_PORT_OUT_TC))
		return SIXLANE_PASS_TC;
	for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++)
		if (model_has(egress, devices[i].flag))
			return devices[i].verdict;
	if (!model_has(egress, SIXLANE_PORT_XMIT) && !w->generic)
		return SIXLANE_PASS_EGRESS_DEVICE;
	return SIXLANE_FORWARD;
}

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

static enum sixlane_verdict check_guard(const struct packet *w, uint32_t out)
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

static uint32_t find_on_link(const struct world *world, const uint8_t *addr, uint32_t ifindex)
{
	for (size_t i = 0; i < world->n_neigh_index; i++)
		if (world->neigh_index[i].key.ifindex == ifindex &&
		    !memcmp(world->neigh_index[i].key.addr.bytes, addr, 16))
			return world->neigh_index[i].slot;
	return 0;
}

const struct sixlane_neigh *model_neighbour(const struct packet *w, uint32_t gateway,
					    const uint8_t *addr, uint32_t ifindex)
{
	uint32_t slot = gateway ? gateway : find_on_link(w->world, addr, ifindex);
	const struct sixlane_neigh *neigh;

	if (!slot || slot >= WORLD_NEIGHBOURS)
		return NULL;
	neigh = &w->world->neighbours[slot];
	if (!gateway && (neigh->key.ifindex != ifindex || memcmp(neigh->key.addr.bytes, addr, 16)))
		return NULL;
	return neigh;
}

size_t model_tags(const struct sixlane_port *port, uint32_t tags[2])
{
	size_t n = 0;

	if (!model_has(port, SIXLANE_PORT_TAGGED))
		return 0;
	do {
		const uint8_t *b = (const uint8_t *)&port->tags[n];

		tags[n] = (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
		n++;
	} while (n < 2 && port->tags[n].word);
	return n;
}

/* Sets mac, and egress to the port that the frame really leaves by. */
static enum sixlane_verdict resolve(const struct packet *w, const struct way *way,
				    const struct sixlane_port *egress, struct model_result *result,
				    const uint8_t **mac)
{
	const struct sixlane_neigh *neigh = model_neighbour(
		w, way->nh_entry.neighbour, w->bare.bytes + AT_DST, egress->ifindex);

	if (!neigh || !(neigh->mac.flags & SIXLANE_MAC_VALID))
		return SIXLANE_PASS_UNRESOLVED;
	*mac = neigh->mac.bytes;
	result->egress = egress->tx_ifindex;
	return model_has(egress, SIXLANE_PORT_SLAVES)
		       ? model_choose_slave(w, egress, *mac, &result->egress)
		       : SIXLANE_FORWARD;
}

/* The verdict if this is the packet's next-hop entry. SIXLANE_FORWARD: out is the frame that
 * leaves. */
static enum sixlane_verdict follow_entry(const struct packet *w, union sixlane_nh_entry nh_entry,
					 struct model_result *result)
{
	struct way way = {
		.nh_entry = nh_entry,
		.mtu = w->next_hop->mtu,
		.locked = w->next_hop->flags & SIXLANE_NEXT_HOP_LOCKED,
	};
	const struct sixlane_port *egress;
	enum sixlane_verdict verdict;
	const uint8_t *mac;
	uint32_t tags[2];
	size_t n_tags;

	if (!model_apply_exception(w, &way, result))
		return SIXLANE_PUNT_EXCEPTION;
	if (way.nh_entry.type != SIXLANE_FORWARD)
		return model_is_entry(way.nh_entry.type) ? (enum sixlane_verdict)way.nh_entry.type
							 : SIXLANE_PUNT_ROUTE;
	if (!model_has(w->port, SIXLANE_PORT_FORWARDING))
		return SIXLANE_PASS_NO_FORWARDING;
	if (w->bare.bytes[AT_HOP_LIMIT] <= 1)
		return SIXLANE_PASS_HOP_LIMIT;
	egress = model_port(w->world, way.nh_entry.port);
	verdict = check_device(w, egress) ?: check_guard(w, way.nh_entry.port) ?:
		  model_check_mtu(w, &way, egress, result) ?:
		  resolve(w, &way, egress, result, &mac);
	if (verdict != SIXLANE_FORWARD)
		return verdict;
	n_tags = model_tags(egress, tags);
	if (4 * n_tags > w->tag_bytes && w->in->meta + 4 * n_tags > MODEL_HEADROOM + w->tag_bytes)
		return SIXLANE_PASS_NO_HEADROOM;
	result->out = w->bare;
	frame_route(&result->out, mac, egress->mac.bytes);
	frame_push(&result->out, tags, n_tags);
	return SIXLANE_FORWARD;
}

/* --- the whole --------------------------------------------------------------------------- */

/* SIXLANE_FORWARD is 0: the first other verdict is final. */
static enum sixlane_verdict check_all(struct packet *w)
{
	return check_switches(w) ?: check_tags(w) ?: check_port(w) ?: check_frame(w) ?: check_header(w) ?:
	       model_find_route(w) ?: model_choose(w);
}

/* Where flows are looked up, the kernel drops instead, after its rules. */
static enum sixlane_verdict keep_for_rules(const struct packet *w, enum sixlane_verdict verdict)
{
	bool drops = verdict == SIXLANE_DROP_BLACKHOLE || verdict == SIXLANE_DROP_TOO_BIG ||
		     verdict == SIXLANE_DROP_TOO_BIG_RATE;

	return drops && w->port && model_has(w->port, SIXLANE_PORT_FLOWS) ? SIXLANE_PASS_FIREWALL
									  : verdict;
}

size_t model_run(const struct world *world, uint32_t ingress, const struct frame *in,
		 struct model_result results[MODEL_ENTRIES])
{
	static struct packet w;
	enum sixlane_verdict verdict;

	w = (struct packet){ .world = world, .in = in };
	find_port(&w, ingress);
	verdict = check_all(&w);
	if (verdict != SIXLANE_FORWARD) {
		w.nh_entries[0].type = (uint16_t)verdict;
		w.n_entries = 1;
	}
	for (size_t i = 0; i < w.n_entries; i++) {
		results[i].slot = w.slot;
		results[i].egress = 0;
		results[i].hit = NULL;
		results[i].out = *in;
		results[i].verdict =
			keep_for_rules(&w, verdict == SIXLANE_FORWARD
						   ? follow_entry(&w, w.nh_entries[i], &results[i])
						   : verdict);
		model_icmp_event(&w, &results[i]);
	}
	return w.n_entries;
}
