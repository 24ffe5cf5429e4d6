/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * All devices of a measurement and the bonds made of them, as the command line names them: whether
 * they may be measured, what would be done to them, and doing it, in the one order that works.
 */
#ifndef USER_BENCH_NIC_MACHINE_H
#define USER_BENCH_NIC_MACHINE_H

#include <jansson.h>

#include "nic_counts.h"
#include "nic_setup.h"

#define NIC_MAX_DEVICES 16
#define NIC_MAX_BONDS 4

struct nic_machine {
	char devs[NIC_MAX_DEVICES][IFNAMSIZ]; /* all, slaves of bonds as well */
	size_t n_devs;
	struct nic_bond_want bonds[NIC_MAX_BONDS];
	size_t n_bonds;
	struct nic_want want;
	bool force, force_login; /* see nic_check.h */
	bool isolate;		 /* in a network namespace of their own: nic_setup_isolate() */
};

/*
 * By any of its names; a device that is not there is found out later. 0 or -errno with nothing
 * said: -ENAMETOOLONG; -E2BIG: too many; -EEXIST: there already.
 */
int nic_machine_add(struct nic_machine *machine, const char *dev);
/* The same. "bond0=eth0,eth1"; also -EINVAL: not of that form. */
int nic_machine_add_bond(struct nic_machine *machine, const char *spec);
/* Pure. By the names that `ip link` takes; those without native XDP are -EINVAL. */
int nic_bond_parse_mode(const char *name, uint8_t *mode);
int nic_bond_parse_policy(const char *name, uint8_t *policy);

/* 0 or -errno; all that is wrong is said. */
int nic_machine_check(const struct nic_machine *machine);

/*
 * What would be done to each device, as commands: an object of each device and bond, to the array.
 * 0 or -errno, said.
 */
int nic_machine_plan(const struct nic_machine *machine, json_t *list);

/* Check first. 0 or -errno, said, but for -EINTR. */
int nic_machine_setup(const struct nic_machine *machine, struct nic_setup *setup);

/*
 * Whenever a program, or a slave, has come or gone: until all devices have a link, and interrupts
 * and queues go where they are to. Drivers that open their queues anew for that ask for their
 * interrupts anew. 0 or -errno, said, but for -EINTR.
 */
int nic_machine_settle(const struct nic_machine *machine, struct nic_setup *setup);

/*
 * Counts since the devices were made, of the bonds and of all devices, slaves of which bond they
 * are; what a run knows of roles, verdicts and its generator is the caller's to add. 0 or -errno,
 * said.
 */
int nic_machine_count(const struct nic_machine *machine, struct nic_run *run);

#endif
