// SPDX-License-Identifier: GPL-2.0-only
/*
 * sixlane exception: what single destinations have of their own, a Path MTU or another next hop.
 * The operator's are added and removed here, those that the kernel has learnt are shown.
 */
#include <string.h>

#include "../lib/log.h"
#include "exception.h"

typedef int (*change_fn)(const struct cmd_options *options,
			 const struct exception_requests *requests);

static bool is_stdin(int argc, char **argv)
{
	return argc == 1 && !strcmp(argv[0], "-");
}

static int change(const struct cmd_options *options, enum exception_words words, change_fn fn,
		  int argc, char **argv)
{
	struct exception_requests requests = { 0 };
	struct exception_request one;
	char err[EXCEPTION_ERR];
	int rc = CMD_USAGE;

	if (is_stdin(argc, argv)) {
		if (exception_parse_lines(words, stdin, &requests, err))
			rc = fn(options, &requests);
		else
			log_error("%s", err);
		free(requests.at);
		return rc;
	}
	if (!exception_parse(words, argc, argv, &one, err))
		return cmd_usage(&cmd_exception, "%s", err);
	return fn(options, &(struct exception_requests){ .at = &one, .n = 1 });
}

static int add(const struct cmd_options *options, const struct exception_requests *requests)
{
	return exception_add(options, requests, false);
}

static int replace(const struct cmd_options *options, const struct exception_requests *requests)
{
	return exception_add(options, requests, true);
}

static int run_add(const struct cmd_options *options, int argc, char **argv)
{
	return change(options, EXCEPTION_WHOLE, add, argc, argv);
}

static int run_replace(const struct cmd_options *options, int argc, char **argv)
{
	return change(options, EXCEPTION_WHOLE, replace, argc, argv);
}

static int run_del(const struct cmd_options *options, int argc, char **argv)
{
	return change(options, EXCEPTION_KEY, exception_del, argc, argv);
}

static int run_show(const struct cmd_options *options, int argc, char **argv)
{
	struct exception_request request;
	char err[EXCEPTION_ERR];

	if (!exception_parse(EXCEPTION_ANY, argc, argv, &request, err))
		return cmd_usage(&cmd_exception, "%s", err);
	return exception_show(options, &request);
}

static int run_flush(const struct cmd_options *options, int argc, char **argv)
{
	struct exception_request request;
	char err[EXCEPTION_ERR];

	if (!exception_parse(EXCEPTION_TABLE, argc, argv, &request, err))
		return cmd_usage(&cmd_exception, "%s", err);
	return exception_flush(options, request.key.table);
}

static const struct cmd verbs[] = {
	{ .name = "add", .run = run_add },    { .name = "replace", .run = run_replace },
	{ .name = "delete", .run = run_del }, { .name = "show", .run = run_show },
	{ .name = "list", .run = run_show },  { .name = "flush", .run = run_flush },
};

static int run(const struct cmd_options *options, int argc, char **argv)
{
	static const struct cmd_verbs all = { &cmd_exception, verbs, ARRAY_SIZE(verbs),
					      "add, replace, delete, show, flush" };

	return argc ? cmd_run_verb(&all, options, argc, argv) : run_show(options, 0, NULL);
}

const struct cmd cmd_exception = {
	.name = "exception",
	.args = "[show [DST] [table T]]\n"
		"            add|replace DST [mtu N] [via GW dev PORT] [expires SEC] [table T]\n"
		"            delete DST [table T] | flush [table T] | add|replace|delete -",
	.help = "exceptions of single destinations: Path MTU, next hop",
	.run = run,
};
