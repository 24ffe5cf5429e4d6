// SPDX-License-Identifier: GPL-2.0-only
/* See show.h. */
#include "show.h"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <string.h>

const char *show_tags(const union sixlane_tag tags[2], char buf[SHOW_TAGS_LEN])
{
	size_t used = 0;

	*buf = '\0';
	for (int i = 0; i < 2 && tags[i].word; i++)
		used += (size_t)snprintf(buf + used, SHOW_TAGS_LEN - used, "%s%s %u", i ? " " : "",
					 tags[i].tpid == htons(ETH_P_8021AD) ? "802.1ad" : "802.1Q",
					 ntohs(tags[i].tci) & 0xfffu);
	return buf;
}

json_t *show_tags_json(const union sixlane_tag tags[2])
{
	json_t *array = json_array();
	char text[SHOW_TAGS_LEN];

	for (int i = 0; i < 2 && tags[i].word; i++) {
		const union sixlane_tag one[2] = { tags[i] };

		print_append(array, show_tags(one, text));
	}
	return array;
}

const char *show_table(uint32_t table, char buf[SHOW_TABLE_LEN])
{
	if (table == 255)
		return "local";
	if (table == SIXLANE_TABLE_MAIN)
		return "main";
	snprintf(buf, SHOW_TABLE_LEN, "%u", table);
	return buf;
}

double show_expires_s(uint64_t expires_ns)
{
	const int64_t left_ms = (int64_t)(expires_ns - util_now_ns()) / 1000000;

	return (double)left_ms / 1000;
}

const char *show_expiry(uint64_t expires_ns, char buf[SHOW_EXPIRY_LEN])
{
	const double left = show_expires_s(expires_ns);

	snprintf(buf, SHOW_EXPIRY_LEN, left < 0 ? "expired %.3f s ago" : "expires in %.3f s",
		 left < 0 ? -left : left);
	return buf;
}

/* --- one next hop ------------------------------------------------------------------------ */

void show_hop_text(const struct cmd_view *view, const struct hop_view *hop)
{
	char text[PRINT_PREFIX_LEN], name[IFNAMSIZ];

	if (hop->has_gateway)
		printf(" via %s", print_addr(&hop->neigh.key.addr, text));
	if (hop->port)
		printf(" dev %s", cmd_slot_name(view, hop->port, name));
}

void show_frame_text(const struct hop_view *hop)
{
	char mac[PRINT_MAC_LEN], tags[SHOW_TAGS_LEN];

	if (hop->mtu)
		printf(" mtu %u", hop->mtu);
	if (hop->port)
		printf(" src_mac %s", print_mac(hop->egress.mac.bytes, mac));
	if (hop->has_mac)
		printf(" dst_mac %s", print_mac(hop->neigh.mac.bytes, mac));
	if (hop->port && hop->egress.flags & SIXLANE_PORT_TAGGED)
		printf(" tags %s", show_tags(hop->egress.tags, tags));
}

static void hop_json(const struct cmd_view *view, const struct hop_view *hop, json_t *object)
{
	char text[PRINT_PREFIX_LEN], name[IFNAMSIZ];

	if (hop->has_gateway)
		print_set(object, "next_hop", print_addr(&hop->neigh.key.addr, text));
	if (hop->port)
		print_set(object, "port", cmd_slot_name(view, hop->port, name));
}

void show_frame_json(const struct cmd_view *view, const struct hop_view *hop, bool frame,
		     json_t *object)
{
	const struct sixlane_port *egress = &hop->egress;
	const struct link *lower;
	char mac[PRINT_MAC_LEN];

	hop_json(view, hop, object);
	if (hop->mtu)
		print_set(object, "mtu", hop->mtu);
	if (hop->port && frame)
		print_set(object, "src_mac", print_mac(egress->mac.bytes, mac));
	if (hop->has_mac && frame)
		print_set(object, "dst_mac", print_mac(hop->neigh.mac.bytes, mac));
	if (!hop->port || !frame || !(egress->flags & SIXLANE_PORT_TAGGED))
		return;
	lower = ports_find(&view->ports, hop->slave ? hop->slave : egress->tx_ifindex);
	print_set(object, "tags", show_tags_json(egress->tags));
	print_set(object, "tx_device", lower ? lower->name : NULL);
}

/* --- exceptions -------------------------------------------------------------------------- */

const char *show_origin(uint32_t flags)
{
	if (flags & SIXLANE_EXCEPTION_OPERATOR)
		return "operator";
	return flags & SIXLANE_EXCEPTION_KERNEL ? "kernel" : NULL;
}

/* NULL: the destination has no exception. */
static const char *exception_state(const struct exception_view *exception)
{
	static const char *const states[] = {
		[SIXLANE_TRACE_EXCEPTION_FILTERED] = "punted",
		[SIXLANE_TRACE_EXCEPTION_FRESH] = "fresh",
		[SIXLANE_TRACE_EXCEPTION_EXPIRED] = "expired",
		[SIXLANE_TRACE_EXCEPTION_OBSERVED] = "observed",
		[SIXLANE_TRACE_EXCEPTION_ELSEWHERE] = "other_table",
		[SIXLANE_TRACE_EXCEPTION_PUNTED] = "changing",
		[SIXLANE_TRACE_EXCEPTION_APPLIED] = "applied",
	};

	return exception->applies && exception->outcome < ARRAY_SIZE(states)
		       ? states[exception->outcome]
		       : NULL;
}

void show_exception_text(const struct route_view *route)
{
	const char *state = exception_state(&route->exception);

	if (!state)
		return;
	printf(" exception %s", state);
	if (route->exception.value.flags & SIXLANE_EXCEPTION_MTU)
		printf(" mtu %u", route->exception.value.mtu);
}

void show_exception_json(const struct cmd_view *view, const struct route_view *route,
			 json_t *object)
{
	const struct sixlane_exception *value = &route->exception.value;
	const char *state = exception_state(&route->exception);
	struct hop_view hop;
	json_t *one;

	if (!state)
		return;
	one = json_object();
	print_set(one, "state", state);
	print_set(one, "origin", show_origin(value->flags));
	if (value->flags & SIXLANE_EXCEPTION_MTU)
		print_set(one, "mtu", value->mtu);
	if (value->flags & SIXLANE_EXCEPTION_NEXT_HOP) {
		hop_view_read(&view->maps, value->next_hop, &hop);
		hop_json(view, &hop, one);
	}
	print_set(object, "exception", one);
}

/* --- groups ------------------------------------------------------------------------------ */

static bool has_choice(const struct route_view *route)
{
	return route->group.type && route->group.n_members != 1;
}

void show_group_text(const struct cmd_view *view, const struct route_view *route)
{
	const struct group_view *group = &route->group;

	for (uint32_t i = 0; has_choice(route) && i < group->n_members; i++) {
		const struct member_view *member = &group->members[i];

		printf("   ");
		show_hop_text(view, &member->hop);
		if (group->type == SIXLANE_NH_GROUP)
			printf(" %s %u (%.1f %%)", group->resilient ? "buckets" : "weight",
			       member->weight, 100 * group_view_share(group, member));
		show_frame_text(&member->hop);
		printf(" verdict %s%s\n", cmd_verdict_name(member->hop.verdict),
		       member->skipped ? ", skipped: its port is down" : "");
	}
}

static json_t *member_json(const struct cmd_view *view, const struct group_view *group,
			   const struct member_view *member)
{
	json_t *object = json_object();

	show_frame_json(view, &member->hop, true, object);
	if (group->type == SIXLANE_NH_GROUP) {
		print_set(object, "weight", member->weight);
		print_set(object, "share", group_view_share(group, member));
	}
	print_set(object, "skipped", member->skipped);
	print_set(object, "verdict", cmd_verdict_name(member->hop.verdict));
	return object;
}

void show_group_json(const struct cmd_view *view, const struct route_view *route, json_t *object)
{
	const struct group_view *group = &route->group;
	json_t *members;

	if (!has_choice(route))
		return;
	members = json_array();
	for (uint32_t i = 0; i < group->n_members; i++)
		print_append(members, member_json(view, group, &group->members[i]));
	print_set(object, "group", members);
	print_set(object, "group_type",
		  group->type == SIXLANE_NH_EQUAL_METRIC ? "equal_metric"
		  : group->resilient			 ? "buckets"
							 : "hash");
	if (group->resilient)
		print_set(object, "buckets", group->n_buckets);
}

/* --- source-specific routes -------------------------------------------------------------- */

void show_sources_text(const struct cmd_view *view, const struct entries *sources, uint32_t set)
{
	char text[PRINT_PREFIX_LEN];
	struct route_view route;
	size_t n;
	const struct entry *at = entries_of(sources, set, &n);

	for (size_t i = 0; i < n; i++) {
		route_view_read(&view->maps, at[i].value, NULL, &route);
		printf("  from %s", print_prefix(&at[i].prefix.addr, at[i].prefix.len, text));
		show_hop_text(view, &route.hop);
		printf(" verdict %s\n", cmd_verdict_name(route.verdict));
		show_group_text(view, &route);
	}
}

void show_sources_json(const struct cmd_view *view, const struct entries *sources, uint32_t set,
		       json_t *object)
{
	json_t *array = json_array(), *one;
	char text[PRINT_PREFIX_LEN];
	struct route_view route;
	size_t n;
	const struct entry *at = entries_of(sources, set, &n);

	for (size_t i = 0; i < n; i++) {
		route_view_read(&view->maps, at[i].value, NULL, &route);
		one = json_object();
		print_set(one, "source", print_prefix(&at[i].prefix.addr, at[i].prefix.len, text));
		print_set(one, "verdict", cmd_verdict_name(route.verdict));
		print_set(one, "id", route.next_hop);
		show_frame_json(view, &route.hop, false, one);
		show_group_json(view, &route, one);
		print_append(array, one);
	}
	print_set(object, "sources", array);
}

/* --- rules ------------------------------------------------------------------------------- */

struct text {
	char *at;
	size_t used;
};

static _printf_(2, 3) void add(struct text *text, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text->at + text->used, RULE_TEXT_LEN - text->used, fmt, ap);
	va_end(ap);
	if (n > 0)
		text->used += (size_t)n;
	if (text->used >= RULE_TEXT_LEN)
		text->used = RULE_TEXT_LEN - 1;
}

static void add_prefix(struct text *text, const char *word, const union sixlane_addr *addr,
		       const union sixlane_addr *mask)
{
	const uint32_t len = (uint32_t)(__builtin_popcountll(mask->halves[0]) +
					__builtin_popcountll(mask->halves[1]));
	char buf[PRINT_PREFIX_LEN];

	add(text, " %s %s", word,
	    len == 128 ? print_addr(addr, buf) : print_prefix(addr, len, buf));
}

static void add_range(struct text *text, const char *word, uint32_t low, uint32_t high)
{
	if (low == high)
		add(text, " %s %u", word, low);
	else
		add(text, " %s %u-%u", word, low, high);
}

static void add_selectors(struct text *text, const struct ports *ports,
			  const struct sixlane_rule *rule)
{
	const uint32_t flags = rule->flags;
	char iif[IFNAMSIZ];

	if (flags & SIXLANE_RULE_INVERT)
		add(text, " not");
	if (flags & SIXLANE_RULE_SOURCE)
		add_prefix(text, "from", &rule->src, &rule->src_mask);
	else
		add(text, " from all");
	if (flags & SIXLANE_RULE_DESTINATION)
		add_prefix(text, "to", &rule->dst, &rule->dst_mask);
	if (flags & SIXLANE_RULE_TCLASS)
		add(text, " tos 0x%02x/0x%02x", rule->tclass, rule->tclass_mask);
	if (flags & SIXLANE_RULE_IIF)
		add(text, " iif %s", ports_name(ports, rule->iif, iif));
	if (flags & SIXLANE_RULE_PROTO)
		add(text, " ipproto %u", rule->proto);
	if (flags & SIXLANE_RULE_SPORT)
		add_range(text, "sport", rule->sport_low, rule->sport_high);
	if (flags & SIXLANE_RULE_DPORT)
		add_range(text, "dport", rule->dport_low, rule->dport_high);
	if (flags & SIXLANE_RULE_UNKNOWN)
		add(text, " [and more that XDP cannot see]");
}

static const char *action_name(uint32_t verdict)
{
	switch (verdict) {
	case SIXLANE_DROP_BLACKHOLE:
		return "blackhole";
	case SIXLANE_PASS_UNREACHABLE:
		return "unreachable";
	case SIXLANE_PASS_PROHIBIT:
		return "prohibit";
	default:
		return cmd_verdict_name(verdict);
	}
}

static void add_action(struct text *text, const struct sixlane_rule *rule)
{
	char table[SHOW_TABLE_LEN];

	if (rule->action == SIXLANE_RULE_GOTO)
		add(text, " goto a later one");
	else if (rule->action != SIXLANE_RULE_LOOKUP)
		add(text, " %s", action_name(rule->verdict));
	else if (rule->flags & SIXLANE_RULE_L3MDEV)
		add(text, " lookup [l3mdev-table]");
	else
		add(text, " lookup %s", show_table(rule->table, table));
	if (rule->flags & SIXLANE_RULE_SUPPRESS)
		add(text, " suppress_prefixlength %u", rule->suppress_len);
}

const char *rule_text(const struct ports *ports, const struct sixlane_rule *rule,
		      char buf[RULE_TEXT_LEN])
{
	struct text text = { .at = buf };

	add(&text, "%u:", rule->priority);
	add_selectors(&text, ports, rule);
	add_action(&text, rule);
	return buf;
}
