// SPDX-License-Identifier: GPL-2.0-only
/*
 * The CLI: parses the common options, finds the command and runs it. Each command has its own file.
 * The exit code is CMD_*.
 */
#include <string.h>

#include "../lib/log.h"
#include "cmd.h"

#ifndef SIXLANE_VERSION
#define SIXLANE_VERSION "0.1"
#endif

static const struct cmd *const cmds[] = { &cmd_attach, &cmd_detach, &cmd_status,  &cmd_doctor,
					  &cmd_routes, &cmd_lookup, &cmd_explain, &cmd_exception,
					  &cmd_fib,    &cmd_stats,  &cmd_unpin,	  &cmd_bench };

#define ARGS_WIDTH 44

static void print_line(FILE *to, const char *name, const char *args, const char *help)
{
	fprintf(to, "  %-9s %-*s", name, ARGS_WIDTH, args);
	if (strlen(args) > ARGS_WIDTH)
		fprintf(to, "\n  %-9s %-*s", "", ARGS_WIDTH, "");
	fprintf(to, " %s\n", help);
}

static int print_help(FILE *to, int code)
{
	fprintf(to, "usage: sixlane [-j] [-p] [-s] COMMAND [ARGUMENT...]\n\n");
	for (size_t i = 0; i < ARRAY_SIZE(cmds); i++)
		print_line(to, cmds[i]->name, cmds[i]->args, cmds[i]->help);
	print_line(to, "help", "[COMMAND]", "this text, or the usage of a command");
	fputc('\n', to);
	fprintf(to, "Commands may be abbreviated. Options, before or after the command:\n"
		    "  -j, -json        JSON with stable keys\n"
		    "  -p, -pretty      JSON on several lines\n"
		    "  -s, -statistics  more details\n"
		    "  -h, -help        usage of the command\n"
		    "  -V, -Version     version, ABI of the maps, compiler of the object\n");
	return code;
}

/* NULL after logging. */
static const struct cmd *find_cmd(const char *word)
{
	const char *all[ARRAY_SIZE(cmds)];
	size_t found[ARRAY_SIZE(cmds)], used = 0, n;
	char names[256] = "";

	for (size_t i = 0; i < ARRAY_SIZE(cmds); i++)
		all[i] = cmds[i]->name;
	n = args_match(all, ARRAY_SIZE(cmds), word, found);
	if (n == 1)
		return cmds[found[0]];
	for (size_t i = 0; i < n && used < sizeof(names); i++)
		used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", i ? ", " : "",
					 all[found[i]]);
	if (n)
		log_error("command \"%s\" is ambiguous: %s", word, names);
	else if (word[0] == '-')
		log_error("unknown option \"%s\", try 'sixlane help'", word);
	else
		log_error("unknown command \"%s\", try 'sixlane help'", word);
	return NULL;
}

int main(int argc, char **argv)
{
	struct cmd_options options = { 0 };
	bool help = false, version = false;
	const struct cmd *cmd;

	log_init("sixlane", getenv("SIXLANE_DEBUG") ? LOG_DEBUG : LOG_WARNING);
	argc = args_parse_options(argc - 1, argv + 1, &options, &help, &version);
	argv++;
	if (version) {
		printf("sixlane %s, ABI %u, %s\n", SIXLANE_VERSION, SIXLANE_ABI,
		       loader_version(loader_object_path()));
		return CMD_OK;
	}
	if (argc && *argv[0] && !strncmp("help", argv[0], strlen(argv[0]))) {
		help = true;
		argc--;
		argv++;
	}
	if (!argc)
		return help ? print_help(stdout, CMD_OK) : print_help(stderr, CMD_USAGE);
	cmd = find_cmd(argv[0]);
	if (!cmd)
		return CMD_USAGE;
	if (help && cmd != &cmd_bench) {
		printf("usage: sixlane [-j] [-p] [-s] %s %s\n%s\n", cmd->name, cmd->args,
		       cmd->help);
		return CMD_OK;
	}
	if (help) /* the harness prints its own */
		argv[argc++] = "--help";
	return cmd->run(&options, argc - 1, argv + 1);
}
