// SPDX-License-Identifier: GPL-2.0-only
/*
 * The datapath looks up the longest destination prefix, then the source in the set of that
 * destination. It does not go back to a wider destination, so that a set includes the sources of
 * wider ones.
 *
 * Policies are visited by destination, wider ones first, with those that cover the current one on a
 * stack. Invariants:
 * - A set is sorted, without prefixes inside others. Equal sets are equal bytes, and stored once.
 * - A destination with the same set as the next wider one has no entry.
 */
#include "policies.h"

#include <linux/xfrm.h>

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../rib/radix.h"

struct policies *policies_new(void)
{
	return calloc(1, sizeof(struct policies));
}

void policies_free(struct policies *policies)
{
	if (!policies)
		return;
	free(policies->at);
	free(policies);
}

void policies_freep(struct policies **policies)
{
	policies_free(*policies);
}

int policies_add(struct policies *policies, const struct policy *policy)
{
	size_t capacity = policies->capacity ? 2 * policies->capacity : 16;
	struct policy *at = policies->at;

	if (policies->n == POLICIES_MAX) {
		snprintf(policies->all, sizeof(policies->all), "more than %u IPsec policies",
			 POLICIES_MAX);
		return 0;
	}
	if (policies->n == policies->capacity) {
		at = reallocarray(at, capacity, sizeof(*at));
		if (!at)
			return -ENOMEM;
		policies->at = at;
		policies->capacity = capacity;
	}
	policies->at[policies->n++] = *policy;
	if (policy->icmp && !policies->icmp_errors[0])
		policy_format(policy, policies->icmp_errors);
	return 0;
}

const struct policy *policies_find(const struct policies *policies, const union sixlane_addr *src,
				   const union sixlane_addr *dst)
{
	const struct prefix source = { .addr = *src, .len = 128 };
	const struct prefix destination = { .addr = *dst, .len = 128 };
	const struct policy *found = NULL;

	for (size_t i = 0; i < policies->n; i++) {
		const struct policy *policy = &policies->at[i];

		if (prefix_covers(&policy->dst, &destination) &&
		    prefix_covers(&policy->src, &source) &&
		    (!found || policy->priority < found->priority))
			found = policy;
	}
	return found;
}

void policy_format(const struct policy *policy, char reason[GUARD_REASON_LEN])
{
	char src[PREFIX_STRLEN], dst[PREFIX_STRLEN];

	snprintf(reason, GUARD_REASON_LEN, "policy %s %s to %s, index %u, priority %u",
		 policy->dir == XFRM_POLICY_FWD ? "fwd" : "out", prefix_format(&policy->src, src),
		 prefix_format(&policy->dst, dst), policy->index, policy->priority);
}

/* --- entries for the datapath --- */

#define MAX_DEPTH (128 + 1) /* nested destinations */
#define N_BUCKETS 1024u
#define NO_SET UINT32_MAX

/* Bound of compared prefixes, so that a crafted list does not take long. */
#define MAX_STEPS (64u * SIXLANE_MAX_POLICIES)

struct set {
	size_t first, n; /* in sources */
	uint32_t next;	 /* of its bucket, or NO_SET */
};

struct destination {
	struct prefix prefix;
	uint32_t set;
};

struct plan {
	struct destination *destinations;
	size_t n_destinations;
	struct set *sets; /* index + 1 is the number that the datapath knows */
	size_t n_sets;
	struct prefix *sources; /* SIXLANE_MAX_POLICIES of them, as in merged */
	size_t n_sources;
	struct prefix *merged; /* the current set */
	size_t n_merged;
	size_t steps;
	struct destination stack[MAX_DEPTH];
	size_t depth;
	uint32_t buckets[N_BUCKETS];
};

static int compare_prefixes(const struct prefix *a, const struct prefix *b)
{
	int order = memcmp(&a->addr, &b->addr, sizeof(a->addr));

	return order ? order : a->len - b->len;
}

static int compare_policies(const void *a, const void *b)
{
	const struct policy *x = *(const struct policy *const *)a;
	const struct policy *y = *(const struct policy *const *)b;
	int order = compare_prefixes(&x->dst, &y->dst);

	return order ? order : compare_prefixes(&x->src, &y->src);
}

/*
 * Sources come in order, wider ones first. One that the last added covers is left out. False: too
 * many.
 */
static bool add_source(struct plan *plan, const struct prefix *source)
{
	struct prefix *added;

	if (++plan->steps > MAX_STEPS)
		return false;
	if (plan->n_merged && prefix_covers(&plan->merged[plan->n_merged - 1], source))
		return true;
	if (plan->n_merged == SIXLANE_MAX_POLICIES)
		return false;
	/* By field: the padding stays zero, because sets are compared as bytes. */
	added = &plan->merged[plan->n_merged++];
	added->addr = source->addr;
	added->len = source->len;
	return true;
}

/* Merges the sources of one destination with those of the next wider one. */
static bool merge_sources(struct plan *plan, const struct policy **policies, size_t n,
			  uint32_t wider)
{
	const struct prefix *more = NULL;
	size_t n_more = 0, i = 0, j = 0;

	if (wider != NO_SET) {
		more = &plan->sources[plan->sets[wider].first];
		n_more = plan->sets[wider].n;
	}
	plan->n_merged = 0;
	while (i < n || j < n_more) {
		bool own =
			j == n_more || (i < n && compare_prefixes(&policies[i]->src, &more[j]) < 0);

		if (!add_source(plan, own ? &policies[i++]->src : &more[j++]))
			return false;
	}
	return true;
}

static uint32_t hash_merged(const struct plan *plan)
{
	const unsigned char *bytes = (const unsigned char *)plan->merged;
	uint32_t hash = 2166136261u; /* FNV-1a */

	for (size_t i = 0; i < plan->n_merged * sizeof(*plan->merged); i++)
		hash = (hash ^ bytes[i]) * 16777619u;
	return hash;
}

static bool is_merged(const struct plan *plan, uint32_t set)
{
	return plan->sets[set].n == plan->n_merged &&
	       memcmp(&plan->sources[plan->sets[set].first], plan->merged,
		      plan->n_merged * sizeof(*plan->merged)) == 0;
}

/* The stored set equal to merged, or a new one. NO_SET: too many. */
static uint32_t put_set(struct plan *plan)
{
	uint32_t *bucket = &plan->buckets[hash_merged(plan) % N_BUCKETS];
	struct set *set;

	for (uint32_t i = *bucket; i != NO_SET; i = plan->sets[i].next)
		if (is_merged(plan, i))
			return i;
	if (plan->n_merged > SIXLANE_MAX_POLICIES - plan->n_sources)
		return NO_SET;
	memcpy(&plan->sources[plan->n_sources], plan->merged,
	       plan->n_merged * sizeof(*plan->merged));
	set = &plan->sets[plan->n_sets];
	*set = (struct set){ .first = plan->n_sources, .n = plan->n_merged, .next = *bucket };
	plan->n_sources += plan->n_merged;
	*bucket = (uint32_t)plan->n_sets++;
	return *bucket;
}

/* policies: n of one destination. */
static int add_destination(struct plan *plan, const struct policy **policies, size_t n)
{
	struct destination new = { .prefix = policies[0]->dst };
	uint32_t wider;

	while (plan->depth && !prefix_covers(&plan->stack[plan->depth - 1].prefix, &new.prefix))
		plan->depth--;
	wider = plan->depth ? plan->stack[plan->depth - 1].set : NO_SET;
	if (!merge_sources(plan, policies, n, wider))
		return -E2BIG;
	if (wider != NO_SET && is_merged(plan, wider))
		return 0;
	new.set = put_set(plan);
	if (new.set == NO_SET)
		return -E2BIG;
	plan->stack[plan->depth++] = new;
	plan->destinations[plan->n_destinations++] = new;
	return plan->n_destinations + plan->n_sources > SIXLANE_MAX_POLICIES ? -E2BIG : 0;
}

static int make_plan(struct plan *plan, const struct policy **policies, size_t n)
{
	size_t next;
	int r;

	qsort(policies, n, sizeof(*policies), compare_policies);
	for (size_t i = 0; i < n; i = next) {
		for (next = i + 1; next < n; next++)
			if (!prefix_equal(&policies[next]->dst, &policies[i]->dst))
				break;
		r = add_destination(plan, &policies[i], next - i);
		if (r < 0)
			return r;
	}
	return 0;
}

static struct sixlane_route_key make_key(uint32_t table, const struct prefix *prefix)
{
	return (struct sixlane_route_key){ .prefix_len = SIXLANE_TABLE_BITS + prefix->len,
					   .table = htonl(table),
					   .addr = prefix->addr };
}

static int emit(const struct plan *plan,
		int (*fn)(void *ctx, const struct sixlane_route_key *key, uint32_t value),
		void *ctx)
{
	struct sixlane_route_key key;
	int r;

	for (uint32_t i = 0; i < plan->n_sets; i++) {
		const struct set *set = &plan->sets[i];

		for (size_t j = 0; j < set->n; j++) {
			key = make_key(i + 1, &plan->sources[set->first + j]);
			r = fn(ctx, &key, 1);
			if (r)
				return r;
		}
	}
	for (size_t i = 0; i < plan->n_destinations; i++) {
		key = make_key(0, &plan->destinations[i].prefix);
		r = fn(ctx, &key, plan->destinations[i].set + 1);
		if (r)
			return r;
	}
	return 0;
}

static void plan_free(struct plan *plan)
{
	free(plan->destinations);
	free(plan->sets);
	free(plan->sources);
	free(plan->merged);
}

static int plan_init(struct plan *plan, size_t n)
{
	*plan = (struct plan){ .destinations = calloc(n, sizeof(*plan->destinations)),
			       .sets = calloc(n, sizeof(*plan->sets)),
			       .sources = calloc(SIXLANE_MAX_POLICIES, sizeof(*plan->sources)),
			       .merged = calloc(SIXLANE_MAX_POLICIES, sizeof(*plan->merged)) };
	memset(plan->buckets, 0xff, sizeof(plan->buckets)); /* NO_SET */
	return plan->destinations && plan->sets && plan->sources && plan->merged ? 0 : -ENOMEM;
}

int policies_entries(const struct policies *policies,
		     int (*fn)(void *ctx, const struct sixlane_route_key *key, uint32_t value),
		     void *ctx)
{
	const struct policy **order;
	struct plan plan;
	int r;

	if (policies->n == 0)
		return 0;
	order = calloc(policies->n, sizeof(*order));
	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < policies->n; i++)
		order[i] = &policies->at[i];
	r = plan_init(&plan, policies->n);
	if (r == 0)
		r = make_plan(&plan, order, policies->n);
	if (r == 0)
		r = emit(&plan, fn, ctx);
	plan_free(&plan);
	free(order);
	return r;
}
