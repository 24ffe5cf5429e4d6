// SPDX-License-Identifier: GPL-2.0-only
/* Prefixes as values, see prefix.h. Knows nothing of tries or routes. */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "prefix.h"

/* The first len bits of a 64-bit half, 0 <= len <= 64. */
static uint64_t mask_of(unsigned int len)
{
	return len == 0 ? 0 : UINT64_MAX << (64 - len);
}

bool prefix_covers(const struct prefix *outer, const struct prefix *inner)
{
	unsigned int high = outer->len < 64 ? outer->len : 64;
	uint64_t diff;

	if (outer->len > inner->len)
		return false;
	diff = be64toh(outer->addr.halves[0] ^ inner->addr.halves[0]) & mask_of(high);
	diff |= be64toh(outer->addr.halves[1] ^ inner->addr.halves[1]) & mask_of(outer->len - high);
	return diff == 0;
}

bool prefix_equal(const struct prefix *a, const struct prefix *b)
{
	return a->len == b->len && a->addr.halves[0] == b->addr.halves[0] &&
	       a->addr.halves[1] == b->addr.halves[1];
}

void prefix_mask(struct prefix *prefix)
{
	unsigned int high = prefix->len < 64 ? prefix->len : 64;

	prefix->addr.halves[0] &= htobe64(mask_of(high));
	prefix->addr.halves[1] &= htobe64(mask_of(prefix->len - high));
}

int prefix_parse(const char *text, struct prefix *out)
{
	char addr[INET6_ADDRSTRLEN];
	const char *slash = strchr(text, '/');
	size_t n = slash ? (size_t)(slash - text) : strlen(text);
	struct prefix prefix = { .len = 128 };
	unsigned long len;
	char *end;

	if (n >= sizeof(addr))
		return -EINVAL;
	memcpy(addr, text, n);
	addr[n] = '\0';
	if (inet_pton(AF_INET6, addr, prefix.addr.bytes) != 1)
		return -EINVAL;
	if (slash) {
		/* strtoul would take "/ 1" and "/-1" */
		if (slash[1] < '0' || slash[1] > '9')
			return -EINVAL;
		len = strtoul(slash + 1, &end, 10);
		if (*end || len > 128)
			return -EINVAL;
		prefix.len = (uint8_t)len;
	}
	prefix_mask(&prefix);
	*out = prefix;
	return 0;
}

const char *prefix_format(const struct prefix *prefix, char buf[PREFIX_STRLEN])
{
	char addr[INET6_ADDRSTRLEN];

	inet_ntop(AF_INET6, prefix->addr.bytes, addr, sizeof(addr));
	snprintf(buf, PREFIX_STRLEN, "%s/%u", addr, (unsigned int)prefix->len);
	return buf;
}

/* Add 1 or -1, as if the address were a number. */
static union sixlane_addr step(union sixlane_addr addr, bool up)
{
	for (int i = sizeof(addr.bytes); i--;) {
		addr.bytes[i] = (uint8_t)(addr.bytes[i] + (up ? 1 : 0xff));
		if (addr.bytes[i] != (up ? 0 : 0xff))
			break;
	}
	return addr;
}

void prefix_edges(const struct prefix *prefix, union sixlane_addr edges[PREFIX_EDGES])
{
	struct prefix masked = *prefix;

	prefix_mask(&masked);
	edges[0] = edges[1] = masked.addr;
	for (unsigned int bit = prefix->len; bit < 128; bit++)
		edges[1].bytes[bit / 8] |= (uint8_t)(0x80 >> bit % 8);
	edges[2] = step(edges[0], false);
	edges[3] = step(edges[1], true);
}
