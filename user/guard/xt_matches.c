// SPDX-License-Identifier: GPL-2.0-only
#include "xt_matches.h"

#include <stddef.h>
#include <string.h>

#include "../util.h"

struct extension {
	const char *name;
	enum xt_class class;
};

/* Those that read the packet, its device, its route, its socket or the clock, and nothing else,
 * stand first. */
static const struct extension matches[] = {
	{ "addrtype", XT_PURE },
	{ "ah", XT_PURE },
	{ "cgroup", XT_PURE },
	{ "comment", XT_PURE },
	{ "cpu", XT_PURE },
	{ "dccp", XT_PURE },
	{ "devgroup", XT_PURE },
	{ "dscp", XT_PURE },
	{ "dst", XT_PURE },
	{ "ecn", XT_PURE },
	{ "esp", XT_PURE },
	{ "eui64", XT_PURE },
	{ "frag", XT_PURE },
	{ "hbh", XT_PURE },
	{ "hl", XT_PURE },
	{ "icmp6", XT_PURE },
	{ "ipcomp", XT_PURE },
	{ "iprange", XT_PURE },
	{ "ipv6header", XT_PURE },
	{ "l2tp", XT_PURE },
	{ "length", XT_PURE },
	{ "mac", XT_PURE },
	{ "mark", XT_PURE },
	{ "mh", XT_PURE },
	{ "multiport", XT_PURE },
	{ "owner", XT_PURE },
	{ "physdev", XT_PURE },
	{ "pkttype", XT_PURE },
	{ "policy", XT_PURE },
	{ "rateest", XT_PURE }, /* the target of this name counts, not the match */
	{ "realm", XT_PURE },
	{ "rpfilter", XT_PURE },
	{ "rt", XT_PURE },
	{ "sctp", XT_PURE },
	{ "srh", XT_PURE },
	{ "string", XT_PURE },
	{ "tcp", XT_PURE },
	{ "tcpmss", XT_PURE },
	{ "time", XT_PURE },
	{ "tos", XT_PURE },
	{ "u32", XT_PURE },
	{ "udp", XT_PURE },
	{ "udplite", XT_PURE },

	{ "cluster", XT_CONNTRACK },
	{ "connbytes", XT_CONNTRACK },
	{ "connlabel", XT_CONNTRACK },
	{ "connmark", XT_CONNTRACK },
	{ "conntrack", XT_CONNTRACK },
	{ "helper", XT_CONNTRACK },
	{ "ipvs", XT_CONNTRACK },
	{ "state", XT_CONNTRACK },

	{ "bpf", XT_STATEFUL }, /* its program may write to maps */
	{ "connlimit", XT_CONNTRACK_STATEFUL },
	{ "hashlimit", XT_STATEFUL },
	{ "limit", XT_STATEFUL },
	{ "nfacct", XT_STATEFUL },
	{ "osf", XT_STATEFUL }, /* logs what it matches */
	{ "quota", XT_STATEFUL },
	{ "recent", XT_STATEFUL },
	{ "set", XT_STATEFUL },	      /* updates counters of the element that it finds */
	{ "socket", XT_STATEFUL },    /* may take the packet's mark from the socket */
	{ "statistic", XT_STATEFUL }, /* mode nth counts */
};

static const struct extension targets[] = {
	{ "AUDIT", XT_STATEFUL },
	{ "CHECKSUM", XT_STATEFUL },
	{ "CLASSIFY", XT_STATEFUL },
	{ "CONNMARK", XT_CONNTRACK_STATEFUL },
	{ "CONNSECMARK", XT_CONNTRACK_STATEFUL },
	{ "CT", XT_CONNTRACK_STATEFUL },
	{ "DNAT", XT_CONNTRACK_STATEFUL },
	{ "DNPT", XT_STATEFUL },
	{ "DSCP", XT_STATEFUL },
	{ "HL", XT_STATEFUL },
	{ "HMARK", XT_STATEFUL },
	{ "IDLETIMER", XT_STATEFUL },
	{ "LED", XT_STATEFUL },
	{ "LOG", XT_STATEFUL },
	{ "MARK", XT_STATEFUL },
	{ "MASQUERADE", XT_CONNTRACK_STATEFUL },
	{ "NETMAP", XT_CONNTRACK_STATEFUL },
	{ "NFLOG", XT_STATEFUL },
	{ "NFQUEUE", XT_STATEFUL },
	{ "NOTRACK", XT_STATEFUL },
	{ "RATEEST", XT_STATEFUL },
	{ "REDIRECT", XT_CONNTRACK_STATEFUL },
	{ "REJECT", XT_STATEFUL },
	{ "SECMARK", XT_STATEFUL },
	{ "SET", XT_STATEFUL },
	{ "SNAT", XT_CONNTRACK_STATEFUL },
	{ "SNPT", XT_STATEFUL },
	{ "SYNPROXY", XT_CONNTRACK_STATEFUL },
	{ "TCPMSS", XT_STATEFUL },
	{ "TCPOPTSTRIP", XT_STATEFUL },
	{ "TEE", XT_STATEFUL },
	{ "TOS", XT_STATEFUL },
	{ "TPROXY", XT_STATEFUL },
	{ "TRACE", XT_STATEFUL },
};

static enum xt_class find(const struct extension *at, size_t n, const char *name,
			  const char *unknown, const char **words)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(at[i].name, name) != 0)
			continue;
		if (words)
			*words = at[i].name;
		return at[i].class;
	}
	if (words)
		*words = unknown;
	return XT_STATEFUL;
}

enum xt_class xt_match_class(const char *name, const char **words)
{
	return find(matches, ARRAY_SIZE(matches), name, "a match that is not known", words);
}

enum xt_class xt_target_class(const char *name, const char **words)
{
	return find(targets, ARRAY_SIZE(targets), name, "a target that is not known", words);
}
