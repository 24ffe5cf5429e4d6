// SPDX-License-Identifier: GPL-2.0-only
#include "resolve_world.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>

/* --- setting up ------------------------------------------------------------------------------ */

static void set_device(struct world *world, uint32_t ifindex)
{
	bool down = ifindex == WORLD_DOWN || ifindex == WORLD_ALSO_DOWN, changed;
	struct link link = {
		.ifindex = ifindex,
		.flags = IFF_UP | (down ? 0 : IFF_RUNNING),
		.mtu = 1500,
		.carrier = !down,
	};
	struct link_ipv6 ipv6 = {
		.ifindex = ifindex,
		.mtu6 = 1500,
		.ignore_linkdown = ifindex == WORLD_DOWN,
	};

	if (ifindex == WORLD_VRF)
		memcpy(link.kind, "vrf", sizeof("vrf"));
	assert_int_equal(links_set(&world->links, &link, &changed), 0);
	assert_int_equal(links_set_ipv6(&world->links, &ipv6, &changed), 0);
}

struct world *world_new(bool local_first)
{
	struct world *world = calloc(1, sizeof(*world));

	assert_non_null(world);
	world->rib = rib_new(NULL, NULL);
	for (uint32_t i = 1; i <= WORLD_DEVICES; i++)
		set_device(world, i);
	world->view = (struct resolve_view){ .rib = world->rib,
					     .links = &world->links,
					     .local_first = local_first,
					     .kernel_read = true };
	world->resolve = resolve_new(&world->view);
	assert_non_null(world->resolve);
	return world;
}

void world_free(struct world *world)
{
	if (!world)
		return;
	for (size_t i = 0; i < world->n_entries; i++)
		free(world->entries[i].results);
	resolve_free(world->resolve);
	links_clear(&world->links);
	rib_free(world->rib);
	free(world);
}

/* --- routes ---------------------------------------------------------------------------------- */

struct prefix world_prefix(const char *text)
{
	struct prefix prefix;

	if (prefix_parse(text, &prefix))
		fail_msg("\"%s\" is no prefix", text);
	return prefix;
}

static bool parse_type(const char *word, struct route *out)
{
	static const struct {
		const char *word;
		uint8_t type;
	} types[] = {
		{ "unicast", RTN_UNICAST },	{ "local", RTN_LOCAL },
		{ "broadcast", RTN_BROADCAST }, { "anycast", RTN_ANYCAST },
		{ "multicast", RTN_MULTICAST }, { "blackhole", RTN_BLACKHOLE },
		{ "prohibit", RTN_PROHIBIT },	{ "unreachable", RTN_UNREACHABLE },
		{ "throw", RTN_THROW },		{ "nat", RTN_NAT },
	};

	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		if (strcmp(word, types[i].word) != 0)
			continue;
		out->type = types[i].type;
		return true;
	}
	return false;
}

static void parse_hop(const char *word, uint32_t number, struct route *out, struct route_hop *hops)
{
	struct route_hop *hop = &hops[out->n_hops];

	if (!strcmp(word, "weight")) {
		hop[-1].weight = (uint16_t)number;
		return;
	}
	*hop = (struct route_hop){ .ifindex = number, .weight = 1 };
	if (!strcmp(word, "via")) {
		hop->has_gateway = true;
		hop->gateway = (union sixlane_addr){ .bytes = { 0xfe, 0x80, [15] = 1 } };
	}
	out->n_hops++;
}

static void parse_number(const char *word, const char *text, struct route *out,
			 struct route_hop *hops)
{
	uint32_t number = (uint32_t)strtoul(text, NULL, 0);

	if (!strcmp(word, "table")) {
		out->table = number;
	} else if (!strcmp(word, "metric")) {
		out->metric = number;
	} else if (!strcmp(word, "pref")) {
		out->preference = (uint8_t)number;
	} else if (!strcmp(word, "proto")) {
		out->protocol = (uint8_t)number;
	} else if (!strcmp(word, "mtu") || !strcmp(word, "lock")) {
		out->mtu_locked = *word == 'l';
		out->mtu = number;
	} else if (!strcmp(word, "nhid")) {
		out->next_hop_id = number;
	} else if (!strcmp(word, "expires")) {
		out->expires = true;
		out->expires_ns = number * 1000000000ull;
	} else if (!strcmp(word, "dev") || !strcmp(word, "via") || !strcmp(word, "weight")) {
		parse_hop(word, number, out, hops);
	} else {
		fail_msg("\"%s\" is no word of a route", word);
	}
}

void world_parse(const char *text, struct route *out, struct route_hop hops[ROUTE_MAX_HOPS])
{
	_cleanup_free_ char *copy = strdup(text);
	char *save = NULL, *word;

	*out = (struct route){ .type = RTN_UNICAST, .table = RT_TABLE_MAIN, .hops = hops };
	out->metric = 1024;
	out->preference = 2;
	out->protocol = RTPROT_BOOT;
	for (word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		if (parse_type(word, out))
			continue;
		if (!strcmp(word, "encap"))
			out->encap = true;
		else if (!strcmp(word, "unknown"))
			out->unknown = out->encap = true;
		else if (!strcmp(word, "truncated"))
			out->truncated = true;
		else if (!strcmp(word, "src"))
			out->own_source = true;
		else if (!strcmp(word, "from"))
			out->src = world_prefix(strtok_r(NULL, " ", &save));
		else if (strchr(word, '/'))
			out->dst = world_prefix(word);
		else
			parse_number(word, strtok_r(NULL, " ", &save), out, hops);
	}
}

void world_add(struct world *world, const char *text)
{
	struct route_hop hops[ROUTE_MAX_HOPS];
	struct route route;

	world_parse(text, &route, hops);
	assert_int_equal(rib_add(world->rib, &route, NLM_F_CREATE | NLM_F_APPEND, &(bool){ 0 }), 0);
}

void world_del(struct world *world, const char *text)
{
	struct route_hop hops[ROUTE_MAX_HOPS];
	struct route route;

	world_parse(text, &route, hops);
	assert_int_equal(rib_del(world->rib, &route, &(bool){ 0 }), 0);
}

/* --- entries --------------------------------------------------------------------------------- */

static struct world_entry *entry_at(struct world *world, uint32_t table, const struct prefix *dst)
{
	for (size_t i = 0; i < world->n_entries; i++) {
		if (world->entries[i].table == table && prefix_equal(&world->entries[i].dst, dst))
			return &world->entries[i];
	}
	return NULL;
}

static void keep_result(struct world_result *result, const struct prefix *src, uint8_t dst_len,
			const struct fib_target *target)
{
	assert_int_not_equal(target->kind, FIB_SOURCES);
	assert_int_equal(target->n_sources, 0);
	assert_true(target->n_hops <= WORLD_MAX_HOPS);
	if (target->verdict != SIXLANE_FORWARD)
		assert_true(!target->n_hops && !target->mtu && !target->mtu_locked &&
			    !target->own_source && !target->expires_ns && target->kind == FIB_ONE &&
			    !target->object);
	else if (target->kind == FIB_ONE)
		assert_int_equal(target->n_hops, 1);
	else if (target->kind == FIB_OBJECT)
		assert_true(target->object && !target->n_hops);
	else
		assert_true(target->n_hops > 1);
	*result = (struct world_result){ .src = *src, .dst_len = dst_len, .target = *target };
	if (target->n_hops)
		memcpy(result->hops, target->hops, target->n_hops * sizeof(*target->hops));
	result->target.hops = result->hops;
}

/* A set has each prefix once, ::/0 among them. */
static void check_sources(const struct fib_target *target)
{
	size_t n_any = 0;

	for (size_t i = 0; i < target->n_sources; i++) {
		n_any += !target->sources[i].src.len;
		for (size_t j = 0; j < i; j++)
			assert_false(
				prefix_equal(&target->sources[i].src, &target->sources[j].src));
	}
	assert_int_equal(n_any, 1);
	assert_int_equal(target->verdict, SIXLANE_FORWARD);
	assert_int_equal(target->n_hops, 0);
}

static void fill_entry(struct world_entry *entry, const struct fib_target *target)
{
	static const struct prefix any;

	free(entry->results);
	entry->by_source = target->kind == FIB_SOURCES;
	entry->n_results = entry->by_source ? target->n_sources : 1;
	entry->results = calloc(entry->n_results, sizeof(*entry->results));
	assert_non_null(entry->results);
	if (!entry->by_source) {
		keep_result(entry->results, &any, entry->dst.len, target);
		return;
	}
	check_sources(target);
	for (size_t i = 0; i < target->n_sources; i++) {
		const struct fib_source *source = &target->sources[i];

		keep_result(&entry->results[i], &source->src, source->dst_len, &source->target);
	}
}

void world_resolved(void *ctx, uint32_t table, const struct prefix *dst, int error,
		    const struct fib_target *target)
{
	struct world *world = ctx;
	struct world_entry *entry = entry_at(world, table, dst);

	assert_int_equal(error, 0);
	if (target && !entry) {
		assert_true(world->n_entries < WORLD_MAX_ENTRIES);
		entry = &world->entries[world->n_entries++];
		*entry = (struct world_entry){ .table = table, .dst = *dst };
	}
	if (target) {
		fill_entry(entry, target);
	} else if (entry) {
		free(entry->results);
		*entry = world->entries[--world->n_entries];
	}
}

static void record_visit(void *ctx, uint32_t table, const struct prefix *dst, int error,
			 const struct fib_target *target)
{
	struct world *world = ctx;

	for (size_t i = 0; i < world->n_visited; i++) {
		if (world->visited[i].table == table && prefix_covers(&world->visited[i].dst, dst))
			fail_msg("visited twice, or after a prefix that covers it");
	}
	assert_true(world->n_visited < WORLD_MAX_ENTRIES);
	world->visited[world->n_visited++] = (struct world_visited){ table, *dst };
	world_resolved(world, table, dst, error, target);
}

void world_update(struct world *world, uint32_t table, const struct prefix *dst)
{
	world->n_visited = 0;
	resolve_affected(world->resolve, table, dst, record_visit, world);
}

void world_resolve_all(struct world *world)
{
	world->n_visited = 0;
	resolve_each(world->resolve, record_visit, world);
}

const struct world_entry *world_find(const struct world *world, uint32_t table,
				     const union sixlane_addr *dst)
{
	const struct prefix host = { .addr = *dst, .len = 128 };
	const struct world_entry *best = NULL;

	for (size_t i = 0; i < world->n_entries; i++) {
		const struct world_entry *entry = &world->entries[i];

		if (entry->table == table && prefix_covers(&entry->dst, &host) &&
		    (!best || entry->dst.len > best->dst.len))
			best = entry;
	}
	return best;
}

const struct world_result *world_lookup(const struct world *world, uint32_t table,
					const union sixlane_addr *dst,
					const union sixlane_addr *src)
{
	const struct world_entry *entry = world_find(world, table, dst);
	const struct prefix host = { .addr = *src, .len = 128 };
	const struct world_result *best = NULL;

	for (size_t i = 0; entry && i < entry->n_results; i++) {
		const struct world_result *result = &entry->results[i];

		if (prefix_covers(&result->src, &host) &&
		    (!best || result->src.len > best->src.len))
			best = result;
	}
	return best;
}

/* --- text ------------------------------------------------------------------------------------ */

#define X(name, action, string, text) [SIXLANE_##name] = string,
static const char *const verdicts[] = { SIXLANE_VERDICTS(X) };
#undef X

static void describe(FILE *file, const struct fib_target *target)
{
	static const char *const kinds[] = {
		[FIB_ONE] = "one",	 [FIB_HASHED] = "hashed",   [FIB_EQUAL_METRIC] = "first",
		[FIB_OBJECT] = "object", [FIB_SOURCES] = "sources",
	};
	bool forward = target->verdict == SIXLANE_FORWARD;

	fprintf(file, "%s", forward ? kinds[target->kind] : verdicts[target->verdict]);
	if (target->object)
		fprintf(file, " %u", target->object);
	for (size_t i = 0; i < target->n_hops; i++) {
		const struct fib_hop *hop = &target->hops[i];

		fprintf(file, " %s %u", hop->has_gateway ? "via" : "dev", hop->ifindex);
		assert_int_equal(hop->gateway.bytes[0], hop->has_gateway ? 0xfe : 0);
		if (hop->weight)
			fprintf(file, "*%u", hop->weight);
	}
	if (target->mtu)
		fprintf(file, " %s %u", target->mtu_locked ? "lock" : "mtu", target->mtu);
	if (target->own_source)
		fprintf(file, " src");
	if (target->expires_ns)
		fprintf(file, " expires %u", (unsigned int)(target->expires_ns / 1000000000u));
}

void world_describe(struct world *world, uint32_t table, const char *dst, char text[WORLD_TEXT])
{
	const struct prefix prefix = world_prefix(dst);
	const struct fib_target *target;
	char buf[PREFIX_STRLEN];
	FILE *file = fmemopen(text, WORLD_TEXT, "w");

	assert_non_null(file);
	assert_int_equal(resolve_prefix(world->resolve, table, &prefix, &target), 0);
	if (!target)
		fprintf(file, "-");
	else
		describe(file, target);
	for (size_t i = 0; target && i < target->n_sources; i++) {
		const struct fib_source *source = &target->sources[i];

		fprintf(file, " %s ", prefix_format(&source->src, buf));
		describe(file, &source->target);
		if (source->target.verdict == SIXLANE_FORWARD)
			fprintf(file, " @%u", source->dst_len);
		fprintf(file, ";");
	}
	fclose(file);
}
