/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The addresses of this machine by which it may speak to what it forwards for: global ones, and
 * those of the old site-local scope. Pure; by which of them it does is not known here.
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
 * Store or replace. *changed: it is new, or has other flags. One that is never the source of
 * what goes to another link (link-local, ::1, multicast) is ignored. 0 or -ENOMEM.
 */
int addrs_set(struct addrs *addrs, const struct address *address, bool *changed);
/*
 * The kernel has made a local route of it. One that was not announced before that is optimistic,
 * and is announced when its DAD has ended (addrconf_dad_begin() without use_optimistic). As
 * addrs_set().
 */
int addrs_set_unannounced(struct addrs *addrs, uint32_t ifindex, const union sixlane_addr *addr,
			  bool *changed);
/* True when it was there. */
bool addrs_delete(struct addrs *addrs, uint32_t ifindex, const union sixlane_addr *addr);

/*
 * The device went down. Addresses that outlast that (keep_addr_on_down) are tentative from then on,
 * but for those without DAD, of which the kernel tells only when the device is up again
 * (addrconf_ifdown). True when something changed.
 */
bool addrs_device_down(struct addrs *addrs, uint32_t ifindex);

/* A device's: *n in a row from the one returned on. Valid until the next change. */
const struct addrs_entry *addrs_of(const struct addrs *addrs, uint32_t ifindex, size_t *n);

/* Mark and sweep: those without an addrs_set since the mark go. */
void addrs_mark(struct addrs *addrs);
void addrs_sweep(struct addrs *addrs);

/* fec0::/10, which RFC 3879 deprecated and the kernel still gives a scope of its own. */
bool address_is_site_local(const union sixlane_addr *addr);

#endif
