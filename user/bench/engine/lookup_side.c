// SPDX-License-Identifier: GPL-2.0-only
/* bench-lookup: what several engines ask of a side's table, and of the kernel. */
#include "lookup.h"

struct prefix lookup_prefix(const struct lookup_side *side, size_t i)
{
	struct prefix prefix = { .len = (uint8_t)side->prefixes[i].len };

	memcpy(&prefix.addr, side->prefixes[i].addr, sizeof(prefix.addr));
	return prefix;
}

uint32_t lookup_trie_deepest(struct lookup_side *side)
{
	static const struct prefix all = { .len = 0 };
	uint32_t deepest = 0;

	for (const struct radix_node *leaf = radix_first_under(&side->radix, &all); leaf;
	     leaf = radix_next_under(leaf, &all)) {
		uint32_t depth = 0;

		for (const struct radix_node *node = leaf; node; node = node->parent)
			depth++;
		deepest = depth > deepest ? depth : deepest;
	}
	return deepest;
}

uint64_t lookup_figure(const char *path, const char *word)
{
	_cleanup_fclose_ FILE *file = fopen(path, "re");
	char line[128];

	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, word, strlen(word)))
			return strtoull(line + strlen(word), NULL, 10);
	return 0;
}
