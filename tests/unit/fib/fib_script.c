// SPDX-License-Identifier: GPL-2.0-only
/* See fib_script.h. */
#include "fib_script.h"
#include "../../../user/fib/desired.h"

struct run {
	struct world *world;
	uint64_t marked[32]; /* figures */
};

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
	const struct destination dst = parse_destination(script_word(&text));
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
		meant = script_object(as + strlen(" as "), &object);
	}
	if (script_verdict(name)) {
		assert_int_equal(sim_verdict(&found), *script_verdict(name));
		return;
	}
	target = script_target(name);
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
		KNOB("set", sim->set_fails),	      KNOB("del", sim->del_fails),
		KNOB("index", sim->index_fails),      KNOB("exceptions", sim->exception_fails),
		KNOB("grace", sim->grace_fails),      KNOB("replace", sim->full_refuses_replace),
		KNOB("routes", sim->routes.capacity), KNOB("sources", sim->sources.capacity),
		KNOB("max_routes", fib->max_routes),  KNOB("ports", fib->port_ids.limit),
		KNOB("ids", fib->next_hop_ids.limit), KNOB("tables", fib->source_ids.limit),
		KNOB("buckets", fib->buckets.limit),
	};
	const char *name = script_word(&text);
	const uint64_t value = script_number(&text);
	size_t i = 0;

	while (i < ARRAY_SIZE(knobs) && strcmp(name, knobs[i].name) != 0)
		i++;
	assert_true(i < ARRAY_SIZE(knobs));
	memcpy(knobs[i].at, &value, knobs[i].bytes); /* little endian */
	fib->buckets.refused = 0;		     /* there may be more now */
}

/* Names of the figures of the fib and its maps. The first N_WRITES count writes. */
static const char *const figures[] = {
	"routes_written", "sources_written", "entries",	       "buckets_written",
	"arrays",	  "indices",	     "exceptions",     "gaps_written",
	"graces",
#define N_WRITES 9
	"routes",	  "next_hops",	     "neighbours",     "sources",
	"buckets",	  "missing",	     "gaps",	       "vlans",
	"ports",	  "neigh_index",     "has_exceptions",
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
		sim->n_vlans,	    sim->n_port_index,	 sim->n_neigh_index,	stats.exceptions,
	};

	memcpy(out, now, sizeof(now));
}

/* NAME N ...: figures since those before. */
static void expect_figures(struct run *run, char *text, const uint64_t *before, size_t n)
{
	uint64_t now[ARRAY_SIZE(figures)];
	const char *name;

	read_figures(run->world, now);
	while ((name = script_word(&text))) {
		const uint32_t expected = script_number(&text);
		bool found = false;

		for (size_t i = 0; i < n; i++) {
			if (strcmp(name, "all") != 0 && strcmp(name, figures[i]) != 0)
				continue;
			found = true;
			if (now[i] - before[i] != expected)
				fail_msg("%s: %lu", figures[i], now[i] - before[i]);
		}
		if (!found)
			fail_msg("no such figure: %s", name);
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

/* DEV ADDR up|down */
static bool parse_neigh(char *text, uint32_t *device, union sixlane_addr *at)
{
	*device = script_number(&text);
	*at = addr(script_word(&text));
	return !strcmp(text, "up");
}

static void set_neigh(struct run *run, char *text)
{
	static const uint8_t mac[6] = { 2, 0, 0, 0, 0, 1 };
	union sixlane_addr at;
	uint32_t device;
	const bool up = parse_neigh(text, &device, &at);

	(void)fib_set_neigh(run->world->fib, device, &at, up ? mac : NULL);
}

static void expect_mac(struct run *run, char *text)
{
	union sixlane_addr at;
	uint32_t device;
	const bool up = parse_neigh(text, &device, &at);

	assert_int_equal(sim_neigh_mac(run->world->sim, device, &at) != 0, up);
}

static void expect_gateway(struct run *run, char *text)
{
	const struct destination dst = parse_destination(script_word(&text));
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
	struct sixlane_port port = { .ifindex = script_number(&text),
				     .lower = script_number(&text) };

	port.flags = port.lower ? SIXLANE_PORT_TAGGED : 0;
	port.tag = tag_of(script_number(&text));
	(void)fib_set_port(run->world->fib, &port);
}

static void expect_tag(struct run *run, char *text)
{
	const uint32_t lower = script_number(&text), vid = script_number(&text);

	assert_int_equal(sim_vlan_ifindex(run->world->sim, lower, tag_of(vid)),
			 script_number(&text));
}

static void set_exception(struct run *run, char *text)
{
	const struct fib_exception value = { FIB_KERNEL, .table = SIXLANE_TABLE_MAIN, .mtu = 1300 };
	const union sixlane_addr to = addr(script_word(&text));

	fib_set_exception_flag(run->world->fib, SIXLANE_TABLE_MAIN, &to);
	assert_int_equal(fib_set_exception(run->world->fib, &to, text ? NULL : &value), 0);
}

static void expect_flag(struct run *run, char *text)
{
	const struct destination dst = parse_destination(script_word(&text));
	struct sim_found found;

	assert_true(find(run, &dst, &found));
	assert_int_equal(found.flags == SIXLANE_ROUTE_EXCEPTIONS, script_number(&text));
}

static void set_route(struct run *run, char *text)
{
	const struct destination dst = parse_destination(script_word(&text));
	const struct fib_target target = script_target(text);

	assert_int_equal(fib_set(run->world->fib, dst.table, &dst.prefix, &target), 0);
}

static void del_route(struct run *run, char *text)
{
	const struct destination dst = parse_destination(text);

	assert_int_equal(fib_set(run->world->fib, dst.table, &dst.prefix, NULL), 0);
}

static void set_object(struct run *run, char *text)
{
	const uint32_t id = script_number(&text);
	struct fib_object object;

	assert_int_equal(fib_set_object(run->world->fib, id, script_object(text, &object)), 0);
}

static void set_port_flags(struct run *run, char *text)
{
	const uint32_t device = script_number(&text);

	set_port(run->world, device, script_number(&text));
}

static void mark(struct run *run, char *text)
{
	read_figures(run->world, run->marked);
}

static void restart_fib(struct run *run, char *text)
{
	restart(run->world, SIXLANE_MAX_ROUTES);
}

static void retry(struct run *run, char *text)
{
	assert_int_equal(fib_retry(run->world->fib), script_number(&text));
}

static void same(struct run *run, char *text)
{
	const uint32_t id = id_of(run, script_word(&text));

	assert_int_equal(id, id_of(run, text));
}

static void differ(struct run *run, char *text)
{
	const uint32_t id = id_of(run, script_word(&text));

	assert_int_not_equal(id, id_of(run, text));
}

static const struct {
	const char *name;
	void (*fn)(struct run *run, char *text);
	void (*plain)(struct fib *fib); /* instead, without arguments */
} steps[] = {
	{ "set", set_route, NULL },
	{ "del", del_route, NULL },
	{ "object", set_object, NULL },
	{ "port", set_port_flags, NULL },
	{ "vlan", set_vlan, NULL },
	{ "neigh", set_neigh, NULL },
	{ "exception", set_exception, NULL },
	{ "flags", NULL, fib_clear_exception_flags },
	{ "sync", NULL, fib_sync_begin },
	{ "end", NULL, fib_sync_end },
	{ "restart", restart_fib, NULL },
	{ "fail", set_knob, NULL },
	{ "limit", set_knob, NULL },
	{ "retry", retry, NULL },
	{ "is", expect, NULL },
	{ "flag", expect_flag, NULL },
	{ "tag", expect_tag, NULL },
	{ "mac", expect_mac, NULL },
	{ "gateway", expect_gateway, NULL },
	{ "same", same, NULL },
	{ "differ", differ, NULL },
	{ "count", count, NULL },
	{ "mark", mark, NULL },
	{ "wrote", wrote, NULL },
};

static void step(struct run *run, char *text)
{
	const char *name = script_word(&text);
	size_t i = 0;

	script_reset();
	while (i < ARRAY_SIZE(steps) && strcmp(name, steps[i].name) != 0)
		i++;
	if (i == ARRAY_SIZE(steps))
		fail_msg("no such step: %s", name);
	else if (steps[i].plain)
		steps[i].plain(run->world->fib);
	else
		steps[i].fn(run, text);
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
