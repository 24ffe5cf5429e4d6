// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which packets were not forwarded in XDP since the maps were made, by verdict, and what to do
 * about each kind.
 */
#include <errno.h>
#include <string.h>

#include "doctor.h"

/* Of the IPv6 packets, of which there are to be some; what is less is told with -s only. */
#define WORTH_PERCENT 1.0
#define WORTH_PACKETS 100u

static const struct doctor_verdict verdicts[SIXLANE_N_VERDICTS] = {
	[SIXLANE_PASS_NOT_READY] = { FINDING_NOTE,
				     "this counter rises only while sixlaned starts" },
	[SIXLANE_PUNT_RULES] = { FINDING_SHOULD, "remove some rules" },
	[SIXLANE_PASS_UNKNOWN_PORT] = { FINDING_SHOULD,
					"start sixlaned, or run 'sixlane detach' on the port" },
	[SIXLANE_PASS_PORT] = { FINDING_NOTE, "pass_ports in sixlaned.conf names this port" },
	[SIXLANE_PASS_PORT_UPPER] = { FINDING_SHOULD,
				      "attach to other ports, or to the bond itself" },
	[SIXLANE_PASS_FIREWALL] = { FINDING_NOTE, "'sixlane explain SRC DST' names the rule" },
	[SIXLANE_PASS_TC] = { FINDING_NOTE, "'sixlane explain SRC DST' names the filter or qdisc" },
	[SIXLANE_PASS_IPSEC] = { FINDING_NOTE, "'sixlane explain SRC DST' names the policy" },
	[SIXLANE_PUNT_VLAN_DEPTH] = { FINDING_SHOULD, "use no more than two VLAN tags" },
	[SIXLANE_PASS_TRUNCATED] = { FINDING_NOTE,
				     "check the senders and cables for damaged packets" },
	[SIXLANE_PASS_IPV6_OFF] = { FINDING_SHOULD, "sysctl -w net.ipv6.conf.DEV.disable_ipv6=0" },
	[SIXLANE_PUNT_RULE] = { FINDING_SHOULD,
				"use rules that match only address, protocol, port, traffic class or ingress" },
	[SIXLANE_PASS_NO_ROUTE] = { FINDING_NOTE,
				    "add a route if these packets are to be forwarded" },
	[SIXLANE_PUNT_MULTIPATH] = { FINDING_SHOULD, "'sixlane routes' shows the routes" },
	[SIXLANE_PUNT_NEXT_HOP_OBJECT] = { FINDING_SHOULD, "'sixlane routes' shows the routes" },
	[SIXLANE_PUNT_ENCAP] = { FINDING_SHOULD, "use a route without encap where possible" },
	[SIXLANE_PUNT_SOURCE_ROUTE] = { FINDING_SHOULD, "use a rule ('from') and a table instead" },
	[SIXLANE_PUNT_EXPIRES] = { FINDING_SHOULD, "use a route without a lifetime" },
	[SIXLANE_PUNT_EQUAL_METRIC] = { FINDING_SHOULD, "give the routes different metrics" },
	[SIXLANE_PUNT_ROUTE] = { FINDING_SHOULD, "'sixlane routes' shows the routes" },
	[SIXLANE_PUNT_MAP_FULL] = { FINDING_SHOULD, "raise max_routes in sixlaned.conf" },
	[SIXLANE_PUNT_MISMATCH] = { FINDING_SHOULD, "see the log of sixlaned, and report it" },
	[SIXLANE_PUNT_HASH] = { FINDING_SHOULD, "sysctl -w net.ipv6.fib_multipath_hash_policy=0" },
	[SIXLANE_PUNT_EXCEPTION] = { FINDING_SHOULD,
				     "see 'sixlane exception show'; raise max_exceptions in sixlaned.conf" },
	[SIXLANE_PASS_NO_FORWARDING] = { FINDING_SHOULD,
					 "sysctl -w net.ipv6.conf.all.forwarding=1" },
	[SIXLANE_PASS_CHECKSUM] = { FINDING_SHOULD, "run 'ethtool -K DEV tx off' at the sender" },
	[SIXLANE_PASS_SAME_PORT] = { FINDING_SHOULD,
				     "let the senders accept Redirects, or give them routes" },
	[SIXLANE_PUNT_BRIDGE] = { FINDING_SHOULD, "route through a port that is in no bridge" },
	[SIXLANE_PUNT_MACVLAN] = { FINDING_SHOULD, "route through its lower device" },
	[SIXLANE_PUNT_TUNNEL] = { FINDING_NOTE, "the kernel adds the headers" },
	[SIXLANE_PASS_EGRESS_DEVICE] = { FINDING_SHOULD,
					 "run 'sixlane attach' on the egress port; for a veth, enable GRO on its peer" },
	[SIXLANE_PASS_TOO_BIG] = { FINDING_SHOULD,
				   "set answer_too_big in sixlaned.conf, or use equal MTUs" },
	[SIXLANE_PASS_UNRESOLVED] = { FINDING_SHOULD,
				      "'ip -6 neigh' shows which neighbours do not answer" },
	[SIXLANE_PASS_NO_HEADROOM] = { FINDING_SHOULD, "use another driver at the ingress port" },
	[SIXLANE_PASS_TRIM_FAILED] = { FINDING_SHOULD, "use another driver at the ingress port" },
};

const struct doctor_verdict *doctor_verdict(uint32_t verdict)
{
	return &verdicts[verdict];
}

static bool is_asked(const struct checkup *checkup, uint32_t slot)
{
	uint32_t ifindex = checkup->view->maps.ports[slot].ifindex;

	return checkup->asked.all || (slot && status_asked_has(&checkup->asked, ifindex));
}

int doctor_count_packets(const struct checkup *checkup, uint64_t packets[SIXLANE_N_VERDICTS])
{
	const struct maps *maps = &checkup->view->maps;
	struct sixlane_counters counters;
	int ret;

	memset(packets, 0, SIXLANE_N_VERDICTS * sizeof(*packets));
	for (uint32_t slot = 0; slot < SIXLANE_MAX_PORTS; slot++) {
		if ((slot && !maps->ports[slot].ifindex) || !is_asked(checkup, slot))
			continue;
		ret = maps_counters(maps, slot, &counters);
		if (ret)
			return ret;
		for (uint32_t v = 0; v < SIXLANE_N_VERDICTS; v++)
			packets[v] += counters.verdicts[v].packets;
	}
	return 0;
}

static uint64_t count_ipv6(const uint64_t packets[SIXLANE_N_VERDICTS])
{
	uint64_t all = 0;

	for (uint32_t v = 0; v < SIXLANE_N_VERDICTS; v++)
		all += v == SIXLANE_PASS_NOT_IPV6 ? 0 : packets[v];
	return all;
}

double doctor_share(const uint64_t packets[SIXLANE_N_VERDICTS], uint32_t verdict)
{
	uint64_t all = count_ipv6(packets);

	return all ? 100.0 * (double)packets[verdict] / (double)all : 0;
}

enum finding_severity doctor_judge(const uint64_t packets[SIXLANE_N_VERDICTS], uint32_t verdict,
				   bool *worth)
{
	*worth = count_ipv6(packets) >= WORTH_PACKETS &&
		 doctor_share(packets, verdict) >= WORTH_PERCENT;
	return *worth ? verdicts[verdict].severity : FINDING_NOTE;
}

static bool is_fast(uint32_t verdict)
{
	return verdict == SIXLANE_FORWARD || verdict == SIXLANE_ANSWER_TOO_BIG ||
	       verdict == SIXLANE_PASS_NOT_IPV6;
}

static void check_counters(struct checkup *checkup)
{
	uint64_t packets[SIXLANE_N_VERDICTS];

	if (!checkup->has_maps || doctor_count_packets(checkup, packets))
		return;
	for (uint32_t v = 0; v < SIXLANE_N_VERDICTS; v++) {
		bool worth;
		enum finding_severity severity = doctor_judge(packets, v, &worth);

		if (is_fast(v) || !packets[v] || (!worth && !checkup->options->statistics))
			continue;
		check_say(checkup, severity, NULL,
			  "%.1f %% of the IPv6 packets so far (%llu): %s (%s)",
			  doctor_share(packets, v), (unsigned long long)packets[v],
			  cmd_verdict_text(v), cmd_verdict_name(v));
		if (verdicts[v].advice)
			check_advise(checkup, "%s", verdicts[v].advice);
	}
}

/* A device that packets only leave by: what comes in by it is another table's. */
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
		check_say(
			checkup, FINDING_SHOULD, link->name,
			"%s, the egress of some routes, accepts no redirected frames: packets that leave through it pass to the kernel",
			link->name);
		if (port->flags & SIXLANE_PORT_NO_XMIT)
			check_advise(checkup, "route through its lower device where possible");
	}
}

static const struct check checks[] = {
	{ "egress", check_egresses, .usual = CHECK_EGRESS_ADVICE },
	{ "traffic", check_counters, .usual = "none needed: the kernel must see these packets" },
};

const struct checks doctor_traffic = { checks, ARRAY_SIZE(checks) };
