// SPDX-License-Identifier: GPL-2.0-only
/* The fuzzer's worlds: routes of several tables, sources, groups, rules, odd ports, exceptions. */
#include "tests.h"

/* --- prefixes ---------------------------------------------------------------------------- */

static void mask_addr(uint8_t addr[16], uint32_t len)
{
	for (uint32_t bit = len; bit < 128; bit++)
		addr[bit / 8] &= (uint8_t) ~(0x80 >> bit % 8);
}

static uint32_t random_len(void)
{
	static const uint8_t lens[] = { 0,  1,	3,  16, 32, 33,	 47,  48,  49,
					56, 63, 64, 65, 96, 126, 127, 128, 128 };

	return FUZZ_PICK(lens);
}

static bool is_double(const struct world_route *entries, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!memcmp(&entries[i].key, &entries[n].key, sizeof(entries[n].key)))
			return true;
	return false;
}

/* Put a random prefix in the place of the last one's; take it back if there is one already. */
static void randomize_last(struct world_route *entries, size_t *n, uint32_t len)
{
	struct sixlane_route_key *key = &entries[*n - 1].key;

	key->prefix_len = SIXLANE_TABLE_BITS + len;
	fuzz_addr(key->addr.bytes);
	mask_addr(key->addr.bytes, len);
	if (is_double(entries, *n - 1))
		--*n;
}

/* --- next hops --------------------------------------------------------------------------- */

#define GROUPS 8
_Static_assert(NH_GROUP + GROUPS <= NH_ENTRY, "groups have ids");

static uint32_t random_plain_next_hop(void)
{
	static const uint32_t often[] = { NH_GATEWAY, NH_ON_LINK, NH_ON_LINK_10, NH_ALT,
					  NH_LOCKED,  NH_SILENT,  NH_BACK };

	if (fuzz_one_in(12))
		return NH_ENTRY + SIXLANE_PASS_LOCAL;
	if (fuzz_one_in(3))
		return NH_ENTRY + fuzz_below(SIXLANE_MAX_VERDICTS);
	return fuzz_one_in(2) ? NH_VIA(fuzz_below(N_NEIGHBOURS)) : FUZZ_PICK(often);
}

static uint32_t random_next_hop(void)
{
	if (fuzz_one_in(40))
		return fuzz_below(SIXLANE_ROUTE_ID_MASK + 1);
	if (fuzz_one_in(4))
		return NH_GROUP + fuzz_below(GROUPS);
	return fuzz_one_in(8) ? (uint32_t)NH_SOURCES : random_plain_next_hop();
}

static uint16_t random_member(void)
{
	if (fuzz_one_in(40))
		return (uint16_t)fuzz_below(WORLD_NEXT_HOPS);
	return (uint16_t)(fuzz_one_in(8) ? random_plain_next_hop()
					 : NH_MEMBER(fuzz_below(WORLD_MEMBERS)));
}

static void random_group(struct world *world, uint32_t id, uint32_t first_bucket)
{
	static const uint32_t bounds[] = { 0, 1, 0x40000000, 0x80000000, 0xffffffff };
	struct sixlane_next_hop *group = &world->next_hops[id];
	uint32_t members[12];
	uint16_t n = (uint16_t)(1 + fuzz_below(8));

	for (uint16_t i = 0; i < n; i++)
		members[i] = random_member();
	world_set_buckets(world, id, first_bucket, members, n);
	for (uint32_t i = first_bucket; i < first_bucket + n; i++) {
		world->buckets[i].bound = FUZZ_PICK(bounds);
		if (fuzz_one_in(2))
			world->buckets[i].below = random_member();
	}
	if (fuzz_one_in(3))
		group->flags = SIXLANE_NEXT_HOP_OBJECT;
	if (fuzz_one_in(4))
		group->nh_entry.type = SIXLANE_NH_EQUAL_METRIC;
	if (fuzz_one_in(30))
		group->nh_entry.n_buckets = (uint16_t)(fuzz_one_in(2) ? 0 : 40);
	if (fuzz_one_in(30))
		group->nh_entry.first_bucket = SIXLANE_MAX_NH_BUCKETS - fuzz_below(3);
	if (fuzz_one_in(4))
		group->expires_ns = fuzz_one_in(2) ? 1 : UINT64_MAX;
}

/* --- rules ------------------------------------------------------------------------------- */

static void random_selectors(const struct world *world, struct sixlane_rule *rule)
{
	static const uint8_t protos[] = { 6, 17, 50, 58, 44, 41 };

	rule->flags = 1u << fuzz_below(11) & (fuzz_one_in(2) ? ~0u : 0);
	if (fuzz_one_in(2))
		rule->flags |= 1u << fuzz_below(11);
	if (fuzz_one_in(4))
		rule->flags ^= SIXLANE_RULE_INVERT;
	if (!fuzz_one_in(4))
		rule->flags &= ~SIXLANE_RULE_UNKNOWN;
	rule->iif = fuzz_one_in(3) ? WORLD_VRF_IFINDEX
				   : world->ports[1 + fuzz_below(WORLD_PORTS - 1)].ifindex;
	rule->proto = FUZZ_PICK(protos);
	rule->tclass_mask = fuzz_one_in(2) ? 0xfc : 0xff;
	rule->tclass = (uint8_t)(fuzz_below(4) << 2) & rule->tclass_mask;
	rule->sport_low = (uint16_t)fuzz_below(4);
	rule->sport_high = (uint16_t)(rule->sport_low + fuzz_below(4));
	rule->dport_low = (uint16_t)fuzz_below(4);
	rule->dport_high = (uint16_t)(rule->dport_low + fuzz_below(4));
	rule->suppress_len = random_len();
}

static void randomize_prefix(union sixlane_addr *addr, union sixlane_addr *mask)
{
	uint32_t len = random_len();

	memset(mask, 0xff, sizeof(*mask));
	mask_addr(mask->bytes, len);
	fuzz_addr(addr->bytes);
	mask_addr(addr->bytes, len);
}

static uint32_t random_table(void)
{
	static const uint32_t tables[] = { SIXLANE_TABLE_MAIN, SIXLANE_TABLE_MAIN, 255, 100,
					   WORLD_VRF };

	return FUZZ_PICK(tables);
}

static void add_random_rule(struct world *world)
{
	struct sixlane_rule rule = { .table = random_table() };
	uint32_t at = world->meta.rules.n;

	random_selectors(world, &rule);
	randomize_prefix(&rule.src, &rule.src_mask);
	randomize_prefix(&rule.dst, &rule.dst_mask);
	if (fuzz_one_in(8)) {
		rule.action = SIXLANE_RULE_VERDICT;
		rule.verdict = fuzz_below(SIXLANE_MAX_VERDICTS);
	} else if (fuzz_one_in(8)) {
		rule.action = SIXLANE_RULE_GOTO;
		rule.target = at + 1 + fuzz_below(3);
	}
	world_add_rule(world, &rule, NULL, NULL);
}

static void add_random_rules(struct world *world)
{
	uint32_t n = fuzz_one_in(10) ? SIXLANE_MAX_RULES : 1 + fuzz_below(6);
	struct sixlane_rule last = { .table = SIXLANE_TABLE_MAIN };

	world->meta.rules.first = fuzz_one_in(2) ? SIXLANE_MAX_RULES : 0;
	while (world->meta.rules.n < n - 1)
		add_random_rule(world);
	if (fuzz_one_in(4))
		add_random_rule(world);
	else
		world_add_rule(world, &last, NULL, NULL);
	if (fuzz_one_in(8))
		world->meta.flags |= SIXLANE_META_GAPS;
	if (fuzz_one_in(50))
		world->meta.rules.first = WORLD_RULES - 2;
}

/* --- ports ------------------------------------------------------------------------------- */

static void disturb_port(struct sixlane_port *port)
{
	switch (fuzz_below(9)) {
	case 0:
		port->table = random_table();
		break;
	case 1:
		port->mtu = 1280 + fuzz_below(300);
		break;
	case 2: /* free, which no VLAN leads to */
		port->ifindex = fuzz_below(3) + !!port->tag.word;
		break;
	case 3:
		port->lower += fuzz_below(3);
		break;
	case 4:
		port->tag.tci ^= 0x0100;
		break;
	case 5:
		memset(&port->source, 0, sizeof(port->source));
		break;
	default:
		port->flags ^= 1u << fuzz_below(31);
		if (!port->tags[0].word)
			port->flags &= ~SIXLANE_PORT_TAGGED;
	}
}

/* Makes it a VLAN device over a bond. */
static void give_slaves(struct sixlane_port *port)
{
	static const uint16_t types[] = { 0x86dd, 0x8100, 0x88a8 };

	port->flags |= SIXLANE_PORT_SLAVES;
	port->slaves_by = (uint16_t)fuzz_below(3);
	port->slaves_type = FUZZ_PICK(types);
	port->n_slaves = fuzz_below(fuzz_one_in(4) ? 2 * SIXLANE_MAX_SLAVES : 5);
	for (uint32_t i = 0; i < SIXLANE_MAX_SLAVES; i++)
		port->slaves[i] = fuzz_one_in(20) ? 0 : 1 + fuzz_below(1000);
}

/* A VLAN device of VID 0, which takes priority-tagged frames. */
static void make_vid_zero(struct world *world)
{
	uint32_t which = fuzz_below((uint32_t)world->n_vlans);
	struct sixlane_port *port = &world->ports[world->vlans[which].slot];

	world->vlans[which].key.tag.tci = 0;
	port->tag.tci = 0;
}

static void disturb_neighbours(struct world *world)
{
	struct sixlane_neigh *neigh = world_neigh(world, (enum neighbour)fuzz_below(N_NEIGHBOURS));

	switch (fuzz_below(4)) {
	case 0:
		neigh->mac.flags = (uint16_t)fuzz_below(0x10000);
		break;
	case 1:
		neigh->key.addr.bytes[fuzz_below(16)] ^= 1;
		break;
	case 2:
		world->neigh_index[fuzz_below(N_NEIGHBOURS)].slot = fuzz_below(WORLD_NEIGHBOURS);
		break;
	default:
		fuzz_bytes(neigh->mac.bytes, 6);
	}
}

static enum device random_device(void)
{
	enum device dev = (enum device)fuzz_below(N_DEVICES);

	return dev == DEV_STRANGER ? DEV_IN : dev;
}

static void disturb_ports(struct world *world)
{
	static const uint32_t skips[] = { SIXLANE_PORT_SKIP, SIXLANE_PORT_SKIP_OBJECT };

	for (uint32_t n = fuzz_below(4); n; n--)
		disturb_port(world_port(world, random_device()));
	if (fuzz_one_in(3))
		world_port(world,
			   world_neigh_device((enum neighbour)(NEIGH_MEMBER + fuzz_below(4))))
			->flags |= FUZZ_PICK(skips);
	if (fuzz_one_in(4))
		world_enslave(world, random_device());
	if (fuzz_one_in(3))
		give_slaves(world_port(world, fuzz_one_in(2) ? DEV_BOND_10 : DEV_OUT_10));
	if (fuzz_one_in(8))
		make_vid_zero(world);
	if (fuzz_one_in(20))
		world->vlans[fuzz_below((uint32_t)world->n_vlans)].slot =
			fuzz_below(SIXLANE_MAX_PORTS + 2);
	if (fuzz_one_in(20))
		world->port_index[fuzz_below(4)].slot = fuzz_below(SIXLANE_MAX_PORTS + 2);
}

/* --- exceptions and answers -------------------------------------------------------------- */

/* Where frames are sent to: see fuzz_frame(). */
static union sixlane_addr random_destination(const struct world *world)
{
	union sixlane_addr addr = world->routes[fuzz_below((uint32_t)world->n_routes)].key.addr;

	if (fuzz_one_in(2))
		addr.bytes[15] ^= (uint8_t)fuzz_below(4);
	return addr;
}

static const struct world_exception *find_exception(const struct world *world,
						    const union sixlane_addr *dst)
{
	for (size_t i = 0; i < world->n_exceptions; i++)
		if (!memcmp(&world->exceptions[i].dst, dst, sizeof(*dst)))
			return &world->exceptions[i];
	return NULL;
}

static void add_random_exception(struct world *world)
{
	struct sixlane_exception value = {
		.flags = fuzz_below(256) | fuzz_below(2) << SIXLANE_EXCEPTION_VERSION_SHIFT,
		.mtu = 1280 + fuzz_below(300),
		.next_hop = random_next_hop(),
		.table = fuzz_one_in(2) ? SIXLANE_TABLE_MAIN : random_table(),
	};
	const union sixlane_addr dst = random_destination(world);

	if (find_exception(world, &dst))
		return;
	if (!fuzz_one_in(4))
		value.flags &= ~(SIXLANE_EXCEPTION_CHANGING | SIXLANE_EXCEPTION_OBSERVE);
	if (fuzz_one_in(2))
		value.flags &= ~SIXLANE_EXCEPTION_NEXT_HOP;
	if (fuzz_one_in(3))
		value.expires_ns = fuzz_one_in(2) ? UINT64_MAX * fuzz_below(2) : 1;
	value.check = sixlane_exception_check(&dst) + fuzz_one_in(30);
	world->exceptions[world->n_exceptions++] = (struct world_exception){ dst, value };
}

/* A random destination, at times one that has an exception, too. */
static union sixlane_addr random_punt_destination(const struct world *world)
{
	if (world->n_exceptions && fuzz_one_in(3))
		return world->exceptions[fuzz_below((uint32_t)world->n_exceptions)].dst;
	return random_destination(world);
}

static void add_random_fresh(struct world *world)
{
	struct world_fresh *fresh = &world->fresh[world->n_fresh++];
	const uint32_t half = fuzz_below(2);

	*fresh = (struct world_fresh){ random_punt_destination(world), { half, half, half } };
	fresh->halves[SIXLANE_FRESH_NUMBERS - 1] ^= fuzz_one_in(4);
}

/* A route to nothing but this, that leads out. */
static void add_owner(struct world *world, const union sixlane_addr *dst)
{
	struct world_route *route = &world->routes[world->n_routes];

	world_add_route(world, "::/128", 0, fuzz_one_in(2) ? NH_GATEWAY : NH_ALT);
	route->key.addr = *dst;
	if (is_double(world->routes, world->n_routes - 1))
		world->n_routes--;
}

static void add_exceptions(struct world *world)
{
	for (uint32_t n = fuzz_below(WORLD_EXCEPTIONS); n; n--)
		add_random_exception(world);
	for (size_t i = 0; i < world->n_exceptions; i++)
		if (fuzz_one_in(2))
			add_owner(world, &world->exceptions[i].dst);
	for (uint32_t n = fuzz_below(WORLD_EXCEPTIONS / 2); n; n--)
		world->punted[world->n_punted++] = random_punt_destination(world);
	for (uint32_t n = fuzz_below(WORLD_EXCEPTIONS / 2); n; n--)
		add_random_fresh(world);
	for (size_t i = 0; i < world->n_routes; i++)
		if (!fuzz_one_in(3))
			world->routes[i].value |= SIXLANE_ROUTE_EXCEPTIONS;
	if (fuzz_one_in(2))
		world->meta.flags |= SIXLANE_META_CHECK_PUNTED;
	world->meta.fresh = fuzz_below(2);
}

/* A return route to those who send by DEV_IN. */
static void add_return_route(struct world *world)
{
	static const uint32_t ways[] = { NH_VIA(NEIGH_IN), NH_ON_LINK_IN, NH_VIA(NEIGH_IN_10),
					 NH_VIA(NEIGH_IN_10_20), NH_VIA(NEIGH_IN_AD30) };

	world_add_route(world, "2001:db8:1::/48", 0, ways[fuzz_below(fuzz_one_in(3) ? 5 : 2)]);
	if (is_double(world->routes, world->n_routes - 1))
		world->n_routes--;
	if (fuzz_one_in(2))
		world->meta.flags |= SIXLANE_META_ANSWER;
	if (fuzz_one_in(4)) {
		world->meta.answer_ns = 1;
		world->meta.answer_burst = fuzz_one_in(2) ? 0 : 1000000;
	}
}

/* --- the whole --------------------------------------------------------------------------- */

static void add_routes_and_sources(struct world *world)
{
	uint32_t routes = 5 + fuzz_below(60), sources = fuzz_below(8);

	for (uint32_t i = 0; i < routes; i++) {
		uint32_t next_hop = random_next_hop(), len = random_len();

		world_add_route(world, "::/0", fuzz_one_in(2) ? 0 : random_table(), next_hop);
		world->routes[world->n_routes - 1].value = sixlane_route_value(next_hop, len);
		randomize_last(world->routes, &world->n_routes, len);
	}
	if (!fuzz_one_in(8))
		world_add_source(world, WORLD_SET, "::/0", random_next_hop(), random_len());
	for (uint32_t i = 0; i < sources; i++) {
		world_add_source(world, WORLD_SET + fuzz_below(2), "::/0", random_next_hop(),
				 random_len());
		randomize_last(world->sources, &world->n_sources, random_len());
	}
}

/* Ports with a guard, pairs that are held, policies. */
static void add_guard(struct world *world)
{
	const uint32_t policies = fuzz_below(WORLD_POLICIES), causes = fuzz_below(8);

	for (uint32_t slot = 1; slot <= N_DEVICES; slot++) {
		if (fuzz_one_in(2))
			world->ports[slot].flags |=
				SIXLANE_PORT_GUARD | (fuzz_one_in(4) ? SIXLANE_PORT_FLOWS : 0);
		if (fuzz_one_in(3))
			world->ports[slot].flags |= SIXLANE_PORT_OPEN_CHECKSUMS;
	}
	for (uint32_t in = 0; in < WORLD_PORTS; in++)
		for (uint32_t out = 0; out < WORLD_PORTS; out++)
			world->held[in][out] = fuzz_one_in(4);
	world->meta.flags |= (causes & 1 ? SIXLANE_META_FRAGMENTS : 0) |
			     (causes & 2 ? SIXLANE_META_IPSEC : 0) |
			     (causes & 4 ? SIXLANE_META_IPSEC_ICMP6 : 0) |
			     (causes == 7 ? SIXLANE_META_IPSEC_ALL : 0);
	for (uint32_t i = 0; i < policies; i++) {
		world_add_policy(world, fuzz_below(3), "::/0", 1 + fuzz_below(2));
		randomize_last(world->policies, &world->n_policies, random_len());
	}
}

void fuzz_world(struct world *world)
{
	world_init(world);
	world->meta.hash_policy.policy = fuzz_below(fuzz_one_in(10) ? 6 : 4);
	world->meta.hash_policy.fields = fuzz_below(0x1000);
	for (uint32_t i = 0; i < GROUPS; i++)
		random_group(world, NH_GROUP + i, i * 10);
	add_routes_and_sources(world);
	if (fuzz_one_in(2))
		add_random_rules(world);
	if (fuzz_one_in(2))
		add_exceptions(world);
	if (!fuzz_one_in(4))
		add_return_route(world);
	if (fuzz_one_in(4))
		add_guard(world);
	disturb_ports(world);
	if (fuzz_one_in(3))
		disturb_neighbours(world);
	if (fuzz_one_in(20))
		/* but for flow labels, which the model does not know */
		world->meta.flags ^= 1u << fuzz_below(14) & ~SIXLANE_META_FLOW_LABEL;
	if (fuzz_one_in(100))
		world->meta.abi = fuzz_below(4);
	for (size_t i = 0; i < WORLD_NEXT_HOPS; i++) {
		if (fuzz_one_in(200))
			world->next_hops[i].mtu = fuzz_one_in(8) ? 1000 : 1280 + fuzz_below(300);
		if (fuzz_one_in(100))
			world->next_hops[i].flags ^= 1u << fuzz_below(3);
	}
	if (fuzz_one_in(2))
		world_move_ports_home(world);
}
