// SPDX-License-Identifier: GPL-2.0-only
/* The names are those of Linux 5.15 to 6.18. A name that is missing is taken for a side effect. */
#include "xt_matches.h"

#include <stddef.h>
#include <string.h>

#include "../lib/util.h"

/*
 * Sets par->hotdrop: a match that cannot read its header (a truncated packet, a fragment) drops the
 * packet, whatever the rule's target is.
 */
#define XT_PARSES (XT_STATEFUL | 8)

struct extension {
	const char *name;
	int class;
};

/* The first ones read the packet, its device, route and socket or the clock, and nothing else. */
static const struct extension matches[] = {
	{ "addrtype", XT_PURE },
	{ "cgroup", XT_PURE },
	{ "comment", XT_ALWAYS },
	{ "cpu", XT_PURE },
	{ "devgroup", XT_PURE },
	{ "dscp", XT_PURE },
	{ "ecn", XT_PURE },
	{ "hl", XT_PURE },
	{ "iprange", XT_PURE },
	{ "l2tp", XT_PURE },
	{ "length", XT_PURE },
	{ "mac", XT_PURE },
	{ "mark", XT_PURE },
	{ "owner", XT_PURE },
	{ "physdev", XT_PURE },
	{ "pkttype", XT_PURE },
	{ "policy", XT_PURE },
	{ "rateest", XT_PURE }, /* only the target of this name counts packets */
	{ "realm", XT_PURE },
	{ "rpfilter", XT_PURE },
	{ "srh", XT_PURE },
	{ "string", XT_PURE },
	{ "time", XT_PURE },
	{ "tos", XT_PURE },
	{ "u32", XT_PURE },

	{ "ah", XT_PARSES },
	{ "dccp", XT_PARSES },
	{ "dst", XT_PARSES },
	{ "esp", XT_PARSES },
	{ "eui64", XT_PARSES },
	{ "frag", XT_PARSES },
	{ "hbh", XT_PARSES },
	{ "icmp6", XT_PARSES },
	{ "ipcomp", XT_PARSES },
	{ "ipv6header", XT_PARSES },
	{ "mh", XT_PARSES },
	{ "multiport", XT_PARSES },
	{ "rt", XT_PARSES },
	{ "sctp", XT_PARSES },
	{ "tcp", XT_PARSES },
	{ "tcpmss", XT_PARSES },
	{ "udp", XT_PARSES },
	{ "udplite", XT_PARSES },

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
	{ "set", XT_STATEFUL },		     /* updates counters of the element that it finds */
	{ "socket", XT_CONNTRACK_STATEFUL }, /* may take the packet's mark from the socket */
	{ "statistic", XT_STATEFUL },	     /* mode nth counts */
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
	{ "TPROXY", XT_CONNTRACK_STATEFUL }, /* defragments */
	{ "TRACE", XT_STATEFUL },
};

/* What follows the name in the text. */
static const char *tail(const struct extension *extension)
{
	if (!extension)
		return ", unknown to sixlane";
	return extension->class == XT_PARSES ? ", which drops truncated packets" : "";
}

static enum xt_class find(const struct extension *at, size_t n, const char *what, const char *name,
			  char *text)
{
	const struct extension *found = NULL;

	for (size_t i = 0; i < n && !found; i++)
		if (strcmp(at[i].name, name) == 0)
			found = &at[i];
	if (text && snprintf(text, XT_TEXT_LEN, "%s %s%s", what, name, tail(found)) < 0)
		text[0] = '\0';
	return found ? found->class & XT_BITS : XT_STATEFUL;
}

enum xt_class xt_match_class(const char *name, char *text)
{
	return find(matches, ARRAY_SIZE(matches), "match", name, text);
}

enum xt_class xt_target_class(const char *name, char *text)
{
	return find(targets, ARRAY_SIZE(targets), "target", name, text);
}
