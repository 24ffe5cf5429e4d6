// SPDX-License-Identifier: GPL-2.0-only
/* Checks of a bond: whether it and its slaves accept an XDP program. */
#include <net/if.h> /* first: linux/if.h gives way to it */

#include <linux/if_bonding.h>
#include <linux/sockios.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "doctor.h"

static const char *const mode_names[] = {
	[BOND_MODE_ROUNDROBIN] = "balance-rr", [BOND_MODE_ACTIVEBACKUP] = "active-backup",
	[BOND_MODE_XOR] = "balance-xor",       [BOND_MODE_BROADCAST] = "broadcast",
	[BOND_MODE_8023AD] = "802.3ad",	       [BOND_MODE_TLB] = "balance-tlb",
	[BOND_MODE_ALB] = "balance-alb",
};

/* As bond_xdp_check() in the kernel. */
static bool takes_xdp(int mode)
{
	return mode == BOND_MODE_ROUNDROBIN || mode == BOND_MODE_ACTIVEBACKUP ||
	       mode == BOND_MODE_XOR || mode == BOND_MODE_8023AD;
}

/* -1: unknown. */
static int read_mode(const char bond[IFNAMSIZ])
{
	_cleanup_close_ int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifbond info = { 0 };
	struct ifreq request = { .ifr_data = (void *)&info };

	memcpy(request.ifr_name, bond, IFNAMSIZ);
	if (fd < 0 || ioctl(fd, SIOCBONDINFOQUERY, &request) || info.bond_mode < 0 ||
	    (size_t)info.bond_mode >= ARRAY_SIZE(mode_names))
		return -1;
	return info.bond_mode;
}

static bool is_bond(const struct status_port *port)
{
	return !strcmp(port->link->kind, "bond");
}

static bool check_mode(struct checkup *checkup, const struct status_port *port)
{
	const char *name = port->link->name;
	int mode = is_bond(port) ? read_mode(name) : -1;

	if (mode < 0 || takes_xdp(mode))
		return true;
	check_error(checkup, name, "%s: a bond in mode %s supports no XDP program", name,
		    mode_names[mode]);
	return true;
}

/* The kernel attaches a bond's program to all slaves, which must have none. */
static bool check_slaves(struct checkup *checkup, const struct status_port *port)
{
	const struct ports *ports = &checkup->view->ports;

	for (size_t i = 0; is_bond(port) && i < ports->n; i++) {
		const struct link *slave = &ports->links[i];

		if (slave->master != port->link->ifindex || slave->xdp_mode == XDP_MODE_NONE ||
		    port->prog.owner != LOADER_NO_PROG)
			continue;
		check_error(
			checkup, slave->name,
			"%s, a slave of %s, runs an XDP program of its own, so the bond accepts none",
			slave->name, port->link->name);
		check_advise(checkup, "run 'sixlane detach %s' or 'ip link set dev %s xdp off'",
			     slave->name, slave->name);
	}
	return true;
}

const struct check doctor_bonds[] = {
	{ "bond_mode", .run_port = check_mode,
	  .usual = "use balance-rr, active-backup, balance-xor or 802.3ad" },
	{ "bond_slaves", .run_port = check_slaves },
	{ .name = NULL },
};
