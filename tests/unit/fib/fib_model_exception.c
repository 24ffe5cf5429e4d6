// SPDX-License-Identifier: GPL-2.0-only
/*
 * Exceptions in the model of fib_model.h: what origins may say, when the kernel's word is in doubt,
 * and what packets then meet.
 */
#include <string.h>

#include "../../../user/rib/radix.h"
#include "fib_model.h"

static uint32_t rnd(struct model *model, uint32_t n)
{
	return sim_random(model->sim, n);
}

struct fib_exception model_random_exception(struct model *model, enum fib_origin origin)
{
	struct fib_exception said = { 0 };

	if (rnd(model, 4))
		said.mtu = 1280 + rnd(model, 3);
	said.mtu_locked = said.mtu && rnd(model, 2);
	if (!said.mtu || !rnd(model, 4)) {
		said.has_hop = true;
		said.hop = model_random_hop(model);
	} else if (origin == FIB_KERNEL && rnd(model, 2)) {
		said.has_under = true;
		said.under = model_random_hop(model);
	}
	if (rnd(model, 2))
		said.expires_ns = model->now_ns + 2 + rnd(model, 20);
	if (origin == FIB_KERNEL) {
		said.punt = rnd(model, 10) == 0;
		said.observe = rnd(model, 8) == 0;
	}
	return said;
}

/* --- doubts ----------------------------------------------------------------------------------- */

static bool is_plain(const struct model_slot *slot)
{
	return !slot->n_sources && slot->leaf.verdict == SIXLANE_FORWARD &&
	       slot->leaf.kind == FIB_ONE && !slot->leaf.expires_ns && slot->leaf.hops[0].ifindex;
}

/* One prefix, before and now. */
static enum model_doubt slot_doubt(const struct model_slot *before, const struct model_slot *now)
{
	if (!memcmp(before, now, sizeof(*now)))
		return MODEL_SURE;
	if (is_plain(before) && is_plain(now) &&
	    (!sim_same_hop(&before->leaf.hops[0], &now->leaf.hops[0]) ||
	     before->leaf.mtu != now->leaf.mtu))
		return MODEL_DOUBT;
	return MODEL_MAYBE;
}

static bool is_one(const struct model_object *object)
{
	return object->there && object->verdict == SIXLANE_FORWARD && object->n_hops == 1 &&
	       !object->n_buckets && object->hops[0].ifindex;
}

/* An object, before and now. */
static enum model_doubt object_doubt(const struct model_object *before,
				     const struct model_object *now)
{
	if (!memcmp(before, now, sizeof(*now)))
		return MODEL_SURE;
	if (is_one(before) && is_one(now) && !sim_same_hop(&before->hops[0], &now->hops[0]))
		return MODEL_DOUBT;
	return MODEL_MAYBE;
}

/* 0: by none. */
static uint32_t object_of(const struct model_slot *slot)
{
	bool by_one = slot->there && !slot->n_sources && slot->leaf.verdict == SIXLANE_FORWARD &&
		      slot->leaf.kind == FIB_OBJECT;

	return by_one ? slot->leaf.object : 0;
}

bool model_shares(const struct model_slot *slot, const struct model_exception *exception,
		  const struct model_slot *other)
{
	const struct prefix host = { .addr = exception->dst, .len = 128 };

	return other && object_of(slot) && object_of(other) && prefix_covers(&slot->dst, &host);
}

static bool may_go_with_another(const struct model *model, const struct model_exception *exception,
				const struct model_slot *now)
{
	for (size_t i = 0; i < N_PREFIXES; i++)
		if (model_shares(&model->before.slots[i], exception, now) &&
		    memcmp(&model->before.slots[i], &model->now.slots[i], sizeof(*now)) != 0)
			return true;
	return false;
}

static enum model_doubt doubt_of(const struct model *model, const struct model_exception *exception)
{
	const struct model_slot *before, *now;
	enum model_doubt doubt;
	uint32_t i;

	before = model_match(&model->before, exception->table, &exception->dst);
	now = model_match(&model->now, exception->table, &exception->dst);
	if (!now && !before)
		return MODEL_SURE;
	if (!now || !before || now - model->now.slots != before - model->before.slots)
		return MODEL_DOUBT;
	doubt = slot_doubt(before, now);
	if (!object_of(now) || doubt != MODEL_SURE)
		return doubt;
	i = object_of(now) - 1;
	doubt = object_doubt(&model->before.objects[i], &model->now.objects[i]);
	if (doubt == MODEL_SURE && may_go_with_another(model, exception, now))
		return MODEL_MAYBE;
	return doubt;
}

void model_change_doubts(struct model *model)
{
	for (size_t i = 0; i < N_EXCEPTIONS; i++) {
		struct model_exception *exception = &model->now.exceptions[i];
		enum model_doubt doubt = doubt_of(model, exception);

		if (doubt > exception->doubt)
			exception->doubt = doubt;
	}
}

void model_raise_doubts(struct model *model)
{
	struct model_state *const states[] = { &model->before, &model->now };

	for (size_t i = 0; i < 2 * N_EXCEPTIONS; i++) {
		struct model_exception *exception = &states[i % 2]->exceptions[i / 2];

		if (exception->doubt == MODEL_SURE)
			exception->doubt = MODEL_MAYBE;
	}
}

void model_blur_doubts(struct model *model)
{
	for (size_t i = 0; i < N_EXCEPTIONS; i++)
		model->before.exceptions[i].doubt = model->now.exceptions[i].doubt = MODEL_MAYBE;
}

/* --- comparing -------------------------------------------------------------------------------- */

size_t model_find(const struct model *model, uint32_t table, const union sixlane_addr *dst)
{
	size_t i = 0;

	while (i < N_EXCEPTIONS && (model->now.exceptions[i].table != table ||
				    memcmp(&model->now.exceptions[i].dst, dst, sizeof(*dst)) != 0))
		i++;
	return i;
}

static const struct fib_exception *voice(const struct model_exception *exception,
					 enum fib_origin origin, bool observe)
{
	if (!exception->there[origin] || exception->said[origin].observe != observe)
		return NULL;
	return &exception->said[origin];
}

/* Of a destination that is said to be missing the bits are those of all tables. */
static bool suspects(const struct model *model, const union sixlane_addr *dst)
{
	for (size_t i = 0; i < N_EXCEPTIONS; i++) {
		const struct model_exception *other = &model->now.exceptions[i];

		if (other->was_told && !memcmp(&other->dst, dst, sizeof(*dst)))
			return true;
	}
	return false;
}

static bool has_mtu(const struct sixlane_exception *value, const struct fib_exception *said)
{
	return value->mtu == said->mtu && !(value->flags & SIXLANE_EXCEPTION_MTU) == !said->mtu &&
	       !(value->flags & SIXLANE_EXCEPTION_LOCKED) == !(said->mtu && said->mtu_locked);
}

static bool leads(const struct sim *sim, const struct sixlane_exception *value,
		  const struct fib_hop *hop, bool excused)
{
	const union sixlane_fate fate = sim->next_hops[value->next_hop].fate;

	if (!hop || !(value->flags & SIXLANE_EXCEPTION_NEXT_HOP))
		return !hop && !(value->flags & SIXLANE_EXCEPTION_NEXT_HOP);
	return sim_fate_is(sim, fate, hop) || (excused && fate.kind == SIXLANE_PUNT_MAP_FULL);
}

/* The value says what the operator says, or else the kernel. */
static bool says(const struct sim *sim, const struct sixlane_exception *value,
		 const struct fib_exception *kernel, const struct fib_exception *oper, bool excused)
{
	const struct fib_exception *said = oper ? oper : kernel;
	bool under = said->has_under, more = value->flags & SIXLANE_EXCEPTION_MORE;

	return leads(sim, value, said->has_hop ? &said->hop : NULL, excused) &&
	       !(value->flags & SIXLANE_EXCEPTION_UNDER) == !under &&
	       (!under || sim_fate_is(sim, value->under, &said->under)) && has_mtu(value, said) &&
	       (more || !kernel || !oper) && (!more || oper || said->confirm_ns);
}

/* What the kernel says counts beside the operator's word; of what is maybe, *maybe. */
static bool has_more(const struct fib_exception *kernel, const struct fib_exception *oper,
		     bool kernels_punt, bool *maybe)
{
	bool smaller = kernel->mtu && kernel->mtu < oper->mtu;

	*maybe = false;
	if (oper->has_hop)
		return false;
	/* Whether the route's only hop is the one that the kernel speaks of is not modelled. */
	*maybe = smaller && kernel->has_under && !kernels_punt && !kernel->has_hop;
	return kernels_punt || kernel->has_hop || (smaller && !*maybe);
}

static bool is_punt(const struct model_state *state, const struct model_exception *exception,
		    const struct fib_exception *said, bool kernel)
{
	const struct model_slot *slot;

	if (said->punt || (said->has_hop && !said->hop.ifindex) ||
	    (said->has_under && !said->under.ifindex))
		return true;
	slot = model_match(state, exception->table, &exception->dst);
	return kernel && (exception->doubt == MODEL_DOUBT || (slot && slot->n_sources));
}

static bool meets(const struct model *model, const struct model_state *state,
		  const struct model_probe *probe, enum sim_effect effect,
		  const struct sixlane_exception *value, bool excused)
{
	const size_t i = model_find(model, probe->table, &probe->dst);
	const struct model_exception *exception = i < N_EXCEPTIONS ? &state->exceptions[i] : NULL;
	const struct fib_exception *kernel, *oper;
	bool kernels_punt, maybe = false;

	if ((effect == SIM_PUNTED || effect == SIM_OBSERVED) && suspects(model, &probe->dst))
		return true;
	if (!exception || (!exception->there[FIB_KERNEL] && !exception->there[FIB_OPERATOR]))
		return effect == SIM_NO_EFFECT && !value;
	if (model->adopted && effect == SIM_PUNTED && exception->there[FIB_KERNEL])
		return true;
	kernel = voice(exception, FIB_KERNEL, false);
	oper = voice(exception, FIB_OPERATOR, false);
	if (!kernel && !oper)
		return effect == SIM_OBSERVED;
	kernels_punt = kernel && is_punt(state, exception, kernel, true);
	if (kernel && oper)
		kernels_punt = has_more(kernel, oper, kernels_punt, &maybe);
	if (kernels_punt || (oper && is_punt(state, exception, oper, false)))
		return effect == SIM_PUNTED;
	if (effect == SIM_PUNTED)
		return kernel && (maybe || exception->doubt != MODEL_SURE || model->lacking);
	return effect == SIM_APPLIED && says(model->sim, value, kernel, oper, excused);
}

bool model_excepts(const struct model *model, const struct model_state *state,
		   const struct model_probe *probe, const struct sim_found *found, bool excused)
{
	const struct sixlane_exception *value;
	enum sim_effect effect;

	effect = sim_effect(model->sim, probe->table, &probe->dst, found, &value);
	/* What could not be deleted is found by the next daemon. */
	if (model->adopted && excused)
		return true;
	if (effect != SIM_PUNTED)
		return meets(model, state, probe, effect, value, excused);
	return excused || meets(model, &model->before, probe, effect, value, false) ||
	       meets(model, &model->now, probe, effect, value, false);
}
