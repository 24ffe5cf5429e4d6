/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What `ip link` and `ip address` set, by netlink: a device's state, bonds and their slaves,
 * addresses of both families. Mechanism only, of the caller's network namespace: 0 or -errno with
 * nothing said. What a device is at the moment ports_read() tells.
 */
#ifndef USER_BENCH_NIC_LINK_H
#define USER_BENCH_NIC_LINK_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

int nic_link_set_up(uint32_t ifindex, bool up);
int nic_link_set_mtu(uint32_t ifindex, uint32_t mtu);
int nic_link_set_mac(uint32_t ifindex, const uint8_t mac[6]);
/* master 0: out of the one that it has. A bond takes only slaves that are down. */
int nic_link_set_master(uint32_t ifindex, uint32_t master);
/*
 * Into the network namespace of that descriptor, by the name that it has. new_ifindex: the
 * number that it is to have there (-EBUSY: another device has it); 0: its own, if that is free.
 */
int nic_link_set_netns(uint32_t ifindex, int netns, uint32_t new_ifindex);

struct nic_bond {
	uint8_t mode;	/* BOND_MODE_* */
	uint8_t policy; /* BOND_XMIT_POLICY_* */
	uint32_t miimon_ms;
};
/* -EOPNOTSUPP: this kernel has no bonds; -EEXIST: a device of that name. */
int nic_link_add_bond(const char *name, const struct nic_bond *bond);
int nic_link_delete(uint32_t ifindex);

struct nic_address {
	uint8_t family, len, scope;
	uint8_t addr[16]; /* IFA_LOCAL or IFA_ADDRESS: the device's own */
	uint8_t peer[16]; /* IFA_ADDRESS; the same as addr unless it is point to point */
	uint32_t flags;	  /* IFA_F_* */
	uint32_t valid_s, preferred_s; /* UINT32_MAX: for ever */
};
/* Those of a device, in the kernel's order; *out is the caller's to free. */
int nic_link_addresses(uint32_t ifindex, struct nic_address **out, size_t *n);
int nic_link_set_address(uint32_t ifindex, const struct nic_address *address, bool present);

#endif
