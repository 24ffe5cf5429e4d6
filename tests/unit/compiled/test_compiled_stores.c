// SPDX-License-Identifier: GPL-2.0-only
/*
 * Changes of the compiled FIB store by store: between any two stores, readers find for each address
 * the answer from before the change or the one from after it, and never the old one after the new.
 * Addresses: the edges of the changed prefix, of its covers and of what it covers, and others.
 */

#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "compiled_world.h"

#define N_HISTORIES 10
#define N_CHANGES 330
#define MAX_PROBES 96u

/* --- one store at a time ---------------------------------------------------------------------- */

/*
 * A store to read-only memory faults. The handler makes its page writable and sets the trap flag,
 * so the CPU traps after this one instruction; then the page is read-only again. An instruction
 * that writes to two pages faults once for each.
 */
#define PAGE_BYTES 4096u
#define TRAP_FLAG 0x100

static struct {
	uint8_t *region;
	size_t bytes;
	void (*written)(void *ctx);
	void *ctx;
	unsigned long stores;
	void *open[2]; /* pages that are writable */
	size_t n_open;
	struct sigaction segv, trap; /* as they were before */
} step;

static void let_through(int signal, siginfo_t *info, void *context)
{
	uintptr_t at = (uintptr_t)info->si_addr;
	ucontext_t *user = context;

	if (at - (uintptr_t)step.region >= step.bytes || step.n_open == 2) {
		/* Not ours: once more, with the handler that was there before. */
		sigaction(SIGSEGV, &step.segv, NULL);
		return;
	}
	step.open[step.n_open] = (void *)(at & ~(uintptr_t)(PAGE_BYTES - 1));
	mprotect(step.open[step.n_open++], PAGE_BYTES, PROT_READ | PROT_WRITE);
	user->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
}

static void after_store(int signal, siginfo_t *info, void *context)
{
	ucontext_t *user = context;

	user->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
	while (step.n_open)
		mprotect(step.open[--step.n_open], PAGE_BYTES, PROT_READ);
	step.stores++;
	step.written(step.ctx);
}

/*
 * The region, of whole pages, is read-only from now on. written() is called within a signal
 * handler, so it must neither fail an assertion nor write to the region.
 */
static void step_begin(void *region, size_t bytes, void (*written)(void *ctx), void *ctx)
{
	struct sigaction action = { .sa_sigaction = let_through, .sa_flags = SA_SIGINFO };

	step.region = region;
	step.bytes = bytes;
	step.written = written;
	step.ctx = ctx;
	step.stores = 0;
	sigaction(SIGSEGV, &action, &step.segv);
	action.sa_sigaction = after_store;
	sigaction(SIGTRAP, &action, &step.trap);
	mprotect(region, bytes, PROT_READ);
}

/* Returns how many stores there were. */
static unsigned long step_end(void)
{
	mprotect(step.region, step.bytes, PROT_READ | PROT_WRITE);
	sigaction(SIGSEGV, &step.segv, NULL);
	sigaction(SIGTRAP, &step.trap, NULL);
	return step.stores;
}

/* --- probes ----------------------------------------------------------------------------------- */

struct probe {
	const struct cworld_table *table;
	compiled_bits addr;
	uint32_t before, after, last;
};

static struct cworld world;
static struct cworld_change change;
static struct probe probes[MAX_PROBES];
static uint32_t n_probes;
static bool may_be_absent, tight;
static unsigned long looks, all_stores, replans, came, went, publications, graces;

/* The first wrong answer; reported outside the signal handler. */
static struct {
	const struct probe *probe;
	uint32_t value;
	int err;
} wrong;

static void look(void *ctx)
{
	looks++;
	for (uint32_t i = 0; i < n_probes && !wrong.probe; i++) {
		struct probe *probe = &probes[i];
		uint32_t value = 0;
		int err = cworld_find(&world, probe->table, probe->addr, &value);

		if (err == -ENODATA && may_be_absent && !world.view.fib.word)
			continue;
		if (err || (value != probe->last && value != probe->after)) {
			wrong.probe = probe;
			wrong.value = value;
			wrong.err = err;
		}
		probe->last = value;
	}
}

static void look_after_publication(struct cworld *at)
{
	publications++;
	look(NULL);
}

static void add_probe(const struct cworld_table *table, compiled_bits addr)
{
	if (n_probes < MAX_PROBES)
		probes[n_probes++] = (struct probe){ .table = table, .addr = addr };
}

static void add_edges(const struct cworld_table *table, const struct cworld_prefix *prefix)
{
	add_probe(table, prefix->addr);
	add_probe(table, cworld_last(prefix));
	add_probe(table, prefix->addr - 1);
	add_probe(table, cworld_last(prefix) + 1);
}

/* The search starts at a random route, so that all are used at some time. */
static void add_related(const struct cworld_table *table, const struct cworld_prefix *prefix)
{
	uint32_t first = table->n ? cworld_random(&world, table->n) : 0, n = 0;

	for (uint32_t i = 0; i < table->n && n < 12; i++) {
		const struct cworld_prefix *other = &table->routes[(first + i) % table->n].prefix;

		if (cworld_covers(other, prefix->addr) || cworld_covers(prefix, other->addr)) {
			add_edges(table, other);
			n++;
		}
	}
}

static void choose_probes(void)
{
	n_probes = 0;
	add_edges(change.table, &change.prefix);
	for (int i = 0; i < 4; i++)
		add_probe(change.table, change.prefix.addr | (cworld_random_addr(&world) &
							      ~cworld_mask(change.prefix.len)));
	for (uint32_t i = 0; i < world.n_tables; i++) {
		for (int j = 0; j < 3; j++)
			add_probe(&world.tables[i], cworld_random_target(&world, &world.tables[i]));
	}
	add_related(change.table, &change.prefix);
}

/* --- changes ---------------------------------------------------------------------------------- */

static void assert_none_wrong(const char *what)
{
	const struct probe *probe = wrong.probe;

	if (!probe)
		return;
	fail_msg("SEED=%llu change %u (%s), table %u %016llx%016llx: error %d, "
		 "value %08x, before %08x, after %08x",
		 (unsigned long long)world.seed, cworld_operation, what, probe->table->id,
		 (unsigned long long)(probe->addr >> 64), (unsigned long long)probe->addr,
		 wrong.err, wrong.value, probe->before, probe->after);
}

static void watch(void)
{
	step_begin(world.chunks, (size_t)SIXLANE_FIB_CHUNKS * SIXLANE_FIB_CHUNK_BYTES, look, NULL);
	world.published = look_after_publication;
}

static void watch_no_more(void)
{
	world.published = NULL;
	all_stores += step_end();
}

static void note_probes(bool after)
{
	for (uint32_t i = 0; i < n_probes; i++) {
		uint32_t value = cworld_naive(probes[i].table, probes[i].addr);

		*(after ? &probes[i].after : &probes[i].before) = value;
		if (!after)
			probes[i].last = value;
	}
}

/* Meanwhile it is absent, or right. */
static void build_anew(void)
{
	int err;

	choose_probes();
	note_probes(false);
	note_probes(true);
	may_be_absent = true;
	world.chunks_max = SIXLANE_FIB_CHUNKS;
	watch();
	err = cworld_build(&world);
	watch_no_more();
	assert_int_equal(err, 0);
	assert_none_wrong("build");
	/* With little memory, changes may fail, or wait for readers. */
	may_be_absent = tight;
	if (tight)
		cworld_make_tight(&world, 100 + cworld_random(&world, 600));
}

static void do_change(uint32_t want)
{
	uint32_t live;
	int err;

	change = cworld_random_change(&world, want);
	live = change.table->n_live;
	choose_probes();
	note_probes(false);
	cworld_put(&world, change.table, &change.prefix, change.after);
	note_probes(true);
	/* Addresses outside keep their answer, else the test is wrong. */
	for (uint32_t i = 0; i < n_probes; i++)
		assert_true(probes[i].before == probes[i].after ||
			    cworld_covers(&change.prefix, probes[i].addr));
	came += !live && change.table->n_live;
	went += live && !change.table->n_live;
	watch();
	err = cworld_apply(&world, change.table, &change.prefix, change.before && change.after);
	watch_no_more();
	assert_none_wrong("in between");
	if (err) {
		assert_true(tight && err == -ENOSPC);
		assert_int_equal(world.view.fib.word, 0);
		build_anew();
	}
	for (uint32_t i = 0; i < n_probes; i++)
		cworld_check(&world, probes[i].table, probes[i].addr);
}

static void play(uint64_t seed)
{
	uint64_t kind = seed % (CWORLD_SHAPES + 2);
	struct compiled_stats stats;
	uint32_t want, n;

	cworld_open(&world, seed);
	tight = seed / (CWORLD_SHAPES + 2) % 2;
	/* Enough for a new shape. */
	n = kind == CWORLD_ANY && !tight ? 4 * N_CHANGES : N_CHANGES;
	want = cworld_add_tables(&world, kind, 40 + 110 * cworld_random(&world, 3), 6);
	change = (struct cworld_change){ .table = &world.tables[0] };
	for (uint32_t i = 0; i < world.n_tables; i++)
		cworld_fill(&world, &world.tables[i], cworld_random(&world, want + 1));
	build_anew();
	for (cworld_operation = 0; cworld_operation < n; cworld_operation++)
		do_change(want);
	build_anew();
	cworld_check_all(&world);
	cworld_audit(&world);
	compiled_get_stats(world.compiled, &stats);
	graces += world.graces;
	replans += stats.replans;
	cworld_close(&world);
}

static void test_histories(void **state)
{
	uint64_t n;

	n = cworld_play(N_HISTORIES, play);
	print_message(
		"%lu stores, %lu looks; %lu publications, %lu replans, %lu grace periods, tables: %lu came, "
		"%lu went\n",
		all_stores, looks, publications, replans, graces, came, went);
	/* Each kind of event happened; a new shape takes a history that is not tight. */
	if (n >= CWORLD_SHAPES + 2)
		assert_true(all_stores && publications && came && went);
	if (n >= 2 * (CWORLD_SHAPES + 2))
		assert_true(replans);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = { cmocka_unit_test_teardown(test_histories,
								      cworld_print_seed) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
