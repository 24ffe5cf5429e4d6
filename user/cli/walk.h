/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The datapath's walk from a packet to a verdict, done in user space on the same maps and in the
 * same order (bpf/sixlane.bpf.c), with note of all that was met on the way. Of a group it tells
 * every member, and of one packet the one that its hash falls upon.
 *
 * walk.c: the whole way; walk_rule.c: rules and tables; walk_hop.c: next hops, groups;
 * walk_hash.c: the hash and its member; walk_guard.c: firewalls and their like;
 * walk_exception.c: exceptions, packets that are too big.
 */
#ifndef USER_CLI_WALK_H
#define USER_CLI_WALK_H

#include "../../bpf/hash.h"
#include "../maps/maps.h"

/* The packets in question: one of them with has_flow, else all to an address. */
struct walk_query {
	union sixlane_addr dst, src;
	uint32_t ingress;	   /* ifindex of the device that the program runs on; 0: any port */
	union sixlane_tag tags[2]; /* of the frame, the outer first; 0: none */
	uint32_t table;		   /* ask this one whatever the rules say; 0: as they say */
	bool has_src;
	bool has_flow; /* the fields below are known */
	bool frags;    /* the frame lies in several buffers */
	uint8_t proto, tclass, hop_limit;
	uint16_t sport, dport; /* host order */
	uint32_t label;	       /* of the flow, host order */
	uint32_t ip_bytes;     /* header and payload */
};

/* What was not asked, and the answer may be another with it. */
#define WALK_ON_SOURCE (1u << 0)
#define WALK_ON_PORT (1u << 1)
#define WALK_ON_TCLASS (1u << 2)
#define WALK_ON_FLOW (1u << 3) /* protocol and ports */

enum walk_rule_outcome {
	WALK_RULE_DIFFERS,    /* a selector does not hold */
	WALK_RULE_UNSEEN,     /* it asks for what XDP cannot see */
	WALK_RULE_GOTO,	      /* on to its target */
	WALK_RULE_NO_ROUTE,   /* its table has none */
	WALK_RULE_THROW,      /* its table has a throw route */
	WALK_RULE_SUPPRESSED, /* its table's route is too short */
	WALK_RULE_SHARED,     /* the same, perhaps: the route is by a next-hop object */
	WALK_RULE_EXCEPTED,   /* the same, perhaps: there may be an exception under the route */
	WALK_RULE_DECIDES,    /* a route or a fate */
};

struct walk_rule {
	struct sixlane_rule rule;
	enum walk_rule_outcome outcome;
	uint32_t table; /* that was asked; 0: none */
};

/* The MTU of a route or of an exception, beside that of the device. */
struct walk_limit {
	uint32_t mtu;	   /* 0: none */
	bool locked;	   /* see SIXLANE_NEXT_HOP_LOCKED */
	bool by_exception; /* that was applied */
};

/* Packet Too Big, with SIXLANE_ANSWER_TOO_BIG. */
struct walk_answer {
	uint32_t mtu; /* that it tells; 0: there is no answer */
	union sixlane_addr source;
	uint8_t mac[6];	   /* it goes to, unless … */
	bool to_sender;	   /* … it goes to whom the frame came from */
	bool aged;	   /* it quotes the packet with its hop limit decremented */
	bool by_exception; /* that says what it is over … */
	bool by_operator;  /* … or where to: of which the kernel knows nothing */
};

/* A next hop that is no group: a way out, or a fate. What was not reached is zero. */
struct walk_hop {
	enum sixlane_verdict verdict;
	uint32_t id;
	union sixlane_fate fate;
	uint32_t port; /* egress: slot in sl_ports */
	uint32_t mtu;  /* bytes of an IPv6 packet that is not too big */
	struct walk_limit limit;
	bool excepted; /* by the destination's exception */
	struct walk_answer answer;
	struct sixlane_port egress;
	struct sixlane_neigh neigh; /* gateway, or the destination itself */
	bool has_gateway;	    /* neigh.key is a gateway's */
	bool has_mac;		    /* neigh.mac may be used */
	uint32_t slave; /* ifindex: that egress, on a bond, hands the frame to; 0: not known */
};

#define WALK_MARKS (SIXLANE_ROUTE_EXCEPTIONS | SIXLANE_ROUTE_EXCEPTIONS_MISSING)

#define WALK_MAX_MEMBERS 256u
#define WALK_NO_MEMBER WALK_MAX_MEMBERS

struct walk_member {
	struct walk_hop hop;
	uint64_t share;	 /* of the draws, in parts of n_cells << 32 */
	uint32_t weight; /* all members' in lowest terms; cells of a group with buckets */
	bool skipped;	 /* its port is down */
};

/* Where a hash fell. A member that is skipped is passed over, and another one drawn. */
struct walk_draw {
	uint32_t cell;	 /* from 0 on; of a resilient group the bucket's index */
	uint32_t member; /* index, or WALK_NO_MEMBER: the cell names none */
};

struct walk_group {
	uint32_t kind;	  /* SIXLANE_KIND_*; 0: no group */
	uint32_t n_cells; /* 1: there is nothing to choose, the group only has an expiry */
	bool buckets;	  /* a cell has one member, and a member many cells */
	bool truncated;	  /* more than WALK_MAX_MEMBERS */
	uint32_t n_draws; /* of one packet; 0: its hash was not asked for, or XDP cannot make it */
	struct walk_draw draws[HASH_DRAWS];
	bool scanned;	 /* no draw fell upon a member in use: all were asked, by their shares */
	uint32_t chosen; /* index, with n_draws or of SIXLANE_KIND_FIRST; WALK_NO_MEMBER: none is
			    in use */
	uint32_t n_members;
	struct walk_member members[WALK_MAX_MEMBERS];
};

enum walk_exception_outcome {
	WALK_EXCEPTION_UNASKED, /* no destination with this longest prefix has one, or no way out */
	WALK_EXCEPTION_ABSENT,	/* this one has none */
	WALK_EXCEPTION_MISSING, /* nor this one, perhaps for want of room: the kernel's */
	WALK_EXCEPTION_EXPIRED, /* the route holds */
	WALK_EXCEPTION_OBSERVED,  /* counted and not applied */
	WALK_EXCEPTION_ELSEWHERE, /* it holds for packets by another member */
	WALK_EXCEPTION_PUNTED,	  /* the kernel's */
	WALK_EXCEPTION_APPLIED,
};

struct walk_exception {
	enum walk_exception_outcome outcome;
	struct sixlane_exception value; /* zero without one */
};

struct walk {
	/* Of a group without has_flow: forward if a member in use does. */
	enum sixlane_verdict verdict;
	uint32_t depends; /* WALK_ON_* */
	/* What was decided before any route was asked for; else SIXLANE_FORWARD. */
	enum sixlane_verdict before;

	uint32_t in_slot;	/* 0: any port, or none that is known */
	struct sixlane_port in; /* zero without a slot */
	bool by_slave;		/* of the bond in */
	bool generic;		/* the program runs in generic mode */

	bool by_rules; /* the rules were walked */
	uint32_t n_rules;
	struct walk_rule rules[SIXLANE_MAX_RULES];

	uint32_t table;	 /* that was asked last; 0: none, or a rule decided without one */
	bool has_prefix; /* it has a route: all that follows */
	uint32_t prefix_len;
	uint32_t marks;	   /* WALK_MARKS */
	bool by_source;	   /* of the source set: */
	uint32_t set;	   /* its id in sl_src_routes */
	uint32_t next_hop; /* id */
	uint32_t flags;	   /* SIXLANE_NEXT_HOP_* */
	uint32_t route_mtu;
	uint64_t expires_ns;
	struct walk_exception exception;
	/* Of a group: the member that was drawn, or the only one; else zero. With an exception:
	 * what that makes of it. */
	struct walk_hop hop;
	struct walk_group group;
};

/* What the datapath does with the packets of query. */
void walk_packet(const struct maps *maps, const struct walk_query *query, struct walk *out);

/*
 * Fill in what an entry of sl_routes or sl_src_routes leads to, without a verdict of the ports. Of
 * a source set: what holds for all other sources.
 */
void walk_value(const struct maps *maps, uint32_t value, struct walk *out);

/* Port, neighbour and MTU of a next hop that is no group, as far as they are known; verdict: its
 * own. */
void walk_fill_hop(const struct maps *maps, uint32_t id, struct walk_limit limit,
		   struct walk_hop *hop);
void walk_fill_fate(const struct maps *maps, union sixlane_fate fate, struct walk_limit limit,
		    struct walk_hop *hop);

/* --- between the files of the walk ------------------------------------------------------- */

/* What a table says of a packet. */
struct walk_route {
	uint32_t value; /* of sl_routes or sl_src_routes */
	union sixlane_fate fate;
	bool by_source;
	uint32_t set;
};

/* walk_rule.c. SIXLANE_FORWARD: *route; and *table is where it was found. */
enum sixlane_verdict walk_find_route(const struct maps *maps, const struct walk_query *query,
				     struct walk *walk, struct walk_route *route);

/* The same from route->value on. A source set is asked for query's source, without one for ::. */
enum sixlane_verdict walk_take_route(const struct maps *maps, const struct walk_query *query,
				     struct walk_route *route);

/* walk_hop.c: from the next hop on, walk->next_hop being set. Sets verdict.
 * query NULL: verdicts of the next hops themselves, whatever ports and neighbours say. */
void walk_next_hop(const struct maps *maps, const struct walk_query *query, struct walk *walk);

/* The neighbour that the destination itself is, of a hop without a gateway. */
void walk_find_on_link(const struct maps *maps, const union sixlane_addr *dst,
		       struct walk_hop *hop);

/* walk_guard.c (bpf/guard.h): of a packet by hop, whose port is set. */
enum sixlane_verdict walk_check_guard(const struct maps *maps, const struct walk_query *query,
				      const struct walk *walk, const struct walk_hop *hop);

/* walk_exception.c. Sets exception, whose outcome is that of any member that it holds for. */
void walk_find_exception(const struct maps *maps, const struct walk_query *query,
			 struct walk *walk);
/* What it makes of one hop, which leads on: the hop is to be checked anew if the outcome is
 * WALK_EXCEPTION_APPLIED. Returns the outcome for packets by that hop. */
enum walk_exception_outcome walk_apply_exception(const struct maps *maps,
						 const struct walk_query *query,
						 const struct walk *walk, struct walk_hop *hop);
/* Of query's packet, which is over hop's mtu. */
enum sixlane_verdict walk_too_big(const struct maps *maps, const struct walk_query *query,
				  const struct walk *walk, struct walk_hop *hop);

/* walk_hash.c. The hash of query's packet, with has_flow. False: over headers that XDP does not
 * reach. */
bool walk_hash(const struct maps *maps, const struct walk_query *query, uint64_t *hash);

/* The index of the member that a hash falls upon in a group of this fate, whose members are read;
 * WALK_NO_MEMBER: all draws fell upon members that are skipped. Notes the draws. */
uint32_t walk_draw_member(const struct maps *maps, union sixlane_fate fate, uint64_t hash,
			  struct walk_group *group);

/* The slave that hop's egress, one with SIXLANE_PORT_SLAVES, hands query's packet to: sets slave.
 */
enum sixlane_verdict walk_choose_slave(const struct walk_query *query, struct walk_hop *hop);

static inline uint32_t walk_load(const uint32_t *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static inline uint64_t walk_load64(const __u64 *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

#endif
