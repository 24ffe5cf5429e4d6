// SPDX-License-Identifier: GPL-2.0-only
/* bench-lookup: the steps of its plan. */
#include "lookup.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#ifdef __x86_64__
#include <cpuid.h>
#endif

#define MOST_SIDES 256u
#define PERIOD_NS 1000000u /* between two bursts of changes */

static const struct lookup_engine *const engines[] = {
	&lookup_compiled, &lookup_compiled_chunks, &lookup_load,
	&lookup_trie,	  &lookup_kernel6,	   &lookup_kernel4,
};

struct program {
	struct lookup_side sides[MOST_SIDES];
	size_t n;
};

/* --- tables --------------------------------------------------------------------------------- */

struct prefix lookup_prefix(const struct bench_prefix *from)
{
	struct prefix prefix = { .len = (uint8_t)from->len };

	memcpy(&prefix.addr, from->addr, sizeof(prefix.addr));
	return prefix;
}

static int index_table(struct lookup_table *table)
{
	for (size_t i = 0; i < table->n; i++) {
		struct prefix prefix = lookup_prefix(&table->prefixes[i]);
		struct lookup_entry *entry = radix_add(&table->radix, &prefix, sizeof(*entry));

		if (!entry)
			return plan_fail(-ENOMEM, "%zu routes", table->n);
		entry->value = (uint32_t)i + 1;
	}
	return 0;
}

uint32_t lookup_trie_depth(const struct lookup_table *table)
{
	static const struct prefix all = { .len = 0 };
	uint32_t deepest = 0;

	for (const struct radix_node *leaf = radix_first_under(&table->radix, &all); leaf;
	     leaf = radix_next_under(leaf, &all)) {
		uint32_t depth = 0;

		for (const struct radix_node *node = leaf; node; node = node->parent)
			depth++;
		deepest = depth > deepest ? depth : deepest;
	}
	return deepest;
}

/* --- sides ---------------------------------------------------------------------------------- */

static int fill(struct lookup_side *side, const char *name, const char *object)
{
	if (object)
		return lookup_peer_open(side, object, name);
	for (size_t i = 0; i < ARRAY_SIZE(engines); i++)
		if (!strcmp(engines[i]->name, name)) {
			side->engine = engines[i];
			return side->engine->open(side);
		}
	return plan_bad(-EINVAL, "there is no engine %s", name);
}

/*
 * {"engine": NAME, "prefixes": FILE, "addresses": FILE, and of a peer "object": PATH, of the
 * kernel's tables "netns": PATH, "ifindex": N, "ipv4": BOOLEAN} ->
 * {"side": NUMBER, "insert_ns": N, "bytes": N, "depth": N, "changes": BOOLEAN}
 * addresses: a list of WALK_ADDRESSES for each thread. bytes, depth: 0: not known.
 */
static int step_open(void *ctx, json_t *arguments, json_t *answer)
{
	struct program *program = ctx;
	struct lookup_side *side = &program->sides[program->n];
	const char *name, *prefixes, *addresses, *object = NULL;
	int is_ipv4 = 0, ifindex = 0, ret;
	uint32_t depth = 0;
	size_t n;

	ret = plan_take(arguments, "{s:s, s:s, s:s, s?s, s?s, s?i, s?b}", "engine", &name,
			"prefixes", &prefixes, "addresses", &addresses, "object", &object, "netns",
			&side->netns, "ifindex", &ifindex, "ipv4", &is_ipv4);
	side->ifindex = (uint32_t)ifindex;
	if (ret)
		return ret;
	if (program->n == MOST_SIDES)
		return plan_bad(-E2BIG, "more than %u sides", MOST_SIDES);
	side->table.is_ipv4 = is_ipv4;
	side->table.prefixes = plan_map(prefixes, sizeof(*side->table.prefixes), &side->table.n);
	side->lists = plan_map(addresses, sizeof(*side->lists), &n);
	side->threads = (unsigned int)n;
	if (!side->table.prefixes || !side->lists)
		return -EINVAL;
	ret = index_table(&side->table) ?: fill(side, name, object);
	if (!ret && side->engine->depth)
		ret = side->engine->depth(side, &depth);
	if (ret)
		return ret;
	json_object_set_new(answer, "side", json_integer((json_int_t)program->n++));
	json_object_set_new(answer, "insert_ns", json_integer((json_int_t)side->insert_ns));
	json_object_set_new(answer, "bytes", json_integer((json_int_t)side->bytes));
	json_object_set_new(answer, "depth", json_integer(depth));
	json_object_set_new(answer, "changes", json_boolean(side->engine->change));
	return 0;
}

static struct lookup_side *side_of(struct program *program, json_int_t number)
{
	if (number >= 0 && (size_t)number < program->n)
		return &program->sides[number];
	plan_bad(-EINVAL, "there is no side %lld", (long long)number);
	return NULL;
}

static int write_answers(struct lookup_side *side, const char *to)
{
	_cleanup_free_ uint32_t *values = calloc(WALK_ADDRESSES, sizeof(*values));
	size_t bytes = WALK_ADDRESSES * sizeof(*values);
	_cleanup_close_ int fd = -1;
	int ret = values ? side->engine->answers(side, values) : plan_fail(-ENOMEM, "answers");

	if (ret)
		return ret;
	fd = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	return fd < 0 || write(fd, values, bytes) != (ssize_t)bytes ? plan_fail(-errno, "%s", to)
								    : 0;
}

/* {"side": NUMBER, "to": FILE} -> {}: the file has WALK_ADDRESSES values in host byte order. */
static int step_answers(void *ctx, json_t *arguments, json_t *answer)
{
	struct lookup_side *side;
	json_int_t number;
	const char *to;
	int ret = plan_take(arguments, "{s:I, s:s}", "side", &number, "to", &to);

	(void)answer;
	side = ret ? NULL : side_of(ctx, number);
	return side ? write_answers(side, to) : -EINVAL;
}

/* --- changes -------------------------------------------------------------------------------- */

/* Changes at a steady rate by a thread on the last CPU. */
struct writer {
	pthread_t thread;
	struct lookup_side *side;
	uint32_t rate; /* changes a second */
	uint64_t done, start_ns, seed;
	bool *gone; /* routes of the table */
	bool stop;
	int error;
};

/* SplitMix64. */
static uint64_t next_random(uint64_t *seed)
{
	uint64_t z = *seed += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static int write_once(struct writer *writer, size_t i)
{
	writer->gone[i] = !writer->gone[i];
	writer->done++;
	return writer->side->engine->change(writer->side, i, !writer->gone[i]);
}

static void *write_on(void *ctx)
{
	struct writer *writer = ctx;
	const struct timespec pause = { .tv_nsec = PERIOD_NS };
	size_t n = writer->side->table.n;

	writer->error = plan_pin(plan_n_cpus() - 1);
	while (!writer->error && !__atomic_load_n(&writer->stop, __ATOMIC_RELAXED)) {
		uint64_t due = (util_now_ns() - writer->start_ns) * writer->rate / 1000000000u;

		while (writer->done < due && !writer->error)
			writer->error = write_once(writer, next_random(&writer->seed) % n);
		nanosleep(&pause, NULL);
	}
	return NULL;
}

static int begin_writer(struct writer *writer)
{
	int ret = -ENOMEM;

	writer->start_ns = util_now_ns();
	writer->gone = calloc(writer->side->table.n, sizeof(bool));
	if (writer->gone)
		ret = -pthread_create(&writer->thread, NULL, write_on, writer);
	return ret ? plan_fail(ret, "changes of routes") : 0;
}

/* All routes are back afterwards. rate: of changes there were. */
static int end_writer(struct writer *writer, double *rate)
{
	int ret;

	__atomic_store_n(&writer->stop, true, __ATOMIC_RELAXED);
	pthread_join(writer->thread, NULL);
	*rate = (double)writer->done * 1e9 / (double)(util_now_ns() - writer->start_ns);
	ret = writer->error;
	for (size_t i = 0; i < writer->side->table.n && !ret; i++)
		if (writer->gone[i])
			ret = write_once(writer, i);
	free(writer->gone);
	return ret;
}

/* {"side": NUMBER, "count": N, "seed": N} -> {"ns": [N, …]}: each takes a route away, or puts it
 * back. */
static int step_changes(void *ctx, json_t *arguments, json_t *answer)
{
	json_t *list = json_array();
	struct lookup_side *side;
	json_int_t number, count, start;
	int ret = plan_take(arguments, "{s:I, s:I, s:I}", "side", &number, "count", &count, "seed",
			    &start);
	uint64_t seed = (uint64_t)start;
	size_t route = 0;

	json_object_set_new(answer, "ns", list);
	side = ret ? NULL : side_of(ctx, number);
	if (!side || !side->engine->change)
		return side ? plan_bad(-EINVAL, "its routes cannot be changed") : -EINVAL;
	for (json_int_t i = 0; i < count && !ret; i++) {
		uint64_t start_ns;

		if (i % 2 == 0)
			route = next_random(&seed) % side->table.n;
		start_ns = util_now_ns();
		ret = side->engine->change(side, route, i % 2);
		json_array_append_new(list, json_integer((json_int_t)(util_now_ns() - start_ns)));
	}
	return ret;
}

/* --- measuring ------------------------------------------------------------------------------ */

/*
 * {"side": NUMBER, "dependent": BOOLEAN, "threads": N, "lookups": N of each thread, "writer_rate":
 * changes a second meanwhile, "seed": N} -> {"gross_ns": …, "dry_ns": …, "elapsed_ns": …,
 * "changes_per_s": …}
 */
static int step_measure(void *ctx, json_t *arguments, json_t *answer)
{
	struct lookup_times times = { 0 };
	struct writer writer = { 0 };
	json_int_t number, lookups, seed = 0;
	int dependent, threads, rate = 0, ret, ended = 0;
	double changes = 0;

	ret = plan_take(arguments, "{s:I, s:b, s:i, s:I, s?i, s?I}", "side", &number, "dependent",
			&dependent, "threads", &threads, "lookups", &lookups, "writer_rate", &rate,
			"seed", &seed);
	writer.seed = (uint64_t)seed;
	writer.side = ret ? NULL : side_of(ctx, number);
	if (!writer.side || threads < 1 || (unsigned int)threads > writer.side->threads)
		return writer.side ? plan_bad(-EINVAL, "no list for each of %d threads", threads)
				   : -EINVAL;
	writer.rate = (uint32_t)rate;
	if (rate)
		ret = begin_writer(&writer);
	if (ret)
		return ret;
	ret = writer.side->engine->measure(writer.side, dependent, (unsigned int)threads,
					   (uint64_t)lookups, &times);
	if (rate)
		ended = end_writer(&writer, &changes);
	json_object_set_new(answer, "gross_ns", json_real(times.gross_ns));
	json_object_set_new(answer, "dry_ns", json_real(times.dry_ns));
	json_object_set_new(answer, "elapsed_ns", json_real(times.elapsed_ns));
	json_object_set_new(answer, "changes_per_s", json_real(changes));
	return ret ?: ended;
}

/* --- the machine ---------------------------------------------------------------------------- */

/*
 * {} -> {"name": TEXT}: the signature of the hypervisor, or of QEMU's emulation (CPUID leaf
 * 0x40000000, where leaf 1 says that there is one); "" where the CPU does not say.
 */
static int step_hypervisor(void *ctx, json_t *arguments, json_t *answer)
{
	char name[13] = "";
#ifdef __x86_64__
	unsigned int regs[4];

	if (__get_cpuid(1, &regs[0], &regs[1], &regs[2], &regs[3]) && regs[2] & 1u << 31) {
		__cpuid(0x40000000, regs[0], regs[1], regs[2], regs[3]);
		memcpy(name, &regs[1], 12);
	}
#endif
	(void)ctx;
	(void)arguments;
	/* Not every name is text. */
	json_object_set_new(answer, "name", json_string(name) ?: json_string(""));
	return 0;
}

int main(void)
{
	static const struct plan_step steps[] = {
		{ "hypervisor", step_hypervisor }, { "open", step_open },
		{ "answers", step_answers },	   { "changes", step_changes },
		{ "measure", step_measure },	   { NULL, NULL },
	};
	static struct program program;

	plan_pin(0);
	return plan_serve(steps, &program);
}
