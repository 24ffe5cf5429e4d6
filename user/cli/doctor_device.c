// SPDX-License-Identifier: GPL-2.0-only
/* Checks of a device: its driver and settings, its queues, and of a bond its slaves. */

#include <net/if.h> /* first: linux/if.h gives way to it */

#include <errno.h>
#include <linux/if_bonding.h>
#include <linux/sockios.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "../loader/driver.h"
#include "doctor.h"

/* --- driver and settings ------------------------------------------------------------------ */

/* NETDEV_XDP_ACT_* of linux/netdev.h, which old systems lack */
#define XDP_ACT_BASIC (1u << 0)
#define XDP_ACT_RX_SG (1u << 5)

/* For a VLAN device or a slave, these checks are about another device. */
static bool check_place(struct checkup *checkup, const struct status_port *port)
{
	return check_device_to_attach(&checkup->view->ports, port->link) == port->link;
}

static bool check_upper(struct checkup *checkup, const struct status_port *port)
{
	struct port_upper upper;

	/* of a served port the maps report it */
	if (port->port.flags & SIXLANE_PORT_INGRESS || !strcmp(port->link->master_kind, "vrf") ||
	    !ports_find_upper(&checkup->view->ports, port->link, &upper))
		return true;
	check_error(checkup, port->link->name,
		    "%s: the upper device %s%s%s%s takes its frames, so packets pass to the kernel",
		    port->link->name, upper.name, *upper.kind ? " (" : "", upper.kind,
		    *upper.kind ? ")" : "");
	check_advise(checkup, "attach to other ports, or run 'ip link set dev %s nomaster'",
		     port->link->name);
	return true;
}

static bool check_native(struct checkup *checkup, const struct status_port *port)
{
	const char *name = port->link->name;
	char driver[32];

	if (!port->has_features || port->xdp_features & XDP_ACT_BASIC ||
	    port->prog.mode == XDP_MODE_GENERIC)
		return true;
	ethtool_driver(name, driver);
	check_error(checkup, name, "%s has no native XDP (driver %s)", name,
		    *driver ? driver : "unknown");
	check_advise(checkup, "'sixlane attach %s generic' uses the much slower generic mode",
		     name);
	return false;
}

static void report_mtu(struct checkup *checkup, const struct link *link, const char *driver,
		       uint32_t max)
{
	check_error(checkup, link->name,
		    "%s: its MTU is %u, and its driver (%s) supports native XDP only up to MTU %u",
		    link->name, link->mtu, driver, max);
	check_advise(checkup, "ip link set dev %s mtu %u", link->name, max);
}

static bool check_mtu(struct checkup *checkup, const struct status_port *port)
{
	const struct link *link = port->link;
	char driver[32];
	uint32_t max;

	ethtool_driver(link->name, driver);
	max = loader_driver_max_mtu(driver, (size_t)sysconf(_SC_PAGESIZE));
	if (max && link->mtu > max) {
		report_mtu(checkup, link, driver, max);
	} else if (!loader_mtu_is_jumbo(link->mtu)) {
		return true;
	} else if (port->prog.owner == LOADER_OURS &&
		   loader_prog_needs_frags(&port->prog, link->mtu)) {
		check_error(
			checkup, link->name,
			"%s: at MTU %u large packets may be lost: its program supports only one buffer a packet",
			link->name, link->mtu);
		check_advise(checkup, "run 'sixlane detach %s', then 'sixlane attach %s'",
			     link->name, link->name);
	} else if (port->has_features && !(port->xdp_features & XDP_ACT_RX_SG)) {
		report_mtu(checkup, link, driver, loader_max_plain_mtu());
	} else {
		check_note(
			checkup, link->name,
			"%s: at MTU %u packets need several buffers, and the slightly slower program for them",
			link->name, link->mtu);
		check_advise(checkup, "packets fit one buffer up to MTU %u",
			     loader_max_plain_mtu());
	}
	return true;
}

/* Whether frames of several buffers can be redirected to the port. */
static bool check_large(struct checkup *checkup, const struct status_port *port)
{
	const uint32_t xmit = port->port.flags & (SIXLANE_PORT_XMIT | SIXLANE_PORT_XMIT_FRAGS);

	if (xmit == SIXLANE_PORT_XMIT && loader_mtu_is_jumbo(port->link->mtu) &&
	    checkup_has_native_ingress(checkup, port))
		check_warn(
			checkup, port->link->name,
			"%s accepts no redirected frames of several buffers: large packets that leave through it pass to the kernel",
			port->link->name);
	return true;
}

/* Reports a NIC that has a feature on. A bond's own flags mean nothing: its slaves are the NICs. */
static bool report_feature(struct checkup *checkup, const struct status_port *port,
			   const char *feature, bool of_veths, const char *flag, const char *text)
{
	const struct ports *ports = &checkup->view->ports;
	const bool is_bond = !strcmp(port->link->kind, "bond");

	for (const struct link *nic = ports->links; nic < ports->links + ports->n; nic++) {
		if (is_bond ? nic->master != port->link->ifindex : nic != port->link)
			continue;
		if ((!of_veths && !strcmp(nic->kind, "veth")) ||
		    !ethtool_feature_is_on(nic->name, feature))
			continue;
		check_error(checkup, nic->name, "%s %s", nic->name, text);
		check_advise(checkup, "ethtool -K %s %s off", nic->name, flag);
	}
	return true;
}

/* A veth strips no tags, whatever its flag. */
static bool check_tags(struct checkup *checkup, const struct status_port *port)
{
	return report_feature(
		checkup, port, "rx-vlan-hw-parse", false, "rxvlan",
		"strips VLAN tags (rxvlan), so XDP cannot see them: all its packets pass to the kernel");
}

static bool check_lro(struct checkup *checkup, const struct status_port *port)
{
	return report_feature(checkup, port, "rx-lro", true, "lro",
			      "merges packets (LRO), which a router must not forward");
}

static bool passes_partial_checksums(const struct link *link)
{
	char driver[32];

	if (!strcmp(link->kind, "veth") || !strcmp(link->kind, "tun"))
		return true;
	ethtool_driver(link->name, driver);
	return !*link->kind && loader_driver_opens_checksums(driver);
}

static bool check_checksums(struct checkup *checkup, const struct status_port *port)
{
	if (port->port.flags & SIXLANE_PORT_OPEN_CHECKSUMS ||
	    (!port->slot && passes_partial_checksums(port->link)))
		check_note(
			checkup, port->link->name,
			"%s: senders on the same host may leave checksums to the device; such TCP and UDP packets pass to the kernel (pass_checksum)",
			port->link->name);
	return true;
}

static bool check_detach(struct checkup *checkup, const struct status_port *port)
{
	char advice[LOADER_LINK_ADVICE];

	if (port->prog.owner != LOADER_OURS)
		return true;
	if (port->prog.dispatcher)
		check_note(
			checkup, port->link->name,
			"%s runs sixlane under libxdp's dispatcher: this costs a call a packet, and sixlaned does not replace the program",
			port->link->name);
	if (port->link_id) {
		check_note(checkup, port->link->name,
			   "%s: neither 'sixlane detach' nor sixlaned can detach its program",
			   port->link->name);
		check_advise(checkup, "%s", loader_link_advice(port->link_id, advice));
	}
	return true;
}

const struct check doctor_devices[] = {
	{ "attach_device", .run_port = check_place },
	{ "upper_device", .run_port = check_upper },
	{ "native", .run_port = check_native },
	{ "mtu", .run_port = check_mtu },
	{ "multi_buffer", .run_port = check_large, .usual = "lower the MTU of the ingress ports" },
	{ "rxvlan", .run_port = check_tags },
	{ "lro", .run_port = check_lro },
	{ "checksums", .run_port = check_checksums,
	  .usual = "run 'ethtool -K DEV tx off' at the sender" },
	{ "dispatcher", .run_port = check_detach,
	  .usual = "run 'sixlane detach', then 'sixlane attach'" },
	{ .name = NULL },
};

/* --- queues ------------------------------------------------------------------------------- */

static bool check_number(struct checkup *checkup, const struct status_port *port)
{
	const struct ethtool_channels *channels = &port->channels;
	const char *name = port->link->name;
	uint32_t in_use = port->rx_in_use;
	uint32_t most = channels->max_combined ? channels->max_combined : channels->max_rx;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	if (!in_use || cpus < 1 || in_use >= (uint32_t)cpus)
		return true;
	check_report(checkup, in_use < most ? FINDING_WARNING : FINDING_NOTE, name,
		     "%s uses %u receive %s: at most %u of %ld CPUs receive its packets", name,
		     in_use, in_use == 1 ? "queue" : "queues", in_use, cpus);
	if (in_use < most)
		check_advise(checkup, "ethtool -L %s %s %u", name,
			     channels->max_combined ? "combined" : "rx",
			     most < (uint32_t)cpus ? most : (uint32_t)cpus);
	return true;
}

static bool check_spread(struct checkup *checkup, const struct status_port *port)
{
	uint32_t in_use = port->rx_in_use, reached;
	const char *name = port->link->name;

	if (in_use < 2 || ethtool_count_rss_queues(name, &reached) || reached >= in_use)
		return true;
	check_warn(checkup, name,
		   "%s: receive side scaling spreads packets over only %u of its %u queues", name,
		   reached, in_use);
	check_advise(checkup, "ethtool -X %s equal %u", name, in_use);
	return true;
}

const struct check doctor_queues[] = {
	{ "queues", .run_port = check_number, .usual = "none: its driver has no more queues" },
	{ "rss", .run_port = check_spread },
	{ .name = NULL },
};

/* --- bonds -------------------------------------------------------------------------------- */

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
