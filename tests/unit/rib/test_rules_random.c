// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rules at random: a kernel in small (fib_rules_lookup) and a datapath in small (bpf/rule.h) look
 * the same packets up, the one by the list, the other by what was compiled of it: in one lookup
 * where a port need not walk, and in main with local laid over it where that is said to do.
 * The datapath may leave a packet to the kernel, but never give it another result.
 */
#include "rib_unit.h"
#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>

#include "../../../user/rib/radix.h"
#include "../../../user/rib/rules.h"

/* Devices: p1 (ifindex 1), p2 (2), and v (3), a VRF. */
#define VRF 3u
#define VRF_TABLE 300u

/* Addresses are one byte long here, the first; tables have a few prefixes of up to three bits. */
#define N_TABLES 5u
static const uint32_t tables[N_TABLES] = { 254, 255, 100, 101, VRF_TABLE };

enum answer_kind {
	NONE,
	THROW,
	ROUTE,
	REJECT, /* a route with an error, which no suppressor is asked about */
	RULE,	/* a rule that is an end by itself: len is its verdict */
	PUNT,	/* of the datapath: the kernel will say */
};

struct answer {
	enum answer_kind kind;
	uint32_t table, len;
};

struct entry {
	uint8_t addr, len;
	enum answer_kind kind;
};

struct packet {
	uint8_t src, dst, tclass, proto;
	uint16_t sport, dport;
	uint32_t iif;
	bool vrf;
	bool marked; /* what XDP cannot see holds */
};

#define MAX_ENTRIES 6u
#define MAX_LIST 8u

struct lab {
	uint32_t seed;
	struct entry entries[N_TABLES][MAX_ENTRIES];
	size_t n_entries[N_TABLES];
	struct rules rules;
	bool suppressor[MAX_LIST]; /* what is unknown of the rule is a suppressor */
	struct links links;
	uint32_t vrf_table;
	struct rules_program program;
};

static const char *const names[] = { "gone", "p1", "p2", "v" }; /* index: ifindex */

static struct links make_links(uint32_t vrf_table)
{
	struct links links = { 0 };
	bool changed;

	for (uint32_t i = 1; i < ARRAY_SIZE(names); i++) {
		struct link link = { .ifindex = i, .vrf_table = i == VRF ? vrf_table : 0 };

		strcpy(link.name, names[i]);
		strcpy(link.kind, i == VRF ? "vrf" : "");
		assert_int_equal(links_set(&links, &link, &changed), 0);
	}
	return links;
}

static uint32_t draw(struct lab *lab, uint32_t below)
{
	lab->seed = lab->seed * 1664525u + 1013904223u;
	return (lab->seed >> 8) % below;
}

static bool same_bits(uint8_t a, uint8_t b, uint8_t len)
{
	return !((a ^ b) >> (8 - len));
}

static struct answer table_lookup(const struct lab *lab, uint32_t table, uint8_t dst)
{
	struct answer best = { .kind = NONE };

	for (size_t t = 0; t < N_TABLES; t++) {
		if (tables[t] != table)
			continue;
		for (size_t i = 0; i < lab->n_entries[t]; i++) {
			const struct entry *entry = &lab->entries[t][i];

			if (!same_bits(entry->addr, dst, entry->len))
				continue;
			if (best.kind == NONE || entry->len > best.len)
				best = (struct answer){ entry->kind, table, entry->len };
		}
	}
	return best;
}

/* --- the kernel */

static bool kernel_matches(const struct lab *lab, const struct rule *rule, bool suppressor,
			   const struct packet *packet, uint32_t *l3_table)
{
	bool holds = !rule->iif[0] || !strcmp(rule->iif, names[packet->iif]);

	if (rule->never || (rule->unknown && !suppressor && !packet->marked))
		holds = false;
	if (holds && rule->l3mdev) {
		holds = packet->vrf;
		if (holds)
			*l3_table = lab->vrf_table;
	}
	holds = holds && same_bits(rule->src.addr.bytes[0], packet->src, rule->src.len) &&
		same_bits(rule->dst.addr.bytes[0], packet->dst, rule->dst.len) &&
		!((rule->tclass ^ packet->tclass) & rule->tclass_mask) &&
		(!rule->has_ip_proto || rule->ip_proto == packet->proto) &&
		(!rule->has_sport ||
		 (packet->sport >= rule->sport.low && packet->sport <= rule->sport.high)) &&
		(!rule->has_dport ||
		 (packet->dport >= rule->dport.low && packet->dport <= rule->dport.high));
	return holds != rule->invert;
}

static struct answer kernel_lookup(const struct lab *lab, const struct packet *packet)
{
	const struct rule *list = lab->rules.list;
	uint32_t l3_table = 0;

	for (size_t i = 0; i < lab->rules.n; i++) {
		const struct rule *rule = &list[i];
		struct answer answer;
		size_t to = i + 1;

		if (!kernel_matches(lab, rule, lab->suppressor[i], packet, &l3_table))
			continue;
		if (rule->action == FR_ACT_GOTO) {
			while (to < lab->rules.n && list[to].priority != rule->target)
				to++;
			if (to < lab->rules.n)
				i = to - 1;
			continue;
		}
		if (rule->action == FR_ACT_NOP)
			continue;
		if (rule->action != FR_ACT_TO_TBL)
			return (struct answer){ RULE, 0, rule->action };
		answer = table_lookup(lab,
				      !rule->l3mdev ? rule->table
				      : l3_table    ? l3_table
						    : RT_TABLE_MAIN,
				      packet->dst);
		if (answer.kind == NONE || answer.kind == THROW)
			continue;
		if (answer.kind == ROUTE && (int)answer.len <= rule->suppress_len)
			continue;
		if (answer.kind == ROUTE && rule->unknown && lab->suppressor[i] && packet->marked)
			continue;
		return answer;
	}
	return (struct answer){ .kind = NONE };
}

/* --- the datapath */

/* length: what the trie's value would say, which is where the entry stands. */
static struct answer trie_lookup(const struct lab *lab, uint32_t table, uint8_t dst,
				 uint32_t *length)
{
	struct answer answer = table_lookup(lab, table, dst), local;

	if (table == RT_TABLE_LOCAL && lab->program.local_within)
		return (struct answer){ .kind = NONE };
	*length = answer.len;
	if (table != RT_TABLE_MAIN || !lab->program.local_first)
		return answer;
	local = table_lookup(lab, RT_TABLE_LOCAL, dst);
	if (local.kind != NONE && local.len > *length)
		*length = local.len;
	return local.kind == NONE || local.kind == THROW ? answer : local;
}

static bool addr_in(uint8_t addr, const union sixlane_addr *prefix, const union sixlane_addr *mask)
{
	return (addr & mask->bytes[0]) == prefix->bytes[0];
}

static bool datapath_holds(const struct sixlane_rule *rule, const struct packet *packet)
{
	uint32_t flags = rule->flags;

	return !(flags & SIXLANE_RULE_L3MDEV && !packet->vrf) &&
	       !(flags & SIXLANE_RULE_IIF && rule->iif != packet->iif) &&
	       !(flags & SIXLANE_RULE_SOURCE &&
		 !addr_in(packet->src, &rule->src, &rule->src_mask)) &&
	       !(flags & SIXLANE_RULE_DESTINATION &&
		 !addr_in(packet->dst, &rule->dst, &rule->dst_mask)) &&
	       !(flags & SIXLANE_RULE_TCLASS &&
		 (packet->tclass & rule->tclass_mask) != rule->tclass) &&
	       !(flags & SIXLANE_RULE_PROTO && packet->proto != rule->proto) &&
	       !(flags & SIXLANE_RULE_SPORT &&
		 (packet->sport < rule->sport_low || packet->sport > rule->sport_high)) &&
	       !(flags & SIXLANE_RULE_DPORT &&
		 (packet->dport < rule->dport_low || packet->dport > rule->dport_high));
}

static struct answer of_verdict(uint32_t verdict)
{
	switch (verdict) {
	case SIXLANE_PASS_UNREACHABLE:
		return (struct answer){ RULE, 0, FR_ACT_UNREACHABLE };
	case SIXLANE_PASS_PROHIBIT:
		return (struct answer){ RULE, 0, FR_ACT_PROHIBIT };
	case SIXLANE_DROP_BLACKHOLE:
		return (struct answer){ RULE, 0, FR_ACT_BLACKHOLE };
	default:
		return (struct answer){ .kind = PUNT };
	}
}

static struct answer datapath_walk(const struct lab *lab, const struct packet *packet)
{
	const struct rules_program *program = &lab->program;
	uint32_t at = 0, length;

	while (at < program->n) {
		const struct sixlane_rule *rule = &program->rules[at++];
		bool holds = datapath_holds(rule, packet);
		struct answer answer;

		if (holds && rule->flags & SIXLANE_RULE_UNKNOWN)
			return (struct answer){ .kind = PUNT };
		if (holds == !!(rule->flags & SIXLANE_RULE_INVERT))
			continue;
		if (rule->action == SIXLANE_RULE_GOTO) {
			assert_true(rule->target >= at && rule->target <= program->n);
			at = rule->target;
			continue;
		}
		if (rule->action == SIXLANE_RULE_VERDICT)
			return of_verdict(rule->verdict);
		answer = trie_lookup(
			lab, rule->flags & SIXLANE_RULE_L3MDEV ? lab->vrf_table : rule->table,
			packet->dst, &length);
		if (answer.kind == NONE || answer.kind == THROW)
			continue;
		if (answer.kind == ROUTE && rule->flags & SIXLANE_RULE_SUPPRESS &&
		    length <= rule->suppress_len)
			continue;
		return answer;
	}
	return (struct answer){ .kind = NONE };
}

static struct answer datapath_lookup(const struct lab *lab, const struct packet *packet)
{
	struct answer answer;
	uint32_t length;

	if (rules_program_walk(&lab->program, packet->iif, packet->vrf))
		return datapath_walk(lab, packet);
	answer = trie_lookup(lab, RT_TABLE_MAIN, packet->dst, &length);
	return answer.kind == THROW ? (struct answer){ .kind = NONE } : answer;
}

/* --- both */

static void draw_tables(struct lab *lab)
{
	static const enum answer_kind kinds[] = { ROUTE, ROUTE, ROUTE, THROW, REJECT };

	for (size_t t = 0; t < N_TABLES; t++) {
		lab->n_entries[t] = draw(lab, MAX_ENTRIES + 1);
		for (size_t i = 0; i < lab->n_entries[t]; i++) {
			uint8_t len = (uint8_t)draw(lab, 4);

			lab->entries[t][i] = (struct entry){
				.addr = (uint8_t)(draw(lab, 8) << 5),
				.len = len,
				.kind = kinds[draw(lab, ARRAY_SIZE(kinds))],
			};
		}
	}
}

static struct prefix draw_prefix(struct lab *lab)
{
	struct prefix prefix = { .len = (uint8_t)(1 + draw(lab, 2)) };

	prefix.addr.bytes[0] = (uint8_t)(draw(lab, 4) << 6);
	prefix_mask(&prefix);
	return prefix;
}

static void draw_selectors(struct lab *lab, struct rule *rule)
{
	if (!draw(lab, 3))
		strcpy(rule->iif, names[draw(lab, ARRAY_SIZE(names))]);
	if (!draw(lab, 4))
		rule->src = draw_prefix(lab);
	if (!draw(lab, 4))
		rule->dst = draw_prefix(lab);
	if (!draw(lab, 6)) {
		rule->tclass = (uint8_t)(draw(lab, 2) * 4 + draw(lab, 2));
		rule->tclass_mask = 0xfc;
	}
	if (!draw(lab, 6)) {
		rule->has_ip_proto = true;
		rule->ip_proto = draw(lab, 2) ? 6 : 17;
	}
	if (!draw(lab, 6)) {
		rule->has_sport = true;
		rule->sport = (struct port_range){ 1, 2 };
	}
	if (!draw(lab, 6)) {
		rule->has_dport = true;
		rule->dport = (struct port_range){ 0, 1 };
	}
	rule->never = !draw(lab, 8);
	rule->unknown = !draw(lab, 8);
}

static void draw_rule(struct lab *lab, struct rule *rule)
{
	static const uint8_t actions[] = {
		FR_ACT_TO_TBL,	    FR_ACT_TO_TBL,    FR_ACT_TO_TBL, FR_ACT_TO_TBL,
		FR_ACT_GOTO,	    FR_ACT_GOTO,      FR_ACT_NOP,    FR_ACT_PROHIBIT,
		FR_ACT_UNREACHABLE, FR_ACT_BLACKHOLE, FR_ACT_RES3,
	};

	rule->action = actions[draw(lab, ARRAY_SIZE(actions))];
	if (draw(lab, 2))
		draw_selectors(lab, rule);
	rule->invert = !draw(lab, 5);
	if (rule->action == FR_ACT_GOTO)
		rule->target = rule->priority + 1 + draw(lab, 4);
	if (rule->action != FR_ACT_TO_TBL)
		return;
	rule->table = tables[draw(lab, N_TABLES - 1)];
	rule->l3mdev = !draw(lab, 6);
	if (!draw(lab, 4))
		rule->suppress_len = (int32_t)draw(lab, 4);
}

/* Often much like the usual list: local first, main last. */
static void draw_rules(struct lab *lab)
{
	uint32_t n = draw(lab, MAX_LIST + 1), priority = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct rule rule = { .priority = priority, .suppress_len = -1 };
		bool usual = draw(lab, 4);

		if (usual && (i == 0 || i == n - 1)) {
			rule.action = FR_ACT_TO_TBL;
			rule.table = i ? RT_TABLE_MAIN : RT_TABLE_LOCAL;
		} else {
			draw_rule(lab, &rule);
		}
		lab->suppressor[i] = draw(lab, 2) && rule.action == FR_ACT_TO_TBL;
		assert_int_equal(rules_add(&lab->rules, &rule), 0);
		priority += draw(lab, 3);
	}
}

static struct packet draw_packet(struct lab *lab)
{
	bool vrf = !draw(lab, 3);

	return (struct packet){
		.src = (uint8_t)(draw(lab, 8) << 5),
		.dst = (uint8_t)(draw(lab, 8) << 5),
		.tclass = (uint8_t)draw(lab, 8),
		.proto = draw(lab, 2) ? 6 : 17,
		.sport = (uint16_t)draw(lab, 4),
		.dport = (uint16_t)draw(lab, 4),
		.iif = vrf ? VRF : 1 + draw(lab, 2),
		.vrf = vrf,
		.marked = !draw(lab, 4),
	};
}

static bool same_answer(struct answer a, struct answer b)
{
	return a.kind == b.kind && (a.kind == NONE || (a.table == b.table && a.len == b.len));
}

static void show(const struct lab *lab, uint32_t seed, const struct packet *packet,
		 struct answer want, struct answer got)
{
	for (size_t i = 0; i < lab->rules.n; i++) {
		const struct rule *rule = &lab->rules.list[i];

		print_message(
			"%u: action %u table %u goto %u suppress %d iif '%s' from %x/%u to %x/%u%s\n",
			rule->priority, rule->action, rule->table, rule->target, rule->suppress_len,
			rule->iif, rule->src.addr.bytes[0], rule->src.len, rule->dst.addr.bytes[0],
			rule->dst.len, rule->invert ? " not" : "");
	}
	fail_msg("seed %u, iif %u, src %x, dst %x: kernel %u %u/%u, datapath %u %u/%u", seed,
		 packet->iif, packet->src, packet->dst, want.kind, want.table, want.len, got.kind,
		 got.table, got.len);
}

static void test_random(void **state)
{
	size_t answers = 0, punts = 0, single = 0, overlaid = 0;

	for (uint32_t seed = 1; seed <= 30000; seed++) {
		struct lab lab = { .seed = seed * 2654435761u };

		lab.vrf_table = draw(&lab, 4) ? VRF_TABLE : RT_TABLE_MAIN;
		lab.links = make_links(lab.vrf_table);
		draw_tables(&lab);
		draw_rules(&lab);
		rules_compile(&lab.rules, &lab.links, &lab.program);
		overlaid += lab.program.local_first && lab.program.n > 1;
		for (int i = 0; i < 20; i++) {
			struct packet packet = draw_packet(&lab);
			struct answer want = kernel_lookup(&lab, &packet);
			struct answer got = datapath_lookup(&lab, &packet);

			answers++;
			punts += got.kind == PUNT;
			single += !rules_program_walk(&lab.program, packet.iif, packet.vrf);
			if (got.kind != PUNT && !same_answer(want, got))
				show(&lab, seed, &packet, want, got);
		}
		rules_clear(&lab.rules);
		links_clear(&lab.links);
	}
	/* it must have been about something */
	assert_in_range(punts, 1, answers / 5);
	assert_in_range(single, answers / 20, answers);
	assert_in_range(overlaid, 3000, 30000);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_random) };

	return cmocka_run_group_tests_name("rules at random", tests, NULL, NULL);
}
