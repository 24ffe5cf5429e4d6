// SPDX-License-Identifier: GPL-2.0-only
/*
 * Values of device attributes that rules match, in a tree.
 *
 * Where a comparison cannot be stored as the first bytes of one device attribute, names_all is set:
 * every device is then a class of its own, which is right but slow.
 */
#include "ruleset_store.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

enum device_attr { ATTR_NONE, ATTR_INDEX, ATTR_NAME, ATTR_TYPE, ATTR_KIND };

static const struct {
	uint8_t attr, bytes;
} metas[N_METAS] = {
	[GUARD_META_IIF] = { ATTR_INDEX, WORD_BYTES },
	[GUARD_META_OIF] = { ATTR_INDEX, WORD_BYTES },
	[GUARD_META_IIFNAME] = { ATTR_NAME, NAME_BYTES },
	[GUARD_META_OIFNAME] = { ATTR_NAME, NAME_BYTES },
	[GUARD_META_IIFTYPE] = { ATTR_TYPE, WORD_BYTES },
	[GUARD_META_OIFTYPE] = { ATTR_TYPE, WORD_BYTES },
	[GUARD_META_IIFKIND] = { ATTR_KIND, NAME_BYTES },
	[GUARD_META_OIFKIND] = { ATTR_KIND, NAME_BYTES },
	[GUARD_META_NFPROTO] = { ATTR_NONE, WORD_BYTES },
	[GUARD_META_PROTOCOL] = { ATTR_NONE, WORD_BYTES },
};

/* The first bytes of a device attribute that a rule matches. Compared as a whole by memcmp(). */
struct name {
	uint8_t attr, bytes;
	uint8_t value[NAME_BYTES];
};

unsigned int ruleset_meta_bytes(enum guard_meta meta)
{
	return metas[meta].bytes;
}

static int name_compare(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct name));
}

static void add_name(struct guard_ruleset *rules, enum device_attr attr, const void *value,
		     unsigned int bytes)
{
	struct name *name, **at;

	if (!ruleset_account(rules, sizeof(*name)))
		return;
	name = calloc(1, sizeof(*name));
	if (!name) {
		ruleset_fail(rules, -ENOMEM);
		return;
	}
	name->attr = attr;
	name->bytes = (uint8_t)bytes;
	memcpy(name->value, value, bytes);
	at = tsearch(name, &rules->names, name_compare);
	if (!at)
		ruleset_fail(rules, -ENOMEM);
	if (!at || *at != name) {
		rules->bytes -= sizeof(*name);
		free(name);
	}
}

void ruleset_devices_rule(struct guard_ruleset *rules)
{
	memset(rules->origins, 0, sizeof(rules->origins));
}

void ruleset_devices_attach(struct guard_ruleset *rules, const char *device)
{
	unsigned int length = (unsigned int)strlen(device);
	bool prefix = length && device[length - 1] == '*';

	add_name(rules, ATTR_NAME, device, prefix ? length - 1 : NAME_BYTES);
}

static unsigned int words_end(unsigned int reg, unsigned int bytes)
{
	return (reg + bytes + WORD_BYTES - 1) / WORD_BYTES;
}

void ruleset_devices_load(struct guard_ruleset *rules, unsigned int reg, unsigned int bytes,
			  enum guard_meta meta)
{
	unsigned int first = reg / WORD_BYTES, end = words_end(reg, bytes);

	/* The kernel loads to the beginning of a word. */
	if (reg % WORD_BYTES && metas[meta].attr != ATTR_NONE)
		rules->names_all = true;
	if (metas[meta].attr == ATTR_KIND)
		rules->names_kinds = true;
	for (unsigned int i = first; i < end; i++)
		rules->origins[i] =
			(struct origin){ .meta = (uint8_t)meta, .word = (uint8_t)(i - first) };
}

void ruleset_devices_compare(struct guard_ruleset *rules, unsigned int reg, unsigned int bytes,
			     enum guard_compare how, const void *value)
{
	unsigned int first = reg / WORD_BYTES, end = words_end(reg, bytes);
	const struct origin *origin = &rules->origins[first];
	bool any = false;

	for (unsigned int i = first; i < end; i++)
		any |= metas[rules->origins[i].meta].attr != ATTR_NONE;
	if (!any)
		return;
	if ((how == GUARD_EQ || how == GUARD_NE) && reg % WORD_BYTES == 0 && origin->word == 0 &&
	    bytes <= metas[origin->meta].bytes)
		add_name(rules, metas[origin->meta].attr, value, bytes);
	else
		rules->names_all = true;
}

void ruleset_devices_element(struct guard_ruleset *rules, const struct set *set, const uint8_t *key)
{
	for (unsigned int i = 0; i < N_WORDS && i * WORD_BYTES < set->key_bytes; i++) {
		unsigned int bytes = metas[set->metas[i]].bytes;

		if (!bytes)
			continue;
		if (bytes > set->key_bytes - i * WORD_BYTES)
			bytes = set->key_bytes - i * WORD_BYTES;
		add_name(rules, metas[set->metas[i]].attr, key + i * WORD_BYTES, bytes);
	}
}

void ruleset_devices_lookup(struct guard_ruleset *rules, struct set *set, unsigned int reg)
{
	unsigned int first = reg / WORD_BYTES, end = words_end(reg, set->key_bytes);
	bool added = false;

	for (unsigned int i = first; i < end; i++) {
		const struct origin *origin = &rules->origins[i];
		uint8_t *meta = &set->metas[i - first], attr = metas[origin->meta].attr;

		set->matters |= origin->meta != GUARD_META_OTHER;
		if (attr == ATTR_NONE)
			continue;
		/* Part of a name, or two attributes by one set: rare. */
		if (reg % WORD_BYTES || (i == first && origin->word != 0))
			rules->names_all = true;
		if (origin->word != 0 || metas[*meta].attr == attr)
			continue;
		if (*meta)
			rules->names_all = true;
		*meta = origin->meta;
		added = true;
	}
	for (uint32_t i = 0; added && set->keys && i < set->n; i++)
		ruleset_devices_element(rules, set, set->keys + (size_t)i * set->key_bytes);
}

/* A rule matches some first bytes of the attribute. */
static bool has_name(const struct guard_ruleset *rules, enum device_attr attr, const void *value,
		     unsigned int bytes)
{
	struct name name = { .attr = attr };

	for (unsigned int i = 0; i <= bytes; i++) {
		name.bytes = (uint8_t)i;
		memcpy(name.value, value, i);
		if (tfind(&name, &rules->names, name_compare))
			return true;
	}
	return false;
}

bool guard_ruleset_matches_device(const struct guard_ruleset *rules,
				  const struct guard_iface *iface)
{
	uint8_t name[NAME_BYTES] = { 0 }, kind[NAME_BYTES] = { 0 }, type[WORD_BYTES] = { 0 };

	memcpy(name, iface->name, strnlen(iface->name, NAME_BYTES));
	memcpy(kind, iface->kind, strnlen(iface->kind, NAME_BYTES));
	memcpy(type, &iface->type, sizeof(iface->type));
	return rules->names_all || (rules->names_kinds && iface->kind[0]) ||
	       has_name(rules, ATTR_INDEX, &iface->ifindex, sizeof(iface->ifindex)) ||
	       has_name(rules, ATTR_NAME, name, sizeof(name)) ||
	       has_name(rules, ATTR_TYPE, type, sizeof(type)) ||
	       has_name(rules, ATTR_KIND, kind, sizeof(kind));
}
