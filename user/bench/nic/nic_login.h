/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * By which devices the login comes in that started this command: whoever measures on a distant
 * machine is not to lock himself out. Known by $SSH_CONNECTION, of this process or of those that it
 * descends from, since sudo takes it out of the environment. Logins that sshd has nothing to do
 * with are not found.
 */
#ifndef USER_BENCH_NIC_LOGIN_H
#define USER_BENCH_NIC_LOGIN_H

#include <netinet/in.h>

#include "../../cli/ports.h"

#define NIC_MAX_LOGINS 8

struct nic_login {
	char peer[64];	  /* its address, for people */
	uint32_t scope;	  /* ifindex of a link-local peer, else 0 */
	int family;	  /* AF_INET or AF_INET6 */
	uint8_t addr[16]; /* network order */
	uint32_t egress;  /* ifindex of where packets to it go; 0: nowhere from here */
};

/* Pure. The peer of a value of SSH_CONNECTION. False: it is none. */
bool nic_login_parse(const char *connection, struct nic_login *out);

/* Pure. Whether what leaves by egress leaves by dev: it is that, or below it, as a slave or as what
 * a VLAN is on. */
bool nic_login_passes(const struct ports *ports, uint32_t egress, uint32_t dev);

/* All that there are. 0 or -errno with nothing said. */
int nic_login_find(struct nic_login logins[NIC_MAX_LOGINS], size_t *n);

#endif
