// SPDX-License-Identifier: GPL-2.0-only
/* sixlane detach: the kernel alone forwards packets of these ports again. The maps stay. */
#include <string.h>

#include "../lib/log.h"
#include "../netlink/socket_query.h"
#include "cmd.h"

static int detach(const char *port)
{
	char err[LOADER_ERR], name[IF_NAMESIZE];

	/* the refusal is kept under the device's own name, and the device may be gone */
	loader_refusal_forget(nl_link_own_name(port, name));
	if (!loader_detach(port, err))
		return CMD_OK;
	log_error("%s", err);
	return CMD_FAILED;
}

/* Detaches from all ports of this namespace that run sixlane, if any. */
static int detach_all(void)
{
	struct if_nameindex *ports = if_nameindex();
	struct loader_prog prog;
	int rc = CMD_OK;

	if (!ports) {
		log_error("cannot list the network devices");
		return CMD_FAILED;
	}
	for (struct if_nameindex *port = ports; port->if_index; port++) {
		int error = loader_query(port->if_index, NULL, &prog);

		if (error) {
			log_error("cannot see which XDP program %s runs: %s", port->if_name,
				  strerror(-error));
			rc = CMD_FAILED;
		} else if (loader_is_sixlane(&prog)) {
			rc |= detach(port->if_name);
		}
	}
	if_freenameindex(ports);
	return rc;
}

static int run(const struct cmd_options *options, int argc, char **argv)
{
	int rc = CMD_OK;

	(void)options;
	if (argc < 1)
		return cmd_usage(&cmd_detach, "a device is needed");
	if (argc == 1 && !strcmp(argv[0], "all"))
		return detach_all();
	for (int i = 0; i < argc; i++) {
		if (cmd_refuse_options(&cmd_detach, 1, &argv[i]))
			return CMD_USAGE;
		rc |= detach(argv[i]);
	}
	return rc;
}

const struct cmd cmd_detach = {
	.name = "detach",
	.args = "DEV... | all",
	.help = "detach sixlane from these ports",
	.run = run,
};
