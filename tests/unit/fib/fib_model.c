// SPDX-License-Identifier: GPL-2.0-only
/* See fib_model.h. */
#include <string.h>

#include "../../../user/lib/util.h"
#include "fib_model.h"

static uint32_t rnd(struct model *model, uint32_t n)
{
	return sim_random(model->sim, n);
}

/* Few bits, so that prefixes nest deeply. */
union sixlane_addr model_random_addr(struct model *model)
{
	union sixlane_addr addr = { .bytes = { 0x20 } };

	addr.bytes[1] = (uint8_t)(rnd(model, 3) << 6);
	addr.bytes[7] = (uint8_t)rnd(model, 3);
	addr.bytes[8] = (uint8_t)(rnd(model, 2) << 7);
	addr.bytes[15] = (uint8_t)rnd(model, 4);
	return addr;
}

static uint32_t random_table(struct model *model)
{
	static const uint32_t tables[] = { SIXLANE_TABLE_MAIN, SIXLANE_TABLE_MAIN, 255,
					   0xfffffff0 };

	return tables[rnd(model, ARRAY_SIZE(tables))];
}

static struct prefix random_prefix(struct model *model)
{
	static const uint8_t lens[] = { 0, 3, 8, 9, 10, 16, 62, 63, 64, 65, 66, 126, 127, 128 };
	struct prefix prefix = { .addr = model_random_addr(model),
				 .len = lens[rnd(model, ARRAY_SIZE(lens))] };

	prefix_mask(&prefix);
	return prefix;
}

struct fib_hop model_random_hop(struct model *model)
{
	struct fib_hop hop = { .ifindex = rnd(model, 12) ? 1 + rnd(model, 4) : 0,
			       .weight =
				       rnd(model, 4) ? 1 + rnd(model, 3) : 1 + rnd(model, 65536) };

	if (rnd(model, 3)) {
		hop.has_gateway = true;
		hop.gateway.bytes[0] = 0xfe;
		hop.gateway.bytes[15] = (uint8_t)rnd(model, 3);
	}
	return hop;
}

static size_t random_hops(struct model *model, struct fib_hop *hops, size_t at_most)
{
	size_t n = 1 + rnd(model, (uint32_t)at_most);

	for (size_t i = 0; i < n; i++)
		hops[i] = model_random_hop(model);
	return n;
}

static struct model_leaf random_leaf(struct model *model)
{
	static const uint32_t verdicts[] = { SIXLANE_PASS_LOCAL, SIXLANE_DROP_BLACKHOLE,
					     SIXLANE_PUNT_MULTIPATH };
	struct model_leaf leaf = { 0 };

	if (rnd(model, 5) == 0) {
		leaf.verdict = verdicts[rnd(model, ARRAY_SIZE(verdicts))];
		return leaf;
	}
	leaf.verdict = SIXLANE_FORWARD;
	leaf.mtu = rnd(model, 5) ? 0 : 1280 + rnd(model, 2);
	leaf.mtu_locked = leaf.mtu && rnd(model, 2);
	leaf.own_source = !rnd(model, 4);
	leaf.expires_ns = rnd(model, 6) ? 0 : 1 + rnd(model, 2);
	switch (rnd(model, 8)) {
	case 0:
	case 1:
		leaf.kind = FIB_HASHED;
		leaf.n_hops = random_hops(model, leaf.hops, N_HOPS);
		break;
	case 2:
		leaf.kind = FIB_EQUAL_METRIC;
		leaf.n_hops = random_hops(model, leaf.hops, N_HOPS);
		break;
	case 3:
	case 4:
		leaf.kind = FIB_OBJECT;
		leaf.object = 1 + rnd(model, N_OBJECTS);
		break;
	default:
		leaf.kind = FIB_ONE;
		leaf.n_hops = random_hops(model, leaf.hops, 1);
		break;
	}
	return leaf;
}

void model_random_content(struct model *model, struct model_slot *slot)
{
	slot->leaf = random_leaf(model);
	slot->n_sources = rnd(model, 6) ? 0 : 1 + rnd(model, N_SOURCES);
	for (size_t i = 0; i < slot->n_sources; i++) {
		struct model_source *source = &slot->sources[i];
		bool fresh = false;

		while (!fresh) {
			source->src = i ? random_prefix(model) : (struct prefix){ 0 };
			fresh = !i || source->src.len;
			for (size_t j = 0; j < i; j++)
				fresh &= !prefix_equal(&source->src, &slot->sources[j].src);
		}
		source->dst_len = (uint8_t)rnd(model, slot->dst.len + 1u);
		source->leaf = random_leaf(model);
	}
}

struct model_object model_random_object(struct model *model, const struct model_object *old)
{
	struct model_object object = { .there = rnd(model, 6) != 0, .verdict = SIXLANE_FORWARD };

	if (rnd(model, 8) == 0) {
		object.verdict = rnd(model, 2) ? SIXLANE_PUNT_ENCAP : SIXLANE_DROP_BLACKHOLE;
		return object;
	}
	object.n_hops = random_hops(model, object.hops, N_HOPS);
	if (old->n_buckets ? rnd(model, 4) : rnd(model, 3) == 0) {
		object.n_buckets = old->n_buckets && rnd(model, 4) ? old->n_buckets
								   : 1 + rnd(model, N_BUCKETS);
		for (size_t i = 0; i < object.n_buckets; i++)
			object.buckets[i] =
				rnd(model, 5) ? (uint16_t)rnd(model, N_HOPS) : UINT16_MAX;
	}
	return object;
}

static bool is_fresh(const struct model *model, size_t i)
{
	const struct model_slot *slot = &model->now.slots[i];

	for (size_t j = 0; j < i; j++) {
		if (slot->table == model->now.slots[j].table &&
		    prefix_equal(&slot->dst, &model->now.slots[j].dst))
			return false;
	}
	return true;
}

static bool is_fresh_probe(const struct model *model, size_t i)
{
	const struct model_probe *probe = &model->probes[i];

	for (size_t j = 0; j < i; j++) {
		if (!memcmp(&probe->dst, &model->probes[j].dst, sizeof(probe->dst)))
			return false;
	}
	return true;
}

void model_init(struct model *model, struct sim *sim)
{
	memset(model, 0, sizeof(*model));
	model->sim = sim;
	for (size_t i = 0; i < N_PREFIXES; i++) {
		do {
			model->now.slots[i].table = random_table(model);
			model->now.slots[i].dst = random_prefix(model);
		} while (!is_fresh(model, i));
	}
	for (size_t i = 0; i < N_PROBES; i++) {
		model->probes[i].table = random_table(model);
		model->probes[i].dst = model_random_addr(model);
		model->probes[i].src = model_random_addr(model);
	}
	for (size_t i = 0; i < N_EXCEPTIONS; i++) {
		do {
			model->probes[i].table = random_table(model);
			model->probes[i].dst = model_random_addr(model);
		} while (!is_fresh_probe(model, i));
		model->now.exceptions[i].table = model->probes[i].table;
		model->now.exceptions[i].dst = model->probes[i].dst;
	}
	model->before = model->now;
}

/* --- arguments -------------------------------------------------------------------------------- */

struct fib_target model_target(const struct model_leaf *leaf)
{
	return (struct fib_target){ .verdict = leaf->verdict,
				    .kind = leaf->kind,
				    .mtu = leaf->mtu,
				    .mtu_locked = leaf->mtu_locked,
				    .own_source = leaf->own_source,
				    .expires_ns = leaf->expires_ns,
				    .object = leaf->object,
				    .n_hops = leaf->n_hops,
				    .hops = leaf->hops };
}

struct fib_object model_object(const struct model_object *object)
{
	return (struct fib_object){ .verdict = object->verdict,
				    .n_hops = object->n_hops,
				    .hops = object->hops,
				    .n_buckets = object->n_buckets,
				    .buckets = object->buckets };
}

/* --- comparing -------------------------------------------------------------------------------- */

const struct model_slot *model_match(const struct model_state *state, uint32_t table,
				     const union sixlane_addr *dst)
{
	const struct prefix host = { .addr = *dst, .len = 128 };
	const struct model_slot *best = NULL;

	for (size_t i = 0; i < N_PREFIXES; i++) {
		const struct model_slot *slot = &state->slots[i];

		if (slot->there && slot->table == table && prefix_covers(&slot->dst, &host) &&
		    (!best || slot->dst.len > best->dst.len))
			best = slot;
	}
	return best;
}

static const struct model_source *match_source(const struct model_slot *slot,
					       const union sixlane_addr *src)
{
	const struct prefix host = { .addr = *src, .len = 128 };
	const struct model_source *best = NULL;

	for (size_t i = 0; i < slot->n_sources; i++) {
		const struct model_source *source = &slot->sources[i];

		if (prefix_covers(&source->src, &host) &&
		    (!best || source->src.len > best->src.len))
			best = source;
	}
	return best;
}

bool model_agrees(const struct model *model, const struct model_state *state,
		  const struct model_probe *probe, const struct sim_found *found, bool exact)
{
	const struct model_slot *slot = model_match(state, probe->table, &probe->dst);
	struct fib_object is = { 0 }, was = { 0 };
	const struct model_object *object, *old;
	const struct model_source *source;
	struct fib_target target;

	if (!slot || !found)
		return !slot && !found;
	source = slot->n_sources ? match_source(slot, &probe->src) : NULL;
	if (found->len != (source ? source->dst_len : slot->dst.len))
		return false;
	target = model_target(source ? &source->leaf : &slot->leaf);
	if (target.kind != FIB_OBJECT || target.verdict != SIXLANE_FORWARD)
		return sim_does(model->sim, found, &target, NULL, NULL, !exact);
	object = &state->objects[target.object - 1];
	old = &model->before.objects[target.object - 1];
	is = model_object(object);
	was = model_object(old);
	if (sim_does(model->sim, found, &target, object->there ? &is : NULL,
		     exact || !old->there ? NULL : &was, !exact))
		return true;
	if (!model->syncing)
		return false;
	/* An object that changes is punted; one that is gone goes at the end. */
	return sim_does(model->sim, found, &target, NULL, NULL, true) ||
	       (!object->there && sim_does(model->sim, found, &target, &was, NULL, true));
}

bool model_has_tag(const struct model_state *state, uint32_t ifindex, uint32_t lower,
		   union sixlane_tag tag)
{
	for (size_t i = 0; i < N_VLAN_PORTS; i++) {
		const struct sixlane_port *port = &state->vlans[i];

		if ((!ifindex || port->ifindex == ifindex) && port->flags && port->lower == lower &&
		    port->tag.word == tag.word)
			return true;
	}
	return false;
}

/* --- exceptions ------------------------------------------------------------------------------- */

struct fib_exception model_random_exception(struct model *model, uint32_t table)
{
	struct fib_exception wanted = { .origin = rnd(model, FIB_N_ORIGINS), .table = table };

	if (rnd(model, 4))
		wanted.mtu = 1280 + rnd(model, 3);
	wanted.mtu_locked = wanted.mtu && rnd(model, 2);
	while (!wanted.mtu && !wanted.hop.ifindex)
		wanted.hop = model_random_hop(model);
	wanted.has_hop = wanted.hop.ifindex;
	wanted.observe = wanted.origin == FIB_KERNEL && !rnd(model, 8);
	wanted.expires_ns = rnd(model, 2) ? 1 + rnd(model, 20) : 0;
	return wanted;
}

static bool leads(const struct sim *sim, const struct sixlane_exception *value,
		  const struct fib_exception *wanted)
{
	const union sixlane_nh_entry nh_entry = sim->next_hops[value->next_hop].nh_entry;

	if (!wanted->has_hop || !(value->flags & SIXLANE_EXCEPTION_NEXT_HOP))
		return !wanted->has_hop && !(value->flags & SIXLANE_EXCEPTION_NEXT_HOP);
	return sim_entry_is(sim, nh_entry, &wanted->hop) || nh_entry.type == SIXLANE_PUNT_MAP_FULL;
}

static bool has_content(const struct sim *sim, const struct sixlane_exception *value,
			const struct fib_exception *wanted)
{
	return leads(sim, value, wanted) && value->mtu == wanted->mtu &&
	       value->expires_ns == wanted->expires_ns &&
	       !(value->flags & SIXLANE_EXCEPTION_MTU) == !wanted->mtu &&
	       !(value->flags & SIXLANE_EXCEPTION_LOCKED) == !wanted->mtu_locked &&
	       !(value->flags & SIXLANE_EXCEPTION_OBSERVE) == !wanted->observe &&
	       !(value->flags & SIXLANE_EXCEPTION_OPERATOR) == (wanted->origin == FIB_KERNEL);
}

bool model_exception_agrees(const struct model *model, const struct model_state *state,
			    const struct model_probe *probe, const struct sim_found *found,
			    bool excused)
{
	const struct model_exception *exception = NULL;
	const struct sixlane_exception *value;
	enum sim_effect effect;

	for (size_t i = 0; i < N_EXCEPTIONS && !exception; i++)
		if (!memcmp(&state->exceptions[i].dst, &probe->dst, sizeof(probe->dst)))
			exception = &state->exceptions[i];
	if (exception && exception->flagged && exception->table == probe->table &&
	    !(found->flags & SIXLANE_ROUTE_EXCEPTIONS))
		return false;
	effect = sim_effect(model->sim, probe->table, &probe->dst, found, &value);
	if (exception && exception->there && exception->value.table == probe->table)
		return effect != SIM_NO_EFFECT && has_content(model->sim, value, &exception->value);
	return effect == SIM_NO_EFFECT || excused;
}
