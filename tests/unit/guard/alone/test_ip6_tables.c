// SPDX-License-Identifier: GPL-2.0-only
/*
 * Legacy tables. The functions that build rulesets are replaced by ones that record each operation
 * as text.
 */
#include "../../unit.h"

#include "../ip6_tables_blob.h"

/* --- the recorder ------------------------------------------------------------------------- */

static char text[4096];
static uint32_t n_chains;

static void _printf_(1, 2) record(const char *format, ...)
{
	size_t used = strlen(text);
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text + used, sizeof(text) - used, format, args);
	va_end(args);
}

uint32_t guard_add_table(struct guard_ruleset *rules, const char *words)
{
	record("%s", words);
	return 0;
}

uint32_t guard_add_chain(struct guard_ruleset *rules, uint32_t table, const char *name)
{
	record("; chain %s", name);
	return n_chains++;
}

void guard_set_base(struct guard_ruleset *rules, uint32_t chain, enum guard_hook hook, bool accepts,
		    const char *device, bool nat)
{
	assert_null(device);
	record(" at %d %s%s", hook, accepts ? "accept" : "drop", nat ? " nat" : "");
}

void guard_add_rule(struct guard_ruleset *rules, uint32_t chain, uint64_t handle)
{
	record("; %u.%u:", chain, (unsigned int)handle);
}

void guard_load(struct guard_ruleset *rules, unsigned int reg, unsigned int bytes,
		enum guard_meta meta)
{
	assert_int_equal(reg, 0);
	assert_int_equal(bytes, IFNAMSIZ);
	record(" %s", meta == GUARD_META_IIFNAME ? "in" : "out");
}

void guard_compare(struct guard_ruleset *rules, unsigned int reg, unsigned int bytes,
		   enum guard_compare how, const void *value)
{
	assert_int_equal(reg, 0);
	record("%s%.*s/%u", how == GUARD_EQ ? "=" : "!=", (int)bytes, (const char *)value, bytes);
}

void guard_may_match(struct guard_ruleset *rules)
{
	record(" may");
}

void guard_effect(struct guard_ruleset *rules, const char *words)
{
	record(" effect(%s)", words);
}

void guard_add_conntrack(struct guard_ruleset *rules)
{
	record(" asks");
}

void guard_verdict(struct guard_ruleset *rules, enum guard_verdict verdict, uint32_t chain)
{
	static const char *const names[] = {
		"accept", "drop", "jump", "goto", "return", "continue"
	};

	record(" %s", names[verdict]);
	if (verdict == GUARD_JUMP || verdict == GUARD_GOTO)
		record(" %u", chain);
}

/* --- tables as ip6tables makes them --------------------------------------------------- */

#define FORWARD .hook = NF_INET_FORWARD
#define FIRST .is = BLOB_HOOK, FORWARD
#define POLICY(number)                                          \
	{                                                       \
		.is = BLOB_POLICY, FORWARD, .verdict = (number) \
	}

struct row {
	const char *what, *table;
	struct blob_entry entries[12];
	const char *expected;
};

static const struct row rows[] = {
	{ "no rule, policies",
	  "filter",
	  { { .is = BLOB_HOOK, .hook = NF_INET_LOCAL_IN, .verdict = BLOB_DROP },
	    { FIRST, .verdict = BLOB_DROP },
	    { .is = BLOB_HOOK, .hook = NF_INET_LOCAL_OUT, .verdict = BLOB_ACCEPT } },
	  "ip6tables table filter; chain INPUT; chain FORWARD at 2 drop; chain OUTPUT at 3 accept" },
	{ "input is no base chain",
	  "mangle",
	  { { .is = BLOB_HOOK, .hook = NF_INET_LOCAL_IN, .target = "LOG" },
	    { .is = BLOB_POLICY, .hook = NF_INET_LOCAL_IN, .verdict = BLOB_ACCEPT } },
	  "ip6tables table mangle; chain INPUT; 0.1: effect(target LOG)" },
	{ "nat",
	  "nat",
	  { { .is = BLOB_HOOK, .hook = NF_INET_POST_ROUTING, .out = "wan", .target = "MASQUERADE" },
	    { .is = BLOB_POLICY, .hook = NF_INET_POST_ROUTING, .verdict = BLOB_ACCEPT } },
	  "ip6tables table nat; chain POSTROUTING at 4 accept nat; "
	  "0.1: out=wan/4 asks effect(target MASQUERADE)" },
	{ "devices: exact, by prefix, inverted, any",
	  "filter",
	  { { FIRST, .in = "lan", .out = "wan", .verdict = BLOB_ACCEPT },
	    { .in = "eth+", .verdict = BLOB_ACCEPT },
	    { .in = "lan", .invflags = IP6T_INV_VIA_IN, .verdict = BLOB_DROP },
	    { .out = "e+", .invflags = IP6T_INV_VIA_OUT, .verdict = BLOB_DROP },
	    { .in = "+", .verdict = BLOB_ACCEPT },
	    { .in = "+", .invflags = IP6T_INV_VIA_IN, .verdict = BLOB_DROP },
	    { .in = "eth+", .odd_mask = 0x40, .verdict = BLOB_DROP },
	    POLICY(BLOB_ACCEPT) },
	  "ip6tables table filter; chain FORWARD at 2 accept; 0.1: in=lan/4 out=wan/4 accept; "
	  "0.2: in=eth/3 accept; 0.3: in!=lan/4 drop; 0.4: out!=e/1 drop; 0.5: accept; "
	  "0.6: may drop; 0.7: may drop" },
	{ "addresses, protocol, tos",
	  "filter",
	  { { FIRST, .source_len = 8, .verdict = BLOB_DROP },
	    { .invflags = IP6T_INV_DSTIP, .verdict = BLOB_DROP },
	    { .flags = IP6T_F_PROTO, .verdict = BLOB_DROP },
	    { .flags = IP6T_F_PROTO, .verdict = BLOB_ACCEPT },
	    { .flags = IP6T_F_TOS, .verdict = BLOB_DROP },
	    POLICY(BLOB_ACCEPT) },
	  "ip6tables table filter; chain FORWARD at 2 accept; 0.1: may drop; 0.2: may drop; "
	  "0.3: may drop; 0.4: effect(protocol, which drops truncated packets) may accept; "
	  "0.5: may drop" },
	{ "verdicts, and no target",
	  "filter",
	  { { FIRST, .verdict = BLOB_TO(1) },
	    { .verdict = BLOB_QUEUE },
	    { .verdict = -NF_STOLEN - 1 },
	    { .in = "lan", .verdict = XT_RETURN },
	    POLICY(BLOB_ACCEPT) },
	  "ip6tables table filter; chain FORWARD at 2 accept; 0.1:; 0.2: drop; 0.3: drop; "
	  "0.4: in=lan/4 return" },
	{ "matches and targets",
	  "mangle",
	  { { FIRST, .matches = { "comment", "mark" }, .verdict = BLOB_ACCEPT },
	    { .matches = { "conntrack" }, .verdict = BLOB_ACCEPT },
	    { .matches = { "comment", "connlimit", "limit" }, .verdict = BLOB_ACCEPT },
	    { .matches = { "connlimit" }, .verdict = BLOB_DROP },
	    { .matches = { "limit" }, .target = "LOG" },
	    { .matches = { "no" }, .verdict = BLOB_ACCEPT },
	    { .target = "NO" },
	    POLICY(BLOB_ACCEPT) },
	  "ip6tables table mangle; chain FORWARD at 2 accept; 0.1: may accept; "
	  "0.2: asks may accept; 0.3: asks effect(match connlimit) may effect(match limit) may accept; "
	  "0.4: asks may drop; 0.5: may effect(target LOG); "
	  "0.6: effect(match no, unknown to sixlane) may accept; "
	  "0.7: effect(target NO, unknown to sixlane)" },
	{ "user chains: jump, goto, backwards and forwards",
	  "filter",
	  { { FIRST, .verdict = BLOB_TO(4) },
	    { .flags = IP6T_F_GOTO, .verdict = BLOB_TO(7) },
	    POLICY(BLOB_DROP),
	    { .chain = "one" },
	    { .in = "lan", .verdict = BLOB_TO(7) },
	    { .verdict = XT_RETURN },
	    { .chain = "two" },
	    { .verdict = BLOB_ACCEPT } },
	  "ip6tables table filter; chain FORWARD at 2 drop; chain one; chain two; 0.1: jump 1; "
	  "0.2: goto 2; 1.1: in=lan/4 jump 2; 1.2: return; 2.1: accept" },
	/* The kernel refuses it; here queries find the loop. */
	{ "a loop",
	  "filter",
	  { { FIRST, .verdict = BLOB_ACCEPT },
	    { .chain = "one" },
	    { .verdict = BLOB_TO(5) },
	    { .verdict = XT_RETURN },
	    { .chain = "two" },
	    { .verdict = BLOB_TO(2) },
	    { .verdict = XT_RETURN } },
	  "ip6tables table filter; chain FORWARD at 2 accept; chain one; chain two; 1.1: jump 2; "
	  "1.2: return; 2.1: jump 1; 2.2: return" },
};

static int parse(const struct blob *blob)
{
	text[0] = '\0';
	n_chains = 0;
	return ip6_tables_parse(NULL, &blob->info, blob->bytes, blob->size);
}

static void tables(void **state)
{
	static struct blob blob;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct blob_entry *entries = rows[i].entries;
		unsigned int n = 0;

		while (entries[n].verdict || entries[n].target || entries[n].chain)
			n++;
		blob_build(&blob, rows[i].table, entries, n);
		assert_int_equal(parse(&blob), 0);
		if (strcmp(text, rows[i].expected) != 0)
			fail_msg("%s: %s", rows[i].what, text);
	}
}

/* --- blobs that contradict themselves ------------------------------------------------- */

static const struct blob_entry sound[] = {
	{ FIRST, .matches = { "comment" }, .verdict = BLOB_TO(3) },
	POLICY(BLOB_ACCEPT),
	{ .chain = "one" },
	{ .in = "lan", .verdict = BLOB_ACCEPT },
	{ .verdict = XT_RETURN },
};

static struct ip6t_entry *entry_at(struct blob *blob, unsigned int n)
{
	return (void *)(blob->bytes + blob->offsets[n]);
}

static struct xt_entry_target *target_at(struct blob *blob, unsigned int n)
{
	return (void *)((uint8_t *)entry_at(blob, n) + entry_at(blob, n)->target_offset);
}

static struct xt_entry_match *match_at(struct blob *blob, unsigned int n)
{
	return (void *)entry_at(blob, n)->elems;
}

/* Each makes the sound table contradict itself. */
#define BREAKS(X)                                                                             \
	X(into_the_middle, *blob_verdict(b, 0) = (int)b->offsets[4])                          \
	X(into_a_base_chain, *blob_verdict(b, 3) = 0)                                         \
	X(beyond_the_end, *blob_verdict(b, 0) = (int)b->size)                                 \
	X(between_entries, *blob_verdict(b, 0) = (int)b->offsets[3] + 8)                      \
	X(hook_between, b->info.hook_entry[NF_INET_FORWARD] = 8)                              \
	X(hook_beyond, b->info.hook_entry[NF_INET_FORWARD] = 1u << 30)                        \
	X(hook_in_user_chain, b->info.hook_entry[NF_INET_FORWARD] = b->offsets[3])            \
	X(hook_twice, b->info.valid_hooks |= 1u << NF_INET_LOCAL_OUT;                         \
	  b->info.underflow[NF_INET_LOCAL_OUT] = b->offsets[1])                               \
	X(hook_unknown, b->info.valid_hooks |= 1u << NF_INET_NUMHOOKS)                        \
	X(underflow_beyond, b->info.underflow[NF_INET_FORWARD] = 1u << 30)                    \
	X(underflow_in_user_chain, b->info.underflow[NF_INET_FORWARD] = b->offsets[4])        \
	X(underflow_has_match, b->info.underflow[NF_INET_FORWARD] = 0)                        \
	X(policy_returns, *blob_verdict(b, 1) = XT_RETURN)                                    \
	X(policy_jumps, *blob_verdict(b, 1) = (int)b->offsets[3])                             \
	X(policy_of_device, entry_at(b, 1)->ipv6.iniface[0] = 'l')                            \
	X(user_chain_goes_on, *blob_verdict(b, 4) = (int)b->offsets[5])                       \
	X(flags_unknown, entry_at(b, 0)->ipv6.flags = 0x80)                                   \
	X(invflags_unknown, entry_at(b, 0)->ipv6.invflags = 0x80)                             \
	X(next_zero, entry_at(b, 0)->next_offset = 0)                                         \
	X(next_small, entry_at(b, 0)->next_offset = sizeof(struct ip6t_entry))                \
	X(next_beyond, entry_at(b, 5)->next_offset = 0xffff)                                  \
	X(target_before, entry_at(b, 0)->target_offset = 8)                                   \
	X(target_beyond, entry_at(b, 0)->target_offset = 0xfff0)                              \
	X(target_small, target_at(b, 0)->u.target_size = 4)                                   \
	X(target_large, target_at(b, 0)->u.target_size = 0xffff)                              \
	X(target_no_verdict, target_at(b, 0)->u.target_size = sizeof(struct xt_entry_target)) \
	X(target_name_open, memset(target_at(b, 0)->u.user.name, 'x', 29))                    \
	X(chain_name_open, memset(target_at(b, 2)->data, 'x', 32))                            \
	X(match_zero, match_at(b, 0)->u.match_size = 0)                                       \
	X(match_small, match_at(b, 0)->u.match_size = 31)                                     \
	X(match_large, match_at(b, 0)->u.match_size = 0xffff)                                 \
	X(match_leaves_rest, match_at(b, 0)->u.match_size -= 8)                               \
	X(match_name_open, memset(match_at(b, 0)->u.user.name, 'x', 29))                      \
	X(count_wrong, b->info.num_entries++)                                                 \
	X(size_wrong, b->info.size += 8)                                                      \
	X(table_name_open, memset(b->info.name, 'x', sizeof(b->info.name)))                   \
	X(no_end, b->size = b->offsets[5]; b->info.size = (unsigned int)b->size;              \
	  b->info.num_entries--)                                                              \
	X(no_hook, b->info.valid_hooks = 0)                                                   \
	X(hook_missing, b->info.valid_hooks |= 1u << NF_INET_LOCAL_OUT;                       \
	  b->info.hook_entry[NF_INET_LOCAL_OUT] = 1u << 20)

#define DEFINE_BREAK(name, statement)    \
	static void name(struct blob *b) \
	{                                \
		statement;               \
	}
BREAKS(DEFINE_BREAK)

#define LIST_BREAK(name, statement) { #name, name },
static const struct {
	const char *name;
	void (*fn)(struct blob *blob);
} breaks[] = { BREAKS(LIST_BREAK) };

static void contradictions(void **state)
{
	static const struct blob_entry no_user_chain[] = { { FIRST, .verdict = BLOB_TO(0) },
							   POLICY(BLOB_ACCEPT) };
	static struct blob blob;

	blob_build(&blob, "filter", no_user_chain, ARRAY_SIZE(no_user_chain));
	assert_int_equal(parse(&blob), -EBADMSG);
	blob_build(&blob, "filter", sound, ARRAY_SIZE(sound));
	assert_int_equal(parse(&blob), 0);
	for (size_t i = 0; i < ARRAY_SIZE(breaks); i++) {
		blob_build(&blob, "filter", sound, ARRAY_SIZE(sound));
		breaks[i].fn(&blob);
		if (parse(&blob) != -EBADMSG)
			fail_msg("%s: %s", breaks[i].name, text);
	}
}

/* Truncated anywhere. A heap block of exactly that size lets ASan see what is read behind it. */
static void truncations(void **state)
{
	static struct blob blob;

	blob_build(&blob, "filter", sound, ARRAY_SIZE(sound));
	for (size_t size = 0; size < blob.size; size++) {
		struct ip6t_getinfo info = blob.info;
		_cleanup_free_ uint8_t *bytes = malloc(size + 1);

		assert_non_null(bytes);
		memcpy(bytes + 1, blob.bytes, size);
		assert_int_equal(ip6_tables_parse(NULL, &info, bytes + 1, size), -EBADMSG);
		info.size = (unsigned int)size;
		text[0] = '\0';
		assert_int_equal(ip6_tables_parse(NULL, &info, bytes + 1, size), -EBADMSG);
	}
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tables),
		cmocka_unit_test(contradictions),
		cmocka_unit_test(truncations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
