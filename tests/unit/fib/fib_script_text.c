// SPDX-License-Identifier: GPL-2.0-only
/* The words and targets of scripts: see fib_script.h for their syntax. */
#include "fib_script.h"

#define MAX_HOPS 8
#define MAX_TARGETS 16 /* of a step: a table of sources has one for each */

/* What the targets of one step point into. */
static struct storage {
	struct fib_hop hops[MAX_TARGETS][MAX_HOPS];
	struct fib_source sources[MAX_HOPS];
	uint16_t buckets[MAX_TARGETS][64];
	size_t n_buckets[MAX_TARGETS];
	size_t n;
} storage;

static const struct {
	const char *name;
	uint32_t verdict;
} verdicts[] = {
	{ "local", SIXLANE_PASS_LOCAL },
	{ "blackhole", SIXLANE_DROP_BLACKHOLE },
	{ "full", SIXLANE_PUNT_MAP_FULL },
	{ "multipath", SIXLANE_PUNT_MULTIPATH },
	{ "expires", SIXLANE_PUNT_EXPIRES },
	{ "no-object", SIXLANE_PUNT_NEXT_HOP_OBJECT },
	{ "no-source", SIXLANE_PUNT_SOURCE_ROUTE },
	{ "prohibit", SIXLANE_PASS_PROHIBIT },
	{ "equal-metric", SIXLANE_PUNT_EQUAL_METRIC },
	{ "encap", SIXLANE_PUNT_ENCAP },
	{ "forward", SIXLANE_FORWARD },
};

const uint32_t *script_verdict(const char *word)
{
	for (size_t i = 0; i < ARRAY_SIZE(verdicts); i++) {
		if (!strcmp(word, verdicts[i].name))
			return &verdicts[i].verdict;
	}
	return NULL;
}

char *script_word(char **text)
{
	while (*text && **text == ' ')
		++*text;
	return *text && **text ? strsep(text, " ") : NULL;
}

uint32_t script_number(char **text)
{
	const char *found = script_word(text);
	char *end = NULL;
	unsigned long value = found ? strtoul(found, &end, 0) : 0;

	if (!found || !*found || *end)
		fail_msg("no number: %s", found ? found : "nothing");
	return (uint32_t)value;
}

/* --- targets ---------------------------------------------------------------------------------- */

static struct fib_hop parse_hop(char *text)
{
	char *weight = strchr(text, '*'), *device = strchr(text, '@');
	struct fib_hop hop = { .weight = weight ? (uint32_t)atoi(weight + 1) : 1 };

	if (!device)
		return hop;
	hop.ifindex = (uint32_t)atoi(device + 1);
	hop.has_gateway = device != text;
	if (hop.has_gateway)
		hop.gateway = (union sixlane_addr){
			.bytes = { 0xfe, 0x80, [15] = (uint8_t)strtoul(text, NULL, 16) }
		};
	return hop;
}

static void parse_hops(char *text, struct fib_target *target)
{
	struct fib_hop *hops = storage.hops[storage.n];
	char *buckets = text, *one;

	target->kind = strchr(text, '>')   ? FIB_EQUAL_METRIC
		       : strchr(text, '+') ? FIB_HASHED
					   : FIB_ONE;
	text = strsep(&buckets, "/");
	storage.n_buckets[storage.n] = 0;
	while ((one = strsep(&buckets, ",")))
		storage.buckets[storage.n][storage.n_buckets[storage.n]++] = (uint16_t)atoi(one);
	while ((one = strsep(&text, "+>")))
		hops[target->n_hops++] = parse_hop(one);
	target->hops = hops;
}

static void parse_sources(char *text, struct fib_target *target)
{
	char *one, *part;

	target->kind = FIB_SOURCES;
	target->sources = storage.sources;
	*strchr(text, '}') = '\0';
	while ((one = script_word(&text))) {
		struct fib_source *source = &storage.sources[target->n_sources++];

		part = strsep(&one, "=");
		assert_int_equal(prefix_parse(part, &source->src), 0);
		source->dst_len = (uint8_t)atoi(strsep(&one, "="));
		source->target = script_target(one);
	}
}

struct fib_target script_target(char *text)
{
	struct fib_target target = { .verdict = SIXLANE_FORWARD };
	char *options = text;
	const uint32_t *verdict;

	assert_true(storage.n < MAX_TARGETS);
	if (*text == '{') {
		parse_sources(text + 1, &target);
		return target;
	}
	text = strsep(&options, ":");
	verdict = script_verdict(text);
	if (verdict)
		target.verdict = *verdict;
	else if (sscanf(text, "object=%u", &target.object) == 1)
		target.kind = FIB_OBJECT;
	else
		parse_hops(text, &target);
	storage.n++;
	while ((text = strsep(&options, ":"))) {
		if (sscanf(text, "mtu=%u", &target.mtu) != 1)
			assert_int_equal(sscanf(text, "expires=%lu", &target.expires_ns), 1);
	}
	return target;
}

const struct fib_object *script_object(char *text, struct fib_object *object)
{
	struct fib_target target;

	if (!strcmp(text, "none"))
		return NULL;
	target = script_target(text);
	*object = (struct fib_object){ .verdict = target.verdict,
				       .n_hops = target.n_hops,
				       .hops = target.hops,
				       .n_buckets = storage.n_buckets[storage.n - 1],
				       .buckets = storage.buckets[storage.n - 1] };
	if (!target.n_hops)
		object->n_buckets = 0;
	return object;
}

void script_reset(void)
{
	storage.n = 0;
}
