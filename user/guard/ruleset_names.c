// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which devices a ruleset names. While a rule is built, it is followed which fact each four bytes
 * of the registers hold; what they are then compared with is kept once.
 */
#include "ruleset_internal.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

enum trait { TRAIT_NONE, TRAIT_INDEX, TRAIT_NAME, TRAIT_TYPE, TRAIT_KIND };

/* The first bytes of a trait that some devices share. Compared as a whole. */
struct named {
	uint8_t trait, bytes;
	uint8_t value[NAME_BYTES];
};

static enum trait trait_of(enum guard_fact fact)
{
	switch (fact) {
	case GUARD_FACT_IIF:
	case GUARD_FACT_OIF:
		return TRAIT_INDEX;
	case GUARD_FACT_IIFNAME:
	case GUARD_FACT_OIFNAME:
		return TRAIT_NAME;
	case GUARD_FACT_IIFTYPE:
	case GUARD_FACT_OIFTYPE:
		return TRAIT_TYPE;
	case GUARD_FACT_IIFKIND:
	case GUARD_FACT_OIFKIND:
		return TRAIT_KIND;
	case GUARD_FACT_OTHER:
	case GUARD_FACT_NFPROTO:
	case GUARD_FACT_PROTOCOL:
		break;
	}
	return TRAIT_NONE;
}

static int named_compare(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct named));
}

static void add_named(struct guard_ruleset *rules, enum trait trait, const void *value,
		      unsigned int bytes)
{
	struct named *named, **at;

	if (!ruleset_spend(rules, sizeof(*named)))
		return;
	named = calloc(1, sizeof(*named));
	if (!named) {
		ruleset_fail(rules, -ENOMEM);
		return;
	}
	named->trait = trait;
	named->bytes = (uint8_t)bytes;
	memcpy(named->value, value, bytes);
	at = tsearch(named, &rules->names, named_compare);
	if (!at)
		ruleset_fail(rules, -ENOMEM);
	if (!at || *at != named) {
		rules->bytes -= sizeof(*named);
		free(named);
	}
}

void ruleset_names_free(struct guard_ruleset *rules)
{
	tdestroy(rules->names, free);
	rules->names = NULL;
}

void ruleset_names_rule(struct guard_ruleset *rules)
{
	memset(rules->origins, 0, sizeof(rules->origins));
}

void ruleset_names_device(struct guard_ruleset *rules, const char device[NAME_BYTES])
{
	size_t length = strlen(device);

	if (length && device[length - 1] == '*')
		add_named(rules, TRAIT_NAME, device, (unsigned int)length - 1);
	else
		add_named(rules, TRAIT_NAME, device, NAME_BYTES);
}

void ruleset_names_load(struct guard_ruleset *rules, unsigned int reg, unsigned int bytes,
			enum guard_fact fact)
{
	unsigned int first = reg / WORD_BYTES, end = (reg + bytes + WORD_BYTES - 1) / WORD_BYTES;

	/* Loads begin at a register of four bytes; what does not is told from no device. */
	if (reg % WORD_BYTES && trait_of(fact) != TRAIT_NONE)
		rules->names_all = true;
	if (trait_of(fact) == TRAIT_KIND)
		rules->names_kinds = true;
	for (unsigned int i = first; i < end; i++)
		rules->origins[i] =
			(struct origin){ .fact = (uint8_t)fact, .word = (uint8_t)(i - first) };
}

void ruleset_names_compare(struct guard_ruleset *rules, unsigned int reg, unsigned int bytes,
			   enum guard_compare how, const void *value)
{
	unsigned int first = reg / WORD_BYTES, end = (reg + bytes + WORD_BYTES - 1) / WORD_BYTES;
	const struct origin *origin = &rules->origins[first];
	bool any = false;

	for (unsigned int i = first; i < end; i++)
		any |= trait_of(rules->origins[i].fact) != TRAIT_NONE;
	if (!any)
		return;
	if ((how == GUARD_EQ || how == GUARD_NE) && reg % WORD_BYTES == 0 && origin->word == 0 &&
	    bytes <= ruleset_fact_bytes(origin->fact))
		add_named(rules, trait_of(origin->fact), value, bytes);
	else
		rules->names_all = true;
}

void ruleset_names_element(struct guard_ruleset *rules, const struct set *set, const uint8_t *key)
{
	for (unsigned int i = 0; i < N_WORDS && i * WORD_BYTES < set->key_bytes; i++) {
		unsigned int bytes = ruleset_fact_bytes(set->facts[i]);

		if (!bytes)
			continue;
		if (bytes > set->key_bytes - i * WORD_BYTES)
			bytes = set->key_bytes - i * WORD_BYTES;
		add_named(rules, trait_of(set->facts[i]), key + i * WORD_BYTES, bytes);
	}
}

void ruleset_names_lookup(struct guard_ruleset *rules, struct set *set, unsigned int reg)
{
	unsigned int first = reg / WORD_BYTES,
		     end = (reg + set->key_bytes + WORD_BYTES - 1) / WORD_BYTES;
	bool fresh = false;

	for (unsigned int i = first; i < end; i++) {
		const struct origin *origin = &rules->origins[i];
		uint8_t *fact = &set->facts[i - first];

		set->matters |= origin->fact != GUARD_FACT_OTHER;
		if (trait_of(origin->fact) == TRAIT_NONE)
			continue;
		/* Two devices by one set, or a part of a name: seldom enough. */
		if (reg % WORD_BYTES || (i == first && origin->word != 0))
			rules->names_all = true;
		if (origin->word != 0 || trait_of(*fact) == trait_of(origin->fact))
			continue;
		if (*fact)
			rules->names_all = true;
		*fact = origin->fact;
		fresh = true;
	}
	for (uint32_t i = 0; fresh && set->keys && i < set->n; i++)
		ruleset_names_element(rules, set, set->keys + (size_t)i * set->key_bytes);
}

/* Whether rules name a device by the first bytes of a trait of it, however many. */
static bool is_named(const struct guard_ruleset *rules, enum trait trait, const void *value,
		     unsigned int bytes)
{
	struct named named = { .trait = trait };

	for (unsigned int i = 0; i <= bytes; i++) {
		named.bytes = (uint8_t)i;
		memcpy(named.value, value, i);
		if (tfind(&named, &rules->names, named_compare))
			return true;
	}
	return false;
}

bool guard_ruleset_names(const struct guard_ruleset *rules, const struct guard_iface *iface)
{
	uint8_t name[NAME_BYTES] = { 0 }, kind[NAME_BYTES] = { 0 }, type[WORD_BYTES] = { 0 };

	memcpy(name, iface->name, strnlen(iface->name, NAME_BYTES));
	memcpy(kind, iface->kind, strnlen(iface->kind, NAME_BYTES));
	memcpy(type, &iface->type, sizeof(iface->type));
	return rules->names_all || (rules->names_kinds && iface->kind[0]) ||
	       is_named(rules, TRAIT_INDEX, &iface->ifindex, sizeof(iface->ifindex)) ||
	       is_named(rules, TRAIT_NAME, name, sizeof(name)) ||
	       is_named(rules, TRAIT_TYPE, type, sizeof(type)) ||
	       is_named(rules, TRAIT_KIND, kind, sizeof(kind));
}
