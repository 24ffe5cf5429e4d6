// SPDX-License-Identifier: GPL-2.0-only
/* The memory of rulesets. The bytes of all arrays together are bounded by GUARD_MAX_BYTES. */
#include "ruleset_store.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_CAPACITY 16u

struct guard_ruleset *guard_ruleset_new(void)
{
	return calloc(1, sizeof(struct guard_ruleset));
}

void guard_ruleset_free(struct guard_ruleset *rules)
{
	if (!rules)
		return;
	for (uint32_t i = 0; i < rules->n_tables; i++)
		free(rules->tables[i]);
	for (uint32_t i = 0; i < rules->n_chains; i++)
		free(rules->chains[i].name);
	for (uint32_t i = 0; i < rules->n_flowtables; i++)
		free(rules->flowtables[i].name);
	for (uint32_t i = 0; i < rules->n_sets; i++) {
		free(rules->sets[i].keys);
		free(rules->sets[i].targets);
	}
	tdestroy(rules->names, free);
	free(rules->tables);
	free(rules->chains);
	free(rules->bases);
	free(rules->flowtables);
	free(rules->sets);
	free(rules->rules);
	free(rules->code);
	free(rules);
}

void guard_ruleset_freep(struct guard_ruleset **rules)
{
	guard_ruleset_free(*rules);
}

int guard_ruleset_error(const struct guard_ruleset *rules)
{
	return rules->error;
}

void ruleset_fail(struct guard_ruleset *rules, int error)
{
	if (!rules->error)
		rules->error = error;
}

bool ruleset_account(struct guard_ruleset *rules, size_t bytes)
{
	if (!rules->error && bytes > GUARD_MAX_BYTES - rules->bytes)
		ruleset_fail(rules, -E2BIG);
	if (rules->error)
		return false;
	rules->bytes += bytes;
	return true;
}

char *ruleset_strdup(struct guard_ruleset *rules, const char *text)
{
	char *copy;

	if (!ruleset_account(rules, strlen(text) + 1))
		return NULL;
	copy = strdup(text);
	if (!copy)
		ruleset_fail(rules, -ENOMEM);
	return copy;
}

bool ruleset_reserve(struct guard_ruleset *rules, void *array, uint32_t *capacity, size_t n,
		     size_t more, size_t item_bytes)
{
	void *old, *grown;
	size_t needed = *capacity ? *capacity : FIRST_CAPACITY;

	if (rules->error)
		return false;
	while (needed < n + more)
		needed *= 2;
	if (needed == *capacity)
		return true;
	if (!ruleset_account(rules, (needed - *capacity) * item_bytes))
		return false;
	memcpy(&old, array, sizeof(old));
	grown = realloc(old, needed * item_bytes);
	if (!grown) {
		ruleset_fail(rules, -ENOMEM);
		return false;
	}
	memcpy(array, &grown, sizeof(grown));
	*capacity = (uint32_t)needed;
	return true;
}
