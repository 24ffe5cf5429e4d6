// SPDX-License-Identifier: GPL-2.0-only
/*
 * Checks of the program that runs on a port, and of what the datapath was told of the port.
 */
#include <errno.h>
#include <string.h>

#include "../loader/driver.h"
#include "check.h"

const struct link *check_device_to_attach(const struct ports *ports, const struct link *link)
{
	const struct link *next = link;

	for (int depth = 0; next && depth < 4; depth++) {
		link = next;
		next = NULL;
		if (!strcmp(link->kind, "vlan"))
			next = ports_find(ports, link->lower);
		else if (link->master && !strcmp(link->master_kind, "bond"))
			next = ports_find(ports, link->master);
	}
	return link;
}

static bool check_seen(struct checkup *checkup, const struct status_port *port)
{
	if (!port->error)
		return true;
	check_say(checkup, FINDING_MUST, port->link->name, "%s: cannot query its XDP program: %s%s",
		  port->link->name, strerror(-port->error),
		  port->error == -EPERM ? " (this needs CAP_SYS_ADMIN)" : "");
	return false;
}

static void say_missing(struct checkup *checkup, const struct status_port *port)
{
	const char *name = port->link->name;

	if (port->port.flags & SIXLANE_PORT_WAITS && checkup->daemon) {
		check_say(
			checkup, FINDING_MUST, name,
			"%s runs no XDP program: none could be attached at its MTU (%u), see sixlaned's log; sixlaned tries again when the MTU is lower",
			name, port->link->mtu);
		check_advise(checkup, "ip link set dev %s mtu %u", name, loader_max_plain_mtu());
	} else if (port->port.flags & SIXLANE_PORT_INGRESS &&
		   !(port->port.flags & SIXLANE_PORT_WAITS)) {
		check_say(checkup, FINDING_MUST, name, "%s is served but runs no XDP program",
			  name);
		check_advise(checkup, "run 'sixlane attach %s'", name);
	} else {
		check_say(checkup, FINDING_MUST, name, "%s runs no XDP program", name);
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
		check_say(checkup, FINDING_MUST, name,
			  "%s runs sixlane with maps of its own, which no daemon serves", name);
		check_advise(checkup, "%s",
			     port->link_id
				     ? loader_link_advice(port->link_id, advice)
				     : "run 'sixlane attach', or start sixlaned, to replace it");
		return false;
	case LOADER_NO_PROG:
		/* what comes in by a VLAN device runs the program of the device below */
		if (port->port.flags & SIXLANE_PORT_TAGGED)
			return true;
		say_missing(checkup, port);
		return false;
	case LOADER_FOREIGN:
	case LOADER_OURS:
		break;
	}
	return true;
}

static bool check_foreign(struct checkup *checkup, const struct status_port *port)
{
	if (port->prog.owner != LOADER_FOREIGN)
		return true;
	/* what nobody asked for may be as it should */
	check_say(checkup, checkup->asked.all ? FINDING_NOTE : FINDING_MUST, port->link->name,
		  "%s runs another XDP program, \"%s\" (id %u)", port->link->name, port->prog.name,
		  port->prog.id);
	return false;
}

static bool check_arena(struct checkup *checkup, const struct status_port *port)
{
	if (port->prog.no_arena)
		check_say(
			checkup, FINDING_SHOULD, port->link->name,
			"lookups on %s use the LPM trie: its program does not read the compiled FIB's arena; load sixlane.arena.bpf.o%s",
			port->link->name, checkup->daemon ? "" : ", or start sixlaned");
	return true;
}

static bool check_mode(struct checkup *checkup, const struct status_port *port)
{
	if (port->prog.mode == XDP_MODE_GENERIC)
		check_say(checkup, FINDING_SHOULD, port->link->name,
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
		check_say(
			checkup, FINDING_SHOULD, name,
			"%s redirects in virtio_net's slow, locked mode: of its %u queue pairs leave %u free for the CPUs: run 'sixlane detach %s', 'ethtool -L %s combined %u', 'sixlane attach %s'",
			name, channels->max_combined, cpus, name, name,
			channels->max_combined - cpus, name);
	else
		check_say(
			checkup, FINDING_SHOULD, name,
			"%s redirects in virtio_net's slow, locked mode: the other mode needs more queue pairs than the %u CPUs, and it has %u",
			name, cpus, channels->max_combined);
	return true;
}

static bool check_passed(struct checkup *checkup, const struct status_port *port)
{
	const char *why = status_port_passed(port);
	bool meant = port->port.flags & SIXLANE_PORT_PASS || !(port->port.flags & SIXLANE_PORT_UP);

	/* As long as the maps are not ready that is said once, for all ports. */
	if (!(checkup->meta.flags & SIXLANE_META_READY))
		return false;
	/* said of the machine already, if nothing else keeps them */
	if (why && strstr(why, "forwarding is off") &&
	    findings_has(&checkup->findings, "forwarding"))
		return false;
	if (why)
		check_say(checkup, meant ? FINDING_NOTE : FINDING_MUST, port->link->name,
			  "every packet that %s receives passes to the kernel: %s",
			  port->link->name, why);
	return !why;
}

/* What generic mode redirects leaves as an skb, which every Ethernet device takes. */
static bool check_egress(struct checkup *checkup, const struct status_port *port)
{
	const char *name = port->link->name;
	uint32_t flags = port->port.flags;

	if (flags & SIXLANE_PORT_NO_XMIT)
		check_say(
			checkup, FINDING_SHOULD, name,
			"%s accepts no redirected frames: packets that leave through it pass to the kernel",
			name);
	else if (!(flags & SIXLANE_PORT_XMIT) && checkup_has_native_ingress(checkup, port))
		check_say(
			checkup, FINDING_SHOULD, name,
			"%s accepts no frames redirected from native XDP: packets from ports in native mode that leave through it pass to the kernel",
			name);
	return true;
}

static const struct check checks[] = {
	{ "capabilities", .run_port = check_seen, .usual = "run as root" },
	{ "program", .run_port = check_program, .usual = NULL },
	{ "other_program", .run_port = check_foreign,
	  .usual = "detach it with the tool that loaded it: 'sixlane detach' leaves it in place" },
	{ "arena", .run_port = check_arena, .usual = NULL },
	{ "mode", .run_port = check_mode,
	  .usual = "run 'sixlane detach' and 'sixlane attach' if its driver has native XDP" },
	{ "xdp_tx_lock", .run_port = check_lock, .usual = NULL },
	{ "port_passes", .run_port = check_passed, .usual = NULL },
	{ "egress", .run_port = check_egress, .usual = CHECK_EGRESS_ADVICE },
};

const struct checks checks_of_programs = { checks, ARRAY_SIZE(checks) };
