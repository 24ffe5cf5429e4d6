// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rules for forwarded packets (fib_rule_match, fib6_rule_match, __fib6_rule_action): oif, tun_id
 * and socket mark are 0, the uid is root's, iif is the port or its VRF.
 *
 * A rule that struct sixlane_rule cannot express becomes one that punts, never one that guesses.
 */
#include "rules.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>

/* Selectors that may match one packet of a port, and not the next. */
#define PACKET_SELECTORS                                                        \
	(SIXLANE_RULE_SOURCE | SIXLANE_RULE_DESTINATION | SIXLANE_RULE_TCLASS | \
	 SIXLANE_RULE_PROTO | SIXLANE_RULE_SPORT | SIXLANE_RULE_DPORT | SIXLANE_RULE_UNKNOWN)

void rules_clear(struct rules *rules)
{
	free(rules->list);
	*rules = (struct rules){ 0 };
}

int rules_add(struct rules *rules, const struct rule *rule)
{
	if (rules->n == rules->capacity) {
		size_t capacity = rules->capacity ? 2 * rules->capacity : 8;
		struct rule *list = reallocarray(rules->list, capacity, sizeof(*list));

		if (!list)
			return -ENOMEM;
		rules->list = list;
		rules->capacity = capacity;
	}
	rules->list[rules->n++] = *rule;
	return 0;
}

/* --- one rule ------------------------------------------------------------------------------- */

static void set_prefix(const struct prefix *prefix, union sixlane_addr *addr,
		       union sixlane_addr *mask)
{
	*addr = prefix->addr;
	for (unsigned int i = 0; i < 16; i++) {
		unsigned int bits = prefix->len > 8 * i ? prefix->len - 8 * i : 0;

		mask->bytes[i] = bits >= 8 ? 0xff : (uint8_t)(0xff00u >> bits);
	}
}

/* All but iif, which depends on the devices. */
static void set_selectors(const struct rule *rule, struct sixlane_rule *out)
{
	if (rule->src.len) {
		out->flags |= SIXLANE_RULE_SOURCE;
		set_prefix(&rule->src, &out->src, &out->src_mask);
	}
	if (rule->dst.len) {
		out->flags |= SIXLANE_RULE_DESTINATION;
		set_prefix(&rule->dst, &out->dst, &out->dst_mask);
	}
	if (rule->tclass_mask) {
		out->flags |= SIXLANE_RULE_TCLASS;
		out->tclass = rule->tclass & rule->tclass_mask;
		out->tclass_mask = rule->tclass_mask;
	}
	if (rule->has_ip_proto) {
		out->flags |= SIXLANE_RULE_PROTO;
		out->proto = rule->ip_proto;
	}
	if (rule->has_sport) {
		out->flags |= SIXLANE_RULE_SPORT;
		out->sport_low = rule->sport.low;
		out->sport_high = rule->sport.high;
	}
	if (rule->has_dport) {
		out->flags |= SIXLANE_RULE_DPORT;
		out->dport_low = rule->dport.low;
		out->dport_high = rule->dport.high;
	}
	if (rule->l3mdev)
		out->flags |= SIXLANE_RULE_L3MDEV;
	if (rule->unknown)
		out->flags |= SIXLANE_RULE_UNKNOWN;
}

static void set_verdict(struct sixlane_rule *out, enum sixlane_verdict verdict)
{
	out->action = SIXLANE_RULE_VERDICT;
	out->verdict = verdict;
}

/* Packets that reach this rule are punted. */
static void set_punt(struct sixlane_rule *out)
{
	*out = (struct sixlane_rule){ .priority = out->priority };
	set_verdict(out, SIXLANE_PUNT_RULE);
}

/* target: a priority, until find_targets() knows the index. */
static void set_action(const struct rule *rule, struct sixlane_rule *out)
{
	switch (rule->action) {
	case FR_ACT_TO_TBL:
		out->action = SIXLANE_RULE_LOOKUP;
		out->table = rule->table;
		if (rule->suppress_len >= 0) {
			out->flags |= SIXLANE_RULE_SUPPRESS;
			out->suppress_len =
				rule->suppress_len < 128 ? (uint32_t)rule->suppress_len : 128;
		}
		break;
	case FR_ACT_GOTO:
		out->action = SIXLANE_RULE_GOTO;
		out->target = rule->target;
		break;
	case FR_ACT_UNREACHABLE:
		set_verdict(out, SIXLANE_PASS_UNREACHABLE);
		break;
	case FR_ACT_PROHIBIT:
		set_verdict(out, SIXLANE_PASS_PROHIBIT);
		break;
	case FR_ACT_BLACKHOLE:
		set_verdict(out, SIXLANE_DROP_BLACKHOLE);
		break;
	default: /* the kernel discards these today */
		set_verdict(out, SIXLANE_PUNT_RULE);
		break;
	}
}

/*
 * Inverted rules whose effect is uncertain. An unknown attribute may be a suppressor, not a
 * selector. "not l3mdev" has no table of its own (fib_rule_get_table takes what an earlier rule
 * left, or main).
 */
static bool is_uncertain_inverted(const struct rule *rule)
{
	return rule->invert && (rule->unknown || (rule->l3mdev && rule->action == FR_ACT_TO_TBL));
}

/* False: the rule matches no forwarded packet, or does nothing. */
static bool compile_rule(const struct rule *rule, const struct links *links,
			 struct sixlane_rule *out)
{
	const struct device *iif = rule->iif[0] ? links_find_name(links, rule->iif) : NULL;
	bool never = rule->never || (rule->iif[0] && !iif);

	memset(out, 0, sizeof(*out));
	out->priority = rule->priority;
	if ((rule->action == FR_ACT_NOP && !rule->unknown_attr) || (never && !rule->invert))
		return false;
	if (is_uncertain_inverted(rule)) {
		set_punt(out);
		return true;
	}
	/* A selector that never matches, inverted, always matches. */
	if (!never) {
		set_selectors(rule, out);
		if (iif) {
			out->flags |= SIXLANE_RULE_IIF;
			out->iif = iif->ifindex;
		}
		if (rule->invert && !out->flags)
			return false;
		if (rule->invert)
			out->flags |= SIXLANE_RULE_INVERT;
	}
	set_action(rule, out);
	return true;
}

/* --- the list --------------------------------------------------------------------------------- */

/* Gotos that wait for this priority now target the rule that is appended next. */
static void find_targets(struct rules_program *out, bool waiting[SIXLANE_MAX_RULES],
			 uint32_t priority)
{
	for (uint32_t i = 0; i < out->n; i++) {
		if (waiting[i] && out->rules[i].target == priority) {
			out->rules[i].target = out->n;
			waiting[i] = false;
		}
	}
}

/* A goto without a target does nothing, like one to the next rule. */
static void skip_unresolved(struct rules_program *out, const bool waiting[SIXLANE_MAX_RULES])
{
	for (uint32_t i = 0; i < out->n; i++) {
		if (waiting[i])
			out->rules[i].target = i + 1;
	}
}

static bool compile_list(const struct rules *rules, const struct links *links,
			 struct rules_program *out)
{
	bool waiting[SIXLANE_MAX_RULES] = { false };

	for (size_t i = 0; i < rules->n; i++) {
		struct sixlane_rule rule;

		/* a rule that does nothing can be a target, too */
		find_targets(out, waiting, rules->list[i].priority);
		if (!compile_rule(&rules->list[i], links, &rule))
			continue;
		if (out->n == SIXLANE_MAX_RULES)
			return false;
		waiting[out->n] = rule.action == SIXLANE_RULE_GOTO;
		out->rules[out->n++] = rule;
	}
	skip_unresolved(out, waiting);
	return true;
}

static bool is_plain_lookup(const struct sixlane_rule *rule, uint32_t table)
{
	return !rule->flags && rule->action == SIXLANE_RULE_LOOKUP && rule->table == table;
}

/* A VRF may have any table. */
static bool vrf_looks_up_main(const struct links *links)
{
	for (size_t i = 0; i < links->n; i++) {
		const struct link *link = &links->devices[i].link;

		if (!strcmp(link->kind, "vrf") &&
		    (!link->vrf_table || link->vrf_table == RT_TABLE_MAIN))
			return true;
	}
	return false;
}

static bool looks_up_main(const struct sixlane_rule *rule, const struct links *links)
{
	if (rule->action != SIXLANE_RULE_LOOKUP)
		return false;
	if (rule->flags & SIXLANE_RULE_L3MDEV)
		return vrf_looks_up_main(links);
	return rule->table == RT_TABLE_MAIN;
}

/*
 * Whether main can be stored with local laid over it. For a packet, let L be local's result: a
 * decision, or "continue" (no usable route, or a throw). Let M be main's result. The overlay O
 * returns L, or M if L is "continue". For every rule R that looks up main, O must give the same as
 * M. That is so if:
 *
 * (1) Before R, every packet passes a rule G that looks up local, without selectors, inversion or
 *     suppressor. At R then L is "continue", so that O is M. With a suppressor or a selector, G
 * could let packets continue whose L is still in O. (2) R has no suppressor. It compares the length
 * of M's prefix, but an entry of the overlay has the length of its own prefix, which may be that of
 * a longer throw in local.
 *
 * (1) holds if G precedes every R in the list, and no goto from before G leads past it, since
 * gotos only lead forward. Rules that do not look up main do not matter.
 */
static bool is_local_first(const struct rules_program *program, const struct links *links)
{
	uint32_t jump = 0;
	bool local = false;

	for (uint32_t i = 0; i < program->n; i++) {
		const struct sixlane_rule *rule = &program->rules[i];

		if (is_plain_lookup(rule, RT_TABLE_LOCAL) && jump <= i)
			local = true;
		if (looks_up_main(rule, links) && (!local || rule->flags & SIXLANE_RULE_SUPPRESS))
			return false;
		if (rule->action == SIXLANE_RULE_GOTO && rule->target > jump)
			jump = rule->target;
	}
	return true;
}

void rules_compile(const struct rules *rules, const struct links *links, struct rules_program *out)
{
	/* Programs are compared as bytes. */
	memset(out, 0, sizeof(*out));
	out->expressible = compile_list(rules, links, out);
	if (!out->expressible) {
		memset(out->rules, 0, sizeof(out->rules));
		out->n = 0;
	}
	out->local_first = is_local_first(out, links);
	out->local_within = out->n == 2 && is_plain_lookup(&out->rules[0], RT_TABLE_LOCAL) &&
			    is_plain_lookup(&out->rules[1], RT_TABLE_MAIN);
}

/* --- one port ----------------------------------------------------------------------------- */

enum certainty {
	NEVER,
	MAYBE,
	ALWAYS,
};

/* Whether the rule matches packets of iif, a port without a VRF. */
static enum certainty applies_to(const struct sixlane_rule *rule, uint32_t iif)
{
	bool inverted = rule->flags & SIXLANE_RULE_INVERT;

	if (rule->flags & SIXLANE_RULE_L3MDEV ||
	    (rule->flags & SIXLANE_RULE_IIF && rule->iif != iif))
		return inverted ? ALWAYS : NEVER;
	if (rule->flags & PACKET_SELECTORS)
		return MAYBE;
	return inverted ? NEVER : ALWAYS;
}

/* The next rule from at on that may match packets of iif. */
static uint32_t next_for(const struct rules_program *program, uint32_t at, uint32_t iif)
{
	while (at < program->n) {
		const struct sixlane_rule *rule = &program->rules[at];
		enum certainty applies = applies_to(rule, iif);

		if (applies == ALWAYS && rule->action == SIXLANE_RULE_GOTO)
			at = rule->target;
		else if (applies == NEVER)
			at++;
		else
			break;
	}
	return at;
}

/* The rule looks up this table for all packets of iif, without a suppressor. */
static bool always_looks_up(const struct rules_program *program, uint32_t at, uint32_t iif,
			    uint32_t table)
{
	const struct sixlane_rule *rule = &program->rules[at];

	return at < program->n && applies_to(rule, iif) == ALWAYS &&
	       rule->action == SIXLANE_RULE_LOOKUP && rule->table == table &&
	       !(rule->flags & SIXLANE_RULE_SUPPRESS);
}

bool rules_program_walk(const struct rules_program *program, uint32_t iif, bool vrf)
{
	uint32_t at;

	/* Without an l3mdev rule VRFs ask local and main, too; but their ports have another table.
	 */
	if (!program->expressible || !program->local_first || vrf)
		return true;
	at = next_for(program, 0, iif);
	if (!always_looks_up(program, at, iif, RT_TABLE_LOCAL))
		return true;
	at = next_for(program, at + 1, iif);
	if (!always_looks_up(program, at, iif, RT_TABLE_MAIN))
		return true;
	return next_for(program, at + 1, iif) < program->n;
}
