// SPDX-License-Identifier: GPL-2.0-only
/* sixlane attach: attaches to all of the ports or to none. */
#include <string.h>

#include "../lib/log.h"
#include "../netlink/socket_query.h"
#include "cmd.h"

static bool parse_mode(const char *word, enum loader_mode *mode)
{
	for (size_t i = 0; i < ARRAY_SIZE(loader_mode_names); i++) {
		if (strcmp(word, loader_mode_names[i]) != 0)
			continue;
		*mode = (enum loader_mode)i;
		return true;
	}
	return false;
}

static bool runs_sixlane(const char *port)
{
	struct loader_prog prog;

	return !loader_query(nl_link_find(port, NULL), NULL, &prog) && loader_is_sixlane(&prog);
}

/* fresh: n flags, for the ports that did not run sixlane before. */
static int attach_all(char **ports, int n, enum loader_mode mode, bool *fresh)
{
	bool had_pins = loader_have_pins();
	char err[LOADER_ERR];
	int done;

	for (done = 0; done < n; done++) {
		fresh[done] = !runs_sixlane(ports[done]);
		if (loader_attach(loader_object_path(), ports[done], mode, err))
			break;
	}
	if (done == n)
		return CMD_OK;
	log_error("%s", err);
	while (done--)
		if (fresh[done] && loader_detach(ports[done], err))
			log_error("%s", err);
	if (!had_pins && !loader_daemon_runs())
		loader_unpin(NULL);
	return CMD_FAILED;
}

static int run(const struct cmd_options *options, int argc, char **argv)
{
	enum loader_mode mode = LOADER_NATIVE;
	bool *fresh, mode_given = argc > 1 && parse_mode(argv[argc - 1], &mode);
	int rc;

	(void)options;
	argc -= mode_given;
	if (argc < 1)
		return cmd_usage(&cmd_attach, "a device is needed");
	for (int i = 0; i < argc; i++) {
		if (cmd_refuse_options(&cmd_attach, 1, &argv[i]))
			return CMD_USAGE;
		if (nl_link_find(argv[i], NULL))
			continue;
		if (i && i == argc - 1 && !mode_given)
			return cmd_usage(&cmd_attach, "\"%s\" is neither a device nor a mode",
					 argv[i]);
		log_error("cannot find device \"%s\"", argv[i]);
		return CMD_FAILED;
	}
	fresh = calloc((size_t)argc, sizeof(*fresh));
	if (!fresh)
		return cmd_no_memory();
	rc = attach_all(argv, argc, mode, fresh);
	free(fresh);
	return rc;
}

const struct cmd cmd_attach = {
	.name = "attach",
	.args = "DEV... [native|generic|dispatcher]",
	.help = "forward packets that these ports receive",
	.run = run,
};
