/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One setting of a device, as it is or as it is to be. What undoes a change is another one of the
 * same kind, with the value of before, so that setting and restoring are the same thing. A change
 * is a flat value without pointers: nic_undo.c sends it to another process.
 *
 * Invariant: made from `(struct nic_change){ 0 }` by assignments, so that two can be compared
 * byte by byte.
 */
#ifndef USER_BENCH_NIC_CHANGE_H
#define USER_BENCH_NIC_CHANGE_H

#include "../../lib/ethtool.h"
#include "nic_link.h"

enum nic_what {
	NIC_UP,
	NIC_MTU,
	NIC_MAC,
	NIC_MASTER,
	NIC_XDP,  /* a program runs on it; that one comes is not for here */
	NIC_BOND, /* there is one, or none */
	NIC_ADDRESS,
	NIC_CHANNELS,
	NIC_RINGS,
	NIC_COALESCE,
	NIC_FEATURE,
	NIC_FILE,   /* below /proc or /sys; of no device */
	NIC_NETNS,  /* in which of two network namespaces the device is (nic_netns.h) */
	NIC_INSIDE, /* in which the process is; of no device */
};

struct nic_change {
	enum nic_what what;
	/* of the device, which may be renamed meanwhile; 0: none, or by name, of one that may have
	 * another number when it comes back from a network namespace */
	uint32_t ifindex;
	char dev[IFNAMSIZ]; /* for people, if there is a number */
	bool present;	    /* NIC_BOND, NIC_ADDRESS, NIC_XDP */
	union {
		bool up;
		uint32_t mtu;
		uint8_t mac[6];
		uint32_t master; /* ifindex, 0: none */
		struct nic_bond bond;
		struct nic_address address;
		struct ethtool_channels channels;
		struct ethtool_ringparam rings;
		struct ethtool_coalesce coalesce;
		struct {
			char name[ETH_GSTRING_LEN];
			bool on;
		} feature;
		struct {
			char path[128];
			char text[320]; /* without the line's end */
		} file;
		struct {
			bool inside;
			uint32_t ifindex; /* NIC_NETNS: its number there, 0: any */
			pid_t pid;	  /* NIC_INSIDE: the process that is meant */
		} netns;
	};
};

/*
 * How the world is asked and changed: the kernel, or what a test has in its place. read: the
 * present value of what the change is about, in the same form. 0 or -errno with nothing said;
 * -ENODEV, -ENOENT: what it is about is gone; -EOPNOTSUPP: never was.
 */
struct nic_backend {
	int (*read)(const struct nic_change *change, struct nic_change *now);
	int (*make)(const struct nic_change *change);
};
extern const struct nic_backend nic_backend_kernel;

bool nic_change_same(const struct nic_change *a, const struct nic_change *b);

/* By number, NULL where a bond has no native XDP in that mode (Linux 5.15 to 6.18). */
extern const char *const nic_bond_modes[], *const nic_bond_policies[];
extern const size_t nic_bond_n_modes, nic_bond_n_policies;
#define NIC_BOND_MODE_LACP 4 /* BOND_MODE_8023AD */

/* The command that makes it, for people to do by hand: "ethtool -L eth0 combined 4". */
#define NIC_COMMAND_LEN 512
void nic_change_command(const struct nic_change *change, char out[NIC_COMMAND_LEN]);

#endif
