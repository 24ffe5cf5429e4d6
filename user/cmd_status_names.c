// SPDX-License-Identifier: GPL-2.0-only
/*
 * The ports that are named for `sixlane status`: on its command line, and in sixlaned's settings.
 */
#include <errno.h>

#include "cmd.h"
#include "cmd_status.h"
#include "log.h"
#include "netlink/socket_link.h"

int status_asked_find(int argc, char **argv, struct status_asked *out)
{
	int rc = CMD_OK;

	*out = (struct status_asked){ .all = argc <= 0 };
	if (argc <= 0)
		return CMD_OK;
	out->ifindexes = calloc((size_t)argc, sizeof(*out->ifindexes));
	if (!out->ifindexes) {
		log_error("out of memory");
		return CMD_FAILED;
	}
	for (int i = 0; i < argc; i++) {
		uint32_t ifindex = nl_link_find(argv[i], NULL);

		if (ifindex) {
			out->ifindexes[out->n++] = ifindex;
			continue;
		}
		log_error("cannot find device \"%s\"", argv[i]);
		rc = CMD_FAILED;
	}
	return rc;
}

bool status_asked_has(const struct status_asked *asked, uint32_t ifindex)
{
	for (size_t i = 0; i < asked->n; i++)
		if (asked->ifindexes[i] == ifindex)
			return true;
	return asked->all;
}

static void take_name(void *ctx, const struct loader_port_name *name)
{
	json_t *object;

	if (nl_link_find(name->name, NULL) || errno != ENODEV)
		return;
	object = json_object();
	print_set(object, "setting", print_string(name->setting));
	print_set(object, "name", print_string(name->name));
	print_append(ctx, object);
}

json_t *status_missing_ports(void)
{
	json_t *missing = json_array();

	loader_names_read(take_name, missing);
	return missing;
}
