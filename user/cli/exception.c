// SPDX-License-Identifier: GPL-2.0-only
/*
 * sixlane exception: what single destinations have of their own, a Path MTU or another next hop.
 * The operator's are added and removed here, those that the kernel has learnt are shown.
 */
#include "exception.h"

#include "../lib/input.h"
#include "../lib/log.h"

static int change_lines(const struct cmd_options *options, enum exception_verb verb)
{
	struct exceptions list = { 0 };
	char err[EXCEPTION_ERR];
	int rc = CMD_USAGE;

	if (exception_parse_lines(verb, stdin, &list, err))
		rc = exception_change(options, verb, &list);
	else
		log_error("%s", err);
	free(list.at);
	return rc;
}

static int run_verb(const struct cmd_options *options, enum exception_verb verb, int argc,
		    char **argv)
{
	struct exception one;
	char err[EXCEPTION_ERR];

	if (verb >= EXCEPTION_DELETE && argc == 1 && input_is_stdin(argv[0]))
		return change_lines(options, verb);
	if (!exception_parse(verb, argc, argv, &one, err))
		return cmd_usage(&cmd_exception, "%s", err);
	if (verb == EXCEPTION_SHOW)
		return exception_show(options, &one);
	return exception_change(options, verb, &(struct exceptions){ .at = &one, .n = 1 });
}

static int run_add(const struct cmd_options *options, int argc, char **argv)
{
	return run_verb(options, EXCEPTION_ADD, argc, argv);
}

static int run_replace(const struct cmd_options *options, int argc, char **argv)
{
	return run_verb(options, EXCEPTION_REPLACE, argc, argv);
}

static int run_delete(const struct cmd_options *options, int argc, char **argv)
{
	return run_verb(options, EXCEPTION_DELETE, argc, argv);
}

static int run_show(const struct cmd_options *options, int argc, char **argv)
{
	return run_verb(options, EXCEPTION_SHOW, argc, argv);
}

static int run_flush(const struct cmd_options *options, int argc, char **argv)
{
	return run_verb(options, EXCEPTION_FLUSH, argc, argv);
}

static const struct cmd verbs[] = {
	{ .name = "add", .run = run_add },	 { .name = "replace", .run = run_replace },
	{ .name = "delete", .run = run_delete }, { .name = "show", .run = run_show },
	{ .name = "list", .run = run_show },	 { .name = "flush", .run = run_flush },
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
