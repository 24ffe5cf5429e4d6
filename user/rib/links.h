/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The network devices of this namespace, and the settings that decide whether and how their packets
 * are forwarded. Pure: filled from parsed messages, never asks the kernel.
 */
#ifndef RIB_LINKS_H
#define RIB_LINKS_H

#include <stddef.h>

#include "../../bpf/abi/sixlane.h"
#include "link.h"

/* All that is known of a device. Each part may arrive before the others. */
struct device {
	uint32_t ifindex;
	bool has_link, has_ipv6, has_features;
	struct link link;
	struct link_ipv6 ipv6;
	uint64_t xdp_features; /* NETDEV_XDP_ACT_* */
	uint32_t generation;
	/* Set by the daemon, not from messages. */
	uint32_t queried_prog_id; /* the program that the next two describe */
	bool ours;		  /* sixlane with our maps is attached here */
	bool program;		  /* any XDP program is */
	bool looks_up_flows;	  /* the program looks packets up in flowtables */
	uint32_t kept_prog_id;	  /* a program that could not be replaced */
	bool replaced;	      /* the program was replaced, and the new one is not announced yet */
	uint32_t fitted_mtu;  /* the jumbo MTU that the program was attached for; 0: none */
	uint32_t refused_mtu; /* the MTU at which attaching failed; 0: none */
	bool routes_stale;    /* its routes may have been deleted without a message */
	bool taken_elsewhere; /* an upper device that receives its frames moved to another namespace
			       */
	bool tags_elsewhere;  /* the same for a VLAN device, which receives tagged frames only */
	bool open_checksums;  /* its driver may pass on frames with incomplete checksums */
	bool strips_tags;     /* the NIC strips VLAN tags before XDP sees them */
	char owner[IFNAMSIZ]; /* an upper device that takes its frames, by the kernel's own links */
	bool owner_stale;     /* owner may have changed */
	bool mtu_moves; /* its MTU changed, and no message has shown the same IPv6 MTU since */
	uint32_t slave_place;	/* bond slave: position in the bond's list, from 1; 0: unknown */
	bool attach_tried;	/* as a configured port */
	bool pass, assume_xmit; /* configured for a present or earlier name of it */
};

struct links {
	struct device *devices; /* ascending ifindex */
	size_t n, capacity;
	uint32_t generation;
	/* net.ipv6.conf.all.* */
	bool forwarding, proxy_ndp;
};

void links_clear(struct links *links);

/* NULL: unknown. Valid until the next set or delete. */
struct device *links_find(const struct links *links, uint32_t ifindex);

/* Store a part. *changed: it differs from before. 0 or -ENOMEM. */
int links_set(struct links *links, const struct link *link, bool *changed);
int links_set_ipv6(struct links *links, const struct link_ipv6 *ipv6, bool *changed);
/* IPv6 was disabled on the device (MTU below 1280, or it is being deleted). True if it was on. */
bool links_clear_ipv6(struct links *links, uint32_t ifindex);
int links_set_features(struct links *links, uint32_t ifindex, uint64_t features, bool *changed);
/* A device moved to another namespace, where it may still receive its lower device's frames. */
void links_set_moved(struct links *links, const struct link *link);
/* All routes were read again: clear routes_stale of all devices. */
void links_clear_stale(struct links *links);
/* mtu_moves is set for some device with IPv6; clear it for all. */
bool links_mtu_pending(const struct links *links);
void links_mtu_clear(struct links *links);
/* True when something changed. */
bool links_set_netconf(struct links *links, const struct netconf *netconf);
void links_delete(struct links *links, uint32_t ifindex);

/* Mark and sweep: devices without links_set() since the mark are deleted. */
void links_mark(struct links *links);
void links_sweep(struct links *links);

/* The device lost its carrier and its ignore_routes_with_linkdown is set (ip6_ignore_linkdown). */
bool links_ignored(const struct links *links, uint32_t ifindex);

/*
 * Another device receives frames of this one before IPv6 does:
 * - a master (bridge, team, a bond that sixlane does not serve; not a VRF);
 * - an upper device that shares its MAC (ipvlan, macsec, macvlan in mode passthru or source), or
 * one of an unknown kind;
 * - owner, which is set from the kernel's links.
 */
bool links_frames_taken(const struct links *links, const struct device *device);

/*
 * An upper device that the kernel has linked to a lower one may receive its frames, other than as
 * an announced master. upper: NULL if only its name is known.
 */
bool links_upper_takes(const struct link *upper);

/* NULL: unknown. */
const struct device *links_find_name(const struct links *links, const char *name);

/* A VLAN device has this one as its lower device. */
bool links_tags_taken(const struct links *links, const struct device *device);

/* The VRF or bond that a device belongs to. NULL: none, or unknown, or a VRF of unknown table. */
const struct device *links_vrf(const struct links *links, const struct device *device);
const struct device *links_bond(const struct links *links, const struct device *device);

/*
 * The device under all VLAN devices; device itself if it is none. NULL: a lower device is unknown,
 * or there are more than two tags. n_tags and tags: of frames sent there, the outer tag first;
 * undefined if NULL is returned.
 */
const struct device *links_bottom(const struct links *links, const struct device *device,
				  unsigned int *n_tags, union sixlane_tag tags[2]);

/*
 * fn for each device whose port depends on this one, which may be deleted: slaves and members, VLAN
 * devices above it, and what depends on these. fn may change devices, but not add or delete any.
 */
void links_each_dependent(const struct links *links, uint32_t ifindex,
			  void (*fn)(void *ctx, uint32_t ifindex), void *ctx);

#endif
