/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What guard.c (when sources are read), guard_judge.c (what they come to) and guard_pairs.c (what
 * rules come to for pairs of devices) share.
 */
#ifndef GUARD_GUARD_INTERNAL_H
#define GUARD_GUARD_INTERNAL_H

#include <net/if.h>

#include "guard.h"
#include "reader.h"

enum guard_source_kind {
	GUARD_SOURCE_NF_TABLES,
	GUARD_SOURCE_IP6_TABLES,
	GUARD_SOURCE_HOOKS,
	GUARD_SOURCE_XFRM,
	GUARD_SOURCE_TC,
	GUARD_SOURCE_DEVICES,
	GUARD_N_SOURCES,
};

enum guard_rules { GUARD_RULES_NF_TABLES, GUARD_RULES_IP6_TABLES, GUARD_N_RULES };

struct guard_source {
	bool opened;	  /* its socket */
	bool read;	  /* successfully, once */
	bool wanted;	  /* to be read */
	bool stale;	  /* what was read may not hold any more, and reading takes its time */
	int error;	  /* of the last time; 0: none */
	uint64_t took_ns; /* CPU time of the last reading */
	uint64_t next_ns; /* not earlier is it read again */
};

/* What the kernel does not announce of a device; "": nothing. */
struct guard_device {
	uint32_t ifindex;
	char tcx_in[GUARD_REASON_LEN], tcx_out[GUARD_REASON_LEN];
	char hook_in[GUARD_REASON_LEN], hook_out[GUARD_REASON_LEN];
};

struct guard_class {
	uint32_t ifindex;
	char name[IFNAMSIZ]; /* by which it was judged */
	bool flows;	     /* what comes in may belong to some */
};

enum { GUARD_PAIR_UNKNOWN, GUARD_PAIR_FREE, GUARD_PAIR_HELD };

/* What pairs of classes come to; filled on demand. */
struct guard_pairs {
	uint64_t spent_ns;
	uint8_t known[]; /* [n_classes][n_classes], GUARD_PAIR_* */
};

struct guard {
	uint32_t bypassed;
	size_t rcvbuf_bytes;
	struct guard_source sources[GUARD_N_SOURCES];

	void (*slow)(void *ctx);
	void *slow_ctx;
	uint64_t reading_ns; /* since when; 0: not, or slow() was called */

	struct nf_tables *nf_tables;
	struct xfrm *xfrm;
	struct tc *tc;

	struct guard_ruleset *rules[GUARD_N_RULES]; /* NULL: not read yet */
	struct nf_hooks hooks;
	struct policies *policies;
	uint64_t policies_version;
	struct queueing *queueing;
	struct guard_device *devices; /* those with something */
	size_t n_devices;

	/*
	 * Devices that a rule names, or that flowtables are at, are classes of their own, all
	 * others are class 0: pairs of classes meet the same rules.
	 */
	struct guard_class *classes; /* by ascending ifindex; the first has 0 */
	size_t n_classes;
	struct guard_pairs *pairs;
	/* Of every packet, from prerouting to postrouting; "": not. */
	char all[GUARD_REASON_LEN];
	bool blind; /* … since what there is could not be read */
	bool flows; /* any device's packets are looked up in flowtables */
};

static inline bool guard_bypasses(const struct guard *guard, enum guard_cause cause)
{
	return guard->bypassed >> cause & 1;
}

/* guard_judge.c. reason: NULL, or GUARD_REASON_LEN bytes. */
struct guard_iface guard_iface_of(const struct device *device);
bool guard_rules_hold(const struct guard *guard, enum guard_hook hook, const struct guard_iface *in,
		      const struct guard_iface *out, char *reason);
/* A flowtable is at the device, or at one below it. */
bool guard_may_have_flows(const struct guard *guard, const struct links *links,
			  const struct device *device, char *reason);

/* guard_pairs.c. Classes anew; pairs are judged when they are asked for. */
void guard_find_pairs(struct guard *guard, const struct links *links);
bool guard_any_pair_is_held(const struct guard *guard, const struct links *links,
			    const struct device *device);
/* By which devices rules see what comes in by one: itself, and the VRF that it belongs to. */
size_t guard_ingress_ifaces(const struct links *links, const struct device *device,
			    const struct device *out[2]);

/* Why a cause holds back everything: it was not read, or not successfully. NULL: it was. */
const char *guard_unread(const struct guard *guard, enum guard_cause cause, char *reason);

#endif
