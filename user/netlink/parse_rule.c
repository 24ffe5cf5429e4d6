// SPDX-License-Identifier: GPL-2.0-only
/*
 * RTM_NEWRULE and RTM_DELRULE of AF_INET6. Kernels keep adding selectors (DSCP, flow label, port
 * masks). Ignoring one would send packets by a table that the kernel does not use for them, so
 * every bit that the parser does not know makes a rule `unknown`.
 *
 * `never` depends on what ip6_route_input() puts into the flow of a forwarded packet: no output
 * device, the packet's mark, the user id 0, and a tunnel id only from a tunnel device that keeps it
 * beside the packet (vxlan external …). Such devices are never served.
 */
#include "parse.h"

#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include "parse_attr.h"

/* FRA_* of Linux 6.12 (DSCP), 6.14 (flow label) and 6.15 (masks), which older headers lack. */
enum {
	RULE_DSCP = 25,
	RULE_FLOWLABEL = 26,
	RULE_FLOWLABEL_MASK = 27,
	RULE_SPORT_MASK = 28,
	RULE_DPORT_MASK = 29,
	RULE_DSCP_MASK = 30,
};

static const struct attr_spec rule_attrs[] = {
	[FRA_DST] = ATTR_ADDR,
	[FRA_SRC] = ATTR_ADDR,
	[FRA_IIFNAME] = ATTR_STRING(IFNAMSIZ),
	[FRA_GOTO] = ATTR_U32,
	[FRA_PRIORITY] = ATTR_U32,
	[FRA_FWMARK] = ATTR_U32,
	[FRA_TUN_ID] = ATTR_U64,
	[FRA_SUPPRESS_IFGROUP] = ATTR_U32,
	[FRA_SUPPRESS_PREFIXLEN] = ATTR_U32,
	[FRA_TABLE] = ATTR_U32,
	[FRA_FWMASK] = ATTR_U32,
	[FRA_OIFNAME] = ATTR_STRING(IFNAMSIZ),
	[FRA_PAD] = ATTR_ANY,
	[FRA_L3MDEV] = ATTR_U8,
	[FRA_UID_RANGE] = ATTR_EXACT(sizeof(struct fib_rule_uid_range)),
	[FRA_PROTOCOL] = ATTR_U8,
	[FRA_IP_PROTO] = ATTR_U8,
	[FRA_SPORT_RANGE] = ATTR_EXACT(sizeof(struct fib_rule_port_range)),
	[FRA_DPORT_RANGE] = ATTR_EXACT(sizeof(struct fib_rule_port_range)),
	[RULE_DSCP] = ATTR_U8,
	[RULE_FLOWLABEL] = ATTR_U32,
	[RULE_FLOWLABEL_MASK] = ATTR_U32,
	[RULE_SPORT_MASK] = ATTR_U16,
	[RULE_DPORT_MASK] = ATTR_U16,
	[RULE_DSCP_MASK] = ATTR_U8,
};

/*
 * Flags that are in struct rule, that follow from the lists of rules and devices, or that concern
 * only packets without a source address (FIND_SADDR).
 */
#define KNOWN_FLAGS                                                                           \
	(FIB_RULE_PERMANENT | FIB_RULE_INVERT | FIB_RULE_UNRESOLVED | FIB_RULE_IIF_DETACHED | \
	 FIB_RULE_OIF_DETACHED | FIB_RULE_FIND_SADDR)

#define DSCP_MAX 0x3f
#define TCLASS_ECN 0x03

/* A selector that no forwarded packet matches. */
static bool has_impossible_selector(const struct nlattr **at)
{
	struct fib_rule_uid_range uids = { 0 };

	if (at[FRA_UID_RANGE])
		attr_copy(&uids, at[FRA_UID_RANGE], sizeof(uids));
	return at[FRA_OIFNAME] || attr_u64(at[FRA_TUN_ID], 0) != 0 || uids.start != 0;
}

/*
 * A selector or suppressor that a packet on the wire does not show. Without a mask, the whole mark
 * is compared. A suppressor of -1 is none.
 */
static bool has_invisible_selector(const struct nlattr **at)
{
	uint32_t mark = attr_u32(at[FRA_FWMARK], 0);

	return attr_u32(at[FRA_FWMASK], mark ? UINT32_MAX : 0) != 0 ||
	       attr_u32(at[FRA_SUPPRESS_IFGROUP], UINT32_MAX) != UINT32_MAX || at[RULE_FLOWLABEL] ||
	       at[RULE_FLOWLABEL_MASK];
}

/*
 * A rule has either tos, which selects only if it is not 0, or the DSCP. Only kernels before 5.18
 * send ECN bits in tos, and they compare them.
 */
static void tclass_parse(const struct fib_rule_hdr *frh, const struct nlattr **at,
			 struct rule *rule)
{
	uint8_t dscp = attr_u8(at[RULE_DSCP], 0);
	uint8_t mask = attr_u8(at[RULE_DSCP_MASK], DSCP_MAX);

	if (at[RULE_DSCP]) {
		rule->tclass = (uint8_t)(dscp << 2);
		rule->tclass_mask = (uint8_t)(mask << 2);
		rule->unknown |=
			frh->tos != 0 || dscp > DSCP_MAX || mask > DSCP_MAX || (dscp & ~mask) != 0;
	} else if (frh->tos != 0) {
		rule->tclass = frh->tos & (uint8_t)~TCLASS_ECN;
		rule->tclass_mask = (uint8_t)~TCLASS_ECN;
		rule->unknown |= (frh->tos & TCLASS_ECN) != 0;
	}
	rule->unknown |= at[RULE_DSCP_MASK] && !at[RULE_DSCP];
}

/*
 * Linux 6.15 adds a mask to a rule for one port; the default is all ones. A mask that lacks only
 * the lowest bits is a range as well. True, *range and *has if the selector is a range.
 */
static bool ports_parse(const struct nlattr *ports, const struct nlattr *mask_attr,
			struct port_range *range, bool *has)
{
	struct fib_rule_port_range given;
	uint16_t mask = attr_u16(mask_attr, 0), open = (uint16_t)~mask;

	if (!ports)
		return mask == 0;
	attr_copy(&given, ports, sizeof(given));
	if (given.start == 0 || given.end < given.start)
		return false;
	if (mask != 0) {
		if ((open & (open + 1)) != 0 || (given.start & open) != 0 ||
		    given.start != given.end)
			return false;
		given.end |= open;
	}
	*range = (struct port_range){ .low = given.start, .high = given.end };
	*has = true;
	return true;
}

static void selectors_parse(const struct fib_rule_hdr *frh, const struct nlattr **at,
			    struct rule *rule)
{
	if (at[FRA_IIFNAME])
		attr_copy_string(rule->iif, sizeof(rule->iif), at[FRA_IIFNAME]);
	rule->ip_proto = attr_u8(at[FRA_IP_PROTO], 0);
	rule->has_ip_proto = rule->ip_proto != 0;
	rule->l3mdev = attr_u8(at[FRA_L3MDEV], 0);
	rule->invert = frh->flags & FIB_RULE_INVERT;
	rule->never = has_impossible_selector(at);
	rule->unknown |= has_invisible_selector(at) || (frh->flags & ~(uint32_t)KNOWN_FLAGS) != 0;
	tclass_parse(frh, at, rule);
	if (!ports_parse(at[FRA_SPORT_RANGE], at[RULE_SPORT_MASK], &rule->sport,
			 &rule->has_sport) ||
	    !ports_parse(at[FRA_DPORT_RANGE], at[RULE_DPORT_MASK], &rule->dport, &rule->has_dport))
		rule->unknown = true;
}

int parse_rule(const struct nlmsghdr *nlh, struct rule *out)
{
	const struct fib_rule_hdr *frh = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *at[ARRAY_SIZE(rule_attrs)];
	struct rule rule = { 0 };
	int r = attr_walk_inet6(nlh, RTM_NEWRULE, sizeof(*frh), SPECS(rule_attrs), at,
				&rule.unknown_attr);

	if (r < 0)
		return r;
	rule.unknown = rule.unknown_attr != 0;
	if (attr_prefix(at[FRA_DST], frh->dst_len, &rule.dst) < 0 ||
	    attr_prefix(at[FRA_SRC], frh->src_len, &rule.src) < 0)
		return -EBADMSG;
	/* jumps go only forwards, so that following them ends */
	rule.priority = attr_u32(at[FRA_PRIORITY], 0);
	rule.target = attr_u32(at[FRA_GOTO], 0);
	if (frh->action == FR_ACT_GOTO && rule.target <= rule.priority)
		return -EBADMSG;
	rule.table = attr_u32(at[FRA_TABLE], frh->table);
	rule.action = frh->action;
	rule.suppress_len = (int32_t)attr_u32(at[FRA_SUPPRESS_PREFIXLEN], UINT32_MAX);
	selectors_parse(frh, at, &rule);
	*out = rule;
	return 0;
}
