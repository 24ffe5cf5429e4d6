// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the operator wants is written to sl_operator, whether or not a daemon runs; the daemon
 * brings it into force, for which it is waited here. All or nothing: what cannot be done is said
 * before anything is changed, and what fails half way is undone.
 */
#include <errno.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <signal.h>
#include <string.h>

#include "../lib/log.h"
#include "../lib/poke.h"
#include "exception.h"
#include "show.h"

#define WAIT_NS 3000000000ull /* at least, and for each request … */
#define WAIT_EACH_NS 100000ull
#define PAUSE_NS 200000
/* A daemon may be told of many thousands at once, a person not. */
#define MAX_TOLD 10

#define FILE_EXISTS "File exists: 'replace' changes it"

struct change {
	const struct cmd_options *options;
	enum exception_verb verb;
	struct exceptions *list;
	struct cmd_view view;
	struct ifaddrs *own; /* the router's addresses, as far as they can be read */
	bool daemon;
};

static bool sets(const struct change *change)
{
	return change->verb >= EXCEPTION_ADD;
}

/* CMD_FAILED. */
static int tell(const struct exception *one, const char *why)
{
	char name[EXCEPTION_NAME], line[32] = "";

	if (one->line)
		snprintf(line, sizeof(line), "line %u: ", one->line);
	log_error("%s%s: %s", line, exception_name(one, name), why);
	return CMD_FAILED;
}

/* --- before ------------------------------------------------------------------------------ */

/* ifindex of the VRF that a device is in or is, 0: none. */
static uint32_t vrf_of(const struct ports *ports, const char *name)
{
	const struct link *link = ports_find_name(ports, name);

	if (link && !link->vrf_table)
		link = ports_find(ports, link->master);
	return link && link->vrf_table ? link->ifindex : 0;
}

/* Whether the kernel would call the gateway a local address: in the same VRF, or, link-local, of
 * the same device. */
static bool is_own(const struct change *change, const struct sixlane_operator *value)
{
	const struct ports *ports = &change->view.ports;
	const struct ifaddrs *own = *value->device ? change->own : NULL;

	for (; own; own = own->ifa_next) {
		const struct sockaddr_in6 *sin6 = (const void *)own->ifa_addr;

		if (!sin6 || sin6->sin6_family != AF_INET6 ||
		    memcmp(&sin6->sin6_addr, &value->gateway, sizeof(value->gateway)) != 0)
			continue;
		if (IN6_IS_ADDR_LINKLOCAL(&sin6->sin6_addr)
			    ? !strcmp(own->ifa_name, value->device)
			    : vrf_of(ports, own->ifa_name) == vrf_of(ports, value->device))
			return true;
	}
	return false;
}

/* Whether it can be done; *one: what there is now. */
static bool check_one(const struct change *change, struct exception *one, char *err)
{
	const int rc = exception_read(&change->view.maps, one);
	char addr[PRINT_PREFIX_LEN], buf[SHOW_TABLE_LEN];
	const char *table = show_table(one->elsewhere, buf);
	const bool missing = change->verb == EXCEPTION_DELETE && !one->has_wish;

	print_prefix(&one->dst, 128, true, addr);
	if (rc)
		return exception_fail(err, "%s", strerror(-rc));
	if (missing && one->has_entry && one->entry.flags & SIXLANE_EXCEPTION_KERNEL)
		return exception_fail(
			err, "learned by the kernel: 'ip -6 route flush cache %s' removes it",
			addr);
	if (missing)
		return exception_fail(err, "there is no operator exception");
	if (sets(change) && one->elsewhere)
		return exception_fail(
			err,
			"it has one in table %s, and can have no other: 'sixlane exception delete %s table %s' removes that",
			table, addr, table);
	if (change->verb == EXCEPTION_ADD && one->has_wish)
		return exception_fail(err, FILE_EXISTS);
	if (sets(change) && is_own(change, &one->value))
		return exception_fail(err, "via an address of the router itself");
	return true;
}

/* --- writing ----------------------------------------------------------------------------- */

/* 0 or -errno. */
static int write_one(const struct change *change, const struct exception *one)
{
	const struct maps *maps = &change->view.maps;
	int rc;

	switch (change->verb) {
	case EXCEPTION_ADD:
		/* one that has expired stays until a daemon removes it */
		maps_operator_expire(maps, &one->dst, util_now_ns());
		/* somebody else may have added it since it was looked for */
		return maps_operator_add(maps, &one->dst, &one->value);
	case EXCEPTION_REPLACE:
		return maps_operator_set(maps, &one->dst, &one->value);
	default:
		rc = maps_operator_del(maps, &one->dst);
		/* who else removes it has done what was asked for */
		return rc == -ENOENT ? 0 : rc;
	}
}

static void undo(const struct change *change, size_t n)
{
	const struct maps *maps = &change->view.maps;

	while (n--) {
		const struct exception *one = &change->list->at[n];

		if (one->has_wish)
			maps_operator_set(maps, &one->dst, &one->wish);
		else
			maps_operator_del(maps, &one->dst);
	}
}

/* CMD_OK, or CMD_FAILED (said) and nothing has changed. */
static int write_all(const struct change *change)
{
	char full[64];

	for (size_t i = 0; i < change->list->n; i++) {
		const struct exception *one = &change->list->at[i];
		const int rc = write_one(change, one);

		if (!rc)
			continue;
		undo(change, i);
		snprintf(full, sizeof(full), "the limit of %u operator exceptions is reached",
			 SIXLANE_MAX_EXCEPTIONS);
		return tell(one, rc == -E2BIG ? full : rc == -EEXIST ? FILE_EXISTS : strerror(-rc));
	}
	return CMD_OK;
}

/* --- after ------------------------------------------------------------------------------- */

/* Tell the daemon. Returns the number of the change. */
static uint64_t count_change(const struct change *change)
{
	struct sixlane_meta *meta = change->view.maps.meta;
	uint64_t number = __atomic_add_fetch(&meta->operator_changes, 1, __ATOMIC_SEQ_CST);

	/* It looks once a second by itself: from another network namespace that has to do. */
	if (change->daemon)
		poke_send();
	return number;
}

/* Until the daemon has done it, or has had all the time it may need. */
static void wait_done(const struct change *change, uint64_t number)
{
	static const struct timespec pause = { .tv_nsec = PAUSE_NS };
	const struct sixlane_meta *meta = change->view.maps.meta;
	uint64_t until = util_now_ns() + WAIT_NS + change->list->n * WAIT_EACH_NS;

	while (change->daemon && __atomic_load_n(&meta->operator_done, __ATOMIC_ACQUIRE) < number &&
	       util_now_ns() < until)
		nanosleep(&pause, NULL);
}

/* What became of one request. NULL: it is as it was asked for. */
static const char *shortcoming(const struct change *change, const struct exception *asked,
			       struct exception_why *why)
{
	struct exception now = *asked;
	int rc = exception_read(&change->view.maps, &now);

	why->refused = true;
	if (rc)
		return strerror(-rc);
	if (sets(change) && !now.has_wish)
		return "it has expired, or another process has removed it";
	if (sets(change))
		return exception_why_not(&change->view, change->daemon, &now, why);
	if (!now.has_entry || !(now.entry.flags & SIXLANE_EXCEPTION_OPERATOR))
		return NULL;
	why->refused = change->daemon;
	return change->daemon ? "sixlaned has not applied it" : "sixlaned does not run";
}

/* Returns how many are not in force; *refused: of one of them nothing can be waited for. */
static size_t tell_shortcomings(const struct change *change, bool *refused)
{
	char name[EXCEPTION_NAME];
	struct exception_why buf;
	size_t n_short = 0;
	const char *why;

	for (size_t i = 0; i < change->list->n; i++) {
		const struct exception *one = &change->list->at[i];

		why = shortcoming(change, one, &buf);
		if (!why)
			continue;
		*refused |= buf.refused;
		if (n_short++ < MAX_TOLD)
			log_warning("%s: stored, but %s: %s", exception_name(one, name),
				    sets(change) ? "inactive" : "still active", why);
	}
	if (n_short > MAX_TOLD)
		log_warning("%zu more exceptions are in the same state", n_short - MAX_TOLD);
	return n_short;
}

static int print_result(const struct change *change, size_t n_short)
{
	size_t n = change->list->n;
	json_t *object;

	if (!change->options->json) {
		if (change->verb == EXCEPTION_FLUSH)
			printf("removed %zu\n", n);
		return print_flush();
	}
	object = json_object();
	print_set(object, "requested", json_integer((json_int_t)n));
	print_set(object, "applied", json_integer((json_int_t)(n - n_short)));
	print_set(object, "daemon", json_boolean(change->daemon));
	return print_json(change->options, object);
}

/* What waits for a daemon, a device or a route is done as far as it can be. */
static int write_and_settle(const struct change *change)
{
	sigset_t all, old;
	bool refused = false;
	uint64_t number;
	int rc;

	/* an interrupt leaves no part of the list; it may end the waiting */
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &old);
	rc = write_all(change);
	/* what was undone may be in force already */
	number = count_change(change);
	sigprocmask(SIG_SETMASK, &old, NULL);
	wait_done(change, number);
	if (rc)
		return rc;
	rc = print_result(change, tell_shortcomings(change, &refused));
	return refused ? CMD_FAILED : rc;
}

/* --- all of it --------------------------------------------------------------------------- */

int exception_change(const struct cmd_options *options, enum exception_verb verb,
		     struct exceptions *list)
{
	struct change change = {
		.options = options, .verb = verb, .list = list, .daemon = loader_daemon_runs()
	};
	struct exceptions found = { 0 };
	int rc = cmd_view_open_writable(&change.view), error = 0;
	char err[EXCEPTION_ERR];

	if (rc)
		return rc;
	if (verb == EXCEPTION_FLUSH) {
		error = exception_collect(&change.view.maps, list->at, false, &found);
		change.list = &found;
	}
	if (error) {
		log_error("cannot read the operator's exceptions: %s", strerror(-error));
		rc = CMD_FAILED;
	}
	if (sets(&change) && getifaddrs(&change.own))
		change.own = NULL;
	for (size_t i = 0; i < change.list->n && !rc; i++) {
		if (!check_one(&change, &change.list->at[i], err))
			rc = tell(&change.list->at[i], err);
	}
	if (!rc)
		rc = write_and_settle(&change);
	if (change.own)
		freeifaddrs(change.own);
	free(found.at);
	cmd_view_close(&change.view);
	return rc;
}
