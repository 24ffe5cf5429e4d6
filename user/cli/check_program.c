// SPDX-License-Identifier: GPL-2.0-only
/* Checks of the program that runs on a port, and of the port's entry in the maps. */
#include <errno.h>
#include <string.h>

#include "../loader/driver.h"
#include "check.h"

static bool check_seen(struct checkup *checkup, const struct status_port *port)
{
	if (!port->error)
		return true;
	check_error(checkup, port->link->name, "%s: cannot query its XDP program: %s%s",
		    port->link->name, strerror(-port->error),
		    port->error == -EPERM ? " (this needs CAP_SYS_ADMIN)" : "");
	return false;
}

static void report_missing(struct checkup *checkup, const struct status_port *port)
{
	const char *name = port->link->name;

	if (port->port.flags & SIXLANE_PORT_ATTACH_PENDING && checkup->daemon) {
		check_error(
			checkup, name,
			"%s runs no XDP program: none could be attached at its MTU (%u), see sixlaned's log; sixlaned tries again when the MTU is lower",
			name, port->link->mtu);
		check_advise(checkup, "ip link set dev %s mtu %u", name, loader_max_plain_mtu());
	} else if (port->port.flags & SIXLANE_PORT_INGRESS &&
		   !(port->port.flags & SIXLANE_PORT_ATTACH_PENDING)) {
		check_error(checkup, name, "%s is served but runs no XDP program", name);
		check_advise(checkup, "run 'sixlane attach %s'", name);
	} else {
		check_error(checkup, name, "%s runs no XDP program", name);
		check_advise(checkup, "run 'sixlane attach %s'",
			     check_device_to_attach(&checkup->view->ports, port->link)->name);
	}
}

static bool check_program(struct checkup *checkup, const struct status_port *port)
{
	const char *name = port->link->name;
	char advice[LOADER_LINK_ADVICE];

	switch (port->prog.owner) {
	case LOADER_OTHER_MAPS:
		check_error(checkup, name,
			    "%s runs sixlane with maps of its own, which no daemon serves", name);
		check_advise(checkup, "%s",
			     port->link_id
				     ? loader_link_advice(port->link_id, advice)
				     : "run 'sixlane attach', or start sixlaned, to replace it");
		return false;
	case LOADER_NO_PROG:
		/* packets of a VLAN device meet the program of its lower device */
		if (port->port.flags & SIXLANE_PORT_TAGGED)
			return true;
		report_missing(checkup, port);
		return false;
	case LOADER_OTHER_PROG:
	case LOADER_OURS:
		break;
	}
	return true;
}

static bool check_other(struct checkup *checkup, const struct status_port *port)
{
	if (port->prog.owner != LOADER_OTHER_PROG)
		return true;
	/* it may be intended on a port that is not named */
	check_report(checkup, checkup->filter.all ? FINDING_NOTE : FINDING_ERROR, port->link->name,
		     "%s runs another XDP program, \"%s\" (id %u)", port->link->name,
		     port->prog.name, port->prog.id);
	return false;
}

static bool check_arena(struct checkup *checkup, const struct status_port *port)
{
	if (port->prog.no_arena)
		check_warn(
			checkup, port->link->name,
			"lookups on %s use the LPM trie: its program does not read the compiled FIB's arena; load sixlane.arena.bpf.o%s",
			port->link->name, checkup->daemon ? "" : ", or start sixlaned");
	return true;
}

static bool check_mode(struct checkup *checkup, const struct status_port *port)
{
	if (port->prog.mode == XDP_MODE_GENERIC)
		check_warn(checkup, port->link->name,
			   "%s runs in GENERIC mode, which is much slower than native mode",
			   port->link->name);
	return true;
}

static bool check_lock(struct checkup *checkup, const struct status_port *port)
{
	const struct ethtool_channels *channels = &port->channels;
	const char *name = port->link->name;
	uint32_t cpus = loader_cpus();
	char driver[32];

	ethtool_driver(name, driver);
	if (port->prog.mode != XDP_MODE_NATIVE ||
	    !loader_driver_locks_queues(driver, channels->combined_count, cpus))
		return true;
	if (channels->max_combined > cpus)
		check_warn(
			checkup, name,
			"%s redirects in virtio_net's slow, locked mode: of its %u queue pairs leave %u free for the CPUs: run 'sixlane detach %s', 'ethtool -L %s combined %u', 'sixlane attach %s'",
			name, channels->max_combined, cpus, name, name,
			channels->max_combined - cpus, name);
	else
		check_warn(
			checkup, name,
			"%s redirects in virtio_net's slow, locked mode: the other mode needs more queue pairs than the %u CPUs, and it has %u",
			name, cpus, channels->max_combined);
	return true;
}

static bool check_passed(struct checkup *checkup, const struct status_port *port)
{
	const char *why = status_port_passed(port);
	bool meant = port->port.flags & SIXLANE_PORT_PASS || !(port->port.flags & SIXLANE_PORT_UP);

	/* reported once for all ports */
	if (!(checkup->meta.flags & SIXLANE_META_READY))
		return false;
	/* reported of the machine already */
	if (why && strstr(why, "forwarding is off") &&
	    findings_has(&checkup->findings, "forwarding"))
		return false;
	if (why)
		check_report(checkup, meant ? FINDING_NOTE : FINDING_ERROR, port->link->name,
			     "every packet that %s receives passes to the kernel: %s",
			     port->link->name, why);
	return !why;
}

/* Frames redirected from generic mode are skbs, which every Ethernet device accepts. */
static bool check_egress(struct checkup *checkup, const struct status_port *port)
{
	const char *name = port->link->name;
	uint32_t flags = port->port.flags;

	if (flags & SIXLANE_PORT_NO_XMIT)
		check_warn(
			checkup, name,
			"%s accepts no redirected frames: packets that leave through it pass to the kernel",
			name);
	else if (!(flags & SIXLANE_PORT_XMIT) && checkup_has_native_ingress(checkup, port))
		check_warn(
			checkup, name,
			"%s accepts no frames redirected from native XDP: packets from ports in native mode that leave through it pass to the kernel",
			name);
	return true;
}

const struct check checks_of_programs[] = {
	{ "capabilities", .run_port = check_seen, .usual = "run as root" },
	{ "program", .run_port = check_program },
	{ "other_program", .run_port = check_other,
	  .usual = "detach it with the tool that loaded it: 'sixlane detach' leaves it in place" },
	{ "arena", .run_port = check_arena },
	{ "mode", .run_port = check_mode,
	  .usual = "run 'sixlane detach' and 'sixlane attach' if its driver has native XDP" },
	{ "xdp_tx_lock", .run_port = check_lock },
	{ "port_passes", .run_port = check_passed },
	{ "egress", .run_port = check_egress, .usual = CHECK_EGRESS_ADVICE },
	{ .name = NULL },
};
