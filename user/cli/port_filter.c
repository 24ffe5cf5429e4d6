// SPDX-License-Identifier: GPL-2.0-only
/* See port_filter.h. */
#include "port_filter.h"

#include <errno.h>
#include <string.h>

#include "../lib/log.h"
#include "../netlink/socket_query.h"
#include "print.h"

int port_filter_parse(int argc, char **argv, struct port_filter *out)
{
	*out = (struct port_filter){ .all = argc < 1 };
	if (out->all)
		return 0;
	out->ifindexes = calloc((size_t)argc, sizeof(*out->ifindexes));
	out->absent = calloc((size_t)argc, sizeof(*out->absent));
	if (!out->ifindexes || !out->absent) {
		port_filter_free(out);
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

void port_filter_free(struct port_filter *filter)
{
	free(filter->ifindexes);
	free(filter->absent);
	*filter = (struct port_filter){ 0 };
}

bool port_filter_has(const struct port_filter *filter, uint32_t ifindex)
{
	for (size_t i = 0; i < filter->n; i++)
		if (filter->ifindexes[i] == ifindex)
			return true;
	return filter->all;
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

int port_filter_log_absent(const struct port_filter *filter)
{
	for (size_t i = 0; i < filter->n_absent; i++) {
		struct search search = { .name = filter->absent[i] };

		loader_names_read(compare_name, &search);
		log_error("cannot find device \"%s\"%s", search.name,
			  search.found ? ": sixlaned waits for it to appear" : "");
	}
	return filter->n_absent ? CMD_FAILED : CMD_OK;
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

json_t *port_filter_missing(void)
{
	json_t *missing = json_array();

	loader_names_read(append_missing, missing);
	return missing;
}
