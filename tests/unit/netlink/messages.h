/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Builds netlink messages from tables, and runs all parsers on a message: results as structures
 * and as text, so that a test case states every field in one string.
 */
#ifndef NETLINK_MESSAGES_H
#define NETLINK_MESSAGES_H

#include <stddef.h>

#include "../../../user/lib/util.h"
#include "../../../user/netlink/parse.h"

/* What is put into a message. A list of them ends with PUT_NONE. Values are little-endian. */
enum put_kind { PUT_NONE, PUT_VALUE, PUT_DATA, PUT_SET, PUT_HOP, PUT_OPEN, PUT_CLOSE };
struct put {
	enum put_kind kind;
	uint16_t type; /* of the attribute; PUT_SET: offset in the message; PUT_HOP: rtnh_len */
	uint16_t size;
	uint64_t value;
	const void *data;
};

/* clang-format off */
#define VALUE(type, size, value) { PUT_VALUE, type, size, value, NULL }
#define U8(type, value) VALUE(type, 1, value)
#define U16(type, value) VALUE(type, 2, value)
#define U32(type, value) VALUE(type, 4, value)
#define U64(type, value) VALUE(type, 8, value)
#define EMPTY(type) VALUE(type, 0, 0)
#define DATA(type, size, data) { PUT_DATA, type, size, 0, data }
#define STRING(type, text) DATA(type, sizeof(text), text)
/* A nest, until CLOSE or the end of the list. */
#define OPEN(type) { PUT_OPEN, type, 0, 0, NULL }
#define CLOSE { PUT_CLOSE, 0, 0, 0, NULL }
/* A field of the header behind the netlink header, and the message's type. */
#define SET(header, field, value)                                                \
	{ PUT_SET, sizeof(struct nlmsghdr) + offsetof(struct header, field),      \
	  sizeof(((struct header *)0)->field), (uint64_t)(value), NULL }
#define SET_TYPE(type) { PUT_SET, offsetof(struct nlmsghdr, nlmsg_type), 2, type, NULL }
/* A struct rtnexthop of that rtnh_len, whose device and flags are n. */
#define HOP(len, n) { PUT_HOP, len, 0, n, NULL }

/* The smallest message that a parser accepts, to put attributes behind. */
enum base {
	ROUTE, LINK, LINK_AF_SPEC, LINK_INET6, RULE, NEXT_HOP, GROUP, BUCKET, NETCONF, NEIGH,
	ADDRESS, ADVERTISED, NETDEV, FAMILY, N_BASES
};

enum parser {
	PARSER_ROUTE, PARSER_ROUTE_FLAGS, PARSER_LINK, PARSER_LINK_NAMES, PARSER_LINK_IPV6,
	PARSER_RULE, PARSER_NEXT_HOP, PARSER_BUCKET, PARSER_NETCONF, PARSER_NEIGH, PARSER_ADDRESS,
	PARSER_ADVERTISED, PARSER_NETDEV, PARSER_FAMILY, N_PARSERS
};

/* clang-format on */

/* What all parsers made of a message. */
struct parsed {
	struct route route;
	struct link link;
	struct link_ipv6 link_ipv6;
	struct rule rule;
	struct next_hop next_hop;
	struct next_hop_bucket bucket;
	struct netconf netconf;
	struct neigh neigh;
	struct address address;
	struct prefix advertised;
	uint32_t advertised_ifindex;
	uint32_t ifindex; /* PARSER_NETDEV, also features */
	uint64_t features;
	uint32_t group; /* PARSER_FAMILY, also family */
	uint16_t family;
	int results[N_PARSERS];
	int result;	 /* of the base's parser, if the message was built */
	char names[512]; /* of PARSER_LINK_NAMES, with a space behind each; cut to what fits */
	struct route_hop hops[ROUTE_MAX_HOPS];
	uint8_t flags[ROUTE_MAX_HOPS];
	struct next_hop_member members[NEXT_HOP_MAX_MEMBERS];
};

/*
 * Runs every parser on a copy in memory of exactly size bytes, whose nlmsg_len becomes size.
 * Returns the number of parsers that accepted it, or -1 if one broke its contract: an unknown
 * result, a structure that is not in order, or one that is touched by a failure.
 */
int parse_all(const void *bytes, size_t size, struct parsed *out);

/* Builds a message and parses it. Static storage; the program ends if a contract is broken. */
const struct parsed *parse_built(enum base base, const struct put *puts);
#define BUILT(base, ...) parse_built(base, (const struct put[]){ __VA_ARGS__, { 0 } })

/*
 * All objects that were parsed, each with every field that is not zero; "none" if nothing was.
 * Of a built message that its parser refused, "EBADMSG" or "ENOMSG". Static storage.
 */
const char *parsed_text(const struct parsed *parsed);

/* A documented case: what is put behind a base, and the text of what is parsed. */
struct built_case {
	const char *what;
	enum base base;
	struct put puts[12];
	const char *expected;
};
/* NULL, or a report of the cases whose text is another. Static storage. */
const char *wrong_cases(const struct built_case *cases, size_t n);

/* For a test: fails if a case is wrong. */
#define assert_cases(cases)                                                  \
	do {                                                                 \
		const char *report_ = wrong_cases(cases, ARRAY_SIZE(cases)); \
                                                                             \
		if (report_)                                                 \
			fail_msg("%s", report_);                             \
	} while (0)

/* A message of captures.txt, which is part of the program. */
struct capture {
	char name[64];
	char parsed[512]; /* parsed_text() */
	size_t size;
	uint8_t *bytes; /* never freed */
};

/* All of them; *n becomes their number. */
const struct capture *captures(size_t *n);

#endif
