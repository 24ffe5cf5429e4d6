// SPDX-License-Identifier: GPL-2.0-only
/* See messages.h. */
#include "messages.h"

#include <errno.h>
#include <linux/fib_rules.h>
#include <linux/genetlink.h>
#include <linux/if_addr.h>
#include <linux/neighbour.h>
#include <linux/netconf.h>
#include <linux/nexthop.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "netlink_build.h"

/* --- building --------------------------------------------------------------------------------- */

static const union sixlane_addr some_addr = { .bytes = { 0x20, [15] = 1 } };
static const struct nexthop_grp some_member = { .id = 6 };

static const struct {
	uint16_t type;
	size_t header_size;
	uint8_t first; /* byte of the header: the family, or a command */
	enum parser parser;
	struct put puts[8];
} bases[N_BASES] = {
	[ROUTE] = { RTM_NEWROUTE, sizeof(struct rtmsg), AF_INET6, PARSER_ROUTE, { { 0 } } },
	[LINK] = { RTM_NEWLINK,
		   sizeof(struct ifinfomsg),
		   AF_UNSPEC,
		   PARSER_LINK,
		   { SET(ifinfomsg, ifi_index, 7), STRING(IFLA_IFNAME, "port"),
		     U32(IFLA_MTU, 1500) } },
	[LINK_AF_SPEC] = { RTM_NEWLINK,
			   sizeof(struct ifinfomsg),
			   AF_UNSPEC,
			   PARSER_LINK_IPV6,
			   { SET(ifinfomsg, ifi_index, 7) } },
	[LINK_INET6] = { RTM_NEWLINK,
			 sizeof(struct ifinfomsg),
			 AF_INET6,
			 PARSER_LINK_IPV6,
			 { SET(ifinfomsg, ifi_index, 7) } },
	[RULE] = { RTM_NEWRULE,
		   sizeof(struct fib_rule_hdr),
		   AF_INET6,
		   PARSER_RULE,
		   { SET(fib_rule_hdr, action, FR_ACT_TO_TBL) } },
	[NEXT_HOP] = { RTM_NEWNEXTHOP,
		       sizeof(struct nhmsg),
		       AF_INET6,
		       PARSER_NEXT_HOP,
		       { U32(NHA_ID, 5) } },
	[GROUP] = { RTM_NEWNEXTHOP,
		    sizeof(struct nhmsg),
		    AF_UNSPEC,
		    PARSER_NEXT_HOP,
		    { U32(NHA_ID, 5), DATA(NHA_GROUP, sizeof(some_member), &some_member) } },
	[BUCKET] = { RTM_NEWNEXTHOPBUCKET,
		     sizeof(struct nhmsg),
		     AF_UNSPEC,
		     PARSER_BUCKET,
		     { U32(NHA_ID, 5), OPEN(NHA_RES_BUCKET), U16(NHA_RES_BUCKET_INDEX, 3),
		       U32(NHA_RES_BUCKET_NH_ID, 6), CLOSE } },
	[NETCONF] = { RTM_NEWNETCONF,
		      sizeof(struct netconfmsg),
		      AF_INET6,
		      PARSER_NETCONF,
		      { U32(NETCONFA_IFINDEX, 7) } },
	[NEIGH] = { RTM_NEWNEIGH,
		    sizeof(struct ndmsg),
		    AF_INET6,
		    PARSER_NEIGH,
		    { SET(ndmsg, ndm_ifindex, 7), DATA(NDA_DST, 16, &some_addr) } },
	[ADDRESS] = { RTM_NEWADDR,
		      sizeof(struct ifaddrmsg),
		      AF_INET6,
		      PARSER_ADDRESS,
		      { SET(ifaddrmsg, ifa_index, 7), DATA(IFA_ADDRESS, 16, &some_addr) } },
	[ADVERTISED] = { RTM_NEWPREFIX,
			 sizeof(struct prefixmsg),
			 AF_INET6,
			 PARSER_ADVERTISED,
			 { SET(prefixmsg, prefix_ifindex, 7),
			   DATA(PREFIX_ADDRESS, 16, &some_addr) } },
	[NETDEV] = { NLMSG_MIN_TYPE + 4,
		     sizeof(struct genlmsghdr),
		     1,
		     PARSER_NETDEV,
		     { U32(1, 7), U64(3, 1) } },
	[FAMILY] = { GENL_ID_CTRL,
		     sizeof(struct genlmsghdr),
		     CTRL_CMD_NEWFAMILY,
		     PARSER_FAMILY,
		     { U16(CTRL_ATTR_FAMILY_ID, 20), OPEN(CTRL_ATTR_MCAST_GROUPS), OPEN(1),
		       STRING(CTRL_ATTR_MCAST_GRP_NAME, "mgmt"), U32(CTRL_ATTR_MCAST_GRP_ID, 4),
		       CLOSE, CLOSE } },
};

static void put_all(struct nlmsghdr *nlh, const struct put *put)
{
	struct nlattr *nests[4];
	unsigned int depth = 0;
	struct rtnexthop *hop;

	for (; put->kind; put++) {
		switch (put->kind) {
		case PUT_SET:
			memcpy((char *)nlh + put->type, &put->value, put->size);
			break;
		case PUT_OPEN:
			nests[depth++] = mnl_attr_nest_start(nlh, put->type);
			break;
		case PUT_CLOSE:
			mnl_attr_nest_end(nlh, nests[--depth]);
			break;
		case PUT_HOP:
			hop = mnl_nlmsg_get_payload_tail(nlh);
			*hop = (struct rtnexthop){ .rtnh_len = put->type,
						   .rtnh_ifindex = (int)put->value,
						   .rtnh_flags = (uint8_t)put->value };
			nlh->nlmsg_len += sizeof(*hop);
			break;
		default:
			mnl_attr_put(nlh, put->type, put->size,
				     put->kind == PUT_DATA ? put->data : &put->value);
		}
	}
	while (depth > 0)
		mnl_attr_nest_end(nlh, nests[--depth]);
}

const struct parsed *parse_built(enum base base, const struct put *puts)
{
	static struct parsed parsed;
	struct nlmsghdr *nlh = message_start();

	nlh->nlmsg_type = bases[base].type;
	header_put(nlh, bases[base].header_size, bases[base].first);
	put_all(nlh, bases[base].puts);
	put_all(nlh, puts);
	if (parse_all(nlh, nlh->nlmsg_len, &parsed) < 0)
		abort();
	parsed.result = parsed.results[bases[base].parser];
	return &parsed;
}

/* --- the parsers' contracts ------------------------------------------------------------------- */

static bool prefix_sane(const struct prefix *prefix)
{
	for (unsigned int bit = prefix->len; bit < 128; bit++)
		if (prefix->addr.bytes[bit / 8] >> (7 - bit % 8) & 1)
			return false;
	return prefix->len <= 128;
}

static bool route_sane(const struct parsed *p)
{
	const struct route *route = &p->route;

	return prefix_sane(&route->dst) && prefix_sane(&route->src) &&
	       route->n_hops <= ROUTE_MAX_HOPS && route->hops == p->hops &&
	       route->preference >= 1 && route->preference <= 3 &&
	       (route->expires || route->lifetime_ms == 0) && route->expires_ns == 0 &&
	       !route->unlike && route->unknown == (route->unknown_attr != 0) &&
	       p->results[PARSER_ROUTE_FLAGS] == route->n_hops;
}

static bool link_sane(const struct link *link)
{
	return memchr(link->name, '\0', sizeof(link->name)) &&
	       memchr(link->kind, '\0', sizeof(link->kind)) &&
	       memchr(link->master_kind, '\0', sizeof(link->master_kind)) && link->ifindex &&
	       (link->xdp_mode == XDP_MODE_UNKNOWN) == (link->unknown_attr != 0);
}

static bool rule_sane(const struct rule *rule)
{
	return prefix_sane(&rule->dst) && prefix_sane(&rule->src) &&
	       memchr(rule->iif, '\0', sizeof(rule->iif)) &&
	       (rule->unknown || !(rule->tclass & ~rule->tclass_mask)) &&
	       (!rule->has_sport || rule->sport.low <= rule->sport.high) &&
	       (!rule->has_dport || rule->dport.low <= rule->dport.high) &&
	       (rule->action != FR_ACT_GOTO || rule->target > rule->priority) &&
	       (rule->unknown || !rule->unknown_attr);
}

static bool next_hop_sane(const struct parsed *p)
{
	const struct next_hop *next_hop = &p->next_hop;
	bool group = next_hop->kind == NEXT_HOP_GROUP || next_hop->kind == NEXT_HOP_RESILIENT;

	for (uint32_t i = 0; i < next_hop->n_members && i < NEXT_HOP_MAX_MEMBERS; i++)
		if (p->members[i].id == 0 || p->members[i].weight == 0 ||
		    p->members[i].weight > 65536)
			return false;
	return next_hop->id != 0 && next_hop->kind <= NEXT_HOP_OTHER &&
	       next_hop->members == p->members && next_hop->n_members <= NEXT_HOP_MAX_MEMBERS &&
	       (!group || next_hop->n_members > 0) &&
	       (next_hop->kind != NEXT_HOP_RESILIENT || next_hop->n_buckets > 0) &&
	       (next_hop->kind != NEXT_HOP_ONE || next_hop->hop.ifindex > 0) &&
	       (next_hop->kind == NEXT_HOP_OTHER || !next_hop->unknown_attr);
}

static bool is_sane(const struct parsed *p)
{
	const int *r = p->results;

	return (r[PARSER_ROUTE] || route_sane(p)) && (r[PARSER_LINK] || link_sane(&p->link)) &&
	       (r[PARSER_RULE] || rule_sane(&p->rule)) &&
	       (r[PARSER_NEXT_HOP] || next_hop_sane(p)) &&
	       (r[PARSER_NEIGH] ||
		(p->neigh.ifindex && !(p->neigh.unknown_attr && p->neigh.has_mac))) &&
	       (r[PARSER_ADDRESS] || (p->address.ifindex && prefix_sane(&p->address.prefix))) &&
	       (r[PARSER_ADVERTISED] || prefix_sane(&p->advertised)) &&
	       (r[PARSER_BUCKET] ||
		(p->bucket.group && !p->bucket.member == !!p->bucket.unknown_attr));
}

static void name_add(void *ctx, const char *name)
{
	struct parsed *p = ctx;
	size_t used = strlen(p->names);

	snprintf(p->names + used, sizeof(p->names) - used, "%s ", name);
}

static void run_parsers(const struct nlmsghdr *nlh, struct parsed *p)
{
	const int results[N_PARSERS] = {
		[PARSER_ROUTE] = parse_route(nlh, &p->route, p->hops),
		[PARSER_ROUTE_FLAGS] = parse_route_flags(nlh, p->flags),
		[PARSER_LINK] = parse_link(nlh, &p->link),
		[PARSER_LINK_IPV6] = parse_link_ipv6(nlh, &p->link_ipv6),
		[PARSER_RULE] = parse_rule(nlh, &p->rule),
		[PARSER_NEXT_HOP] = parse_next_hop(nlh, &p->next_hop, p->members),
		[PARSER_BUCKET] = parse_next_hop_bucket(nlh, &p->bucket),
		[PARSER_NETCONF] = parse_netconf(nlh, &p->netconf),
		[PARSER_NEIGH] = parse_neigh(nlh, &p->neigh),
		[PARSER_ADDRESS] = parse_address(nlh, &p->address),
		[PARSER_ADVERTISED] = parse_advertised(nlh, &p->advertised, &p->advertised_ifindex),
		[PARSER_NETDEV] = parse_netdev(nlh, &p->ifindex, &p->features),
		[PARSER_FAMILY] = parse_genl_family(nlh, "mgmt", &p->family, &p->group),
	};

	memcpy(p->results, results, sizeof(results));
	p->names[0] = '\0';
	p->results[PARSER_LINK_NAMES] = results[PARSER_LINK] ?: parse_link_names(nlh, name_add, p);
}

#define FIELD(parser, name)                                                               \
	{                                                                                 \
		parser, offsetof(struct parsed, name), sizeof(((struct parsed *)0)->name) \
	}

static const struct {
	enum parser parser;
	size_t offset, size;
} outputs[] = {
	FIELD(PARSER_ROUTE, route),
	FIELD(PARSER_LINK, link),
	FIELD(PARSER_LINK_IPV6, link_ipv6),
	FIELD(PARSER_RULE, rule),
	FIELD(PARSER_NEXT_HOP, next_hop),
	FIELD(PARSER_BUCKET, bucket),
	FIELD(PARSER_NETCONF, netconf),
	FIELD(PARSER_NEIGH, neigh),
	FIELD(PARSER_ADDRESS, address),
	FIELD(PARSER_ADVERTISED, advertised),
	FIELD(PARSER_ADVERTISED, advertised_ifindex),
	FIELD(PARSER_NETDEV, ifindex),
	FIELD(PARSER_NETDEV, features),
	FIELD(PARSER_FAMILY, family),
	FIELD(PARSER_FAMILY, group),
};

static bool failures_touch_nothing(const struct parsed *p)
{
	static uint8_t untouched[sizeof(struct link) + sizeof(struct route)];

	memset(untouched, 0xa5, sizeof(untouched));
	for (size_t i = 0; i < ARRAY_SIZE(outputs); i++)
		if (p->results[outputs[i].parser] &&
		    memcmp((const char *)p + outputs[i].offset, untouched, outputs[i].size) != 0)
			return false;
	return true;
}

int parse_all(const void *bytes, size_t size, struct parsed *out)
{
	_cleanup_free_ struct nlmsghdr *nlh = NULL;
	int accepted = 0;

	if (size < sizeof(*nlh))
		return 0;
	nlh = malloc(size);
	if (!nlh)
		return -1;
	memcpy(nlh, bytes, size);
	nlh->nlmsg_len = (uint32_t)size;
	memset(out, 0xa5, offsetof(struct parsed, results));
	run_parsers(nlh, out);
	out->result = 0;
	for (int i = 0; i < N_PARSERS; i++) {
		int result = i == PARSER_ROUTE_FLAGS && out->results[i] > 0 ? 0 : out->results[i];

		if (result && result != -EBADMSG && result != -ENOMSG)
			return -1;
		accepted += !result && i != PARSER_ROUTE_FLAGS && i != PARSER_LINK_NAMES;
	}
	return is_sane(out) && failures_touch_nothing(out) ? accepted : -1;
}

/* --- captures --------------------------------------------------------------------------------- */

#define MAX_CAPTURES 128

__asm__(".pushsection .rodata\n"
	"captures_text: .incbin \"tests/unit/netlink/captures.txt\"\n"
	".byte 0\n"
	".popsection\n");
extern const char captures_text[];

static uint8_t *decode(const char *hex, size_t size)
{
	uint8_t *bytes = malloc(size);
	unsigned int value;

	for (size_t i = 0; bytes && i < size; i++) {
		if (sscanf(hex + 2 * i, "%2x", &value) != 1)
			abort();
		bytes[i] = (uint8_t)value;
	}
	return bytes;
}

/* A line: name, command, text of what is parsed, and hexadecimal message, with tabs between them.
 */
static void load(const char *line, struct capture *out)
{
	const char *parsed = strchr(strchr(line, '\t') + 1, '\t') + 1;
	const char *hex = strchr(parsed, '\t') + 1;

	snprintf(out->name, sizeof(out->name), "%.*s", (int)strcspn(line, "\t"), line);
	snprintf(out->parsed, sizeof(out->parsed), "%.*s", (int)(hex - parsed - 1), parsed);
	out->size = strcspn(hex, "\n") / 2;
	out->bytes = decode(hex, out->size);
}

const struct capture *captures(size_t *n)
{
	static struct capture all[MAX_CAPTURES];
	static size_t loaded;

	if (!loaded)
		for (const char *line = captures_text; *line; line = strchr(line, '\n') + 1)
			if (*line != '#' && loaded < MAX_CAPTURES)
				load(line, &all[loaded++]);
	*n = loaded;
	return all;
}
