// SPDX-License-Identifier: GPL-2.0-only
/* See fib.h. */
#include "fib.h"

static bool is_configured(const struct maps *maps)
{
	return maps->fib_head->engine == SIXLANE_ENGINE_COMPILED;
}

static const char *name_of(bool compiled)
{
	return compiled ? "compiled" : "trie";
}

static const char *active_name(const struct maps *maps)
{
	return name_of(is_configured(maps) && maps->fib_head->fib.word);
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

const char *fib_why_inactive(const struct maps *maps, bool daemon)
{
	return is_configured(maps) ? fib_why_absent(maps, daemon) : NULL;
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
	json_t *object = json_object();

	print_set(object, "configured", name_of(is_configured(maps)));
	print_set(object, "active", active_name(maps));
	print_set(object, "reason", fib_why_inactive(maps, daemon));
	print_set(object, "arena", json_boolean(maps->arena));
	print_set(object, "routes", meta->routes);
	print_set(object, "memory_bytes", meta->fib_chunk_bytes);
	print_set(object, "used_bytes", meta->fib_used_bytes);
	print_set(object, "free_bytes", meta->fib_free_bytes);
	print_set(object, "nodes", meta->fib_nodes);
	print_set(object, "builds", meta->fib_builds);
	print_set(object, "failures", meta->fib_failures);
	print_set(object, "replans", meta->fib_replans);
	print_set(object, "built_at", meta->fib_built_at);
	print_set(object, "bytes_per_route", bytes_per_route(meta));
	print_set(object, "build_ms", print_ms(meta->fib_build_ns));
	return object;
}

static void built_text(const struct sixlane_meta *meta)
{
	const time_t at = (time_t)meta->fib_built_at;
	char text[32] = "";
	struct tm tm;

	printf("builds      %llu", meta->fib_builds);
	if (meta->fib_builds && localtime_r(&at, &tm) &&
	    strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm))
		printf(", the last one in %.3f ms, at %s", print_ms(meta->fib_build_ns), text);
	putchar('\n');
}

int fib_text(const struct maps *maps, bool daemon)
{
	const struct sixlane_meta *meta = maps->meta;
	const char *why = fib_why_inactive(maps, daemon);

	printf("configured  %s\n", name_of(is_configured(maps)));
	printf("active      %s%s%s\n", active_name(maps), why ? ": " : "", why ?: "");
	printf("memory      %llu kB of at most %llu, %s\n", meta->fib_chunk_bytes / 1024,
	       (unsigned long long)SIXLANE_FIB_CHUNKS * SIXLANE_FIB_CHUNK_BYTES / 1024,
	       maps->arena ? "in an arena" : "in array maps");
	printf("used        %llu kB by %llu nodes, %.1f bytes for each of %llu routes\n",
	       meta->fib_used_bytes / 1024, meta->fib_nodes, bytes_per_route(meta), meta->routes);
	printf("free        %llu kB\n", meta->fib_free_bytes / 1024);
	built_text(meta);
	printf("replans     %llu\n", meta->fib_replans);
	printf("failures    %llu\n", meta->fib_failures);
	return print_flush();
}

void fib_status_text(const struct cmd_options *options, const struct maps *maps, bool daemon)
{
	const struct sixlane_meta *meta = maps->meta;
	const char *why = fib_why_inactive(maps, daemon);

	printf("fib         lookups use %s", active_name(maps));
	if (maps->fib_head->fib.word)
		printf(", compiled FIB of %llu kB", meta->fib_chunk_bytes / 1024);
	if (why)
		printf(" (compiled is configured: %s)", why);
	putchar('\n');
	if (options->statistics)
		printf("compiled    %llu kB used by %llu nodes (%.1f bytes a route), %llu kB free; builds %llu (%.3f ms), replans %llu, failures %llu\n",
		       meta->fib_used_bytes / 1024, meta->fib_nodes, bytes_per_route(meta),
		       meta->fib_free_bytes / 1024, meta->fib_builds, print_ms(meta->fib_build_ns),
		       meta->fib_replans, meta->fib_failures);
}
