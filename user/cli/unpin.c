// SPDX-License-Identifier: GPL-2.0-only
/*
 * sixlane unpin: removes the pinned maps, for instance before another version of sixlane. Refused
 * while anything uses them: programs that are loaded later would get other maps.
 */
#include <string.h>

#include "../lib/log.h"
#include "cmd.h"

/* A port that runs sixlane, or may run it; NULL: none. */
static const char *port_in_use(char name[IF_NAMESIZE])
{
	struct if_nameindex *ports = if_nameindex();
	const char *found = NULL;
	struct loader_prog prog;

	for (struct if_nameindex *port = ports; port && port->if_index && !found; port++) {
		/* a port that cannot be queried may run it */
		if (loader_query(port->if_index, NULL, &prog) || loader_is_sixlane(&prog))
			found = memcpy(name, port->if_name, strlen(port->if_name) + 1);
	}
	if (ports)
		if_freenameindex(ports);
	return found;
}

static int run(const struct cmd_options *options, int argc, char **argv)
{
	char err[LOADER_ERR], name[IF_NAMESIZE];

	(void)options;
	if (argc)
		return cmd_usage(&cmd_unpin, "unexpected argument \"%s\"", argv[0]);
	if (loader_daemon_runs()) {
		log_error("sixlaned serves the maps; stop it first");
		return CMD_FAILED;
	}
	if (port_in_use(name)) {
		log_error(
			"%s runs sixlane, or this user may not query its program; run 'sixlane detach all' first",
			name);
		return CMD_FAILED;
	}
	if (loader_unpin(err)) {
		log_error("%s", err);
		return CMD_FAILED;
	}
	return CMD_OK;
}

const struct cmd cmd_unpin = {
	.name = "unpin",
	.args = "",
	.help = "remove the pinned maps when no port uses them",
	.run = run,
};
