// SPDX-License-Identifier: GPL-2.0-only
/* See cmd.h. */
#include "cmd.h"

#include <linux/rtnetlink.h>
#include <string.h>

static bool begins(const char *whole, const char *word)
{
	return !strncmp(whole, word, strlen(word));
}

size_t args_match(const char *const *names, size_t n, const char *word, size_t *found)
{
	size_t n_found = 0;

	for (size_t i = 0; i < n; i++) {
		if (!strcmp(names[i], word)) {
			found[0] = i;
			return 1;
		}
		if (*word && begins(names[i], word))
			found[n_found++] = i;
	}
	return n_found;
}

bool args_parse_number(const char *word, uint32_t max, uint32_t *number)
{
	unsigned long long value;
	char *end;

	/* strtoull() would skip spaces and take a sign */
	if (*word < '0' || *word > '9')
		return false;
	value = strtoull(word, &end, 10);
	if (*end || value > max)
		return false;
	*number = (uint32_t)value;
	return true;
}

bool args_parse_table(const char *word, uint32_t *table)
{
	static const struct {
		const char *name;
		uint32_t table;
	} known[] = {
		{ "main", RT_TABLE_MAIN },
		{ "local", RT_TABLE_LOCAL },
		{ "default", RT_TABLE_DEFAULT },
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (strcmp(word, known[i].name) != 0)
			continue;
		*table = known[i].table;
		return true;
	}
	return args_parse_number(word, UINT32_MAX, table) && *table;
}

int args_parse_options(int argc, char **argv, struct cmd_options *options, bool *help,
		       bool *version)
{
	const struct {
		const char *name;
		bool *flag;
	} known[] = {
		{ "json", &options->json },
		{ "pretty", &options->pretty },
		{ "statistics", &options->statistics },
		{ "stats", &options->statistics },
		{ "help", help },
		{ "Version", version },
	};
	bool ended = false;
	int n = 0;

	for (int i = 0; i < argc; i++) {
		const char *word = argv[i];
		size_t k = ARRAY_SIZE(known);

		if (!ended && !strcmp(word, "--")) {
			ended = true;
			continue;
		}
		if (!ended && word[0] == '-' && word[1]) {
			word += word[1] == '-' ? 2 : 1;
			for (k = 0; k < ARRAY_SIZE(known) && !begins(known[k].name, word); k++)
				;
		}
		if (k < ARRAY_SIZE(known))
			*known[k].flag = true;
		else
			argv[n++] = argv[i];
	}
	return n;
}
