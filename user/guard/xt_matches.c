// SPDX-License-Identifier: GPL-2.0-only
#include "xt_matches.h"

#include <stdlib.h>
#include <string.h>

#include "../util.h"

struct match {
	const char *name;
	enum xt_class class;
};

/* By name. "bpf" is missing: its program may write to maps. */
static const struct match matches[] = {
	{ "addrtype", XT_PURE },
	{ "ah", XT_PURE },
	{ "cgroup", XT_PURE },
	{ "cluster", XT_CONNTRACK },
	{ "comment", XT_PURE },
	{ "connbytes", XT_CONNTRACK },
	{ "connlabel", XT_CONNTRACK },
	{ "connlimit", XT_STATEFUL },
	{ "connmark", XT_CONNTRACK },
	{ "conntrack", XT_CONNTRACK },
	{ "cpu", XT_PURE },
	{ "dccp", XT_PURE },
	{ "devgroup", XT_PURE },
	{ "dscp", XT_PURE },
	{ "dst", XT_PURE },
	{ "ecn", XT_PURE },
	{ "esp", XT_PURE },
	{ "eui64", XT_PURE },
	{ "frag", XT_PURE },
	{ "hashlimit", XT_STATEFUL },
	{ "hbh", XT_PURE },
	{ "helper", XT_CONNTRACK },
	{ "hl", XT_PURE },
	{ "icmp6", XT_PURE },
	{ "ipcomp", XT_PURE },
	{ "iprange", XT_PURE },
	{ "ipv6header", XT_PURE },
	{ "ipvs", XT_CONNTRACK },
	{ "l2tp", XT_PURE },
	{ "length", XT_PURE },
	{ "limit", XT_STATEFUL },
	{ "mac", XT_PURE },
	{ "mark", XT_PURE },
	{ "mh", XT_PURE },
	{ "multiport", XT_PURE },
	{ "nfacct", XT_STATEFUL },
	{ "osf", XT_PURE },
	{ "owner", XT_PURE },
	{ "physdev", XT_PURE },
	{ "pkttype", XT_PURE },
	{ "policy", XT_PURE },
	{ "quota", XT_STATEFUL },
	{ "rateest", XT_STATEFUL },
	{ "recent", XT_STATEFUL },
	{ "rpfilter", XT_PURE },
	{ "rt", XT_PURE },
	{ "sctp", XT_PURE },
	/* Tests, and counts what it finds in sets that count. */
	{ "set", XT_PURE },
	/* Its reader looks whether it writes the socket's mark. */
	{ "socket", XT_PURE },
	{ "state", XT_CONNTRACK },
	{ "statistic", XT_STATEFUL },
	{ "string", XT_PURE },
	{ "tcp", XT_PURE },
	{ "tcpmss", XT_PURE },
	{ "time", XT_PURE },
	{ "tos", XT_PURE },
	{ "u32", XT_PURE },
	{ "udp", XT_PURE },
	{ "udplite", XT_PURE },
};

static int compare_name(const void *name, const void *match)
{
	return strcmp(name, ((const struct match *)match)->name);
}

enum xt_class xt_match_class(const char *name)
{
	const struct match *match =
		bsearch(name, matches, ARRAY_SIZE(matches), sizeof(*match), compare_name);

	return match ? match->class : XT_UNKNOWN;
}
