// SPDX-License-Identifier: GPL-2.0-only
/*
 * sixlane fib: shows which engine answers lookups, the trie or the compiled FIB, switches between
 * them, and compares them.
 */
#include <string.h>

#include "../lib/log.h"
#include "fib.h"

#define DEFAULT_RANDOM 1000000u

static int show(const struct cmd_options *options)
{
	const bool daemon = loader_daemon_runs();
	_cleanup_(cmd_view_close) struct cmd_view view;

	if (cmd_view_open(&view, false))
		return CMD_FAILED;
	return options->json ? print_json(options, fib_json(&view.maps, daemon))
			     : fib_text(&view.maps, daemon);
}

/* The next packet uses it. The setting lasts until a daemon starts. */
static int choose(const struct cmd_options *options, uint32_t engine)
{
	const bool daemon = loader_daemon_runs();
	_cleanup_(cmd_view_close) struct cmd_view view;
	const char *why;

	if (cmd_view_open(&view, true))
		return CMD_FAILED;
	__atomic_store_n(&view.maps.fib_head->engine, engine, __ATOMIC_RELAXED);
	why = fib_why_inactive(&view.maps, daemon);
	if (why)
		log_warning("the setting is stored, but lookups use the LPM trie: %s", why);
	return options->json ? print_json(options, fib_json(&view.maps, daemon)) : CMD_OK;
}

static int verify(const struct cmd_options *options, int argc, char **argv)
{
	uint32_t n = DEFAULT_RANDOM, seed = (uint32_t)util_now_ns();

	for (; argc > 1; argc -= 2, argv += 2) {
		uint32_t *number = !strcmp(argv[0], "random") ? &n
				   : !strcmp(argv[0], "seed") ? &seed
							      : NULL;

		if (!number)
			return cmd_usage(&cmd_fib, "\"%s\" is neither \"random\" nor \"seed\"",
					 argv[0]);
		if (!args_parse_number(argv[1], UINT32_MAX, number))
			return cmd_usage(&cmd_fib, "\"%s\" is not a number up to %u", argv[1],
					 UINT32_MAX);
	}
	if (argc)
		return cmd_usage(&cmd_fib, "unexpected argument \"%s\"", argv[0]);
	return fib_verify(options, n, seed);
}

enum { SHOW, TRIE, COMPILED, VERIFY };

static int run(const struct cmd_options *options, int argc, char **argv)
{
	static const char *const verbs[] = { "show", "trie", "compiled", "verify" };
	const int verb = !argc ? SHOW
			       : cmd_find_verb(&cmd_fib, verbs, ARRAY_SIZE(verbs),
					       "show, trie, compiled, verify", argv[0]);

	if (verb < 0)
		return CMD_USAGE;
	if (verb == VERIFY)
		return verify(options, argc - 1, argv + 1);
	if (argc > 1)
		return cmd_usage(&cmd_fib, "unexpected argument \"%s\"", argv[1]);
	if (verb == SHOW)
		return show(options);
	return choose(options, verb == TRIE ? SIXLANE_ENGINE_TRIE : SIXLANE_ENGINE_COMPILED);
}

const struct cmd cmd_fib = {
	.name = "fib",
	.args = "[show | trie | compiled | verify [random N] [seed N]]",
	.help = "show, choose or compare the engines of lookups: LPM trie and compiled FIB",
	.run = run,
};
