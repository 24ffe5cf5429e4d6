// SPDX-License-Identifier: GPL-2.0-only
/*
 * Any bytes as a legacy table, and the judgement of rules on what is accepted of it: tables as the
 * tool makes them, mutated.
 */
#include "../unit/guard/ip6_tables_blob.h"
#include "mutate.h"

static void judge(const struct guard_ruleset *rules)
{
	static const struct guard_iface in = { .ifindex = 1, .name = "lan", .kind = "" };
	static const struct guard_iface out = { .ifindex = 2, .name = "eth0", .kind = "" };
	char reason[GUARD_REASON_LEN] = "";

	for (int hook = 0; hook < GUARD_N_HOOKS; hook++) {
		bool held = guard_ruleset_punts(rules, hook, &in, &out, reason);

		if (strnlen(reason, sizeof(reason)) == sizeof(reason) || (held && !reason[0]))
			abort();
	}
	(void)guard_ruleset_tracks(rules, reason);
}

/* The table's head, then its entries. Returns whether it was accepted. */
static int parse(const uint8_t *data, size_t size)
{
	_cleanup_(guard_ruleset_freep) struct guard_ruleset *rules = guard_ruleset_new();
	_cleanup_free_ uint8_t *entries = NULL;
	struct ip6t_getinfo info;

	if (!rules)
		abort();
	if (size < sizeof(info))
		return false;
	memcpy(&info, data, sizeof(info));
	size -= sizeof(info);
	entries = malloc(size + 1); /* exactly its size, for ASan, and not aligned */
	if (!entries)
		abort();
	memcpy(entries + 1, data + sizeof(info), size);
	info.size = (unsigned int)size;
	if (ip6_tables_parse(rules, &info, entries + 1, size) < 0)
		return false;
	judge(rules);
	return true;
}

#define FIRST .is = BLOB_HOOK, .hook = NF_INET_FORWARD
#define POLICY                                                                      \
	{                                                                           \
		.is = BLOB_POLICY, .hook = NF_INET_FORWARD, .verdict = BLOB_ACCEPT, \
	}

static const struct blob_entry plain[] = {
	{ FIRST, .in = "eth+", .out = "lan", .matches = { "conntrack" }, .verdict = BLOB_ACCEPT },
	{ .in = "lan", .invflags = IP6T_INV_VIA_IN, .target = "LOG" },
	POLICY,
};

static const struct blob_entry chains[] = {
	{ FIRST, .verdict = BLOB_TO(4) },
	{ .flags = IP6T_F_GOTO, .matches = { "comment", "limit" }, .verdict = BLOB_TO(7) },
	POLICY,
	{ .chain = "one" },
	{ .in = "lan", .verdict = BLOB_TO(7) },
	{ .verdict = XT_RETURN },
	{ .chain = "two" },
	{ .verdict = BLOB_DROP },
};

static size_t build(uint8_t *bytes)
{
	static struct blob blob;

	if (random_below(2))
		blob_build(&blob, "nat", plain, ARRAY_SIZE(plain));
	else
		blob_build(&blob, "filter", chains, ARRAY_SIZE(chains));
	memcpy(bytes, &blob.info, sizeof(blob.info));
	memcpy(bytes + sizeof(blob.info), blob.bytes, blob.size);
	return sizeof(blob.info) + blob.size;
}

FUZZ_MAIN("fuzz_ip6_tables", build, parse)
