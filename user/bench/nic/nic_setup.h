/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The machine as a measurement wants it, for as long as that lasts: devices, bonds of them, where
 * interrupts and queues go. All is set back by nic_setup_end(), and by nic_undo.h however the
 * process ends. What may not be set and only makes the figures worse becomes a note that says how
 * to set it by hand; without what else is asked for there is no measurement.
 *
 * Functions return 0, or -errno after having said on stderr what failed; -EINTR, with nothing said:
 * interrupted. After an error nic_setup_end() is still the caller's to call.
 */
#ifndef USER_BENCH_NIC_SETUP_H
#define USER_BENCH_NIC_SETUP_H

#include "nic_plan.h"

struct nic_setup;

/* Before the process has threads: see nic_undo.h. */
int nic_setup_begin(struct nic_setup **out);
int nic_setup_end(struct nic_setup *setup); /* setup may be NULL */

/*
 * Move devices into a network namespace of the measurement's own, in which this process is from
 * then on, with a /sys and a bpffs of that; both end with nic_setup_end(). Right after
 * nic_setup_begin(), and before the process has threads. The devices come back as they were,
 * whether they were up, with their addresses and what is below /proc/sys/net, and with their number
 * unless somebody has taken that. Routes, qdiscs and neighbours would not come back (nic_check.h
 * refuses them); nor do multicast groups that somebody joined by hand (`ip maddr`), and tokens.
 */
int nic_setup_isolate(struct nic_setup *setup, const char *const *devs, size_t n);

/* Queues, rings, coalescing, features, MTU; the device is up then, and takes native XDP. */
int nic_setup_device(struct nic_setup *setup, const char *dev, const struct nic_want *want);

/* A bond or a device that is no slave has no XDP program, and has none at the end. */
int nic_setup_program(struct nic_setup *setup, const char *dev);

/* Interrupts and queues of a device, once it and its bond are up; and again, where they are not as
 * they are to be. */
int nic_setup_affinity(struct nic_setup *setup, const char *dev, const struct nic_want *want);

#define NIC_MAX_SLAVES 8
struct nic_bond_want {
	char name[IFNAMSIZ];
	struct nic_bond bond; /* a mode and a policy of nic_bond_modes[] */
	char slaves[NIC_MAX_SLAVES][IFNAMSIZ];
	size_t n_slaves;
};
/*
 * A bond that is up, of devices that are nobody's slaves. Their MACs, MTUs and addresses, and
 * whether they were up, come back with its end; routes would not (nic_check.h refuses that). mtu:
 * of the bond and its slaves, which lose the one that they had; 0: the kernel's.
 */
int nic_setup_bond(struct nic_setup *setup, const struct nic_bond_want *want, unsigned int mtu);

/* Until each device has a link. -ETIMEDOUT: names those that have none. */
int nic_setup_wait(const char *const *devs, size_t n, unsigned int timeout_ms);

/* What was left as it was, a line each; valid until the end. */
size_t nic_setup_notes(const struct nic_setup *setup, const char *const **notes);

#endif
