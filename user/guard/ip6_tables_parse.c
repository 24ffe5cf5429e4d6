// SPDX-License-Identifier: GPL-2.0-only
/*
 * The blob is not trusted: each offset and size is checked before it is used, and entries are
 * copied, since they need not be aligned. The kernel has found that jumps make no circle; the model
 * looks again.
 */
#include "ip6_tables_parse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/util.h"
#include "xt_matches.h"

#define NO_CHAIN UINT32_MAX
#define NAME_REGISTER 0

/* Where jumps lead to. */
struct head {
	uint32_t offset; /* of the chain's first rule */
	uint32_t chain;
};

struct table {
	struct guard_ruleset *rules;
	const struct ip6t_getinfo *info;
	const uint8_t *bytes;
	size_t size;
	uint32_t number; /* of the model */
	uint32_t base[NF_INET_NUMHOOKS];
	unsigned int complete; /* bit set of hooks whose underflow has been seen */
	struct head *heads;    /* by ascending offset */
	size_t n_heads, capacity;
};

/* An entry, and where it is. Its sizes are checked. */
struct entry {
	struct ip6t_entry header;
	uint32_t offset, next;
	const uint8_t *target;	 /* struct xt_entry_target */
	const char *target_name; /* ended by NUL */
	size_t target_bytes;	 /* of its data */
};

/* A walk over the entries knows in which chain it is. */
struct position {
	int hook;  /* of a base chain; -1: none */
	bool user; /* in a user chain */
	bool ends; /* the entry before ended the user chain in any case */
	uint32_t chain;
	uint32_t rule; /* its number in the chain, from 1 on */
};

static const struct {
	const char *name;
	enum guard_hook hook;
	bool forwarded; /* forwarded packets, and what is sent for them, come here */
} hooks[NF_INET_NUMHOOKS] = {
	[NF_INET_PRE_ROUTING] = { "PREROUTING", GUARD_HOOK_PREROUTING, true },
	[NF_INET_LOCAL_IN] = { .name = "INPUT" },
	[NF_INET_FORWARD] = { "FORWARD", GUARD_HOOK_FORWARD, true },
	[NF_INET_LOCAL_OUT] = { "OUTPUT", GUARD_HOOK_OUTPUT, true },
	[NF_INET_POST_ROUTING] = { "POSTROUTING", GUARD_HOOK_POSTROUTING, true },
};

static bool valid_hook(const struct table *table, int hook)
{
	return table->info->valid_hooks & 1u << hook;
}

/* --- one entry ---------------------------------------------------------------------------- */

static bool is_terminated(const char *name, size_t size)
{
	return memchr(name, '\0', size) != NULL;
}

static int entry_read(const struct table *table, size_t offset, struct entry *out)
{
	struct xt_entry_target target;
	const uint8_t *at = table->bytes + offset;
	size_t left = table->size - offset;

	if (left < sizeof(out->header))
		return -EBADMSG;
	memcpy(&out->header, at, sizeof(out->header));
	if (out->header.next_offset > left || out->header.target_offset < sizeof(out->header) ||
	    out->header.target_offset + sizeof(target) > out->header.next_offset)
		return -EBADMSG;
	out->target = at + out->header.target_offset;
	memcpy(&target, out->target, sizeof(target));
	if (target.u.target_size < sizeof(target) ||
	    out->header.target_offset + target.u.target_size > out->header.next_offset ||
	    !is_terminated(target.u.user.name, sizeof(target.u.user.name)))
		return -EBADMSG;
	out->target_name =
		(const char *)out->target + offsetof(struct xt_entry_target, u.user.name);
	out->target_bytes = target.u.target_size - sizeof(target);
	out->offset = (uint32_t)offset;
	out->next = (uint32_t)(offset + out->header.next_offset);
	return 0;
}

static bool is_error(const struct entry *entry)
{
	return strcmp(entry->target_name, XT_ERROR_TARGET) == 0;
}

/* The number that a standard target has, a verdict or an offset. 0 or -EBADMSG. */
static int standard_number(const struct entry *entry, int *number)
{
	if (entry->target_bytes < sizeof(*number))
		return -EBADMSG;
	memcpy(number, entry->target + sizeof(struct xt_entry_target), sizeof(*number));
	return 0;
}

/* As the kernel has it: the standard target, no match, and a header of zeros. */
static bool is_unconditional_verdict(const struct entry *entry, int *number)
{
	static const uint8_t any[sizeof(entry->header.ipv6)];
	const uint8_t *header = (const uint8_t *)&entry->header.ipv6;

	return strcmp(entry->target_name, XT_STANDARD_TARGET) == 0 &&
	       entry->header.target_offset == sizeof(entry->header) &&
	       memcmp(header, any, sizeof(any)) == 0 && standard_number(entry, number) == 0 &&
	       *number < 0;
}

static enum guard_verdict verdict_of(int number)
{
	if (number == XT_RETURN)
		return GUARD_RETURN;
	return number == -NF_ACCEPT - 1 ? GUARD_ACCEPT : GUARD_DROP;
}

/* --- which entry is of which chain -------------------------------------------------------- */

static int hook_at(const struct table *table, const unsigned int *offsets, uint32_t offset)
{
	for (int hook = 0; hook < NF_INET_NUMHOOKS; hook++)
		if (valid_hook(table, hook) && offsets[hook] == offset)
			return hook;
	return -1;
}

/* What an entry is to the walk. */
enum role { ROLE_RULE, ROLE_POLICY, ROLE_HEAD, ROLE_END };

static enum role position_head(const struct table *table, const struct entry *entry,
			       struct position *p)
{
	*p = (struct position){ .hook = -1, .chain = NO_CHAIN };
	if (entry->next == table->size)
		return ROLE_END;
	p->user = true;
	return ROLE_HEAD;
}

/* Go on to an entry. Returns its role, or -EBADMSG. */
static int position_next(const struct table *table, const struct entry *entry, struct position *p)
{
	int hook = hook_at(table, table->info->hook_entry, entry->offset), number = 0;

	if (is_error(entry)) {
		/* A packet that falls out of a chain would be dropped here. */
		if (p->hook >= 0 || hook >= 0 || (p->user && !p->ends))
			return -EBADMSG;
		return position_head(table, entry, p);
	}
	if (hook >= 0) {
		if (p->hook >= 0 || p->user)
			return -EBADMSG;
		*p = (struct position){ .hook = hook, .chain = table->base[hook] };
	}
	if (p->hook < 0 && !p->user)
		return -EBADMSG;
	p->rule++;
	p->ends = is_unconditional_verdict(entry, &number);
	if (p->hook < 0 || table->info->underflow[p->hook] != entry->offset)
		return ROLE_RULE;
	return p->ends && verdict_of(number) != GUARD_RETURN ? ROLE_POLICY : -EBADMSG;
}

/* --- first walk: chains
 * --------------------------------------------------------------------------- */

static int add_head(struct table *table, const struct entry *entry)
{
	size_t bytes = entry->target_bytes;
	const char *name = (const char *)entry->target + sizeof(struct xt_entry_target);
	struct head *heads;

	if (!is_terminated(name, bytes))
		return -EBADMSG;
	if (table->n_heads == table->capacity) {
		table->capacity = table->capacity ? table->capacity * 2 : 64;
		heads = reallocarray(table->heads, table->capacity, sizeof(*heads));
		if (!heads)
			return -ENOMEM;
		table->heads = heads;
	}
	table->heads[table->n_heads++] =
		(struct head){ .offset = entry->next,
			       .chain = guard_add_chain(table->rules, table->number, name) };
	return 0;
}

static void add_base(struct table *table, int hook, const struct entry *policy)
{
	int number;

	table->complete |= 1u << hook;
	table->base[hook] = guard_add_chain(table->rules, table->number, hooks[hook].name);
	if (!hooks[hook].forwarded || standard_number(policy, &number) < 0)
		return;
	guard_set_base(table->rules, table->base[hook], hooks[hook].hook,
		       verdict_of(number) == GUARD_ACCEPT, NULL,
		       strcmp(table->info->name, "nat") == 0);
}

static int chain_at(const struct table *table, uint32_t offset, uint32_t *chain)
{
	size_t low = 0, high = table->n_heads;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (table->heads[middle].offset == offset) {
			*chain = table->heads[middle].chain;
			return 0;
		}
		if (table->heads[middle].offset < offset)
			low = middle + 1;
		else
			high = middle;
	}
	return -EBADMSG;
}

/* --- second walk: rules
 * ---------------------------------------------------------------------------- */

/* The kernel compares the bits that are set in the mask. */
static void add_device(struct guard_ruleset *rules, const char *name, const unsigned char *mask,
		       bool inverted, enum guard_fact fact)
{
	unsigned int n = 0;

	while (n < IFNAMSIZ && mask[n] == 0xff)
		n++;
	for (unsigned int i = n; i < IFNAMSIZ; i++) {
		if (!mask[i])
			continue;
		guard_may_match(rules);
		return;
	}
	if (n == 0) {
		/* "! -i +" matches nothing, which the model cannot say. */
		if (inverted)
			guard_may_match(rules);
		return;
	}
	guard_load(rules, NAME_REGISTER, IFNAMSIZ, fact);
	guard_compare(rules, NAME_REGISTER, n, inverted ? GUARD_NE : GUARD_EQ, name);
}

static bool any_address(const struct in6_addr *mask)
{
	static const struct in6_addr any;

	return memcmp(mask, &any, sizeof(any)) == 0;
}

/* holds: the target is reason enough to hold packets back, and the one that people look for. */
static int add_header(struct guard_ruleset *rules, const struct ip6t_ip6 *ip, bool holds)
{
	if (ip->flags & ~IP6T_F_MASK || ip->invflags & ~IP6T_INV_MASK)
		return -EBADMSG;
	if (!any_address(&ip->smsk) || !any_address(&ip->dmsk) ||
	    ip->invflags & (IP6T_INV_SRCIP | IP6T_INV_DSTIP))
		guard_may_match(rules);
	add_device(rules, ip->iniface, ip->iniface_mask, ip->invflags & IP6T_INV_VIA_IN,
		   GUARD_FACT_IIFNAME);
	add_device(rules, ip->outiface, ip->outiface_mask, ip->invflags & IP6T_INV_VIA_OUT,
		   GUARD_FACT_OIFNAME);
	/* ip6_packet_match() drops a packet in whose extension headers the protocol is not found.
	 */
	if (ip->flags & IP6T_F_PROTO && !holds)
		guard_effect(rules, "protocol, which drops truncated packets");
	if (ip->flags & (IP6T_F_PROTO | IP6T_F_TOS))
		guard_may_match(rules);
	return 0;
}

static void add_match(struct guard_ruleset *rules, const char *name, bool holds)
{
	char words[XT_WORDS_LEN];
	enum xt_class class = xt_match_class(name, words);

	if (class & XT_CONNTRACK)
		guard_asks_conntrack(rules);
	if (class & XT_STATEFUL && !holds)
		guard_effect(rules, words);
	if (!(class & XT_ALWAYS))
		guard_may_match(rules);
}

static int add_matches(const struct table *table, const struct entry *entry, bool holds)
{
	const uint8_t *at = table->bytes + entry->offset;
	struct xt_entry_match match;

	for (size_t i = sizeof(entry->header); i < entry->header.target_offset;
	     i += match.u.match_size) {
		if (entry->header.target_offset - i < sizeof(match))
			return -EBADMSG;
		memcpy(&match, at + i, sizeof(match));
		if (match.u.match_size < sizeof(match) ||
		    match.u.match_size > entry->header.target_offset - i ||
		    !is_terminated(match.u.user.name, sizeof(match.u.user.name)))
			return -EBADMSG;
		add_match(table->rules, match.u.user.name, holds);
	}
	return 0;
}

static int add_target(const struct table *table, const struct entry *entry)
{
	char words[XT_WORDS_LEN];
	uint32_t chain;
	int number, r;

	if (strcmp(entry->target_name, XT_STANDARD_TARGET) != 0) {
		if (xt_target_class(entry->target_name, words) & XT_CONNTRACK)
			guard_asks_conntrack(table->rules);
		guard_effect(table->rules, words);
		return 0;
	}
	r = standard_number(entry, &number);
	if (r < 0)
		return r;
	if (number < 0) {
		guard_verdict(table->rules, verdict_of(number), 0);
		return 0;
	}
	/* A rule without a target. */
	if ((uint32_t)number == entry->next)
		return 0;
	r = chain_at(table, (uint32_t)number, &chain);
	if (r < 0)
		return r;
	guard_verdict(table->rules,
		      entry->header.ipv6.flags & IP6T_F_GOTO ? GUARD_GOTO : GUARD_JUMP, chain);
	return 0;
}

static bool target_holds(const struct entry *entry)
{
	int number;

	if (strcmp(entry->target_name, XT_STANDARD_TARGET) != 0)
		return true;
	return standard_number(entry, &number) == 0 && number < 0 &&
	       verdict_of(number) == GUARD_DROP;
}

static int add_rule(const struct table *table, const struct entry *entry, const struct position *p)
{
	bool holds = target_holds(entry);
	int r;

	guard_add_rule(table->rules, p->chain, p->rule);
	r = add_header(table->rules, &entry->header.ipv6, holds);
	if (r < 0)
		return r;
	r = add_matches(table, entry, holds);
	return r < 0 ? r : add_target(table, entry);
}

/* --- both
 * ----------------------------------------------------------------------------------------- */

static int first_walk(struct table *table, const struct entry *entry, struct position *p, int role)
{
	if (role == ROLE_HEAD)
		return add_head(table, entry);
	if (role == ROLE_POLICY)
		add_base(table, p->hook, entry);
	return 0;
}

static int second_walk(struct table *table, const struct entry *entry, struct position *p, int role)
{
	if (role == ROLE_HEAD)
		return chain_at(table, entry->next, &p->chain);
	return role == ROLE_RULE ? add_rule(table, entry, p) : 0;
}

static int walk(struct table *table, int (*fn)(struct table *table, const struct entry *entry,
					       struct position *p, int role))
{
	struct position p = { .hook = -1, .chain = NO_CHAIN };
	struct entry entry;
	uint32_t n = 0;
	int role = ROLE_RULE, r;

	for (size_t offset = 0; offset < table->size; offset = entry.next, n++) {
		r = entry_read(table, offset, &entry);
		if (r < 0)
			return r;
		role = position_next(table, &entry, &p);
		if (role < 0)
			return role;
		r = fn(table, &entry, &p, role);
		if (r < 0)
			return r;
		if (role == ROLE_POLICY)
			p.hook = -1;
	}
	return role == ROLE_END && n == table->info->num_entries ? 0 : -EBADMSG;
}

int ip6_tables_parse(struct guard_ruleset *rules, const struct ip6t_getinfo *info,
		     const void *entries, size_t size)
{
	struct table table = { .rules = rules, .info = info, .bytes = entries, .size = size };
	char words[sizeof(info->name) + sizeof("ip6tables table ")];
	int r;

	if (size != info->size || size > INT32_MAX || info->valid_hooks >> NF_INET_NUMHOOKS ||
	    !is_terminated(info->name, sizeof(info->name)))
		return -EBADMSG;
	snprintf(words, sizeof(words), "ip6tables table %s", info->name);
	table.number = guard_add_table(rules, words);
	for (size_t i = 0; i < ARRAY_SIZE(table.base); i++)
		table.base[i] = NO_CHAIN;
	r = walk(&table, first_walk);
	if (r == 0 && table.complete != info->valid_hooks)
		r = -EBADMSG;
	if (r == 0)
		r = walk(&table, second_walk);
	free(table.heads);
	return r;
}
