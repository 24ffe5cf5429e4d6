// SPDX-License-Identifier: GPL-2.0-only
/* bench-lookup: the steps of its plan. */
#include "lookup.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#ifdef __x86_64__
#include <cpuid.h>
#endif

#define MOST_SIDES 256u
#define PERIOD_NS 1000000u /* between two bursts of changes */

static const struct lookup_engine engines[] = {
	{ "compiled", compiled_open, compiled_put, compiled_deepest },
	{ "trie", trie_open, trie_put, trie_deepest },
	{ "kernel6", kernel_open, kernel_put, kernel6_deepest },
	{ "kernel4", kernel_open, kernel_put, NULL },
	{ "peer", peer_open, NULL, NULL },
};

static struct lookup_side sides[MOST_SIDES];
static size_t n_sides;

/* --- tables --------------------------------------------------------------------------------- */

static void index_table(struct lookup_side *side)
{
	for (size_t i = 0; i < side->n; i++) {
		struct prefix prefix = lookup_prefix(side, i);
		struct lookup_entry *entry = radix_add(&side->radix, &prefix, sizeof(*entry));

		plan_check(entry ? 0 : ENOMEM, "%zu routes", side->n);
		entry->value = (uint32_t)i + 1;
	}
}

/* --- sides ---------------------------------------------------------------------------------- */

static void fill(struct lookup_side *side)
{
	for (size_t i = 0; i < ARRAY_SIZE(engines) && !side->engine; i++)
		if (!strcmp(engines[i].name, side->object ? "peer" : side->name))
			side->engine = &engines[i];
	if (!side->engine)
		plan_die("there is no engine %s", side->name);
	side->engine->open(side);
}

/* bpf_fib_lookup() uses the tables of the namespace in which a test run begins. */
static void enter(const struct lookup_side *side)
{
	plan_check(side->netns >= 0 && setns(side->netns, CLONE_NEWNET) ? errno : 0,
		   "network namespace");
}

/*
 * {"engine": NAME, "prefixes": FILE, "addresses": FILE, and of a peer "object": PATH, of the
 * kernel's tables "netns": PATH, "ifindex": N of the device there that routes end in, "ipv4":
 * BOOLEAN} -> {"side": NUMBER, "insert_ns": N, "bytes": N, "depth": N, "changes": BOOLEAN}
 * addresses: a list of WALK_ADDRESSES for each thread. bytes, depth: 0: not known.
 */
static json_t *step_open(json_t *arguments)
{
	struct lookup_side *side = &sides[n_sides];
	const char *prefixes, *addresses, *netns = NULL;
	int is_ipv4 = 0, ifindex = 0;
	size_t lists;

	if (n_sides == MOST_SIDES)
		plan_die("more than %u sides", MOST_SIDES);
	plan_take(arguments, "{s:s, s:s, s:s, s?s, s?s, s?i, s?b}", "engine", &side->name,
		  "prefixes", &prefixes, "addresses", &addresses, "object", &side->object, "netns",
		  &netns, "ifindex", &ifindex, "ipv4", &is_ipv4);
	side->netns = netns ? open(netns, O_RDONLY | O_CLOEXEC) : -1;
	plan_check(netns && side->netns < 0 ? errno : 0, "%s", netns);
	side->bpf.packet.ifindex = (uint32_t)ifindex;
	side->is_ipv4 = is_ipv4;
	side->prefixes = plan_map(prefixes, sizeof(*side->prefixes), &side->n);
	side->lists = plan_map(addresses, sizeof(*side->lists), &lists);
	side->threads = (unsigned int)lists;
	index_table(side);
	json_incref(arguments); /* owns the side's names */
	enter(side);
	fill(side);
	return json_pack("{s:I, s:I, s:I, s:i, s:b}", "side", (json_int_t)n_sides++, "insert_ns",
			 (json_int_t)side->insert_ns, "bytes", (json_int_t)side->bytes, "depth",
			 side->engine->depth ? side->engine->depth(side) : 0, "changes",
			 side->engine->change != NULL);
}

static struct lookup_side *side_of(json_t *arguments)
{
	json_int_t number;

	plan_take(arguments, "{s:I}", "side", &number);
	if ((uint64_t)number >= n_sides)
		plan_die("there is no side %lld", (long long)number);
	enter(&sides[number]);
	return &sides[number];
}

/* {"side": NUMBER, "to": FILE} -> {}: the file has WALK_ADDRESSES values in host byte order. */
static json_t *step_answers(json_t *arguments)
{
	struct lookup_side *side = side_of(arguments);
	_cleanup_free_ uint32_t *values = plan_alloc(WALK_ADDRESSES, sizeof(*values));
	const char *to;
	FILE *file;

	plan_take(arguments, "{s:s}", "to", &to);
	side->object ? peer_answers(side, values) : bpf_answers(side, values);
	file = fopen(to, "we");
	if (!file || fwrite(values, sizeof(*values), WALK_ADDRESSES, file) != WALK_ADDRESSES ||
	    fclose(file))
		plan_check(errno, "%s", to);
	return json_object();
}

/* --- changes -------------------------------------------------------------------------------- */

/* Changes at a steady rate by a thread on the last CPU. */
struct writer {
	pthread_t thread;
	struct lookup_side *side;
	uint32_t rate; /* changes a second */
	uint64_t done, start_ns;
	unsigned int seed;
	bool *gone; /* routes of the table */
	bool stop;
};

static void write_once(struct writer *writer, size_t i)
{
	writer->gone[i] = !writer->gone[i];
	writer->done++;
	writer->side->engine->change(writer->side, i, !writer->gone[i]);
}

static void *write_on(void *ctx)
{
	struct writer *writer = ctx;
	const struct timespec pause = { .tv_nsec = PERIOD_NS };

	plan_pin(plan_n_cpus() - 1);
	while (!__atomic_load_n(&writer->stop, __ATOMIC_RELAXED)) {
		uint64_t due = (util_now_ns() - writer->start_ns) * writer->rate / 1000000000u;

		while (writer->done < due)
			write_once(writer, (size_t)rand_r(&writer->seed) % writer->side->n);
		nanosleep(&pause, NULL);
	}
	return NULL;
}

static void begin_writer(struct writer *writer)
{
	writer->start_ns = util_now_ns();
	writer->gone = plan_alloc(writer->side->n, sizeof(bool));
	plan_check(pthread_create(&writer->thread, NULL, write_on, writer), "changes of routes");
}

/* Restores all routes. Returns the number of changes a second. */
static double end_writer(struct writer *writer)
{
	double rate;

	__atomic_store_n(&writer->stop, true, __ATOMIC_RELAXED);
	pthread_join(writer->thread, NULL);
	rate = (double)writer->done * 1e9 / (double)(util_now_ns() - writer->start_ns);
	for (size_t i = 0; i < writer->side->n; i++)
		if (writer->gone[i])
			write_once(writer, i);
	free(writer->gone);
	return rate;
}

/* {"side": NUMBER, "count": N, "seed": N} -> {"ns": [N, …]}: the time of each change, which removes
 * a random route or restores it. */
static json_t *step_changes(json_t *arguments)
{
	struct lookup_side *side = side_of(arguments);
	json_t *list = json_array();
	unsigned int seed;
	uint64_t start_ns;
	size_t route = 0;
	int count;

	plan_take(arguments, "{s:i, s:i}", "count", &count, "seed", &seed);
	for (int i = 0; i < count; i++) {
		if (i % 2 == 0)
			route = (size_t)rand_r(&seed) % side->n;
		start_ns = util_now_ns();
		side->engine->change(side, route, i % 2);
		json_array_append_new(list, json_integer((json_int_t)(util_now_ns() - start_ns)));
	}
	return json_pack("{s:o}", "ns", list);
}

/* --- measuring ------------------------------------------------------------------------------ */

/*
 * {"side": NUMBER, "dependent": BOOLEAN, "threads": N, "lookups": N of each thread, "writer_rate":
 * changes a second meanwhile, "seed": N} -> {"gross_ns", "dry_ns": of a lookup of one thread, the
 * mean of all; "changes_per_s"}
 */
static json_t *step_measure(json_t *arguments)
{
	struct lookup_side *side = side_of(arguments);
	struct writer writer = { .side = side };
	int dependent, threads, rate = 0;
	json_int_t lookups;
	double changes = 0;
	json_t *answer;

	plan_take(arguments, "{s:b, s:i, s:I, s?i, s?i}", "dependent", &dependent, "threads",
		  &threads, "lookups", &lookups, "writer_rate", &rate, "seed", &writer.seed);
	writer.rate = (uint32_t)rate;
	if (rate)
		begin_writer(&writer);
	answer = side->object
			 ? peer_measure(side, dependent, (uint64_t)lookups)
			 : bpf_measure(side, dependent, (unsigned int)threads, (uint64_t)lookups);
	if (rate)
		changes = end_writer(&writer);
	json_object_set_new(answer, "changes_per_s", json_real(changes));
	return answer;
}

/* --- the machine ---------------------------------------------------------------------------- */

/*
 * {} -> {"name": TEXT}: the signature of the hypervisor, or of QEMU's emulation (CPUID leaf
 * 0x40000000, where leaf 1 says that there is one); "" where the CPU does not say.
 */
static json_t *step_hypervisor(json_t *arguments)
{
	char name[13] = "";
#ifdef __x86_64__
	unsigned int regs[4];

	if (__get_cpuid(1, &regs[0], &regs[1], &regs[2], &regs[3]) && regs[2] & 1u << 31) {
		__cpuid(0x40000000, regs[0], regs[1], regs[2], regs[3]);
		memcpy(name, &regs[1], 12);
	}
#endif
	(void)arguments;
	/* json_string() refuses what is not UTF-8. */
	return json_pack("{s:o}", "name", json_string(name) ?: json_string(""));
}

int main(void)
{
	static const struct plan_step steps[] = {
		{ "hypervisor", step_hypervisor }, { "open", step_open },
		{ "answers", step_answers },	   { "changes", step_changes },
		{ "measure", step_measure },	   { NULL, NULL },
	};

	plan_pin(0);
	return plan_serve(steps);
}
