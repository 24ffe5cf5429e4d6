// SPDX-License-Identifier: GPL-2.0-only
/*
 * The ports that are named for `sixlane status`: on its command line, and in sixlaned's settings.
 */
#include <errno.h>
#include <string.h>

#include "../lib/log.h"
#include "../netlink/socket_link.h"
#include "cmd.h"
#include "status.h"

int status_asked_find(int argc, char **argv, struct status_asked *out)
{
	size_t n = argc > 0 ? (size_t)argc : 0;

	*out = (struct status_asked){ .all = !n };
	if (!n)
		return 0;
	out->ifindexes = calloc(n, sizeof(*out->ifindexes));
	out->absent = calloc(n, sizeof(*out->absent));
	if (!out->ifindexes || !out->absent) {
		status_asked_free(out);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++) {
		uint32_t ifindex = nl_link_find(argv[i], NULL);

		if (ifindex)
			out->ifindexes[out->n++] = ifindex;
		else
			out->absent[out->n_absent++] = argv[i];
	}
	return 0;
}

void status_asked_free(struct status_asked *asked)
{
	free(asked->ifindexes);
	free(asked->absent);
	*asked = (struct status_asked){ 0 };
}

struct wanted {
	const char *name;
	bool found;
};

static void find_wanted(void *ctx, const struct loader_port_name *name)
{
	struct wanted *wanted = ctx;

	wanted->found |= !strcmp(wanted->name, name->name);
}

int status_say_absent(const struct status_asked *asked)
{
	for (size_t i = 0; i < asked->n_absent; i++) {
		struct wanted wanted = { .name = asked->absent[i] };

		loader_names_read(find_wanted, &wanted);
		log_error("cannot find device \"%s\"%s", wanted.name,
			  wanted.found ? ": sixlaned waits for it to appear" : "");
	}
	return asked->n_absent ? CMD_FAILED : CMD_OK;
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
