// SPDX-License-Identifier: GPL-2.0-only
/* See asked.h. */
#include "asked.h"

#include <errno.h>
#include <string.h>

#include "../lib/log.h"
#include "../netlink/socket_link.h"
#include "print.h"

int asked_find(int argc, char **argv, struct asked *out)
{
	*out = (struct asked){ .all = argc < 1 };
	if (out->all)
		return 0;
	out->ifindexes = calloc((size_t)argc, sizeof(*out->ifindexes));
	out->absent = calloc((size_t)argc, sizeof(*out->absent));
	if (!out->ifindexes || !out->absent) {
		asked_free(out);
		return -ENOMEM;
	}
	for (int i = 0; i < argc; i++) {
		uint32_t ifindex = nl_link_find(argv[i], NULL);

		if (ifindex)
			out->ifindexes[out->n++] = ifindex;
		else
			out->absent[out->n_absent++] = argv[i];
	}
	return 0;
}

void asked_free(struct asked *asked)
{
	free(asked->ifindexes);
	free(asked->absent);
	*asked = (struct asked){ 0 };
}

bool asked_has(const struct asked *asked, uint32_t ifindex)
{
	for (size_t i = 0; i < asked->n; i++)
		if (asked->ifindexes[i] == ifindex)
			return true;
	return asked->all;
}

struct search {
	const char *name;
	bool found;
};

static void compare_name(void *ctx, const struct loader_port_name *name)
{
	struct search *search = ctx;

	search->found |= !strcmp(search->name, name->name);
}

int asked_log_absent(const struct asked *asked)
{
	for (size_t i = 0; i < asked->n_absent; i++) {
		struct search search = { .name = asked->absent[i] };

		loader_names_read(compare_name, &search);
		log_error("cannot find device \"%s\"%s", search.name,
			  search.found ? ": sixlaned waits for it to appear" : "");
	}
	return asked->n_absent ? CMD_FAILED : CMD_OK;
}

static void append_missing(void *ctx, const struct loader_port_name *name)
{
	json_t *object;

	if (nl_link_find(name->name, NULL) || errno != ENODEV)
		return;
	object = json_object();
	print_set(object, "setting", name->setting);
	print_set(object, "name", name->name);
	print_append(ctx, object);
}

json_t *asked_missing_ports(void)
{
	json_t *missing = json_array();

	loader_names_read(append_missing, missing);
	return missing;
}
