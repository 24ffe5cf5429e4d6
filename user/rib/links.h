/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The network devices of this namespace and the settings that decide whether and how their
 * packets are forwarded. Pure: filled from parsed messages; does not ask the kernel anything.
 */
#ifndef RIB_LINKS_H
#define RIB_LINKS_H

#include <stddef.h>

#include "../../bpf/abi/sixlane.h"
#include "link.h"

/* A device with all that is known of it; each part may arrive before the others. */
struct device {
	uint32_t ifindex;
	bool has_link, has_ipv6, has_features;
	struct link link;
	struct link_ipv6 ipv6;
	uint64_t xdp_features; /* NETDEV_XDP_ACT_* */
	uint32_t generation;
	/* Set by the owner of the programs, not by messages: what runs here. */
	uint32_t queried_prog_id; /* the program that the two below speak of */
	bool ours;		  /* sixlane with our maps is attached here */
	bool program;		  /* any XDP program is */
	bool looks_up_flows;	  /* … and is extended to look packets up in flowtables */
	uint32_t kept_prog_id;	  /* a program that could not be replaced */
	bool replaced;		  /* the program was, and the new one is not announced yet */
	uint32_t fitted_mtu;	  /* the jumbo MTU to which the program was fitted; 0: none */
	uint32_t refused_mtu; /* the MTU at which no program could be attached; 0: none is known */
	bool doubtful;	      /* routes by it may be gone without a word */
	bool taken_elsewhere; /* an upper device that takes its frames went to another namespace */
	bool tags_elsewhere;  /* the same of a VLAN device, which takes but its tags */
	bool open_checksums;  /* its driver may hand on frames whose checksum is not complete */
	bool strips_tags;     /* the NIC takes VLAN tags off before XDP sees them */
	char owner[IFNAMSIZ]; /* an upper device that takes its frames, by the kernel's own links */
	bool owner_stale;     /* … which may have changed */
	bool mtu_moves;	      /* its MTU has changed, and IPv6 has not been seen to take it over */
	uint32_t slave_place; /* of a bond's slave: in the bond's list, from 1 on; 0: not known */
	bool attach_tried;    /* as a configured port */
	bool pass, assume_xmit; /* a name of it, now or earlier, is among those of the operator */
};

struct links {
	struct device *devices; /* ascending ifindex */
	size_t n, capacity;
	uint32_t generation;
	/* net.ipv6.conf.all.* */
	bool forwarding, proxy_ndp;
};

void links_clear(struct links *links);

/* NULL: not known. Valid until the next set or delete. */
struct device *links_find(const struct links *links, uint32_t ifindex);

/*
 * Store a part. *changed: it differs from what was known. 0 or -ENOMEM.
 */
int links_set(struct links *links, const struct link *link, bool *changed);
int links_set_ipv6(struct links *links, const struct link_ipv6 *ipv6, bool *changed);
/* IPv6 left the device (MTU under 1280, or it is going away). True when it was there. */
bool links_clear_ipv6(struct links *links, uint32_t ifindex);
int links_set_features(struct links *links, uint32_t ifindex, uint64_t features, bool *changed);
/* A device went to another namespace, where it may go on taking its lower device's frames. */
void links_note_moved(struct links *links, const struct link *link);
/* The routes were read anew. */
void links_clear_doubts(struct links *links);
/* A device's MTU has changed, and its IPv6 was not seen to have the same since; forget it. */
bool links_mtu_moves(const struct links *links);
void links_mtu_forget(struct links *links);
/* True when something changed. */
bool links_set_netconf(struct links *links, const struct netconf *netconf);
void links_delete(struct links *links, uint32_t ifindex);

/* Mark and sweep over devices: those without a links_set since the mark go. Returns how many went.
 */
void links_mark(struct links *links);
size_t links_sweep(struct links *links);

/* The device lost its carrier and its ignore_routes_with_linkdown is set (ip6_ignore_linkdown). */
bool links_ignored(const struct links *links, uint32_t ifindex);

/*
 * Another device takes frames off this one before IPv6 sees them: a master (bridge, team, a bond
 * that sixlane does not serve …; not a VRF), or an upper that shares its MAC (ipvlan, macvlan in
 * mode passthru or source, macsec …). An upper kind that is not known to leave frames alone counts
 * as taking them; so does owner, which is set from the kernel's links.
 */
bool links_taken(const struct links *links, const struct device *device);

/*
 * Whether an upper device, of which the kernel has a link to the lower, may take frames off it by
 * other means than as a master that is told. upper: NULL if only its name is known.
 */
bool links_upper_takes(const struct link *upper);

/* A device of this name; NULL: not known. */
const struct device *links_find_name(const struct links *links, const char *name);

/* A VLAN device stands on this very one. */
bool links_tags_taken(const struct links *links, const struct device *device);

/*
 * The VRF that a device belongs to, the bond that it is a slave of. NULL: none that is known, or a
 * VRF of which the table is not.
 */
const struct device *links_vrf(const struct links *links, const struct device *device);
const struct device *links_bond(const struct links *links, const struct device *device);

/*
 * The device under all VLAN devices (device itself if it is none). NULL: part of the way down is
 * not known, or there are more than two tags. n_tags and tags: what frames sent there carry,
 * the outer first (only if it is not NULL).
 */
const struct device *links_bottom(const struct links *links, const struct device *device,
				  unsigned int *n_tags, union sixlane_tag tags[2]);

/*
 * fn for each device whose port depends on this one, which may be gone: slaves and members, VLAN
 * devices above it, and those that depend on these. fn may change devices, but not how many
 * there are.
 */
void links_each_dependent(const struct links *links, uint32_t ifindex,
			  void (*fn)(void *ctx, uint32_t ifindex), void *ctx);

#endif
