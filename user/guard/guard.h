/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The guard: would netfilter, IPsec policies or traffic control have touched a forwarded IPv6
 * packet that XDP takes past them? It reads rules, policies and qdiscs ahead of packets. Knows the
 * devices, not the maps: the daemon writes the flags, and the CLI shows the reasons.
 *
 * Invariants
 * - A cause punts every packet until all its sources were read, and while one cannot be read.
 * - A rule that sixlane does not evaluate may match.
 */
#ifndef GUARD_GUARD_H
#define GUARD_GUARD_H

#include "../rib/links.h"
#include "policies.h"

extern const char *const guard_cause_names[GUARD_N_CAUSES]; /* "netfilter", "xfrm", "tc" */

struct guard;

/*
 * bypassed: bit n: cause n is not read, and punts nothing. rcvbuf_bytes: of notifications; 0 for
 * the system's default. 0 or -errno. A source that cannot be opened is no error: it is unread.
 */
int guard_new(uint32_t bypassed, size_t rcvbuf_bytes, struct guard **out);
void guard_free(struct guard *guard);

/*
 * slow(ctx) is called when a reading takes so long that a change would take effect too late. The
 * caller then punts every packet until guard_run() returns. May be NULL.
 */
void guard_set_slow_callback(struct guard *guard, void (*slow)(void *ctx), void *ctx);

/* Descriptors to be polled for input; -1 for none. */
#define GUARD_FDS 3
void guard_fds(const struct guard *guard, int fds[GUARD_FDS]);

/*
 * Process notifications and read what is pending, which takes milliseconds. A source that took
 * longer, or that changes all the time, punts until it is read. True: any answer below may have
 * changed. *due_ns: when to call again, CLOCK_MONOTONIC; UINT64_MAX for never.
 */
bool guard_run(struct guard *guard, const struct links *links, uint64_t *due_ns);
/* Read what the kernel does not announce with the next guard_run(). */
void guard_poll(struct guard *guard);
/* A device appeared, went, was renamed, came up or went down. True: pairs may have changed. */
bool guard_devices_changed(struct guard *guard, const struct links *links);

/*
 * XDP may forward flows of nf_tables' flowtables that come in by the device, if its program looks
 * them up. The caller then sets device->looks_up_flows, and calls guard_update().
 */
bool guard_can_forward_flows(const struct guard *guard, const struct device *device);
/* Evaluate again what was read, because looks_up_flows of a device changed. */
void guard_update(struct guard *guard, const struct links *links);

/* SIXLANE_PORT_IN_*, OUT_*, _GUARD and _FLOWS of a device. */
uint32_t guard_port_flags(const struct guard *guard, const struct links *links,
			  const struct device *device);
/*
 * XDP may send answers of this machine by the device, because nothing touches the kernel's own.
 * flags: of guard_port_flags().
 */
bool guard_may_answer(const struct guard *guard, const struct links *links,
		      const struct device *device, uint32_t flags);
/* No firewall rule can touch what comes in by one device and leaves by the other. */
bool guard_pair_is_free(const struct guard *guard, const struct links *links,
			const struct device *in, const struct device *out);
/* SIXLANE_META_FRAGMENTS, _IPSEC, _IPSEC_ALL, _IPSEC_ICMP6. */
uint32_t guard_meta_flags(const struct guard *guard);
/* The policies of _IPSEC. Valid until the next guard_run(). */
const struct policies *guard_policies(const struct guard *guard);
/* Increases whenever guard_policies() changes. */
uint64_t guard_policies_version(const struct guard *guard);

/*
 * Why the cause punts packets from one device to another, in GUARD_REASON_LEN bytes of reason. out,
 * src, dst: NULL for any. False: it does not.
 */
bool guard_reason(const struct guard *guard, const struct links *links, enum guard_cause cause,
		  const struct device *in, const struct device *out, const union sixlane_addr *src,
		  const union sixlane_addr *dst, char *reason);

#endif
