// SPDX-License-Identifier: GPL-2.0-only
/*
 * See show.h.
 */
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

const char *show_table(uint32_t table, char buf[SHOW_TABLE_LEN])
{
	if (table == 255)
		return "local";
	if (table == SIXLANE_TABLE_MAIN)
		return "main";
	snprintf(buf, SHOW_TABLE_LEN, "%u", table);
	return buf;
}

void show_covering(const union sixlane_addr *addr, uint32_t len, char buf[PRINT_PREFIX_LEN])
{
	union sixlane_addr base = { 0 };

	for (uint32_t bit = 0; bit < len && bit < 128; bit += 8) {
		uint32_t keep = len - bit < 8 ? len - bit : 8;

		base.bytes[bit / 8] = addr->bytes[bit / 8] & (uint8_t)(0xff << (8 - keep));
	}
	print_prefix(&base, len, false, buf);
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

void show_way_text(const struct cmd_view *view, const struct hop_view *hop)
{
	char text[PRINT_PREFIX_LEN], name[IFNAMSIZ];

	if (hop->has_gateway) {
		print_prefix(&hop->neigh.key.addr, 128, true, text);
		printf(" via %s", text);
	}
	if (hop->port)
		printf(" dev %s", cmd_slot_name(view, hop->port, name));
}

void show_frame_text(const struct hop_view *hop)
{
	char mac[PRINT_MAC_LEN], tags[SHOW_TAGS_LEN];

	if (hop->mtu)
		printf(" mtu %u", hop->mtu);
	if (hop->port) {
		print_mac(hop->egress.mac.bytes, mac);
		printf(" src_mac %s", mac);
	}
	if (hop->has_mac) {
		print_mac(hop->neigh.mac.bytes, mac);
		printf(" dst_mac %s", mac);
	}
	if (hop->port && hop->egress.flags & SIXLANE_PORT_TAGGED)
		printf(" tags %s", show_tags(hop->egress.tags, tags));
}

static void tags_json(const struct cmd_view *view, const struct hop_view *hop, json_t *object)
{
	const struct sixlane_port *egress = &hop->egress;
	const struct link *below =
		ports_find(&view->ports, hop->slave ? hop->slave : egress->tx_ifindex);
	char text[SHOW_TAGS_LEN];
	json_t *tags = json_array();

	for (int i = 0; i < 2 && egress->tags[i].word; i++) {
		const union sixlane_tag one[2] = { egress->tags[i] };

		print_append(tags, print_string(show_tags(one, text)));
	}
	print_set(object, "tags", tags);
	print_set(object, "tx_device", print_string(below ? below->name : NULL));
}

void show_way_json(const struct cmd_view *view, const struct hop_view *hop, json_t *object)
{
	char text[PRINT_PREFIX_LEN], name[IFNAMSIZ];

	if (hop->has_gateway) {
		print_prefix(&hop->neigh.key.addr, 128, true, text);
		print_set(object, "next_hop", print_string(text));
	}
	if (hop->port)
		print_set(object, "port", print_string(cmd_slot_name(view, hop->port, name)));
}

const char *show_origin(uint32_t flags)
{
	if (flags & SIXLANE_EXCEPTION_OPERATOR)
		return "operator";
	return flags & SIXLANE_EXCEPTION_KERNEL ? "kernel" : NULL;
}

void show_hop_json(const struct cmd_view *view, const struct hop_view *hop, bool frame,
		   json_t *object)
{
	char mac[PRINT_MAC_LEN];

	show_way_json(view, hop, object);
	if (hop->mtu)
		print_set(object, "mtu", json_integer(hop->mtu));
	if (hop->port && frame) {
		print_mac(hop->egress.mac.bytes, mac);
		print_set(object, "src_mac", print_string(mac));
	}
	if (hop->has_mac && frame) {
		print_mac(hop->neigh.mac.bytes, mac);
		print_set(object, "dst_mac", print_string(mac));
	}
	if (hop->port && frame && hop->egress.flags & SIXLANE_PORT_TAGGED)
		tags_json(view, hop, object);
}

/* --- exceptions -------------------------------------------------------------------------- */

static const char *const outcomes[] = {
	[SIXLANE_TRACE_EXCEPTION_FILTERED] = "punted",
	[SIXLANE_TRACE_EXCEPTION_FRESH] = "fresh",
	[SIXLANE_TRACE_EXCEPTION_EXPIRED] = "expired",
	[SIXLANE_TRACE_EXCEPTION_OBSERVED] = "observed",
	[SIXLANE_TRACE_EXCEPTION_ELSEWHERE] = "other_table",
	[SIXLANE_TRACE_EXCEPTION_PUNTED] = "changing",
	[SIXLANE_TRACE_EXCEPTION_APPLIED] = "applied",
};

static bool has_exception(const struct exception_view *exception)
{
	return exception->asked && exception->outcome != SIXLANE_TRACE_EXCEPTION_ABSENT &&
	       exception->outcome < ARRAY_SIZE(outcomes);
}

void show_exception_text(const struct route_view *route)
{
	const struct exception_view *exception = &route->exception;

	if (!has_exception(exception))
		return;
	printf(" exception %s", outcomes[exception->outcome]);
	if (exception->value.flags & SIXLANE_EXCEPTION_MTU)
		printf(" mtu %u", exception->value.mtu);
}

void show_exception_json(const struct cmd_view *view, const struct route_view *route,
			 json_t *object)
{
	const struct exception_view *exception = &route->exception;
	const struct sixlane_exception *value = &exception->value;
	struct hop_view hop;
	json_t *one;

	if (!has_exception(exception))
		return;
	one = json_object();
	print_set(one, "state", print_string(outcomes[exception->outcome]));
	print_set(one, "origin", print_string(show_origin(value->flags)));
	if (value->flags & SIXLANE_EXCEPTION_MTU)
		print_set(one, "mtu", json_integer(value->mtu));
	if (value->flags & SIXLANE_EXCEPTION_NEXT_HOP) {
		route_view_hop(&view->maps, value->next_hop, &hop);
		show_way_json(view, &hop, one);
	}
	print_set(object, "exception", one);
}

/* --- groups ------------------------------------------------------------------------------ */

static bool has_choice(const struct route_view *route)
{
	return route->group.kind && route->group.n_members != 1;
}

double show_share(const struct group_view *group, const struct member_view *member)
{
	return (double)member->share / ((double)group->n_buckets * (1ull << 32));
}

void show_group_text(const struct cmd_view *view, const struct route_view *route)
{
	const struct group_view *group = &route->group;

	for (uint32_t i = 0; has_choice(route) && i < group->n_members; i++) {
		const struct member_view *member = &group->members[i];

		printf("   ");
		show_way_text(view, &member->hop);
		if (group->kind == SIXLANE_NH_GROUP)
			printf(" %s %u (%.1f %%)", group->buckets ? "buckets" : "weight",
			       member->weight, 100 * show_share(group, member));
		show_frame_text(&member->hop);
		printf(" verdict %s%s\n", cmd_verdict_name(member->hop.verdict),
		       member->skipped ? ", skipped: its port is down" : "");
	}
}

static json_t *member_json(const struct cmd_view *view, const struct group_view *group,
			   const struct member_view *member)
{
	json_t *object = json_object();

	show_hop_json(view, &member->hop, true, object);
	if (group->kind == SIXLANE_NH_GROUP) {
		print_set(object, "weight", json_integer(member->weight));
		print_set(object, "share", json_real(show_share(group, member)));
	}
	print_set(object, "skipped", json_boolean(member->skipped));
	print_set(object, "verdict", print_string(cmd_verdict_name(member->hop.verdict)));
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
		  print_string(group->kind == SIXLANE_NH_EQUAL_METRIC ? "equal_metric"
			       : group->buckets			      ? "buckets"
								      : "hash"));
	if (group->buckets)
		print_set(object, "buckets", json_integer(group->n_buckets));
}

/* --- sources ----------------------------------------------------------------------------- */

void show_sources_text(const struct cmd_view *view, const struct sources *sources, uint32_t set)
{
	char text[PRINT_PREFIX_LEN];
	const struct source *at;
	struct route_view route;
	size_t n;

	at = sources_of(sources, set, &n);
	for (size_t i = 0; i < n; i++) {
		route_view_value(&view->maps, at[i].value, NULL, &route);
		print_prefix(&at[i].key.addr, source_len(&at[i]), false, text);
		printf("  from %s", text);
		show_way_text(view, &route.hop);
		printf(" verdict %s\n", cmd_verdict_name(route.verdict));
		show_group_text(view, &route);
	}
}

void show_sources_json(const struct cmd_view *view, const struct sources *sources, uint32_t set,
		       json_t *object)
{
	json_t *array = json_array(), *one;
	char text[PRINT_PREFIX_LEN];
	const struct source *at;
	struct route_view route;
	size_t n;

	at = sources_of(sources, set, &n);
	for (size_t i = 0; i < n; i++) {
		route_view_value(&view->maps, at[i].value, NULL, &route);
		one = json_object();
		print_prefix(&at[i].key.addr, source_len(&at[i]), false, text);
		print_set(one, "source", print_string(text));
		print_set(one, "verdict", print_string(cmd_verdict_name(route.verdict)));
		print_set(one, "id", json_integer(route.next_hop));
		show_hop_json(view, &route.hop, false, one);
		show_group_json(view, &route, one);
		print_append(array, one);
	}
	print_set(object, "sources", array);
}
