// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every setting is read. Every error names the file, the line, what is wrong and what would be
 * right, and changes nothing.
 */
#include "../unit.h"

#include <errno.h>
#include <string.h>

#include "../../../user/daemon/config.h"
#include "../../../user/guard/guard.h"

static void write_file(char path[64], const char *text)
{
	FILE *stream;
	int fd;

	strcpy(path, "/tmp/sixlane-test-config-XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	stream = fdopen(fd, "w");
	assert_non_null(stream);
	fputs(text, stream);
	fclose(stream);
}

static int load(const char *text, struct config *config, char *err, char path[64])
{
	int ret;

	write_file(path, text);
	ret = config_load(path, config, err);
	unlink(path);
	return ret;
}

#define TEN "0123456789"
#define LONGEST TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN "1234567"

static void test_every_setting(void **state)
{
	static const struct config all = {
		.ports = { { "eth0", "eth1" }, 2 },
		.pass_ports = { { LONGEST }, 1 },
		.assume_xmit = { { "q" }, 1 },
		.mode = LOADER_GENERIC,
		.log_level = LOG_DEBUG,
		.object = "/x/y.o",
		.max_routes = 1000,
		.rcvbuf_bytes = 8192,
		.poll_ms = 20,
		.fib = SIXLANE_ENGINE_TRIE,
		.exceptions = CONFIG_EXCEPTIONS_OBSERVE,
		.max_exceptions = 131072,
		.answer_too_big = true,
		.bypass = 1u << GUARD_NETFILTER | 1u << GUARD_TC,
		.pass_all = true,
		.teardown = true,
	};
	struct config config;
	char err[CONFIG_ERR], path[64];

	memset(&config, 0, sizeof(config));
	config.audit_permille = config.answer_rate = 1; /* 0 is a value, too */
	assert_int_equal(
		load("ports = [ \"eth0\", \"eth1\" ];\n"
		     "mode = \"generic\"; log_level = \"debug\"; object = \"/x/y.o\";\n"
		     "max_routes = 1000; rcvbuf = 8192; poll_ms = 20; audit_permille = 0;\n"
		     "pass_all = true; teardown = true; pass_ports = (\"" LONGEST "\");\n"
		     "assume_ndo_xmit = [ \"q\" ]; exceptions = \"observe\";\n"
		     "fib = \"trie\"; bypass = [ \"netfilter\", \"tc\" ];\n"
		     "max_exceptions = 131072; answer_rate = 0; answer_too_big = true;\n",
		     &config, err, path),
		0);
	assert_memory_equal(&config, &all, sizeof(all));
}

static void test_defaults(void **state)
{
	struct config config;

	config_defaults(&config);
	assert_int_equal(config.fib, SIXLANE_ENGINE_COMPILED);
	assert_int_equal(config.bypass, 0);
	assert_int_equal(config.exceptions, CONFIG_EXCEPTIONS_KERNEL);
	assert_int_equal(config.max_exceptions, 65536);
	assert_int_equal(config.answer_rate, 10000);
	assert_false(config.answer_too_big);
}

#define A64 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define A512 A64 A64 A64 A64 A64 A64 A64 A64

static const struct {
	const char *text;
	unsigned int line;
	const char *texts[3]; /* what is wrong, what would be right */
} errors[] = {
	{ "\n\nports = [ \"eth0\" \n", 4, { "syntax error", "NAME = VALUE" } },
	{ "# fine\nport = [ \"eth0\" ];",
	  2,
	  { "unknown setting \"port\"", "ports", "max_routes" } },
	{ A512 " = 1;", 1, { "unknown setting \"" A64 "\"", "max_routes" } },
	{ "ports = \"eth0\";", 1, { "must be a list", "[ \"eth0\", \"eth1\" ]" } },
	{ "ports = [ 1, 2 ];", 1, { "names in quotes", "\"eth0\"" } },
	{ "ports = [ \"\" ];", 1, { "interface name", "1 to 127" } },
	{ "ports = [ \"a/b\" ];", 1, { "a/b", "no slash" } },
	{ "ports = [ \"a\\nb\" ];", 1, { "1 to 127" } },
	{ "pass_ports = [ \"" LONGEST "8\" ];", 1, { TEN, "1 to 127" } },
	{ "\nmode = \"fast\";", 2, { "\"fast\"", "native, generic or dispatcher" } },
	{ "mode = 1;", 1, { "mode must be native, generic or dispatcher, in quotes" } },
	{ "log_level = 3;", 1, { "log_level must be error, warning, info or debug, in quotes" } },
	{ "log_level = \"loud\";", 1, { "\"loud\"", "error, warning, info or debug" } },
	{ "max_routes = 0;", 1, { "max_routes is 0", "between 1 and 4194304" } },
	{ "max_routes = 4194305;", 1, { "4194305", "between 1 and 4194304" } },
	{ "max_routes = -1;", 1, { "-1", "between 1 and" } },
	{ "max_routes = 99999999999L;", 1, { "99999999999", "between 1 and" } },
	{ "max_routes = \"many\";", 1, { "max_routes", "without quotes" } },
	{ "max_routes = 1.5;", 1, { "max_routes", "whole number" } },
	{ "poll_ms = 1;", 1, { "poll_ms is 1", "between 10 and 60000" } },
	{ "pass_all = 1;", 1, { "pass_all", "true or false" } },
	{ "pass_all = \"yes\";", 1, { "pass_all", "true or false" } },
	{ "exceptions = \"never\";", 1, { "\"never\"", "kernel, always or observe" } },
	{ "exceptions = true;", 1, { "exceptions must be kernel, always or observe, in quotes" } },
	{ "fib = \"hash\";", 1, { "\"hash\"", "compiled or trie" } },
	{ "fib = 1;", 1, { "fib must be compiled or trie, in quotes" } },
	{ "bypass = \"xfrm\";",
	  1,
	  { "bypass must be a list", "[ \"netfilter\", \"xfrm\", \"tc\" ]" } },
	{ "bypass = [ 1 ];", 1, { "bypass", "quotes", "\"netfilter\", \"xfrm\", \"tc\"" } },
	{ "bypass = [ \"xfrm\", \"iptables\" ];", 1, { "\"iptables\"", "netfilter, xfrm and tc" } },
	{ "max_exceptions = 0;", 1, { "max_exceptions is 0", "between 1 and 131072" } },
	{ "max_exceptions = 131073;", 1, { "131073", "between 1 and 131072" } },
	{ "answer_rate = -1;", 1, { "answer_rate is -1", "between 0 and 1000000000" } },
	{ "answer_rate = \"any\";", 1, { "answer_rate", "without quotes" } },
	{ "answer_too_big = 1;", 1, { "answer_too_big", "true or false" } },
	{ "object = 1;", 1, { "object must be a path in quotes" } },
	{ "object = \"\";", 1, { "object", "path" } },
	{ "mode = \"native\";\nmode = \"generic\";", 2, { "duplicate" } },
};

static void test_errors(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
		struct config config, before;
		char err[CONFIG_ERR] = "", path[64], place[80];

		config_defaults(&config);
		before = config;
		assert_int_equal(load(errors[i].text, &config, err, path), -EINVAL);
		assert_memory_equal(&config, &before, sizeof(config));
		snprintf(place, sizeof(place), "%s:%u: ", path, errors[i].line);
		if (strncmp(err, place, strlen(place)))
			fail_msg("\"%s\" does not begin with \"%s\"", err, place);
		for (size_t j = 0; j < ARRAY_SIZE(errors[i].texts) && errors[i].texts[j]; j++)
			if (!strstr(err, errors[i].texts[j]))
				fail_msg("\"%s\" lacks \"%s\"", err, errors[i].texts[j]);
	}
}

static void test_included_file(void **state)
{
	struct config config;
	char err[CONFIG_ERR], text[128], included[64], path[64], place[80];

	write_file(included, "\n\npoll_ms = 1;\n");
	snprintf(text, sizeof(text), "# outer\n@include \"%s\"\n", included);
	config_defaults(&config);
	assert_int_equal(load(text, &config, err, path), -EINVAL);
	unlink(included);
	snprintf(place, sizeof(place), "%s:3: poll_ms is 1", included);
	assert_memory_equal(err, place, strlen(place));
}

static void test_no_file(void **state)
{
	struct config config;
	char err[CONFIG_ERR];

	config_defaults(&config);
	assert_int_equal(config_load("/nonexistent/sixlaned.conf", &config, err), -ENOENT);
	assert_non_null(strstr(err, "/nonexistent/sixlaned.conf: No such file"));
	assert_int_equal(config_load("/tmp", &config, err), -EISDIR);
	assert_non_null(strstr(err, "/tmp: Is a directory"));
}

static void test_command_line(void **state)
{
	static const char *const levels[] = { "error", "warning", "info", "debug" };
	struct config config;
	char err[CONFIG_ERR];

	config_defaults(&config);
	for (int level = LOG_ERROR; level <= LOG_DEBUG; level++) {
		assert_int_equal(config_set(&config, "log_level", levels[level], err), 0);
		assert_int_equal(config.log_level, level);
	}
	assert_int_equal(config_set(&config, "ports", "eth0", err), 0);
	assert_int_equal(config_set(&config, "ports", "eth1", err), 0);
	assert_int_equal(config.ports.n, 2);
	assert_int_equal(config_set(&config, "max_routes", "12", err), 0);
	assert_int_equal(config.max_routes, 12);
	assert_int_equal(config_set(&config, "teardown", NULL, err), 0);
	assert_true(config.teardown);
	assert_int_equal(config_set(&config, "exceptions", "always", err), 0);
	assert_int_equal(config.exceptions, CONFIG_EXCEPTIONS_ALWAYS);
	assert_int_equal(config_set(&config, "exceptions", "no", err), -EINVAL);
	assert_int_equal(config.exceptions, CONFIG_EXCEPTIONS_ALWAYS);
	assert_int_equal(config_set(&config, "fib", "trie", err), 0);
	assert_int_equal(config.fib, SIXLANE_ENGINE_TRIE);
	assert_int_equal(config_set(&config, "fib", "tri", err), -EINVAL);
	assert_int_equal(config_set(&config, "answer_too_big", NULL, err), 0);
	assert_true(config.answer_too_big);
	assert_int_equal(config_set(&config, "max_routes", "12x", err), -EINVAL);
	assert_non_null(strstr(err, "\"12x\""));
	assert_int_equal(config_set(&config, "max_routes", "", err), -EINVAL);
	assert_int_equal(config_set(&config, "max_routes", "99999999999999999999", err), -EINVAL);
	assert_int_equal(config.max_routes, 12);
	assert_int_equal(config_set(&config, "colour", "red", err), -EINVAL);
	for (unsigned int i = config.ports.n; i < CONFIG_MAX_PORTS; i++)
		assert_int_equal(config_set(&config, "ports", "eth9", err), 0);
	assert_int_equal(config_set(&config, "ports", "eth9", err), -EINVAL);
	assert_non_null(strstr(err, "more than 64"));
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults), cmocka_unit_test(test_every_setting),
		cmocka_unit_test(test_errors),	 cmocka_unit_test(test_included_file),
		cmocka_unit_test(test_no_file),	 cmocka_unit_test(test_command_line),
	};

	return cmocka_run_group_tests_name("config", tests, NULL, NULL);
}
