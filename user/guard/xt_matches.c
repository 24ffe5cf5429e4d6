// SPDX-License-Identifier: GPL-2.0-only
/*
 * Side effects of x_tables extensions. Names are those of Linux 5.15 to 6.18. A name that is
 * missing is taken for a side effect.
 */
#include "ruleset.h"

#include <string.h>

#include "../lib/util.h"

/* Bits, because some do several things. */
enum xt_class {
	XT_PURE = 0,	  /* it only looks at the packet, and may match or not */
	XT_CONNTRACK = 1, /* it needs connection tracking */
	XT_STATEFUL = 2,  /* it counts, logs, writes to the packet, or may drop it */
	XT_CONNTRACK_STATEFUL = XT_CONNTRACK | XT_STATEFUL,
	XT_ALWAYS = 4, /* it matches every packet */
	/*
	 * Sets par->hotdrop: a match that cannot read its header (a truncated packet, a fragment)
	 * drops the packet, whatever the rule's target is.
	 */
	XT_PARSES = XT_STATEFUL | 8,
};

/* Bytes of a text for guard_effect(), such as "match limit"; longer ones are cut. */
#define TEXT_LEN 96

struct extensions {
	int class;
	const char *names[26]; /* NULL ends them */
};

static const struct extensions matches[] = {
	{ XT_ALWAYS, { "comment" } },
	/* They read the packet, its device, route and socket or the clock, and nothing else. */
	{ XT_PURE,
	  /* Only the target of the name rateest counts packets. */
	  { "addrtype", "cgroup", "cpu",      "devgroup", "dscp",   "ecn",     "hl",	  "iprange",
	    "l2tp",	"length", "mac",      "mark",	  "owner",  "physdev", "pkttype", "policy",
	    "rateest",	"realm",  "rpfilter", "srh",	  "string", "time",    "tos",	  "u32" } },
	{ XT_PARSES,
	  { "ah", "dccp", "dst", "esp", "eui64", "frag", "hbh", "icmp6", "ipcomp", "ipv6header",
	    "mh", "multiport", "rt", "sctp", "tcp", "tcpmss", "udp", "udplite" } },
	{ XT_CONNTRACK,
	  { "cluster", "connbytes", "connlabel", "connmark", "conntrack", "helper", "ipvs",
	    "state" } },
	/*
	 * bpf: its program may write to maps. osf: logs what it matches. set: updates counters of
	 * the element that it finds. statistic: mode nth counts.
	 */
	{ XT_STATEFUL,
	  { "bpf", "hashlimit", "limit", "nfacct", "osf", "quota", "recent", "set", "statistic" } },
	/* socket: may take the packet's mark from the socket. */
	{ XT_CONNTRACK_STATEFUL, { "connlimit", "socket" } },
};

static const struct extensions targets[] = {
	{ XT_STATEFUL, { "AUDIT",   "CHECKSUM",	 "CLASSIFY",	"DNPT",	  "DSCP",    "HL",
			 "HMARK",   "IDLETIMER", "LED",		"LOG",	  "MARK",    "NFLOG",
			 "NFQUEUE", "NOTRACK",	 "RATEEST",	"REJECT", "SECMARK", "SET",
			 "SNPT",    "TCPMSS",	 "TCPOPTSTRIP", "TEE",	  "TOS",     "TRACE" } },
	/* TPROXY: defragments. */
	{ XT_CONNTRACK_STATEFUL,
	  { "CONNMARK", "CONNSECMARK", "CT", "DNAT", "MASQUERADE", "NETMAP", "REDIRECT", "SNAT",
	    "SYNPROXY", "TPROXY" } },
};

/* The class, or -1 for an unknown name. */
static int find_class(const struct extensions *at, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		for (const char *const *known = at[i].names; *known; known++)
			if (strcmp(*known, name) == 0)
				return at[i].class;
	return -1;
}

static int classify(const struct extensions *at, size_t n, const char *what, const char *name,
		    char text[TEXT_LEN])
{
	int class = find_class(at, n, name);
	const char *tail = class < 0		? ", unknown to sixlane"
			   : class == XT_PARSES ? ", which drops truncated packets"
						: "";

	(void)!snprintf(text, TEXT_LEN, "%s %s%s", what, name, tail);
	return class < 0 ? XT_STATEFUL : class;
}

void xt_add_match(struct guard_ruleset *rules, const char *name, bool with_effect)
{
	char text[TEXT_LEN];
	int class = classify(matches, ARRAY_SIZE(matches), "match", name, text);

	if (class & XT_CONNTRACK)
		guard_add_conntrack(rules);
	if (class & XT_STATEFUL && with_effect)
		guard_effect(rules, text);
	if (!(class & XT_ALWAYS))
		guard_may_match(rules);
}

void xt_add_target(struct guard_ruleset *rules, const char *name)
{
	char text[TEXT_LEN];

	if (classify(targets, ARRAY_SIZE(targets), "target", name, text) & XT_CONNTRACK)
		guard_add_conntrack(rules);
	guard_effect(rules, text);
}
