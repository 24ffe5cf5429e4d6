// SPDX-License-Identifier: GPL-2.0-only
/* Checks of the packets that XDP did not forward since the maps were made. */
#include "doctor.h"
#include "traffic.h"

static bool is_fast(uint32_t verdict)
{
	return verdict == SIXLANE_FORWARD || verdict == SIXLANE_ANSWER_TOO_BIG ||
	       verdict == SIXLANE_PASS_NOT_IPV6;
}

static void check_counters(struct checkup *checkup)
{
	struct traffic traffic;

	if (!checkup->has_maps || traffic_read(checkup, &traffic))
		return;
	for (uint32_t v = 0; v < SIXLANE_N_VERDICTS; v++) {
		const bool notable = traffic_is_notable(&traffic, v);
		const struct traffic_verdict *verdict = traffic_verdict(v);

		if (is_fast(v) || !traffic.packets[v] ||
		    (!notable && !checkup->options->statistics))
			continue;
		check_report(checkup, notable ? verdict->severity : FINDING_NOTE, NULL,
			     "%.1f %% of the IPv6 packets so far (%llu): %s (%s)",
			     traffic_share(&traffic, v), (unsigned long long)traffic.packets[v],
			     cmd_verdict_text(v), cmd_verdict_name(v));
		if (verdict->advice)
			check_advise(checkup, "%s", verdict->advice);
	}
}

/* Packets only leave by the device; check_program.c has the same check for other ports. */
static bool is_mere_egress(const struct sixlane_port *port, const struct link *link)
{
	return link && !(link->flags & IFF_LOOPBACK) && port->flags & SIXLANE_PORT_UP &&
	       !(port->flags & SIXLANE_PORT_INGRESS);
}

static void check_egresses(struct checkup *checkup)
{
	for (uint32_t slot = 1; checkup->has_maps && slot < SIXLANE_MAX_PORTS; slot++) {
		const struct sixlane_port *port = &checkup->view->maps.ports[slot];
		const struct link *link = ports_find(&checkup->view->ports, port->ifindex);

		if (!port->ifindex || !is_mere_egress(port, link) ||
		    !checkup_has_native_ingress(checkup, NULL) ||
		    (port->flags & SIXLANE_PORT_XMIT && !(port->flags & SIXLANE_PORT_NO_XMIT)))
			continue;
		check_warn(
			checkup, link->name,
			"%s, the egress of some routes, accepts no redirected frames: packets that leave through it pass to the kernel",
			link->name);
		if (port->flags & SIXLANE_PORT_NO_XMIT)
			check_advise(checkup, "route through its lower device where possible");
	}
}

const struct check doctor_traffic[] = {
	{ "egress", check_egresses, .usual = CHECK_EGRESS_ADVICE },
	{ "traffic", check_counters, .usual = "none needed: the kernel must see these packets" },
	{ .name = NULL },
};
