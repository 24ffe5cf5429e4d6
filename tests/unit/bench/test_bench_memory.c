// SPDX-License-Identifier: GPL-2.0-only
/* What cgroups leave, by files as the kernel has them, in a directory of the test's own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <limits.h>
#include <sys/stat.h>

#include "../../../user/bench/memory.h"
#include "../unit.h"

static char root[] = "/tmp/sixlane-memory-XXXXXX";

/* With the directories that it is in. */
static void write_file(const char *name, const char *text)
{
	char path[PATH_MAX];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	for (char *slash = strchr(path + strlen(root) + 1, '/'); slash;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(path, 0700);
		*slash = '/';
	}
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static uint64_t left(const char *list)
{
	char path[PATH_MAX];

	write_file("list", list);
	snprintf(path, sizeof(path), "%s/list", root);
	return bench_memory_left_of_cgroups(path, root);
}

static int set_up(void **state)
{
	if (!mkdtemp(root))
		return -1;
	write_file("up/memory.max", "5000\n");
	write_file("up/memory.current", "1000\n");
	write_file("up/low/memory.max", "max\n");
	write_file("up/low/memory.current", "900\n");
	write_file("up/full/memory.max", "1000\n");
	write_file("up/full/memory.current", "1001\n");
	write_file("files/memory.max", "10000\n");
	write_file("files/memory.current", "9000\n");
	write_file("files/memory.stat", "anon 9\nfile 7000\ninactive_file 2000\nactive_file 30\n");
	write_file("memory/memory.limit_in_bytes", "9223372036854771712\n");
	write_file("memory/memory.usage_in_bytes", "1\n");
	write_file("memory/up/memory.limit_in_bytes", "3000\n");
	write_file("memory/up/memory.usage_in_bytes", "2500\n");
	write_file("memory/up/memory.stat", "active_file 50\ntotal_active_file 100\n");
	return 0;
}

static int tear_down(void **state)
{
	char command[PATH_MAX];

	snprintf(command, sizeof(command), "rm -rf %s", root);
	return system(command);
}

static void test_limits(void **state)
{
	static const struct {
		const char *list;
		uint64_t left;
	} rows[] = {
		{ "0::/up\n", 4000 },
		/* its own has no limit, that above it has */
		{ "0::/up/low\n", 4000 },
		{ "0::/up/full\n", 0 },
		{ "0::/files\n", 3030 },
		{ "4:memory:/up\n", 600 },
		{ "4:memory:/up/gone\n", 600 },
		{ "9:pids:/up\n4:memory:/up\n0::/files\n", 600 },
		{ "9:pids:/up\n", UINT64_MAX },
		{ "0::/\n", UINT64_MAX },
		{ "4:memory:/\n", 9223372036854771711 },
		{ "", UINT64_MAX },
		{ "nonsense\n", UINT64_MAX },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(left(rows[i].list), rows[i].left);
	assert_int_equal(bench_memory_left_of_cgroups("/nonexistent", root), UINT64_MAX);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_limits) };

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
