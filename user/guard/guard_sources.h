/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the guard has read from the kernel, and when each source is read. Knows nothing of ports and
 * of what the results mean for them.
 *
 * Invariants
 * - A source that was never read, failed, or is about to be read again, is unread.
 * - A source is read for at most a fixed share of a CPU's time.
 */
#ifndef GUARD_GUARD_SOURCES_H
#define GUARD_GUARD_SOURCES_H

#include "../rib/links.h"
#include "nf_hooks.h"
#include "policies.h"
#include "queueing.h"
#include "ruleset.h"

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
	bool opened;		  /* its socket, if the kernel has one */
	struct nl_socket *socket; /* of notifications; NULL: it has none, or not in this kernel */
	bool read;		  /* successfully, once */
	bool pending;		  /* to be read */
	bool stale;		  /* the result may be outdated, and reading takes long */
	int error;		  /* -errno of the last reading */
	uint64_t took_ns;	  /* CPU time of the last reading */
	uint64_t next_ns;	  /* earliest time of the next one */
};

/* What the kernel does not announce of a device: BPF programs and functions at it, as reasons. */
struct guard_device {
	uint32_t ifindex;
	char tcx_in[GUARD_REASON_LEN], tcx_out[GUARD_REASON_LEN];
	char hook_in[GUARD_REASON_LEN], hook_out[GUARD_REASON_LEN];
};

struct guard_sources {
	uint32_t bypassed; /* bit n: enum guard_cause n is not read */
	size_t rcvbuf_bytes;
	struct guard_source state[GUARD_N_SOURCES];

	void (*slow)(void *ctx); /* or NULL */
	void *slow_ctx;
	uint64_t reading_ns; /* when the reading under way began; 0: none, or slow() was called */

	struct nf_parser *parser; /* for nf_tables' notifications */
	/* The results; pointers are NULL before the first reading. */
	struct guard_ruleset *rules[GUARD_N_RULES];
	struct nf_hooks hooks;
	struct policies *policies;
	uint64_t policies_version;
	struct queueing *queueing;
	struct guard_device *devices; /* only those with a reason */
	size_t n_devices;
};

void guard_sources_init(struct guard_sources *sources, uint32_t bypassed, size_t rcvbuf_bytes);
void guard_sources_free(struct guard_sources *sources);

/* Descriptors of nf_tables, xfrm and tc to be polled for input; -1 for none. */
void guard_sources_fds(const struct guard_sources *sources, int fds[3]);

/*
 * Process notifications, then read what is pending. True: a result or the state of a source
 * changed. *due_ns: when to call again, CLOCK_MONOTONIC; UINT64_MAX for never.
 */
bool guard_sources_run(struct guard_sources *sources, const struct links *links, uint64_t *due_ns);

/* Read what the kernel does not announce, and what failed, with the next guard_sources_run(). */
void guard_sources_poll(struct guard_sources *sources);

/* Why the cause is unread, in GUARD_REASON_LEN bytes of reason. NULL: it is read, or bypassed. */
const char *guard_sources_unread(const struct guard_sources *sources, enum guard_cause cause,
				 char *reason);

static inline bool guard_sources_bypass(const struct guard_sources *sources, enum guard_cause cause)
{
	return sources->bypassed >> cause & 1;
}

/*
 * --- guard_path.c: what a packet meets at one device on its path, and at the devices below: the
 * lower device of a VLAN device, the slaves of a bond. reason: NULL, or GUARD_REASON_LEN bytes, set
 * only if the answer is yes. ---
 */

struct guard_iface guard_path_iface(const struct device *device);

/* Whether the device has this IFLA_INFO_KIND. */
bool guard_path_is_kind(const struct device *device, const char *kind);

/* The ingress devices that rules see: the device, and its VRF if there is one. Returns 1 or 2. */
size_t guard_path_ingress(const struct links *links, const struct device *device,
			  const struct device *out[2]);

/* Copies a stored reason, with the name of its device (may be NULL). False if it is "". */
bool guard_path_copy_reason(char *reason, const struct device *device, const char *text);

/* Rules of any kind punt, as of guard_ruleset_punts(). */
bool guard_path_rules(const struct guard_sources *sources, enum guard_hook hook,
		      const struct guard_iface *in, const struct guard_iface *out, char *reason);

/* The flowtables at the device alone. */
enum guard_flows guard_path_flows(const struct guard_sources *sources, const struct device *device,
				  char *reason);

/* At ingress and at egress; PATH_TC_*: filters, qdiscs, tcx; PATH_NETDEV_*: chains, functions. */
enum guard_path { PATH_TC_IN, PATH_TC_OUT, PATH_NETDEV_IN, PATH_NETDEV_OUT, PATH_FLOWS };
/* The device punts, or one below it does. */
bool guard_path_punts(const struct guard_sources *sources, const struct links *links,
		      const struct device *device, enum guard_path what, char *reason);

#endif
