// SPDX-License-Identifier: GPL-2.0-only
/* See prefixes.h. */
#include "prefixes.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../user/util.h"

static int parse_line(char *line, struct prefix *prefix)
{
	char *slash = strchr(line, '/'), *end;
	unsigned long len;

	if (!slash)
		return -EINVAL;
	*slash = '\0';
	len = strtoul(slash + 1, &end, 10);
	if (end == slash + 1 || (*end && *end != '\n') || len > 128)
		return -EINVAL;
	if (inet_pton(AF_INET6, line, prefix->addr) != 1)
		return -EINVAL;
	prefix->len = (uint8_t)len;
	return 0;
}

static int append(struct prefixes *prefixes, size_t *room, const struct prefix *prefix)
{
	if (prefixes->n == *room) {
		size_t more = *room ? 2 * *room : 1024;
		struct prefix *list = realloc(prefixes->list, more * sizeof(*list));

		if (!list)
			return -ENOMEM;
		prefixes->list = list;
		*room = more;
	}
	prefixes->list[prefixes->n++] = *prefix;
	return 0;
}

int prefixes_read(const char *path, struct prefixes *out)
{
	_cleanup_fclose_ FILE *file = fopen(path, "re");
	struct prefixes prefixes = { 0 };
	struct prefix prefix;
	size_t room = 0;
	char line[128];
	int ret = 0;

	if (!file)
		return -errno;
	while (!ret && fgets(line, sizeof(line), file))
		ret = parse_line(line, &prefix) ?: append(&prefixes, &room, &prefix);
	if (!ret && !prefixes.n)
		ret = -ENODATA;
	if (ret)
		prefixes_free(&prefixes);
	else
		*out = prefixes;
	return ret;
}

void prefixes_free(struct prefixes *prefixes)
{
	free(prefixes->list);
	prefixes->list = NULL;
}

uint64_t prefixes_random(uint64_t *seed)
{
	uint64_t z = *seed += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

void prefixes_random_address(const struct prefixes *prefixes, uint64_t *seed, uint8_t addr[16])
{
	const struct prefix *prefix = &prefixes->list[prefixes_random(seed) % prefixes->n];
	uint64_t random[2] = { prefixes_random(seed), prefixes_random(seed) };
	uint8_t bits[16];

	memcpy(bits, random, sizeof(bits));
	for (int i = 0; i < 16; i++) {
		int kept = prefix->len - 8 * i;
		uint8_t mask = kept >= 8 ? 0 : kept <= 0 ? 0xff : (uint8_t)(0xff >> kept);

		addr[i] = (uint8_t)((prefix->addr[i] & ~mask) | (bits[i] & mask));
	}
}
