// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the guard says, written to the maps: flags of ports (by way of ports.c), pairs of ports,
 * IPsec policies. What is held back is written before what is free.
 */
#include <errno.h>
#include <string.h>

#include "state.h"

static const uint32_t guards = SIXLANE_PORT_IN_HELD | SIXLANE_PORT_OUT_HELD | SIXLANE_PORT_GUARD;

/* Devices with a slot, in the order of slots. */
struct in_use {
	uint32_t slots[SIXLANE_MAX_PORTS];
	const struct device *devices[SIXLANE_MAX_PORTS];
	size_t n;
};

static void find_in_use(const struct sync *sync, struct in_use *in_use)
{
	in_use->n = 0;
	for (uint32_t slot = 1; slot < SIXLANE_MAX_PORTS; slot++) {
		uint32_t ifindex = sync->maps->ports[slot].ifindex;
		const struct device *device = ifindex ? links_find(&sync->links, ifindex) : NULL;

		if (!device || !device->has_link)
			continue;
		in_use->slots[in_use->n] = slot;
		in_use->devices[in_use->n++] = device;
	}
}

static bool pair_is_free(const struct sync *sync, const struct in_use *in_use, size_t in,
			 size_t out)
{
	return guard_pair_is_free(sync->guard, &sync->links, in_use->devices[in],
				  in_use->devices[out]);
}

static void write_pair(struct sync *sync, const struct in_use *in_use, size_t in, size_t out)
{
	maps_set_pair(sync->maps, in_use->slots[in], in_use->slots[out],
		      pair_is_free(sync, in_use, in, out));
}

enum which_pairs { PAIRS_HELD, PAIRS_ALL };

static void write_pairs(struct sync *sync, enum which_pairs which)
{
	struct in_use in_use;

	find_in_use(sync, &in_use);
	for (size_t in = 0; in < in_use.n; in++)
		for (size_t out = 0; out < in_use.n; out++)
			if (which == PAIRS_ALL || !pair_is_free(sync, &in_use, in, out))
				write_pair(sync, &in_use, in, out);
}

void guarding_write_pairs(struct sync *sync, const struct device *device)
{
	struct in_use in_use;

	sync->guard_unreported = true;
	find_in_use(sync, &in_use);
	for (size_t at = 0; at < in_use.n; at++) {
		if (in_use.devices[at] != device)
			continue;
		for (size_t other = 0; other < in_use.n; other++) {
			write_pair(sync, &in_use, at, other);
			write_pair(sync, &in_use, other, at);
		}
	}
}

/* --- IPsec policies ------------------------------------------------------------------ */

struct entries {
	struct maps_policy *at;
	size_t n;
};

static int add_entry(void *ctx, const struct sixlane_route_key *key, uint32_t value)
{
	struct entries *entries = ctx;

	if (!(entries->n & (entries->n - 1))) {
		struct maps_policy *grown =
			reallocarray(entries->at, entries->n ? 2 * entries->n : 1, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		entries->at = grown;
	}
	entries->at[entries->n++] = (struct maps_policy){ *key, value };
	return 0;
}

/* Every packet of a guarded port passes until they are written. */
static void write_policies(struct sync *sync)
{
	const struct policies *policies = guard_policies(sync->guard);
	uint64_t version = guard_policies_version(sync->guard);
	struct entries entries = { 0 };
	int ret;

	if (!policies || version == sync->policies_version)
		return;
	ret = policies_entries(policies, add_entry, &entries);
	ret = ret ?: maps_set_policies(sync->maps, entries.at, entries.n);
	free(entries.at);
	sync->policies_failed = ret;
	if (ret)
		log_warning_limited(
			"cannot match packets against IPsec policies: %s; every packet passes to the kernel (pass_ipsec)",
			ret == -E2BIG ? "there are too many policies" : strerror(-ret));
	else
		sync->policies_version = version;
}

uint32_t guarding_flags(const struct sync *sync)
{
	uint32_t flags = guard_meta_flags(sync->guard);

	if (sync->guarded && !sync->guard_slow && !alarm_is_raised(sync->alarm))
		flags |= SIXLANE_META_GUARDED;
	if (flags & SIXLANE_META_IPSEC &&
	    (sync->policies_failed ||
	     sync->policies_version != guard_policies_version(sync->guard)))
		flags |= SIXLANE_META_IPSEC_ALL;
	return flags;
}

/* --- when ---------------------------------------------------------------------------- */

/* What of a port's flags is of a cause, as an ingress and as an egress. */
static const struct {
	uint32_t in, out;
} flags_of[GUARD_N_CAUSES] = {
	[GUARD_NETFILTER] = { SIXLANE_PORT_IN_FIREWALL, SIXLANE_PORT_OUT_FIREWALL },
	[GUARD_TC] = { SIXLANE_PORT_IN_TC, SIXLANE_PORT_OUT_TC },
};

static bool holds_pair(const struct sync *sync, enum guard_cause cause, uint32_t in, uint32_t out)
{
	const struct sixlane_port *ports = sync->maps->ports;

	if (in == out)
		return false;
	return ports[out].flags & flags_of[cause].out ||
	       (cause == GUARD_NETFILTER && ports[in].flags & SIXLANE_PORT_GUARD &&
		!maps_pair_is_free(sync->maps, in, out));
}

/* Something that a cause holds back at a port that is served, and why. */
static bool find_held(const struct sync *sync, enum guard_cause cause, char *reason)
{
	struct in_use in_use;

	find_in_use(sync, &in_use);
	for (size_t in = 0; in < in_use.n; in++) {
		const uint32_t flags = sync->maps->ports[in_use.slots[in]].flags;

		if (!(flags & SIXLANE_PORT_INGRESS))
			continue;
		if (cause == GUARD_XFRM || flags & flags_of[cause].in)
			return guard_reason(sync->guard, &sync->links, cause, in_use.devices[in],
					    NULL, NULL, NULL, reason);
		for (size_t out = 0; out < in_use.n; out++)
			if (holds_pair(sync, cause, in_use.slots[in], in_use.slots[out]))
				return guard_reason(sync->guard, &sync->links, cause,
						    in_use.devices[in], in_use.devices[out], NULL,
						    NULL, reason);
	}
	return false;
}

/* Say it once what a cause holds back, and once that it holds nothing back any more. */
static void report(struct sync *sync, enum guard_cause cause)
{
	char reason[GUARD_REASON_LEN] = "";
	bool held = find_held(sync, cause, reason);

	if (held && strcmp(reason, sync->guard_said[cause]) != 0)
		log_warning_limited(
			"packets pass to the kernel because of %s: %s; 'sixlane status' lists the ports",
			guard_cause_names[cause], reason);
	else if (!held && *sync->guard_said[cause])
		log_info("no packets pass to the kernel because of %s any more",
			 guard_cause_names[cause]);
	memcpy(sync->guard_said[cause], held ? reason : "", held ? sizeof(reason) : 1);
}

static void report_all(struct sync *sync)
{
	sync->guard_unreported = false;
	for (int cause = 0; cause < GUARD_N_CAUSES; cause++)
		report(sync, (enum guard_cause)cause);
}

void guarding_mark(const struct sync *sync, const struct device *device, struct sixlane_port *port)
{
	uint32_t flags = guard_port_flags(sync->guard, &sync->links, device);
	uint32_t slot = sync->guard_tightens ? fib_port_slot(sync->fib, device->ifindex) : 0;

	port->flags = (port->flags & ~(guards | SIXLANE_PORT_FLOWS)) | flags;
	if (slot)
		port->flags |= sync->maps->ports[slot].flags & guards;
	if (guard_may_answer(sync->guard, &sync->links, device, flags))
		return;
	port->flags &= ~SIXLANE_PORT_SOURCE;
	port->source = (union sixlane_addr){ 0 };
	port->hop_limit = 0;
}

/* An earlier daemon's ports, as far as this one knows only what holds them back. */
static void update_adopted(struct sync *sync)
{
	for (uint32_t slot = 1; slot < SIXLANE_MAX_PORTS; slot++) {
		struct sixlane_port port = sync->maps->ports[slot];
		const struct device *device =
			port.ifindex ? links_find(&sync->links, port.ifindex) : NULL;

		if (!device || !device->has_link || fib_port_slot(sync->fib, port.ifindex) != slot)
			continue;
		guarding_mark(sync, device, &port);
		fib_set_port(sync->fib, &port);
	}
}

static void tell_ports(struct sync *sync)
{
	if (sync->quiet)
		update_adopted(sync);
	else
		ports_tell_all(sync);
}

void guarding_apply(struct sync *sync)
{
	/*
	 * What a rule held and another one holds now is held by either, before it is free of the
	 * first: of pairs and of ports alike.
	 */
	apply_meta(sync);
	write_pairs(sync, PAIRS_HELD);
	sync->guard_tightens = true;
	tell_ports(sync);
	sync->guard_tightens = false;
	write_pairs(sync, PAIRS_ALL);
	tell_ports(sync);
	write_policies(sync);
	apply_meta(sync);
	sync->guard_unreported = true;
}

static void be_slow(void *ctx)
{
	struct sync *sync = ctx;

	sync->guard_slow = true;
	apply_meta(sync);
}

void guarding_run(struct sync *sync)
{
	bool changed, was_slow;

	if (!sync->guarded)
		return;
	changed = guard_run(sync->guard, &sync->links, &sync->guard_due_ns);
	if (changed || sync->flows_wanted)
		changed |= flows_run(sync);
	if (changed)
		guarding_apply(sync);
	was_slow = sync->guard_slow;
	sync->guard_slow = false;
	if (alarm_reset(sync->alarm) || was_slow)
		apply_meta(sync);
	if (sync->guard_unreported && !sync->quiet)
		report_all(sync);
}

/* 0 or -errno. */
static int set_alarm(struct sync *sync)
{
	int fds[GUARD_FDS];

	guard_fds(sync->guard, fds);
	return alarm_new(fds, GUARD_FDS, &sync->maps->meta->flags, SIXLANE_META_GUARDED,
			 &sync->alarm);
}

void guarding_start(struct sync *sync)
{
	int ret;

	if (sync->guarded)
		return;
	guard_run(sync->guard, &sync->links, &sync->guard_due_ns);
	flows_run(sync);
	ret = set_alarm(sync);
	if (ret) {
		log_warning_limited("cannot start a thread: %s; every packet passes to the kernel",
				    strerror(-ret));
		sync->guard_due_ns = UINT64_MAX;
		return;
	}
	write_pairs(sync, PAIRS_ALL);
	update_adopted(sync);
	write_policies(sync);
	guard_set_slow(sync->guard, be_slow, sync);
	sync->guarded = true;
	apply_meta(sync);
}

bool guarding_devices_changed(struct sync *sync)
{
	if (!sync->guarded || !guard_devices_changed(sync->guard, &sync->links))
		return false;
	write_pairs(sync, PAIRS_ALL);
	return true;
}

/* Whatever has changed while nobody looked: names, or which device is in which VRF. */
void guarding_all_changed(struct sync *sync)
{
	if (!sync->guarded)
		return;
	guard_devices_changed(sync->guard, &sync->links);
	write_pairs(sync, PAIRS_ALL);
	sync->guard_unreported = true;
}
