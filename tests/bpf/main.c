// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_bpf [OBJECT [FRAGS_OBJECT]]: the XDP object through BPF_PROG_TEST_RUN, and its xdp.frags
 * flavour, by default the .frags.bpf.o beside the .bpf.o; with array maps also the .trace.bpf.o
 * there. Needs root; touches nothing outside a network namespace of its own. SIXLANE_FUZZ_SEED and
 * SIXLANE_FUZZ_RUNS repeat a run of the fuzzer; SIXLANE_BPF_TESTS names tests, by a pattern with *
 * and ?.
 */
#include <limits.h>
#include <stdlib.h>

#include "../../user/loader/arena.h"
#include "agree_run.h"
#include "rows.h"
#include "tests.h"

#define MAX_TESTS 4096

static struct CMUnitTest tests[MAX_TESTS];
static size_t n_tests;

static void add(const char *name, CMUnitTestFunction function, const struct row *row)
{
	if (n_tests == MAX_TESTS)
		abort();
	tests[n_tests++] = (struct CMUnitTest){
		.name = name,
		.test_func = function,
		.initial_state = (void *)(uintptr_t)row,
	};
}

/* By both engines. What else is to hold of the trie, the tests that both engines agree show. */
static void add_rows(const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char *by_trie;

		if (asprintf(&by_trie, "%s (trie)", rows[i].name) < 0)
			abort();
		add(rows[i].name, table_test_row, &rows[i]);
		add(by_trie, table_test_row_by_trie, &rows[i]);
	}
}

static void add_all(void)
{
#define ADD_ROWS(name) add_rows(rows_##name, rows_##name##_n);
#define ADD_TEST(function, name) add(name, function, NULL);
	ROW_TABLES(ADD_ROWS)
	TESTS(ADD_TEST)
}

static const char *object = "build/sixlane.bpf.o";
static const char *frags_object;

static bool is_arena(void)
{
	return strstr(object, ".arena.");
}

/* agree.bpf.o lies beside the object, or agree.arena.bpf.o if it is of that flavour. */
static void find_agree_object(void)
{
	static char beside[PATH_MAX];
	const char *slash = strrchr(object, '/');

	snprintf(beside, sizeof(beside), "%.*sagree%s.bpf.o", slash ? (int)(slash - object) + 1 : 0,
		 object, strstr(slash ?: object, ".arena.") ? ".arena" : "");
	agree_set_path(beside);
}

/* The object of another flavour beside this one. */
static const char *find_flavour(const char *flavour, char path[PATH_MAX])
{
	static const char ending[] = ".bpf.o";
	size_t stem = strlen(object);

	if (stem > strlen(ending) && !strcmp(object + stem - strlen(ending), ending))
		stem -= strlen(ending);
	snprintf(path, PATH_MAX, "%.*s.%s%s", (int)stem, object, flavour, ending);
	return path;
}

static int open_harness(void **state)
{
	static char frags[PATH_MAX], trace[PATH_MAX];

	find_agree_object();
	return harness_open(object, frags_object ?: find_flavour("frags", frags),
			    is_arena() ? NULL : find_flavour("trace", trace));
}

static int close_harness(void **state)
{
	harness_close();
	return 0;
}

static void skip_arena(void **state)
{
	print_message("this kernel has no arenas for %s\n", object);
	skip();
}

int main(int argc, char **argv)
{
	static const struct CMUnitTest none[] = { cmocka_unit_test(skip_arena) };

	if (argc > 1)
		object = argv[1];
	if (argc > 2)
		frags_object = argv[2];
	if (is_arena() && loader_arena_usable() <= 0)
		return cmocka_run_group_tests(none, NULL, NULL);
	add_all();
	cmocka_set_test_filter(getenv("SIXLANE_BPF_TESTS"));
	return _cmocka_run_group_tests("bpf", tests, n_tests, open_harness, close_harness);
}
