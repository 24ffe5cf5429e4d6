// SPDX-License-Identifier: GPL-2.0-only
#include "xt_matches.h"

#include <stddef.h>
#include <string.h>

#include "../util.h"

struct extension {
	const char *name;
	enum xt_class class;
	const char *words;
};

#define EXTENSION(name, class)    \
	{                         \
		name, class, name \
	}
/*
 * par->hotdrop in the kernel: a match that cannot read the header that it was asked about (a
 * truncated packet, a fragment) drops the packet, whatever the rule's target.
 */
#define PARSES(name)                                                               \
	{                                                                          \
		name, XT_STATEFUL, "match " name ", which drops packets cut short" \
	}

/* Those that read the packet, its device, its route, its socket or the clock, and nothing else,
 * stand first. */
static const struct extension matches[] = {
	EXTENSION("addrtype", XT_PURE),
	EXTENSION("cgroup", XT_PURE),
	EXTENSION("comment", XT_ALWAYS),
	EXTENSION("cpu", XT_PURE),
	EXTENSION("devgroup", XT_PURE),
	EXTENSION("dscp", XT_PURE),
	EXTENSION("ecn", XT_PURE),
	EXTENSION("hl", XT_PURE),
	EXTENSION("iprange", XT_PURE),
	EXTENSION("l2tp", XT_PURE),
	EXTENSION("length", XT_PURE),
	EXTENSION("mac", XT_PURE),
	EXTENSION("mark", XT_PURE),
	EXTENSION("owner", XT_PURE),
	EXTENSION("physdev", XT_PURE),
	EXTENSION("pkttype", XT_PURE),
	EXTENSION("policy", XT_PURE),
	EXTENSION("rateest", XT_PURE), /* the target of this name counts, not the match */
	EXTENSION("realm", XT_PURE),
	EXTENSION("rpfilter", XT_PURE),
	EXTENSION("srh", XT_PURE),
	EXTENSION("string", XT_PURE),
	EXTENSION("time", XT_PURE),
	EXTENSION("tos", XT_PURE),
	EXTENSION("u32", XT_PURE),

	PARSES("ah"),
	PARSES("dccp"),
	PARSES("dst"),
	PARSES("esp"),
	PARSES("eui64"),
	PARSES("frag"),
	PARSES("hbh"),
	PARSES("icmp6"),
	PARSES("ipcomp"),
	PARSES("ipv6header"),
	PARSES("mh"),
	PARSES("multiport"),
	PARSES("rt"),
	PARSES("sctp"),
	PARSES("tcp"),
	PARSES("tcpmss"),
	PARSES("udp"),
	PARSES("udplite"),

	EXTENSION("cluster", XT_CONNTRACK),
	EXTENSION("connbytes", XT_CONNTRACK),
	EXTENSION("connlabel", XT_CONNTRACK),
	EXTENSION("connmark", XT_CONNTRACK),
	EXTENSION("conntrack", XT_CONNTRACK),
	EXTENSION("helper", XT_CONNTRACK),
	EXTENSION("ipvs", XT_CONNTRACK),
	EXTENSION("state", XT_CONNTRACK),

	EXTENSION("bpf", XT_STATEFUL), /* its program may write to maps */
	EXTENSION("connlimit", XT_CONNTRACK_STATEFUL),
	EXTENSION("hashlimit", XT_STATEFUL),
	EXTENSION("limit", XT_STATEFUL),
	EXTENSION("nfacct", XT_STATEFUL),
	EXTENSION("osf", XT_STATEFUL), /* logs what it matches */
	EXTENSION("quota", XT_STATEFUL),
	EXTENSION("recent", XT_STATEFUL),
	EXTENSION("set", XT_STATEFUL),	     /* updates counters of the element that it finds */
	EXTENSION("socket", XT_STATEFUL),    /* may take the packet's mark from the socket */
	EXTENSION("statistic", XT_STATEFUL), /* mode nth counts */
};

static const struct extension targets[] = {
	EXTENSION("AUDIT", XT_STATEFUL),
	EXTENSION("CHECKSUM", XT_STATEFUL),
	EXTENSION("CLASSIFY", XT_STATEFUL),
	EXTENSION("CONNMARK", XT_CONNTRACK_STATEFUL),
	EXTENSION("CONNSECMARK", XT_CONNTRACK_STATEFUL),
	EXTENSION("CT", XT_CONNTRACK_STATEFUL),
	EXTENSION("DNAT", XT_CONNTRACK_STATEFUL),
	EXTENSION("DNPT", XT_STATEFUL),
	EXTENSION("DSCP", XT_STATEFUL),
	EXTENSION("HL", XT_STATEFUL),
	EXTENSION("HMARK", XT_STATEFUL),
	EXTENSION("IDLETIMER", XT_STATEFUL),
	EXTENSION("LED", XT_STATEFUL),
	EXTENSION("LOG", XT_STATEFUL),
	EXTENSION("MARK", XT_STATEFUL),
	EXTENSION("MASQUERADE", XT_CONNTRACK_STATEFUL),
	EXTENSION("NETMAP", XT_CONNTRACK_STATEFUL),
	EXTENSION("NFLOG", XT_STATEFUL),
	EXTENSION("NFQUEUE", XT_STATEFUL),
	EXTENSION("NOTRACK", XT_STATEFUL),
	EXTENSION("RATEEST", XT_STATEFUL),
	EXTENSION("REDIRECT", XT_CONNTRACK_STATEFUL),
	EXTENSION("REJECT", XT_STATEFUL),
	EXTENSION("SECMARK", XT_STATEFUL),
	EXTENSION("SET", XT_STATEFUL),
	EXTENSION("SNAT", XT_CONNTRACK_STATEFUL),
	EXTENSION("SNPT", XT_STATEFUL),
	EXTENSION("SYNPROXY", XT_CONNTRACK_STATEFUL),
	EXTENSION("TCPMSS", XT_STATEFUL),
	EXTENSION("TCPOPTSTRIP", XT_STATEFUL),
	EXTENSION("TEE", XT_STATEFUL),
	EXTENSION("TOS", XT_STATEFUL),
	EXTENSION("TPROXY", XT_STATEFUL),
	EXTENSION("TRACE", XT_STATEFUL),
};

static enum xt_class find(const struct extension *at, size_t n, const char *name,
			  const char **words)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(at[i].name, name) != 0)
			continue;
		if (words)
			*words = at[i].words;
		return at[i].class;
	}
	if (words)
		*words = NULL;
	return XT_STATEFUL;
}

enum xt_class xt_match_class(const char *name, const char **words)
{
	return find(matches, ARRAY_SIZE(matches), name, words);
}

enum xt_class xt_target_class(const char *name, const char **words)
{
	return find(targets, ARRAY_SIZE(targets), name, words);
}
