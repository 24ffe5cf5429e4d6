// SPDX-License-Identifier: GPL-2.0-only
/* Checks of a device's driver and settings, whether a program runs there or not. */
#include <errno.h>
#include <string.h>

#include "../loader/driver.h"
#include "doctor.h"

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

static bool feature_is_on(const struct link *link, const char *feature)
{
	struct nic_feature value;

	return !ethtool_get_feature(link->name, feature, &value) && value.on;
}

/* A bond's own flags mean nothing: fn is called for its slaves. */
static void each_nic(struct checkup *checkup, const struct status_port *port,
		     void (*fn)(struct checkup *checkup, const struct link *nic))
{
	const struct ports *ports = &checkup->view->ports;
	const bool is_bond = !strcmp(port->link->kind, "bond");

	for (const struct link *link = ports->links; link < ports->links + ports->n; link++)
		if (is_bond ? link->master == port->link->ifindex : link == port->link)
			fn(checkup, link);
}

/* A veth strips no tags, whatever its flag. */
static void check_nic_tags(struct checkup *checkup, const struct link *nic)
{
	if (!strcmp(nic->kind, "veth") || !feature_is_on(nic, "rx-vlan-hw-parse"))
		return;
	check_error(
		checkup, nic->name,
		"%s strips VLAN tags (rxvlan), so XDP cannot see them: all its packets pass to the kernel",
		nic->name);
	check_advise(checkup, "ethtool -K %s rxvlan off", nic->name);
}

static bool check_tags(struct checkup *checkup, const struct status_port *port)
{
	each_nic(checkup, port, check_nic_tags);
	return true;
}

static void check_nic_lro(struct checkup *checkup, const struct link *nic)
{
	if (!feature_is_on(nic, "rx-lro"))
		return;
	check_error(checkup, nic->name, "%s merges packets (LRO), which a router must not forward",
		    nic->name);
	check_advise(checkup, "ethtool -K %s lro off", nic->name);
}

static bool check_lro(struct checkup *checkup, const struct status_port *port)
{
	each_nic(checkup, port, check_nic_lro);
	return true;
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
