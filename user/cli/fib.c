// SPDX-License-Identifier: GPL-2.0-only
/*
 * sixlane fib: which of trie and compiled FIB answers lookups, the switch between them, what the
 * compiled FIB takes, and whether the two agree (fib_verify.c).
 */
#include <string.h>
#include <time.h>

#include "../lib/log.h"
#include "fib.h"

#define DEFAULT_RANDOM 1000000u

typedef unsigned long long ull;

/* --- what is there ---------------------------------------------------------------------------- */

static bool is_wanted(const struct maps *maps)
{
	return maps->fib_head->engine == SIXLANE_ENGINE_COMPILED;
}

static const char *name_of(bool compiled)
{
	return compiled ? "compiled" : "trie";
}

const char *fib_answers(const struct maps *maps)
{
	return name_of(is_wanted(maps) && maps->fib_head->fib.word);
}

const char *fib_why_absent(const struct maps *maps, bool daemon)
{
	if (maps->fib_head->fib.word)
		return NULL;
	if (!daemon)
		return "sixlaned does not run, and has not built it";
	if (maps->meta->fib_failures)
		return "sixlaned could not build or keep it (see its log), and tries again";
	return "sixlaned has not built it yet";
}

const char *fib_why_not(const struct maps *maps, bool daemon)
{
	return is_wanted(maps) ? fib_why_absent(maps, daemon) : NULL;
}

static double bytes_per_route(const struct sixlane_meta *meta)
{
	double tenths =
		meta->routes ? 10.0 * (double)meta->fib_used_bytes / (double)meta->routes : 0;

	return (double)(uint64_t)(tenths + 0.5) / 10;
}

json_t *fib_json(const struct maps *maps, bool daemon)
{
	const struct sixlane_meta *meta = maps->meta;
	const char *why = fib_why_not(maps, daemon);
	json_t *object = json_object();
	const struct {
		const char *key;
		uint64_t value;
	} numbers[] = {
		{ "routes", meta->routes },
		{ "memory_bytes", meta->fib_chunk_bytes },
		{ "used_bytes", meta->fib_used_bytes },
		{ "free_bytes", meta->fib_free_bytes },
		{ "nodes", meta->fib_nodes },
		{ "builds", meta->fib_builds },
		{ "failures", meta->fib_failures },
		{ "replans", meta->fib_replans },
		{ "built_at", meta->fib_built_at },
	};

	print_set(object, "configured", print_string(name_of(is_wanted(maps))));
	print_set(object, "active", print_string(fib_answers(maps)));
	print_set(object, "reason", why ? print_string(why) : json_null());
	print_set(object, "arena", json_boolean(maps->arena));
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		print_set(object, numbers[i].key, json_integer((json_int_t)numbers[i].value));
	print_set(object, "bytes_per_route", json_real(bytes_per_route(meta)));
	print_set(object, "build_ms", json_real(print_rounded(meta->fib_build_ns, 1000, 1000)));
	return object;
}

static ull kilobytes(uint64_t bytes)
{
	return bytes / 1024;
}

static void built_text(const struct sixlane_meta *meta)
{
	const time_t at = (time_t)meta->fib_built_at;
	char text[32] = "";
	struct tm tm;

	printf("builds      %llu", (ull)meta->fib_builds);
	if (meta->fib_builds && localtime_r(&at, &tm) &&
	    strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm))
		printf(", the last one in %.3f ms, at %s",
		       print_rounded(meta->fib_build_ns, 1000, 1000), text);
	putchar('\n');
}

static void to_text(const struct maps *maps, bool daemon)
{
	const struct sixlane_meta *meta = maps->meta;
	const char *why = fib_why_not(maps, daemon);

	printf("configured  %s\n", name_of(is_wanted(maps)));
	printf("active      %s%s%s\n", fib_answers(maps), why ? ": " : "", why ?: "");
	printf("memory      %llu kB of at most %llu, %s\n", kilobytes(meta->fib_chunk_bytes),
	       kilobytes((uint64_t)SIXLANE_FIB_CHUNKS * SIXLANE_FIB_CHUNK_BYTES),
	       maps->arena ? "in an arena" : "in array maps");
	printf("used        %llu kB by %llu nodes, %.1f bytes for each of %llu routes\n",
	       kilobytes(meta->fib_used_bytes), (ull)meta->fib_nodes, bytes_per_route(meta),
	       (ull)meta->routes);
	printf("free        %llu kB\n", kilobytes(meta->fib_free_bytes));
	built_text(meta);
	printf("replans     %llu\n", (ull)meta->fib_replans);
	printf("failures    %llu\n", (ull)meta->fib_failures);
}

void fib_status_text(const struct cmd_options *options, const struct maps *maps, bool daemon)
{
	const struct sixlane_meta *meta = maps->meta;
	const char *why = fib_why_not(maps, daemon);

	printf("fib         lookups use %s", fib_answers(maps));
	if (maps->fib_head->fib.word)
		printf(", compiled FIB of %llu kB", kilobytes(meta->fib_chunk_bytes));
	if (why)
		printf(" (compiled is configured: %s)", why);
	putchar('\n');
	if (options->statistics)
		printf("compiled    %llu kB used by %llu nodes (%.1f bytes a route), %llu kB free; builds %llu (%.3f ms), replans %llu, failures %llu\n",
		       kilobytes(meta->fib_used_bytes), (ull)meta->fib_nodes, bytes_per_route(meta),
		       kilobytes(meta->fib_free_bytes), (ull)meta->fib_builds,
		       print_rounded(meta->fib_build_ns, 1000, 1000), (ull)meta->fib_replans,
		       (ull)meta->fib_failures);
}

/* --- the verbs -------------------------------------------------------------------------------- */

static int too_much(const char *word)
{
	return cmd_usage(&cmd_fib, "unexpected argument \"%s\"", word);
}

static int run_show(const struct cmd_options *options, int argc, char **argv)
{
	bool daemon = loader_daemon_runs();
	struct cmd_view view;
	int rc;

	if (argc)
		return too_much(argv[0]);
	rc = cmd_view_open(&view);
	if (rc)
		return rc;
	if (options->json) {
		rc = print_json(options, fib_json(&view.maps, daemon));
	} else {
		to_text(&view.maps, daemon);
		rc = print_flush();
	}
	cmd_view_close(&view);
	return rc;
}

/* The next packet finds it; what it asks for is kept until a daemon starts. */
static int choose(const struct cmd_options *options, uint32_t engine)
{
	bool daemon = loader_daemon_runs();
	struct cmd_view view;
	int rc = cmd_view_open_writable(&view);
	const char *why;

	if (rc)
		return rc;
	__atomic_store_n(&view.maps.fib_head->engine, engine, __ATOMIC_RELAXED);
	why = fib_why_not(&view.maps, daemon);
	if (why)
		log_warning("the setting is stored, but lookups use the LPM trie: %s", why);
	if (options->json)
		rc = print_json(options, fib_json(&view.maps, daemon));
	cmd_view_close(&view);
	return rc;
}

static int run_trie(const struct cmd_options *options, int argc, char **argv)
{
	return argc ? too_much(argv[0]) : choose(options, SIXLANE_ENGINE_TRIE);
}

static int run_compiled(const struct cmd_options *options, int argc, char **argv)
{
	return argc ? too_much(argv[0]) : choose(options, SIXLANE_ENGINE_COMPILED);
}

static int run_verify(const struct cmd_options *options, int argc, char **argv)
{
	uint32_t n = DEFAULT_RANDOM, seed = (uint32_t)util_now_ns();

	for (; argc > 1; argc -= 2, argv += 2) {
		uint32_t *number = NULL;

		if (!strcmp(argv[0], "random"))
			number = &n;
		else if (!strcmp(argv[0], "seed"))
			number = &seed;
		if (!number)
			return cmd_usage(&cmd_fib, "\"%s\" is neither \"random\" nor \"seed\"",
					 argv[0]);
		if (!cmd_parse_number(argv[1], UINT32_MAX, number))
			return cmd_usage(&cmd_fib, "\"%s\" is not a number up to %u", argv[1],
					 UINT32_MAX);
	}
	return argc ? too_much(argv[0]) : fib_verify_run(options, n, seed);
}

static const struct cmd verbs[] = {
	{ .name = "show", .run = run_show },
	{ .name = "trie", .run = run_trie },
	{ .name = "compiled", .run = run_compiled },
	{ .name = "verify", .run = run_verify },
};

static int run(const struct cmd_options *options, int argc, char **argv)
{
	static const struct cmd_verbs all = { &cmd_fib, verbs, ARRAY_SIZE(verbs),
					      "show, trie, compiled, verify" };

	return argc ? cmd_run_verb(&all, options, argc, argv) : run_show(options, 0, NULL);
}

const struct cmd cmd_fib = {
	.name = "fib",
	.args = "[show | trie | compiled | verify [random N] [seed N]]",
	.help = "show, choose or compare the engines of lookups: LPM trie and compiled FIB",
	.run = run,
};
