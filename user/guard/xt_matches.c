// SPDX-License-Identifier: GPL-2.0-only
/* Names are those of Linux 5.15 to 6.18. A name that is missing is taken for a side effect. */
#include "xt_matches.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "../lib/util.h"

/*
 * Sets par->hotdrop: a match that cannot read its header (a truncated packet, a fragment) drops the
 * packet, whatever the rule's target is.
 */
#define XT_PARSES (XT_STATEFUL | 8)

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

static enum xt_class find(const struct extensions *at, size_t n, const char *what, const char *name,
			  char *text)
{
	int class = find_class(at, n, name);
	const char *tail = class < 0		? ", unknown to sixlane"
			   : class == XT_PARSES ? ", which drops truncated packets"
						: "";

	if (text)
		(void)!snprintf(text, XT_TEXT_LEN, "%s %s%s", what, name, tail);
	return class < 0 ? XT_STATEFUL : class & XT_BITS;
}

enum xt_class xt_match_class(const char *name, char *text)
{
	return find(matches, ARRAY_SIZE(matches), "match", name, text);
}

enum xt_class xt_target_class(const char *name, char *text)
{
	return find(targets, ARRAY_SIZE(targets), "target", name, text);
}

void xt_add_match(struct guard_ruleset *rules, const char *name, bool with_effect)
{
	char text[XT_TEXT_LEN];
	enum xt_class class = xt_match_class(name, text);

	if (class & XT_CONNTRACK)
		guard_add_conntrack(rules);
	if (class & XT_STATEFUL && with_effect)
		guard_effect(rules, text);
	if (!(class & XT_ALWAYS))
		guard_may_match(rules);
}

void xt_add_target(struct guard_ruleset *rules, const char *name)
{
	char text[XT_TEXT_LEN];

	if (xt_target_class(name, text) & XT_CONNTRACK)
		guard_add_conntrack(rules);
	guard_effect(rules, text);
}
