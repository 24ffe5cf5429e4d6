/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The addresses of this machine that can be the source of its ICMPv6 errors: global ones, and those
 * of the old site-local scope. Pure. resolve/icmp_source.c selects among them.
 */
#ifndef RIB_ADDRS_H
#define RIB_ADDRS_H

#include <stddef.h>

#include "prefix.h"

/* An address of a device, as a message has it. */
struct address {
	union sixlane_addr addr;
	union sixlane_addr peer; /* zero: none */
	struct prefix prefix;	 /* of addr */
	uint32_t ifindex;
	uint32_t flags;	       /* IFA_F_*; a change of one that matters here is announced */
	bool expires;	       /* has a finite lifetime */
	uint16_t unknown_attr; /* 1 + type of an unknown attribute, for the log; 0: none */
};

struct addrs_entry {
	struct address address;
	uint32_t generation;
};

struct addrs {
	struct addrs_entry *list; /* by ifindex, then by address */
	size_t n, capacity;
	uint32_t generation;
};

void addrs_clear(struct addrs *addrs);

/*
 * Store or replace. *changed: it is new, or its flags changed. Ignores addresses that are never a
 * source for other links (link-local, ::1, multicast). 0 or -ENOMEM.
 */
int addrs_set(struct addrs *addrs, const struct address *address, bool *changed);
/*
 * The kernel added a local route for it. If the address is not announced yet, it is optimistic, and
 * will be announced after DAD (addrconf_dad_begin() without use_optimistic). As addrs_set().
 */
int addrs_set_unannounced(struct addrs *addrs, uint32_t ifindex, const union sixlane_addr *addr,
			  bool *changed);
/* True if it existed. */
bool addrs_delete(struct addrs *addrs, uint32_t ifindex, const union sixlane_addr *addr);

/*
 * The device went down. Addresses that are kept (keep_addr_on_down) become tentative, except those
 * without DAD. The kernel announces that only when the device is up again (addrconf_ifdown). True
 * if something changed.
 */
bool addrs_device_down(struct addrs *addrs, uint32_t ifindex);

/* The *n addresses of a device, as an array. Valid until the next change. */
const struct addrs_entry *addrs_of(const struct addrs *addrs, uint32_t ifindex, size_t *n);

/* Mark and sweep: addresses without addrs_set() since the mark are deleted. */
void addrs_mark(struct addrs *addrs);
void addrs_sweep(struct addrs *addrs);

/* fec0::/10: deprecated by RFC 3879, but still a scope of its own in the kernel. */
bool address_is_site_local(const union sixlane_addr *addr);

#endif
