// SPDX-License-Identifier: GPL-2.0-only
/* After a change the rest is read without a look at it: one is enough to read everything again. */
#include "notifications.h"

#include <errno.h>

int notifications_open(const struct notifications *what, size_t rcvbuf_bytes,
		       struct nl_socket **out)
{
	_cleanup_(nl_socket_freep) struct nl_socket *socket = NULL;
	int r = nl_socket_new(what->protocol, rcvbuf_bytes, &socket);

	if (r < 0 && r != -EPROTONOSUPPORT)
		return r;
	for (size_t i = 0; socket && i < ARRAY_SIZE(what->groups) && what->groups[i]; i++) {
		r = nl_socket_join(socket, what->groups[i]);
		if (r < 0)
			return r;
	}
	*out = socket;
	socket = NULL;
	return 0;
}

struct search {
	const struct notifications *what;
	const void *ctx;
	bool changed;
};

static int search_message(const struct nlmsghdr *nlh, void *ctx)
{
	struct search *search = ctx;

	search->changed = search->changed || search->what->is_change(nlh, search->ctx);
	return 0;
}

bool notifications_read(const struct notifications *what, struct nl_socket *socket, const void *ctx)
{
	struct search search = { .what = what, .ctx = ctx };
	int r;

	if (!socket)
		return false;
	do
		r = nl_socket_read(socket, search_message, &search);
	while (r == NL_SOCKET_READ_MAX);
	return r < 0 || search.changed;
}
