// SPDX-License-Identifier: GPL-2.0-only
/* See rule.h. */
#include "rule.h"

#include <stdarg.h>

#include "show.h"

struct text {
	char *at;
	size_t used;
};

static void add(struct text *text, const char *fmt, ...) _printf_(2, 3);
static void add(struct text *text, const char *fmt, ...)
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
