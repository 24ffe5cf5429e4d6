// SPDX-License-Identifier: GPL-2.0-only
/* Asks the kernel where a packet goes, and compares that with where XDP sent it: see parity.h. */
#include "parity.h"

#include <errno.h>
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "../netlink/parse.h"
#include "daemon.h"
#include "requests.h"

bool parity_is_hop(const struct sixlane_sample *sample, const struct route_hop *hop)
{
	const union sixlane_addr *next_hop = hop->has_gateway ? &hop->gateway : &sample->dst;

	return hop->ifindex == sample->egress &&
	       !memcmp(next_hop, &sample->next_hop, sizeof(*next_hop));
}

enum parity parity_of_error(int error, bool understood)
{
	switch (error) {
	case -EINVAL: /* blackhole */
		return understood ? PARITY_DIFFERS : PARITY_UNKNOWN;
	case -ENETUNREACH:
	case -EHOSTUNREACH: /* unreachable */
	case -EACCES:	    /* prohibit */
	case -EAGAIN:	    /* throw */
		return PARITY_DIFFERS;
	default:
		return PARITY_UNKNOWN;
	}
}

enum parity parity_of_choice(const struct sixlane_sample *sample, const struct nlmsghdr *nlh,
			     struct parity_answer *answer)
{
	struct route_hop hops[ROUTE_MAX_HOPS];
	struct route route;

	if (parse_route(nlh, &route, hops) || route.unknown || route.n_hops > 1)
		return PARITY_UNKNOWN;
	*answer = (struct parity_answer){
		.type = route.type,
		.by_exception = route.cloned,
		.has_hop = route.n_hops == 1,
	};
	if (answer->has_hop)
		answer->hop = hops[0];
	if (route.type != RTN_UNICAST || route.encap || !answer->has_hop)
		return PARITY_DIFFERS;
	return parity_is_hop(sample, &hops[0]) ? PARITY_SAME : PARITY_DIFFERS;
}

enum parity parity_of_route(const struct sixlane_sample *sample, const struct nlmsghdr *nlh)
{
	struct route_hop hops[ROUTE_MAX_HOPS];
	uint8_t flags[ROUTE_MAX_HOPS];
	struct route route;

	if (parse_route(nlh, &route, hops) || route.unknown || route.truncated ||
	    route.next_hop_id || parse_route_flags(nlh, flags) != route.n_hops)
		return PARITY_UNKNOWN;
	if (route.type != RTN_UNICAST || route.encap)
		return PARITY_DIFFERS;
	/* A single hop is what the kernel chose, and differs already. */
	for (size_t i = 0; route.n_hops > 1 && i < route.n_hops; i++)
		if (!(flags[i] & RTNH_F_DEAD) && parity_is_hop(sample, &hops[i]))
			return PARITY_SAME;
	return PARITY_DIFFERS;
}

/* --- asking ------------------------------------------------------------------------------- */

struct request {
	const struct sixlane_sample *sample;
	struct parity_answer *answer;
	enum parity parity;
	struct next_hop next_hop;
	struct next_hop_member members[NEXT_HOP_MAX_MEMBERS];
	bool dead, parsed; /* of next_hop */
};

static int store_choice(const struct nlmsghdr *nlh, void *ctx)
{
	struct request *q = ctx;

	q->parity = parity_of_choice(q->sample, nlh, q->answer);
	return 0;
}

static int store_route(const struct nlmsghdr *nlh, void *ctx)
{
	struct request *q = ctx;

	q->parity = parity_of_route(q->sample, nlh);
	return 0;
}

static int store_object(const struct nlmsghdr *nlh, void *ctx)
{
	const struct nhmsg *nhm = mnl_nlmsg_get_payload(nlh);
	struct request *q = ctx;

	q->parsed = !parse_next_hop(nlh, &q->next_hop, q->members);
	q->dead = q->parsed && nhm->nh_flags & RTNH_F_DEAD;
	return 0;
}

static bool get_object(struct sockets *sockets, struct request *q, uint32_t id)
{
	q->parsed = false;
	return !request_next_hop(sockets, id, store_object, q) && q->parsed;
}

static bool is_same_hop(const struct route_hop *a, const struct route_hop *b)
{
	return a->ifindex == b->ifindex && a->has_gateway == b->has_gateway &&
	       !memcmp(&a->gateway, &b->gateway, sizeof(a->gateway));
}

/*
 * id: the object of the route that the daemon knows. The kernel caches routes at objects, and may
 * report another route that uses the same one. So the kernel's choice must be a member of this
 * group, too. An object of one hop is that choice already, and differs.
 */
static enum parity ask_object(struct sync *sync, struct request *q, uint32_t id)
{
	struct request member = { .sample = q->sample };
	bool has_chosen_hop = false, has_packet_hop = false;

	if (!get_object(&sync->sockets, q, id) || q->next_hop.kind == NEXT_HOP_OTHER)
		return PARITY_UNKNOWN;
	for (uint32_t i = 0; i < q->next_hop.n_members; i++) {
		if (!get_object(&sync->sockets, &member, q->members[i].id))
			return PARITY_UNKNOWN;
		if (member.next_hop.kind != NEXT_HOP_ONE)
			continue;
		has_chosen_hop |= is_same_hop(&member.next_hop.hop, &q->answer->hop);
		has_packet_hop |= !member.dead && parity_is_hop(q->sample, &member.next_hop.hop);
	}
	return has_chosen_hop && has_packet_hop ? PARITY_SAME : PARITY_DIFFERS;
}

/* The kernel chose another hop: perhaps both are hops of the route. */
static enum parity ask_route(struct sync *sync, struct request *q)
{
	uint32_t object;

	if (!fib_find_object(sync->fib, q->sample->table, &q->sample->dst, &object))
		return PARITY_UNKNOWN;
	if (object)
		return ask_object(sync, q, object);
	q->parity = PARITY_UNKNOWN;
	(void)request_packet(&sync->sockets, q->sample, true, store_route, q);
	return q->parity;
}

/* Rules match what the request cannot contain. */
static bool is_beyond_request(const struct maps *maps, const struct sixlane_sample *sample)
{
	const union sixlane_rules list = { .word = maps->meta->rules.word };
	const uint32_t l4 = SIXLANE_RULE_PROTO | SIXLANE_RULE_SPORT | SIXLANE_RULE_DPORT;
	uint32_t flags = 0;

	if (request_takes_protocol(sample->next_header))
		return false;
	for (uint32_t i = 0; i < list.n && list.first + i < 2 * SIXLANE_MAX_RULES; i++)
		flags |= maps->rules[list.first + i].flags;
	return flags & l4;
}

enum parity parity_ask(struct sync *sync, bool understood[2], const struct sixlane_sample *sample,
		       struct parity_answer *answer)
{
	struct request q = { .sample = sample, .answer = answer, .parity = PARITY_UNKNOWN };
	bool *answered = &understood[request_takes_protocol(sample->next_header)];
	int ret;

	if (is_beyond_request(sync->maps, sample))
		return PARITY_UNKNOWN;
	*answer = (struct parity_answer){ 0 };
	ret = request_packet(&sync->sockets, sample, false, store_choice, &q);
	if (ret) {
		answer->error = ret;
		return parity_of_error(ret, *answered);
	}
	*answered = true;
	/* with "observe" XDP is to differ */
	if (answer->by_exception && sync->config->exceptions == CONFIG_EXCEPTIONS_OBSERVE)
		return PARITY_UNKNOWN;
	if (q.parity != PARITY_DIFFERS || answer->type != RTN_UNICAST)
		return q.parity;
	return ask_route(sync, &q);
}
