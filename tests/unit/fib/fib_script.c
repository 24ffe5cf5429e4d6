// SPDX-License-Identifier: GPL-2.0-only
/* See fib_script.h. */
#include <errno.h>

#include "../../../user/fib/desired.h"
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

struct run {
	struct world *world;
	uint64_t marked[32]; /* figures */
};

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

static const uint32_t *verdict_of(const char *word)
{
	for (size_t i = 0; i < ARRAY_SIZE(verdicts); i++) {
		if (!strcmp(word, verdicts[i].name))
			return &verdicts[i].verdict;
	}
	return NULL;
}

/* The next word of a text, or NULL. */
static char *word(char **text)
{
	char *found;

	while (*text && **text == ' ')
		++*text;
	found = *text && **text ? strsep(text, " ") : NULL;
	return found;
}

static uint32_t number(char **text)
{
	const char *found = word(text);
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

static struct fib_target parse_target(char *text);

static void parse_sources(char *text, struct fib_target *target)
{
	char *one, *part;

	target->kind = FIB_SOURCES;
	target->sources = storage.sources;
	*strchr(text, '}') = '\0';
	while ((one = word(&text))) {
		struct fib_source *source = &storage.sources[target->n_sources++];

		part = strsep(&one, "=");
		assert_int_equal(prefix_parse(part, &source->src), 0);
		source->dst_len = (uint8_t)atoi(strsep(&one, "="));
		source->target = parse_target(one);
	}
}

static struct fib_target parse_target(char *text)
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
	verdict = verdict_of(text);
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

/* The object that has these hops and buckets; NULL: text is "none". */
static const struct fib_object *parse_object(char *text, struct fib_object *object)
{
	struct fib_target target;

	if (!strcmp(text, "none"))
		return NULL;
	target = parse_target(text);
	*object = (struct fib_object){ .verdict = target.verdict,
				       .n_hops = target.n_hops,
				       .hops = target.hops,
				       .n_buckets = storage.n_buckets[storage.n - 1],
				       .buckets = storage.buckets[storage.n - 1] };
	if (!target.n_hops)
		object->n_buckets = 0;
	return object;
}

/* --- steps ------------------------------------------------------------------------------------ */

struct destination {
	uint32_t table;
	struct prefix prefix, src;
};

static struct destination parse_destination(char *text)
{
	struct destination dst = { .table = SIXLANE_TABLE_MAIN };
	char *rest = strchr(text, '|'), *src;

	if (rest)
		dst.table = (uint32_t)strtoul(strsep(&text, "|"), NULL, 0);
	src = text;
	text = strsep(&src, "<");
	if (prefix_parse(text, &dst.prefix) || (src && prefix_parse(src, &dst.src)))
		fail_msg("no destination: %s", text);
	return dst;
}

static bool find(const struct run *run, const struct destination *dst, struct sim_found *found)
{
	sim_fib_check_at(run->world->sim, dst->table, &dst->prefix.addr);
	return sim_find(run->world->sim, dst->table, &dst->prefix.addr, &dst->src.addr, found);
}

static uint32_t id_of(const struct run *run, char *text)
{
	const struct destination dst = parse_destination(text);
	const uint32_t value = sim_value(run->world->sim, dst.table, &dst.prefix.addr);

	assert_int_not_equal(value, 0);
	return sixlane_route_next_hop(value);
}

static void expect(struct run *run, char *text)
{
	const struct destination dst = parse_destination(word(&text));
	const struct fib_object *meant = NULL;
	struct fib_object object;
	struct fib_target target;
	struct sim_found found;
	bool has = find(run, &dst, &found);
	char *name = text, *as;

	if (!strcmp(text, "none")) {
		assert_false(has);
		return;
	}
	assert_true(has);
	as = strstr(text, " as ");
	if (as) {
		*as = '\0';
		meant = parse_object(as + strlen(" as "), &object);
	}
	if (verdict_of(name)) {
		assert_int_equal(sim_verdict(&found), *verdict_of(name));
		return;
	}
	target = parse_target(name);
	if (!sim_does(run->world->sim, &found, &target, meant, NULL, false))
		fail_msg("verdict %u, or another way", sim_verdict(&found));
}

/* What `fail` and `limit` set. */
#define KNOB(name, lvalue)                      \
	{                                       \
		name, &(lvalue), sizeof(lvalue) \
	}

static void set_knob(struct run *run, char *text)
{
	struct sim *sim = run->world->sim;
	struct fib *fib = run->world->fib;
	const struct {
		const char *name;
		void *at;
		size_t bytes;
	} knobs[] = {
		KNOB("set", sim->set_fails),
		KNOB("del", sim->del_fails),
		KNOB("index", sim->index_fails),
		KNOB("grace", sim->grace_fails),
		KNOB("replace", sim->full_refuses_replace),
		KNOB("routes", sim->routes.capacity),
		KNOB("sources", sim->sources.capacity),
		KNOB("max_routes", fib->max_routes),
		KNOB("ports", fib->port_pool.limit),
		KNOB("ids", fib->next_hop_pool.limit),
		KNOB("tables", fib->source_pool.limit),
		KNOB("buckets", fib->buckets.limit),
	};
	const char *name = word(&text);
	const uint64_t value = number(&text);
	size_t i = 0;

	while (i < ARRAY_SIZE(knobs) && strcmp(name, knobs[i].name) != 0)
		i++;
	assert_true(i < ARRAY_SIZE(knobs));
	memcpy(knobs[i].at, &value, knobs[i].bytes); /* little endian */
}

/* Of the fib and its maps; the first ones are the numbers of writes. */
static const char *const figures[] = {
	"routes_written", "sources_written", "entries",	   "buckets_written", "arrays",	 "indices",
	"exceptions",	  "gaps_written",    "graces",
#define N_WRITES 9
	"routes",	  "next_hops",	     "neighbours", "sources",	      "buckets", "missing",
	"gaps",		  "vlans",	     "ports",	   "neigh_index",
};

static void read_figures(const struct world *world, uint64_t out[ARRAY_SIZE(figures)])
{
	const struct fib_stats stats = stats_of(world);
	const struct sim *sim = world->sim;
	const uint64_t now[] = {
		sim->routes.writes, sim->sources.writes, sim->entry_writes,	sim->bucket_writes,
		sim->array_writes,  sim->index_writes,	 sim->exception_writes, sim->gaps_writes,
		sim->graces,	    stats.routes,	 stats.next_hops,	stats.neighbours,
		stats.sources,	    stats.buckets,	 stats.missing,		sim->gaps,
		sim->n_vlans,	    sim->n_port_index,	 sim->n_neigh_index,
	};

	memcpy(out, now, sizeof(now));
}

/* NAME N ...: figures since those before. */
static void expect_figures(struct run *run, char *text, const uint64_t *before, size_t n)
{
	uint64_t now[ARRAY_SIZE(figures)];
	const char *name;

	read_figures(run->world, now);
	while ((name = word(&text))) {
		const uint32_t expected = number(&text);

		for (size_t i = 0; i < n; i++) {
			if ((!strcmp(name, "all") || !strcmp(name, figures[i])) &&
			    now[i] - before[i] != expected)
				fail_msg("%s: %lu", figures[i], now[i] - before[i]);
		}
	}
}

static void count(struct run *run, char *text)
{
	static const uint64_t zero[ARRAY_SIZE(figures)];

	expect_figures(run, text, zero, ARRAY_SIZE(figures));
}

static void wrote(struct run *run, char *text)
{
	expect_figures(run, text, run->marked, N_WRITES);
}

static void set_neigh(struct run *run, char *text)
{
	static const uint8_t mac[6] = { 2, 0, 0, 0, 0, 1 };
	const uint32_t device = number(&text);
	const union sixlane_addr at = addr(word(&text));
	const bool up = !strcmp(word(&text), "up");

	(void)fib_set_neigh(run->world->fib, device, &at, up ? mac : NULL);
}

static void expect_mac(struct run *run, char *text)
{
	const uint32_t device = number(&text);
	const union sixlane_addr at = addr(word(&text));
	const bool up = !strcmp(word(&text), "up");

	assert_int_equal(sim_neigh_mac(run->world->sim, device, &at) != 0, up);
}

static void expect_gateway(struct run *run, char *text)
{
	const struct destination dst = parse_destination(word(&text));
	struct sim_found found;

	assert_true(find(run, &dst, &found));
	assert_int_equal(sim_gateway_mac(run->world->sim, &found) != 0, !strcmp(text, "up"));
}

static union sixlane_tag tag_of(uint32_t vid)
{
	return (union sixlane_tag){ .tpid = 0x81, .tci = (uint16_t)(vid << 8) };
}

static void set_vlan(struct run *run, char *text)
{
	struct sixlane_port port = { .ifindex = number(&text), .lower = number(&text) };

	port.flags = port.lower ? SIXLANE_PORT_TAGGED : 0;
	port.tag = tag_of(number(&text));
	(void)fib_set_port(run->world->fib, &port);
}

static void expect_tag(struct run *run, char *text)
{
	const uint32_t lower = number(&text), vid = number(&text);

	assert_int_equal(sim_vlan_ifindex(run->world->sim, lower, tag_of(vid)), number(&text));
}

static void set_exception(struct run *run, char *text)
{
	const struct fib_exception value = { FIB_KERNEL, .table = SIXLANE_TABLE_MAIN, .mtu = 1300 };
	const union sixlane_addr to = addr(text);

	fib_set_exception_flag(run->world->fib, SIXLANE_TABLE_MAIN, &to);
	assert_int_equal(fib_set_exception(run->world->fib, &to, &value), 0);
}

static void expect_flag(struct run *run, char *text)
{
	const struct destination dst = parse_destination(word(&text));
	struct sim_found found;

	assert_true(find(run, &dst, &found));
	assert_int_equal(found.flags == SIXLANE_ROUTE_EXCEPTIONS, number(&text));
}

static void set_route(struct run *run, char *text)
{
	const struct destination dst = parse_destination(word(&text));
	const struct fib_target target = parse_target(text);

	assert_int_equal(fib_set(run->world->fib, dst.table, &dst.prefix, &target), 0);
}

static void del_route(struct run *run, char *text)
{
	const struct destination dst = parse_destination(text);

	assert_int_equal(fib_set(run->world->fib, dst.table, &dst.prefix, NULL), 0);
}

static void set_object(struct run *run, char *text)
{
	const uint32_t id = number(&text);
	struct fib_object object;

	assert_int_equal(fib_set_object(run->world->fib, id, parse_object(text, &object)), 0);
}

static void set_port_flags(struct run *run, char *text)
{
	const uint32_t device = number(&text);

	set_port(run->world, device, number(&text));
}

static void mark(struct run *run, char *text)
{
	read_figures(run->world, run->marked);
}

static void begin_sync(struct run *run, char *text)
{
	fib_sync_begin(run->world->fib);
}

static void end_sync(struct run *run, char *text)
{
	fib_sync_end(run->world->fib);
}

static void restart_fib(struct run *run, char *text)
{
	restart(run->world, SIXLANE_MAX_ROUTES);
}

static void clear_flags(struct run *run, char *text)
{
	fib_clear_exception_flags(run->world->fib);
}

static void retry(struct run *run, char *text)
{
	assert_int_equal(fib_retry(run->world->fib), number(&text));
}

static void same(struct run *run, char *text)
{
	const uint32_t id = id_of(run, word(&text));

	assert_int_equal(id, id_of(run, text));
}

static void differ(struct run *run, char *text)
{
	const uint32_t id = id_of(run, word(&text));

	assert_int_not_equal(id, id_of(run, text));
}

static const struct {
	const char *name;
	void (*fn)(struct run *run, char *text);
} steps[] = {
	{ "set", set_route },
	{ "del", del_route },
	{ "object", set_object },
	{ "port", set_port_flags },
	{ "vlan", set_vlan },
	{ "neigh", set_neigh },
	{ "exception", set_exception },
	{ "flags", clear_flags },
	{ "sync", begin_sync },
	{ "end", end_sync },
	{ "restart", restart_fib },
	{ "fail", set_knob },
	{ "limit", set_knob },
	{ "retry", retry },
	{ "is", expect },
	{ "flag", expect_flag },
	{ "tag", expect_tag },
	{ "mac", expect_mac },
	{ "gateway", expect_gateway },
	{ "same", same },
	{ "differ", differ },
	{ "count", count },
	{ "mark", mark },
	{ "wrote", wrote },
};

static void step(struct run *run, char *text)
{
	const char *name = word(&text);

	storage.n = 0;
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		if (!strcmp(name, steps[i].name)) {
			steps[i].fn(run, text);
			return;
		}
	}
	fail_msg("no such step: %s", name);
}

void fib_script_run(struct world *world, const char *script)
{
	static struct run run;
	_cleanup_free_ char *copy = strdup(script);
	char *rest = copy, *text;

	run.world = world;
	while ((text = strsep(&rest, ";"))) {
		if (*text)
			step(&run, text);
	}
}
