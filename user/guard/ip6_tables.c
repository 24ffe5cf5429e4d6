// SPDX-License-Identifier: GPL-2.0-only
/*
 * A request for a table that does not exist would create it and load its module. So only tables
 * that the kernel lists for this thread's network namespace are requested.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "../lib/util.h"
#include "ip6_tables.h"

#define NAMES "/proc/thread-self/net/ip6_tables_names"
/* Attempts, if the table changes between the request for its size and that for its entries. */
#define TRIES 16

static int get_info(int fd, const char *name, struct ip6t_getinfo *out)
{
	socklen_t size = sizeof(*out);

	memset(out, 0, sizeof(*out));
	snprintf(out->name, sizeof(out->name), "%s", name);
	return getsockopt(fd, IPPROTO_IPV6, IP6T_SO_GET_INFO, out, &size) < 0 ? -errno : 0;
}

/* -EAGAIN: the table has another size now. */
static int get_entries(int fd, const struct ip6t_getinfo *info, struct ip6t_get_entries *out)
{
	socklen_t size = (socklen_t)(sizeof(*out) + info->size);

	memcpy(out->name, info->name, sizeof(out->name));
	out->size = info->size;
	return getsockopt(fd, IPPROTO_IPV6, IP6T_SO_GET_ENTRIES, out, &size) < 0 ? -errno : 0;
}

/* -EAGAIN also if the table was replaced by one of the same size between the requests. */
static int try_table(int fd, const char *name, struct guard_ruleset *rules)
{
	_cleanup_free_ struct ip6t_get_entries *entries = NULL;
	struct ip6t_getinfo info, after;
	int r;

	r = get_info(fd, name, &info);
	if (r < 0)
		return r;
	if (info.size > GUARD_MAX_BYTES)
		return -E2BIG;
	entries = malloc(sizeof(*entries) + info.size);
	if (!entries)
		return -ENOMEM;
	r = get_entries(fd, &info, entries) ?: get_info(fd, name, &after);
	if (r < 0)
		return r;
	if (memcmp(&info, &after, sizeof(info)) != 0)
		return -EAGAIN;
	return ip6_tables_parse(rules, &info, entries->entrytable, info.size);
}

static int read_table(int fd, const char *name, struct guard_ruleset *rules)
{
	int r = -EAGAIN;

	for (int i = 0; i < TRIES && r == -EAGAIN; i++)
		r = try_table(fd, name, rules);
	/* -ENOENT: the module was removed after the table was listed. */
	return r == -ENOENT ? 0 : r;
}

static int read_tables(FILE *names, struct guard_ruleset *rules)
{
	char name[XT_TABLE_MAXNAMELEN + 1];
	_cleanup_close_ int fd = -1;
	int r;

	while (fgets(name, sizeof(name), names)) {
		name[strcspn(name, "\n")] = '\0';
		/* Any IPv6 socket will do; a raw one needs one more capability. */
		if (fd < 0)
			fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		if (fd < 0)
			return -errno;
		r = read_table(fd, name, rules);
		if (r < 0)
			return r;
	}
	return ferror(names) ? -EIO : 0;
}

int ip6_tables_read(struct guard_ruleset **out)
{
	_cleanup_(guard_ruleset_freep) struct guard_ruleset *rules = guard_ruleset_new();
	_cleanup_fclose_ FILE *names = NULL;
	int r;

	if (!rules)
		return -ENOMEM;
	names = fopen(NAMES, "re");
	/* ENOENT: the kernel has no legacy tables. */
	if (!names && errno != ENOENT)
		return -errno;
	r = names ? read_tables(names, rules) : 0;
	if (r < 0)
		return r;
	*out = rules;
	rules = NULL;
	return 0;
}
