/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How next hops, groups and source sets look, in words and in JSON: the same in every command.
 */
#ifndef USER_CLI_SHOW_H
#define USER_CLI_SHOW_H

#include "print.h"
#include "route_view.h"
#include "sources.h"

#define SHOW_TAGS_LEN 40
#define SHOW_TABLE_LEN 24
#define SHOW_EXPIRY_LEN 48

/* "802.1Q 10", "802.1ad 5 802.1Q 10"; "" without tags. */
const char *show_tags(const union sixlane_tag tags[2], char buf[SHOW_TAGS_LEN]);
/* "main", "local" or the number. */
const char *show_table(uint32_t table, char buf[SHOW_TABLE_LEN]);
/* The prefix of len bits around addr. */
void show_covering(const union sixlane_addr *addr, uint32_t len, char buf[PRINT_PREFIX_LEN]);

/* " via GATEWAY dev PORT", as far as there are such. */
void show_way_text(const struct cmd_view *view, const struct hop_view *hop);
/* " mtu M src_mac MAC dst_mac MAC tags TAGS", the same. */
void show_frame_text(const struct hop_view *hop);
/* next_hop, port and mtu; with frame also src_mac, dst_mac, tags and xmit. */
void show_hop_json(const struct cmd_view *view, const struct hop_view *hop, bool frame,
		   json_t *object);

/* next_hop and port alone. */
void show_way_json(const struct cmd_view *view, const struct hop_view *hop, json_t *object);

/* "kernel" or "operator", by SIXLANE_EXCEPTION_* of one; NULL: nobody. */
const char *show_origin(uint32_t flags);

/* What became of the destination's exception; nothing where there is none. */
void show_exception_text(const struct route_view *route);
/* The key exception, likewise. */
void show_exception_json(const struct cmd_view *view, const struct route_view *route,
			 json_t *object);

/* Of all draws, from 0 to 1. */
double show_share(const struct group_view *group, const struct member_view *member);

/* A line a member; nothing for a route that met no group, or one of a single member. */
void show_group_text(const struct cmd_view *view, const struct route_view *route);
/* The keys group and group_kind, for the same groups. */
void show_group_json(const struct cmd_view *view, const struct route_view *route, json_t *object);

/* All that a set says: a line a source, or the key sources. */
void show_sources_text(const struct cmd_view *view, const struct sources *sources, uint32_t set);
void show_sources_json(const struct cmd_view *view, const struct sources *sources, uint32_t set,
		       json_t *object);

/* Seconds until a time of CLOCK_MONOTONIC; below 0: it is over. */
double show_expires_s(uint64_t expires_ns);
/* "expires in 3.000 s", "expired 3.000 s ago". */
const char *show_expiry(uint64_t expires_ns, char buf[SHOW_EXPIRY_LEN]);

#endif
