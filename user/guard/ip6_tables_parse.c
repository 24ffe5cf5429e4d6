// SPDX-License-Identifier: GPL-2.0-only
/*
 * The blob is not trusted: each offset and size is checked before it is used. Headers are copied,
 * because entries need not be aligned. Loops of jumps are found later, by queries.
 */
#include "ip6_tables.h"

#include <errno.h>
#include <string.h>

#include "../lib/util.h"

#define NO_CHAIN UINT32_MAX
#define NAME_REGISTER 0

/* A target of jumps. */
struct head {
	uint32_t offset; /* of the chain's first rule */
	uint32_t chain;
};

struct table {
	struct guard_ruleset *rules;
	const struct ip6t_getinfo *info;
	const uint8_t *bytes;
	size_t size;
	uint32_t number;		 /* in the ruleset */
	uint32_t base[NF_INET_NUMHOOKS]; /* chains */
	unsigned int complete;		 /* bit set of hooks whose underflow has been seen */
	struct head *heads;		 /* by ascending offset */
	size_t n_heads, capacity;
};

/* An entry whose sizes are checked. */
struct entry {
	struct ip6t_entry header;
	uint32_t offset, next;
	const uint8_t *target;	 /* struct xt_entry_target */
	const char *target_name; /* with a NUL */
	size_t target_bytes;	 /* of its data */
};

/* Which chain a walk over the entries is in. */
struct position {
	int hook;  /* of a base chain; -1: none */
	bool user; /* in a user chain */
	bool ends; /* the entry before is an unconditional verdict */
	uint32_t chain;
	uint32_t rule; /* number in the chain, from 1 */
};

static const struct {
	const char *name;
	enum guard_hook hook;
	bool base; /* forwarded packets come here, or answers to them */
} hooks[NF_INET_NUMHOOKS] = {
	[NF_INET_PRE_ROUTING] = { "PREROUTING", GUARD_HOOK_PREROUTING, true },
	[NF_INET_LOCAL_IN] = { .name = "INPUT" },
	[NF_INET_FORWARD] = { "FORWARD", GUARD_HOOK_FORWARD, true },
	[NF_INET_LOCAL_OUT] = { "OUTPUT", GUARD_HOOK_OUTPUT, true },
	[NF_INET_POST_ROUTING] = { "POSTROUTING", GUARD_HOOK_POSTROUTING, true },
};

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

/* The verdict (negative) or offset of a standard target. 0 or -EBADMSG. */
static int standard_number(const struct entry *entry, int *number)
{
	if (entry->target_bytes < sizeof(*number))
		return -EBADMSG;
	memcpy(number, entry->target + sizeof(struct xt_entry_target), sizeof(*number));
	return 0;
}

/* What unconditional() in the kernel checks: standard target, no match, and a header of zeros. */
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

/* --- chains of entries ---------------------------------------------------------------- */

/* Which base chain begins there; -1: none. */
static int hook_at(const struct ip6t_getinfo *info, uint32_t offset)
{
	for (int hook = 0; hook < NF_INET_NUMHOOKS; hook++)
		if (info->valid_hooks & 1u << hook && info->hook_entry[hook] == offset)
			return hook;
	return -1;
}

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

/* Returns the role of the next entry, or -EBADMSG. */
static int position_next(const struct table *table, const struct entry *entry, struct position *p)
{
	int hook = hook_at(table->info, entry->offset), number = 0;

	if (strcmp(entry->target_name, XT_ERROR_TARGET) == 0) {
		/* The kernel drops a packet here that runs past the end of a chain. */
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

/* --- first walk: chains --------------------------------------------------------------- */

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
	if (!hooks[hook].base || standard_number(policy, &number) < 0)
		return;
	guard_set_base(table->rules, table->base[hook], hooks[hook].hook,
		       verdict_of(number) == GUARD_ACCEPT, NULL,
		       strcmp(table->info->name, "nat") == 0);
}

static int compare_heads(const void *a, const void *b)
{
	const struct head *one = a, *two = b;

	return one->offset < two->offset ? -1 : one->offset > two->offset;
}

static int chain_at(const struct table *table, uint32_t offset, uint32_t *chain)
{
	const struct head key = { .offset = offset };
	const struct head *head = table->n_heads ? bsearch(&key, table->heads, table->n_heads,
							   sizeof(key), compare_heads)
						 : NULL;

	if (!head)
		return -EBADMSG;
	*chain = head->chain;
	return 0;
}

/* --- second walk: rules --------------------------------------------------------------- */

/* The kernel compares the bits that are set in the mask. */
static void add_device(struct guard_ruleset *rules, const char *name, const unsigned char *mask,
		       bool inverted, enum guard_meta meta)
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
		/* "! -i +" matches nothing, for which there is no operation. */
		if (inverted)
			guard_may_match(rules);
		return;
	}
	guard_load(rules, NAME_REGISTER, IFNAMSIZ, meta);
	guard_compare(rules, NAME_REGISTER, n, inverted ? GUARD_NE : GUARD_EQ, name);
}

/* punts: the target punts packets, and is the reason that people look for. */
static int add_header(struct guard_ruleset *rules, const struct ip6t_ip6 *ip, bool punts)
{
	if (ip->flags & ~IP6T_F_MASK || ip->invflags & ~IP6T_INV_MASK)
		return -EBADMSG;
	if (!IN6_IS_ADDR_UNSPECIFIED(&ip->smsk) || !IN6_IS_ADDR_UNSPECIFIED(&ip->dmsk) ||
	    ip->invflags & (IP6T_INV_SRCIP | IP6T_INV_DSTIP))
		guard_may_match(rules);
	add_device(rules, ip->iniface, ip->iniface_mask, ip->invflags & IP6T_INV_VIA_IN,
		   GUARD_META_IIFNAME);
	add_device(rules, ip->outiface, ip->outiface_mask, ip->invflags & IP6T_INV_VIA_OUT,
		   GUARD_META_OIFNAME);
	/* ip6_packet_match() drops a packet if its extension headers lead to no protocol. */
	if (ip->flags & IP6T_F_PROTO && !punts)
		guard_effect(rules, "protocol, which drops truncated packets");
	if (ip->flags & (IP6T_F_PROTO | IP6T_F_TOS))
		guard_may_match(rules);
	return 0;
}

static int add_matches(const struct table *table, const struct entry *entry, bool punts)
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
		xt_add_match(table->rules, match.u.user.name, !punts);
	}
	return 0;
}

static int add_target(const struct table *table, const struct entry *entry)
{
	uint32_t chain;
	int number, r;

	if (strcmp(entry->target_name, XT_STANDARD_TARGET) != 0) {
		xt_add_target(table->rules, entry->target_name);
		return 0;
	}
	r = standard_number(entry, &number);
	if (r < 0)
		return r;
	if (number < 0) {
		guard_verdict(table->rules, verdict_of(number), 0);
		return 0;
	}
	/* No target: the kernel makes it a jump to the next rule. */
	if ((uint32_t)number == entry->next)
		return 0;
	r = chain_at(table, (uint32_t)number, &chain);
	if (r < 0)
		return r;
	guard_verdict(table->rules,
		      entry->header.ipv6.flags & IP6T_F_GOTO ? GUARD_GOTO : GUARD_JUMP, chain);
	return 0;
}

static bool target_punts(const struct entry *entry)
{
	int number;

	if (strcmp(entry->target_name, XT_STANDARD_TARGET) != 0)
		return true;
	return standard_number(entry, &number) == 0 && number < 0 &&
	       verdict_of(number) == GUARD_DROP;
}

static int add_rule(const struct table *table, const struct entry *entry, const struct position *p)
{
	bool punts = target_punts(entry);
	int r;

	guard_add_rule(table->rules, p->chain, p->rule);
	r = add_header(table->rules, &entry->header.ipv6, punts);
	if (r < 0)
		return r;
	r = add_matches(table, entry, punts);
	return r < 0 ? r : add_target(table, entry);
}

/* --- both ----------------------------------------------------------------------------- */

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
	char text[sizeof(info->name) + sizeof("ip6tables table ")];
	int r;

	if (size != info->size || size > INT32_MAX || info->valid_hooks >> NF_INET_NUMHOOKS ||
	    !is_terminated(info->name, sizeof(info->name)))
		return -EBADMSG;
	snprintf(text, sizeof(text), "ip6tables table %s", info->name);
	table.number = guard_add_table(rules, text);
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
