/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Next hops, groups, exceptions and source-specific routes as text and as JSON: the same in every
 * command.
 */
#ifndef USER_CLI_SHOW_H
#define USER_CLI_SHOW_H

#include "entries.h"
#include "print.h"
#include "route_view.h"

#define SHOW_TAGS_LEN 40
#define SHOW_TABLE_LEN 24
#define SHOW_EXPIRY_LEN 48

/* "802.1Q 10", "802.1ad 5 802.1Q 10"; "" without tags. */
const char *show_tags(const union sixlane_tag tags[2], char buf[SHOW_TAGS_LEN]);
/* An array with the text of each tag. */
json_t *show_tags_json(const union sixlane_tag tags[2]);
/* "main", "local" or the number. */
const char *show_table(uint32_t table, char buf[SHOW_TABLE_LEN]);
/* "expires in 3.000 s", "expired 3.000 s ago". */
const char *show_expiry(uint64_t expires_ns, char buf[SHOW_EXPIRY_LEN]);
/* Seconds from now until a time of CLOCK_MONOTONIC; negative: it is over. */
double show_expires_s(uint64_t expires_ns);

/* " via GATEWAY dev PORT", without the parts that the hop lacks. */
void show_hop_text(const struct cmd_view *view, const struct hop_view *hop);
/* " mtu M src_mac MAC dst_mac MAC tags TAGS", in the same way. */
void show_frame_text(const struct hop_view *hop);
/* The keys next_hop, port and mtu; with frame also src_mac, dst_mac, tags and tx_device. */
void show_frame_json(const struct cmd_view *view, const struct hop_view *hop, bool frame,
		     json_t *object);

/* "operator" or "kernel", by SIXLANE_EXCEPTION_*; NULL: neither. */
const char *show_origin(uint32_t flags);
/* The state of the destination's exception; nothing if it has none. */
void show_exception_text(const struct route_view *route);
/* The key exception, in the same way. */
void show_exception_json(const struct cmd_view *view, const struct route_view *route,
			 json_t *object);

/* A line a member; nothing without a group of several members. */
void show_group_text(const struct cmd_view *view, const struct route_view *route);
/* The keys group, group_type and buckets, in the same way. */
void show_group_json(const struct cmd_view *view, const struct route_view *route, json_t *object);

/* A line for each source of a table in sl_src_routes, or the key sources. */
void show_sources_text(const struct cmd_view *view, const struct entries *sources, uint32_t set);
void show_sources_json(const struct cmd_view *view, const struct entries *sources, uint32_t set,
		       json_t *object);

#define RULE_TEXT_LEN 384

/* "1000: from 2001:db8::/32 iif eth0 lookup 100", in buf, which is returned. */
const char *rule_text(const struct ports *ports, const struct sixlane_rule *rule,
		      char buf[RULE_TEXT_LEN]);

#endif
