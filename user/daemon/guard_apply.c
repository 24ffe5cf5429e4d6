// SPDX-License-Identifier: GPL-2.0-only
/* See guard_apply.h. More is held back before anything else is freed. */
#include "guard_apply.h"

#include <errno.h>
#include <string.h>

#include "../loader/flows.h"
#include "daemon.h"
#include "ports.h"

/* --- flowtables: packets of such ports pass where the kernel lacks what the extension needs --- */

static bool wants(const struct sync *sync, const struct device *device)
{
	return device->has_link && device->ours &&
	       guard_can_forward_flows(sync->guard.guard, device);
}

/* The id of our program on a device, perhaps under a dispatcher; 0: it is gone. */
static uint32_t program_of(const struct loader_maps *fds, const struct device *device)
{
	struct loader_prog prog;

	return loader_query(device->ifindex, fds, &prog) || prog.owner != LOADER_OURS ? 0 : prog.id;
}

static void report_flows(struct sync *sync, int rc, const char *err)
{
	if (rc == sync->guard.flows_error)
		return;
	sync->guard.flows_error = rc;
	if (rc == -EOPNOTSUPP)
		log_info("packets of flowtables pass to the kernel: %s", err);
	else if (rc)
		log_warning("packets of flowtables pass to the kernel: %s", err);
}

/* prog_ids: of the devices, in the order of links. True: some flag changed. */
static bool mark_flows(struct sync *sync, const uint32_t *prog_ids)
{
	bool changed = false;

	for (size_t i = 0; i < sync->stores.links.n; i++) {
		struct device *device = &sync->stores.links.devices[i];
		bool looks_up = loader_flows_has(sync->guard.flows, prog_ids[i]);

		if (looks_up == device->looks_up_flows)
			continue;
		device->looks_up_flows = looks_up;
		changed = true;
		if (looks_up)
			log_info("%s: XDP forwards the packets of its flowtables",
				 device->link.name);
	}
	return changed;
}

/* Ports with flowtables look packets up there. True: the guard decided anew. */
static bool run_flows(struct sync *sync)
{
	uint32_t *prog_ids = calloc(sync->stores.links.n + 1, sizeof(*prog_ids));
	char err[LOADER_ERR] = "";
	bool changed;

	if (!prog_ids)
		return false;
	sync->schedule.wanted &= ~SCHEDULE_FLOWS;
	for (size_t i = 0; i < sync->stores.links.n; i++)
		if (wants(sync, &sync->stores.links.devices[i]))
			prog_ids[i] = program_of(sync->fds, &sync->stores.links.devices[i]);
	report_flows(sync,
		     loader_flows_extend(sync->guard.flows, sync->config->object, prog_ids,
					 sync->stores.links.n, err),
		     err);
	changed = mark_flows(sync, prog_ids);
	free(prog_ids);
	if (changed)
		guard_update(sync->guard.guard, &sync->stores.links);
	return changed;
}

/* --- what the guard decided ------------------------------------------------------------------- */

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

/* Until they are written every packet of a guarded port passes. */
static void write_policies(struct sync *sync)
{
	const struct policies *policies = guard_policies(sync->guard.guard);
	uint64_t version = guard_policies_version(sync->guard.guard);
	struct entries entries = { 0 };
	int ret;

	if (!policies || version == sync->guard.policies_version)
		return;
	ret = policies_entries(policies, add_entry, &entries);
	ret = ret ?: maps_set_policies(sync->maps, entries.at, entries.n);
	free(entries.at);
	sync->guard.policies_error = ret;
	if (ret)
		log_warning_limited(
			"cannot match packets against IPsec policies: %s; every packet passes to the kernel (pass_ipsec)",
			ret == -E2BIG ? "there are too many policies" : strerror(-ret));
	else
		sync->guard.policies_version = version;
}

/* Port flags by cause, of the ingress and of the egress port. */
static const struct {
	uint32_t in, out;
} flags_of[GUARD_N_CAUSES] = {
	[GUARD_NETFILTER] = { SIXLANE_PORT_IN_FIREWALL, SIXLANE_PORT_OUT_FIREWALL },
	[GUARD_TC] = { SIXLANE_PORT_IN_TC, SIXLANE_PORT_OUT_TC },
};

static bool holds_back_pair(const struct maps *maps, enum guard_cause cause, uint32_t in,
			    uint32_t out)
{
	const struct sixlane_port *at = maps->ports;

	if (in == out)
		return false;
	return at[out].flags & flags_of[cause].out ||
	       (cause == GUARD_NETFILTER && at[in].flags & SIXLANE_PORT_GUARD &&
		!maps_pair_is_free(maps, in, out));
}

/* Whether a cause holds back packets of any port with the program. True: reason is filled. */
static bool find_held(const struct sync *sync, enum guard_cause cause, char *reason)
{
	struct port_list ports;

	ports_list(sync, &ports);
	for (size_t in = 0; in < ports.n; in++) {
		const uint32_t flags = sync->maps->ports[ports.slots[in]].flags;

		if (!(flags & SIXLANE_PORT_INGRESS))
			continue;
		if (cause == GUARD_XFRM || flags & flags_of[cause].in)
			return guard_reason(sync->guard.guard, &sync->stores.links, cause,
					    ports.devices[in], NULL, NULL, NULL, reason);
		for (size_t out = 0; out < ports.n; out++)
			if (holds_back_pair(sync->maps, cause, ports.slots[in], ports.slots[out]))
				return guard_reason(sync->guard.guard, &sync->stores.links, cause,
						    ports.devices[in], ports.devices[out], NULL,
						    NULL, reason);
	}
	return false;
}

/* Log once what a cause holds back, and once that it no longer does. */
static void report(struct sync *sync, enum guard_cause cause)
{
	char reason[GUARD_REASON_LEN] = "";
	bool held = find_held(sync, cause, reason);

	if (held && strcmp(reason, sync->guard.reported[cause]) != 0)
		log_warning_limited(
			"packets pass to the kernel because of %s: %s; 'sixlane status' lists the ports",
			guard_cause_names[cause], reason);
	else if (!held && *sync->guard.reported[cause])
		log_info("no packets pass to the kernel because of %s any more",
			 guard_cause_names[cause]);
	memcpy(sync->guard.reported[cause], held ? reason : "", held ? sizeof(reason) : 1);
}

static void report_all(struct sync *sync)
{
	sync->guard.unreported = false;
	for (int cause = 0; cause < GUARD_N_CAUSES; cause++)
		report(sync, (enum guard_cause)cause);
}

/* Before the tables are read: only the guard's flags of the ports of an earlier daemon. */
static void update_adopted(struct sync *sync)
{
	for (uint32_t slot = 1; slot < SIXLANE_MAX_PORTS; slot++) {
		struct sixlane_port port = sync->maps->ports[slot];
		const struct device *device =
			port.ifindex ? links_find(&sync->stores.links, port.ifindex) : NULL;

		if (!device || !device->has_link || fib_port_slot(sync->fib, port.ifindex) != slot)
			continue;
		ports_set_guard_flags(sync, device, &port);
		fib_set_port(sync->fib, &port);
	}
}

static void write_ports(struct sync *sync)
{
	if (sync->schedule.quiet)
		update_adopted(sync);
	else
		ports_write_all(sync);
}

void guard_apply_all(struct sync *sync)
{
	/* First hold back more, then free the rest: no packet slips through between. */
	meta_update(sync);
	ports_write_pairs(sync, true);
	sync->guard.tightens = true;
	write_ports(sync);
	sync->guard.tightens = false;
	ports_write_pairs(sync, false);
	write_ports(sync);
	write_policies(sync);
	meta_update(sync);
	sync->guard.unreported = true;
}

static void set_slow(void *ctx)
{
	struct sync *sync = ctx;

	sync->guard.slow = true;
	meta_update(sync);
}

void guard_apply_run(struct sync *sync)
{
	bool changed, was_slow;

	if (!sync->guard.ready)
		return;
	changed = guard_run(sync->guard.guard, &sync->stores.links, &sync->guard.due_ns);
	if (changed || sync->schedule.wanted & SCHEDULE_FLOWS)
		changed |= run_flows(sync);
	if (changed)
		guard_apply_all(sync);
	was_slow = sync->guard.slow;
	sync->guard.slow = false;
	if (watchdog_reset(sync->guard.watchdog) || was_slow)
		meta_update(sync);
	if (sync->guard.unreported && !sync->schedule.quiet)
		report_all(sync);
}

static int start_watchdog(struct sync *sync)
{
	int fds[GUARD_FDS];

	guard_fds(sync->guard.guard, fds);
	return watchdog_new(fds, GUARD_FDS, &sync->maps->meta->flags, SIXLANE_META_GUARDED,
			    &sync->guard.watchdog);
}

void guard_apply_start(struct sync *sync)
{
	int ret;

	if (sync->guard.ready)
		return;
	guard_run(sync->guard.guard, &sync->stores.links, &sync->guard.due_ns);
	run_flows(sync);
	ret = start_watchdog(sync);
	if (ret) {
		log_warning_limited("cannot start a thread: %s; every packet passes to the kernel",
				    strerror(-ret));
		sync->guard.due_ns = UINT64_MAX;
		return;
	}
	ports_write_pairs(sync, false);
	update_adopted(sync);
	write_policies(sync);
	guard_set_slow_callback(sync->guard.guard, set_slow, sync);
	sync->guard.ready = true;
	meta_update(sync);
}
