// SPDX-License-Identifier: GPL-2.0-only
/*
 * xfrm_dump [SRC DST]: print a line of JSON with the result of the guard's reader for the IPsec
 * policies of this network namespace, and for packets from SRC to DST. Prints another line each
 * time the reader reports a change, until its input ends.
 */
#include <arpa/inet.h>
#include <jansson.h>
#include <poll.h>
#include <string.h>

#include "../../user/guard/xfrm.h"
#include "../../user/lib/util.h"

static int count_entry(void *ctx, const struct sixlane_route_key *key, uint32_t value)
{
	size_t *n = ctx;

	(*n)++;
	return 0;
}

static int print_line(const struct nl_socket *socket, const union sixlane_addr *src,
		      const union sixlane_addr *dst)
{
	_cleanup_(policies_freep) struct policies *policies = NULL;
	const struct policy *policy = NULL;
	char held[GUARD_REASON_LEN] = "";
	size_t n_entries = 0;
	json_t *line;
	int r = xfrm_read(&policies);

	if (r == 0)
		r = policies_entries(policies, count_entry, &n_entries);
	if (r < 0) {
		fprintf(stderr, "xfrm_dump: %s\n", strerror(-r));
		return 1;
	}
	if (src)
		policy = policies_find(policies, src, dst);
	if (policy)
		policy_format(policy, held);
	line = json_pack("{s:b, s:i, s:i, s:s, s:s, s:s}", "xfrm", socket != NULL, "policies",
			 (int)policies->n, "entries", (int)n_entries, "all", policies->all,
			 "icmp_errors", policies->icmp_errors, "held", held);
	json_dumpf(line, stdout, JSON_COMPACT);
	json_decref(line);
	putchar('\n');
	fflush(stdout);
	return 0;
}

static int follow(struct nl_socket *socket, const union sixlane_addr *src,
		  const union sixlane_addr *dst)
{
	struct pollfd fds[] = { { .fd = STDIN_FILENO, .events = POLLIN },
				{ .fd = socket ? nl_socket_fd(socket) : -1, .events = POLLIN } };
	int r = print_line(socket, src, dst);

	while (r == 0 && poll(fds, ARRAY_SIZE(fds), -1) > 0 && !fds[0].revents) {
		if (notifications_read(&xfrm_notifications, socket, NULL))
			r = print_line(socket, src, dst);
	}
	return r;
}

int main(int argc, char **argv)
{
	union sixlane_addr addrs[2];
	_cleanup_(nl_socket_freep) struct nl_socket *socket = NULL;
	int r;

	for (int i = 1; i < 3 && argc == 3; i++) {
		if (inet_pton(AF_INET6, argv[i], &addrs[i - 1]) != 1)
			return 2;
	}
	r = notifications_open(&xfrm_notifications, 0, &socket);
	if (r < 0) {
		fprintf(stderr, "xfrm_dump: %s\n", strerror(-r));
		return 1;
	}
	return follow(socket, argc == 3 ? &addrs[0] : NULL, &addrs[1]);
}
