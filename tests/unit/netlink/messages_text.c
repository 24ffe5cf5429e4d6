// SPDX-License-Identifier: GPL-2.0-only
/*
 * What was parsed, as text: every field that is not zero. A word in capitals is a value that its
 * has_* field denies.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../user/lib/util.h"
#include "messages.h"

static char text[32768];
static size_t used;

static void add(const char *fmt, ...) _printf_(1, 2);
static void add(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	used += (size_t)vsnprintf(text + used, sizeof(text) - used, fmt, ap);
	va_end(ap);
	if (used >= sizeof(text))
		abort();
}

static void add_if(bool is, const char *word)
{
	if (is)
		add(" %s", word);
}

static void add_number(const char *word, uint64_t value)
{
	if (value)
		add(" %s %llu", word, (unsigned long long)value);
}

static void add_addr(const char *word, const union sixlane_addr *addr)
{
	char buf[INET6_ADDRSTRLEN];

	add(" %s%s%s", word, *word ? " " : "", inet_ntop(AF_INET6, addr, buf, sizeof(buf)));
}

static void add_prefix(const char *word, const struct prefix *prefix)
{
	if (*word && !prefix->len && addr_is_zero(&prefix->addr))
		return;
	add_addr(word, &prefix->addr);
	add("/%u", prefix->len);
}

static void add_mac(const uint8_t mac[6])
{
	if (memcmp(mac, "\0\0\0\0\0", 6) != 0)
		add(" mac %02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3], mac[4],
		    mac[5]);
}

static void add_hop(const struct route_hop *hop)
{
	if (hop->has_gateway || !addr_is_zero(&hop->gateway))
		add_addr(hop->has_gateway ? "via" : "VIA", &hop->gateway);
	add_number("dev", hop->ifindex);
	if (hop->weight != 1)
		add(" weight %u", hop->weight);
}

static void route_text(const struct parsed *p)
{
	const struct route *r = &p->route;

	add("route");
	add_prefix("", &r->dst);
	add_prefix("from", &r->src);
	add(" type %u table %u metric %u proto %u", r->type, r->table, r->metric, r->protocol);
	add_number("nhid", r->next_hop_id);
	add_number("mtu", r->mtu);
	add_if(r->mtu_locked, "lock");
	add_if(r->expires, "expires");
	add_number("ms", r->lifetime_ms);
	if (r->preference != 2)
		add(" pref %u", r->preference);
	add_if(r->own_source, "own_source");
	add_if(r->encap, "encap");
	add_if(r->cloned, "cloned");
	add_if(r->truncated, "truncated");
	add_number("unknown", r->unknown_attr);
	for (unsigned int i = 0; i < r->n_hops; i++) {
		add(" |");
		add_hop(&r->hops[i]);
		add_number("flags", p->flags[i]);
	}
}

static void link_text(const struct parsed *p)
{
	static const char *const modes[] = {
		"", "native", "generic", "offload", "multi", "unknown"
	};
	static const char *const choices[] = { "", "state", "l2", "l23", "l34", "encap23" };
	const struct link *l = &p->link;

	add("link %u %s mtu %u type %u flags %x", l->ifindex, l->name, l->mtu, l->type, l->flags);
	if (*l->kind)
		add(" kind %s", l->kind);
	add_number("master", l->master);
	if (*l->master_kind)
		add(" of %s", l->master_kind);
	add_number("lower", l->lower);
	add_mac(l->mac);
	add_number("rx", l->n_rx_queues);
	add_number("tx", l->n_tx_queues);
	if (l->xdp_mode || l->xdp_prog_id)
		add(" xdp %s %u", modes[l->xdp_mode], l->xdp_prog_id);
	add_if(l->carrier, "carrier");
	add_if(l->moved, "moved");
	add_if(l->takes_frames, "takes_frames");
	add_if(l->is_external, "external");
	add_if(l->slave_active, "slave_active");
	add_if(l->slave_link, "slave_link");
	add_if(l->bond_choice, choices[l->bond_choice]);
	add_number("vrf", l->vrf_table);
	if (l->vlan_id || l->vlan_protocol)
		add(" vlan %x:%u", l->vlan_protocol, l->vlan_id);
	add_if(l->vlan_maps_priority, "maps_priority");
	add_if(l->vlan_reorders, "reorders");
	add_number("unknown", l->unknown_attr);
	if (strcspn(p->names, " ") + 1 != strlen(p->names))
		add(" names %s", p->names);
}

static void link_ipv6_text(const struct parsed *p)
{
	const struct link_ipv6 *l = &p->link_ipv6;

	add("ipv6 %u mtu %u hop_limit %u", l->ifindex, l->mtu6, l->hop_limit);
	add_if(l->disabled, "disabled");
	add_if(l->ignore_linkdown, "ignore_linkdown");
	add_if(l->force_forwarding, "force_forwarding");
	add_if(l->own_addrs_only, "own_addrs_only");
}

static void rule_text(const struct parsed *p)
{
	const struct rule *r = &p->rule;

	add("rule %u action %u table %u", r->priority, r->action, r->table);
	add_prefix("from", &r->src);
	add_prefix("to", &r->dst);
	if (*r->iif)
		add(" iif %s", r->iif);
	add_number("goto", r->target);
	if (r->suppress_len != -1)
		add(" suppress %d", r->suppress_len);
	if (r->tclass_mask || r->tclass)
		add(" tclass %x/%x", r->tclass, r->tclass_mask);
	if (r->has_ip_proto || r->ip_proto)
		add(" %s %u", r->has_ip_proto ? "ipproto" : "IPPROTO", r->ip_proto);
	if (r->has_sport || r->sport.low || r->sport.high)
		add(" %s %u-%u", r->has_sport ? "sport" : "SPORT", r->sport.low, r->sport.high);
	if (r->has_dport || r->dport.low || r->dport.high)
		add(" %s %u-%u", r->has_dport ? "dport" : "DPORT", r->dport.low, r->dport.high);
	add_if(r->invert, "not");
	add_if(r->l3mdev, "l3mdev");
	add_if(r->never, "never");
	add_if(r->unknown, "unknown");
	add_number("attr", r->unknown_attr);
}

static void next_hop_text(const struct parsed *p)
{
	static const char *const kinds[] = { "one", "blackhole", "group", "resilient", "other" };
	const struct next_hop *n = &p->next_hop;

	add("nexthop %u %s", n->id, kinds[n->kind]);
	add_if(n->is_group, "is_group");
	if (n->hop.weight)
		add_hop(&n->hop);
	add_number("buckets", n->n_buckets);
	for (uint32_t i = 0; i < n->n_members; i++)
		add(" %u*%u", n->members[i].id, n->members[i].weight);
	add_number("unknown", n->unknown_attr);
}

static void bucket_text(const struct parsed *p)
{
	add("bucket %u/%u member %u", p->bucket.group, p->bucket.index, p->bucket.member);
	add_number("unknown", p->bucket.unknown_attr);
}

static void add_setting(const char *word, bool has, bool value)
{
	if (has || value)
		add(" %s %u%s", word, value, has ? "" : " UNSET");
}

static void netconf_text(const struct parsed *p)
{
	const struct netconf *n = &p->netconf;

	add("netconf %d", n->ifindex);
	add_setting("forwarding", n->has_forwarding, n->forwarding);
	add_setting("proxy_ndp", n->has_proxy_ndp, n->proxy_ndp);
}

static void neigh_text(const struct parsed *p)
{
	const struct neigh *n = &p->neigh;

	add("neigh");
	add_addr("", &n->addr);
	add(" dev %u state %x", n->ifindex, n->state);
	add_number("flags", n->flags);
	add_number("ext", n->flags_ext);
	add_mac(n->mac);
	add_if(n->has_mac, "has_mac");
	add_number("unknown", n->unknown_attr);
}

static void address_text(const struct parsed *p)
{
	const struct address *a = &p->address;

	add("address");
	add_addr("", &a->addr);
	add_prefix("in", &a->prefix);
	add(" dev %u flags %x", a->ifindex, a->flags);
	if (!addr_is_zero(&a->peer))
		add_addr("peer", &a->peer);
	add_if(a->expires, "expires");
	add_number("unknown", a->unknown_attr);
}

static void advertised_text(const struct parsed *p)
{
	add("prefix");
	add_prefix("", &p->advertised);
	add(" dev %u", p->advertised_ifindex);
}

static void netdev_text(const struct parsed *p)
{
	add("netdev %u features %llx", p->ifindex, (unsigned long long)p->features);
}

static void family_text(const struct parsed *p)
{
	add("family %u group %u", p->family, p->group);
}

const char *parsed_text(const struct parsed *parsed)
{
	static void (*const writers[N_PARSERS])(const struct parsed *) = {
		[PARSER_ROUTE] = route_text,	     [PARSER_LINK] = link_text,
		[PARSER_LINK_IPV6] = link_ipv6_text, [PARSER_RULE] = rule_text,
		[PARSER_NEXT_HOP] = next_hop_text,   [PARSER_BUCKET] = bucket_text,
		[PARSER_NETCONF] = netconf_text,     [PARSER_NEIGH] = neigh_text,
		[PARSER_ADDRESS] = address_text,     [PARSER_ADVERTISED] = advertised_text,
		[PARSER_NETDEV] = netdev_text,	     [PARSER_FAMILY] = family_text,
	};

	if (parsed->result)
		return parsed->result == -EBADMSG ? "EBADMSG" : "ENOMSG";
	used = 0;
	for (int i = 0; i < N_PARSERS; i++) {
		if (!writers[i] || parsed->results[i])
			continue;
		if (used)
			add("; ");
		writers[i](parsed);
	}
	return used ? text : "none";
}

const char *wrong_cases(const struct built_case *cases, size_t n)
{
	static char report[16384];
	size_t length = 0;

	for (size_t i = 0; i < n && length < sizeof(report); i++) {
		const char *is = parsed_text(parse_built(cases[i].base, cases[i].puts));

		if (strcmp(is, cases[i].expected) != 0)
			length += (size_t)snprintf(report + length, sizeof(report) - length,
						   "%s:\n is \"%s\"\nnot \"%s\"\n", cases[i].what,
						   is, cases[i].expected);
	}
	return length ? report : NULL;
}
