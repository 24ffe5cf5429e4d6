/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The guard: what on this machine would have touched a forwarded IPv6 packet that XDP takes past
 * it (netfilter, IPsec policies, traffic control), by reading rules, policies and qdiscs ahead of
 * packets. Knows the devices, not the maps: the daemon writes down what comes out, and the CLI asks
 * for the reasons.
 *
 * Invariants
 * - Until everything was read once, and whenever a source cannot be read, its cause holds back
 *   every packet.
 * - What is not understood may match and may not.
 */
#ifndef GUARD_GUARD_H
#define GUARD_GUARD_H

#include "../rib/links.h"
#include "policies.h"

/* In the order of guard_cause_names. */
enum guard_cause { GUARD_NETFILTER, GUARD_XFRM, GUARD_TC, GUARD_N_CAUSES };

extern const char *const guard_cause_names[GUARD_N_CAUSES]; /* "netfilter", "xfrm", "tc" */

struct guard;

/*
 * bypassed: bit n: cause n is not read, and holds nothing back. rcvbuf_bytes: of notifications; 0:
 * the system's default. 0 or -errno; a source that cannot be opened is no error here, but holds
 * back. Free with guard_free().
 */
int guard_new(uint32_t bypassed, size_t rcvbuf_bytes, struct guard **out);
void guard_free(struct guard *guard);

/*
 * slow(ctx) is called when a reading takes so long that a change would act too late: packets are to
 * pass until guard_run() returns. NULL: nobody cares.
 */
void guard_set_slow(struct guard *guard, void (*slow)(void *ctx), void *ctx);

/* To be polled for input; -1: none. */
#define GUARD_FDS 3
void guard_fds(const struct guard *guard, int fds[GUARD_FDS]);

/*
 * Take the notifications that have come, and read what they, or guard_poll(), want anew. links: the
 * devices as they are. True: what follows may be another than before. Reading takes milliseconds; a
 * source that took longer, or changes all the time, holds back until it is read, so that *due_ns
 * (CLOCK_MONOTONIC; UINT64_MAX: not) is when to call again.
 */
bool guard_run(struct guard *guard, const struct links *links, uint64_t *due_ns);
/* Read what the kernel does not announce with the next guard_run(). */
void guard_poll(struct guard *guard);
/* A device came, went, was renamed, came up or went down. True: pairs may be others than before. */
bool guard_devices_changed(struct guard *guard, const struct links *links);

/*
 * XDP may forward what comes in by a device and belongs to a flow of nf_tables' flowtables, if its
 * program looks it up there. The caller then sets device->looks_up_flows.
 */
bool guard_wants_flows(const struct guard *guard, const struct device *device);
/* Judge anew what was read: looks_up_flows of some devices was set or cleared, say. */
void guard_judge(struct guard *guard, const struct links *links);

/* SIXLANE_PORT_IN_*, OUT_*, _GUARD and _FLOWS of a device. */
uint32_t guard_port_flags(const struct guard *guard, const struct links *links,
			  const struct device *device);
/* Nothing touches what this machine itself sends by a device: XDP may answer by it. flags: of
 * guard_port_flags(). */
bool guard_may_answer(const struct guard *guard, const struct links *links,
		      const struct device *device, uint32_t flags);
/* No firewall rule can touch what comes in by one and leaves by the other. */
bool guard_pair_is_free(const struct guard *guard, const struct links *links,
			const struct device *in, const struct device *out);
/* SIXLANE_META_FRAGMENTS, _IPSEC, _IPSEC_ALL, _IPSEC_ICMP6. */
uint32_t guard_meta_flags(const struct guard *guard);
/* What _IPSEC is about. Valid until the next guard_run(). */
const struct policies *guard_policies(const struct guard *guard);
/* Another number whenever guard_policies() are others. */
uint64_t guard_policies_version(const struct guard *guard);

/*
 * Why packets from one device to another are held back by a cause, for people, in GUARD_REASON_LEN
 * bytes. src, dst: NULL: any. out NULL: any. False: they are not.
 */
bool guard_reason(const struct guard *guard, const struct links *links, enum guard_cause cause,
		  const struct device *in, const struct device *out, const union sixlane_addr *src,
		  const union sixlane_addr *dst, char *reason);

#endif
