// SPDX-License-Identifier: GPL-2.0-only
/* Checks of the packets that XDP did not forward since the maps were made. */
#include "doctor.h"

/* A share is reported from so many percent on, if there were so many IPv6 packets. */
#define NOTABLE_PERCENT 1.0
#define NOTABLE_PACKETS 100u

#define NOTE(text) ((struct traffic_verdict){ FINDING_NOTE, text })
#define WARN(text) ((struct traffic_verdict){ FINDING_WARNING, text })

static const struct traffic_verdict verdicts[SIXLANE_N_VERDICTS] = {
	[SIXLANE_PASS_NOT_READY] = NOTE("this counter rises only while sixlaned starts"),
	[SIXLANE_PUNT_RULES] = WARN("remove some rules"),
	[SIXLANE_PASS_UNKNOWN_PORT] = WARN("start sixlaned, or run 'sixlane detach' on the port"),
	[SIXLANE_PASS_PORT] = NOTE("pass_ports in sixlaned.conf names this port"),
	[SIXLANE_PASS_PORT_UPPER] = WARN("attach to other ports, or to the bond itself"),
	[SIXLANE_PASS_FIREWALL] = NOTE("'sixlane explain SRC DST' names the rule"),
	[SIXLANE_PASS_TC] = NOTE("'sixlane explain SRC DST' names the filter or qdisc"),
	[SIXLANE_PASS_IPSEC] = NOTE("'sixlane explain SRC DST' names the policy"),
	[SIXLANE_PUNT_VLAN_DEPTH] = WARN("use no more than two VLAN tags"),
	[SIXLANE_PASS_TRUNCATED] = NOTE("check the senders and cables for damaged packets"),
	[SIXLANE_PASS_IPV6_OFF] = WARN("sysctl -w net.ipv6.conf.DEV.disable_ipv6=0"),
	[SIXLANE_PUNT_RULE] =
		WARN("use rules that match only address, protocol, port, traffic class or ingress"),
	[SIXLANE_PASS_NO_ROUTE] = NOTE("add a route if these packets are to be forwarded"),
	[SIXLANE_PUNT_MULTIPATH] = WARN("'sixlane routes' shows the routes"),
	[SIXLANE_PUNT_NEXT_HOP_OBJECT] = WARN("'sixlane routes' shows the routes"),
	[SIXLANE_PUNT_ENCAP] = WARN("use a route without encap where possible"),
	[SIXLANE_PUNT_SOURCE_ROUTE] = WARN("use a rule ('from') and a table instead"),
	[SIXLANE_PUNT_EXPIRES] = WARN("use a route without a lifetime"),
	[SIXLANE_PUNT_EQUAL_METRIC] = WARN("give the routes different metrics"),
	[SIXLANE_PUNT_ROUTE] = WARN("'sixlane routes' shows the routes"),
	[SIXLANE_PUNT_MAP_FULL] = WARN("raise max_routes in sixlaned.conf"),
	[SIXLANE_PUNT_MISMATCH] = WARN("see the log of sixlaned, and report it"),
	[SIXLANE_PUNT_HASH] = WARN("sysctl -w net.ipv6.fib_multipath_hash_policy=0"),
	[SIXLANE_PUNT_EXCEPTION] =
		WARN("see 'sixlane exception show'; raise max_exceptions in sixlaned.conf"),
	[SIXLANE_PASS_NO_FORWARDING] = WARN("sysctl -w net.ipv6.conf.all.forwarding=1"),
	[SIXLANE_PASS_CHECKSUM] = WARN("run 'ethtool -K DEV tx off' at the sender"),
	[SIXLANE_PASS_SAME_PORT] = WARN("let the senders accept Redirects, or give them routes"),
	[SIXLANE_PUNT_BRIDGE] = WARN("route through a port that is in no bridge"),
	[SIXLANE_PUNT_MACVLAN] = WARN("route through its lower device"),
	[SIXLANE_PUNT_TUNNEL] = NOTE("the kernel adds the headers"),
	[SIXLANE_PASS_EGRESS_DEVICE] =
		WARN("run 'sixlane attach' on the egress port; for a veth, enable GRO on its peer"),
	[SIXLANE_PASS_TOO_BIG] = WARN("set answer_too_big in sixlaned.conf, or use equal MTUs"),
	[SIXLANE_PASS_UNRESOLVED] = WARN("'ip -6 neigh' shows which neighbours do not answer"),
	[SIXLANE_PASS_NO_HEADROOM] = WARN("use another driver at the ingress port"),
	[SIXLANE_PASS_TRIM_FAILED] = WARN("use another driver at the ingress port"),
};

const struct traffic_verdict *traffic_verdict(uint32_t verdict)
{
	return &verdicts[verdict];
}

int traffic_read(const struct checkup *checkup, struct traffic *traffic)
{
	const struct maps *maps = &checkup->view->maps;
	struct sixlane_counters counters;
	int rc;

	*traffic = (struct traffic){ 0 };
	for (uint32_t slot = 0; slot < SIXLANE_MAX_PORTS; slot++) {
		const uint32_t ifindex = maps->ports[slot].ifindex;

		/* slot 0 counts the packets of unknown ports */
		if (slot ? !ifindex || !port_filter_has(&checkup->filter, ifindex)
			 : !checkup->filter.all)
			continue;
		rc = maps_counters(maps, slot, &counters);
		if (rc)
			return rc;
		for (uint32_t v = 0; v < SIXLANE_N_VERDICTS; v++)
			traffic->packets[v] += counters.verdicts[v].packets;
	}
	return 0;
}

static uint64_t count_ipv6(const struct traffic *traffic)
{
	uint64_t all = 0;

	for (uint32_t v = 0; v < SIXLANE_N_VERDICTS; v++)
		all += v == SIXLANE_PASS_NOT_IPV6 ? 0 : traffic->packets[v];
	return all;
}

double traffic_share(const struct traffic *traffic, uint32_t verdict)
{
	uint64_t all = count_ipv6(traffic);

	return all ? 100.0 * (double)traffic->packets[verdict] / (double)all : 0;
}

bool traffic_is_notable(const struct traffic *traffic, uint32_t verdict)
{
	return count_ipv6(traffic) >= NOTABLE_PACKETS &&
	       traffic_share(traffic, verdict) >= NOTABLE_PERCENT;
}

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
