// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the operator wants is written to sl_operator, whether or not a daemon runs; the daemon
 * brings it into force, for which it is waited here. Of several the first that fails is the last
 * one that is tried, as by `ip -batch`.
 */
#include <errno.h>
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

struct change {
	const struct cmd_options *options;
	enum exception_verb verb;
	struct exceptions list; /* what is asked for; borrowed */
	size_t n_done;		/* of them, from the first on */
	struct cmd_view view;
	bool daemon;
};

static bool sets(const struct change *change)
{
	return change->verb >= EXCEPTION_ADD;
}

/* --- writing ----------------------------------------------------------------------------- */

/* Into err why not: as all functions that return bool here. */
static bool set_one(const struct change *change, const struct exception *one, char *err)
{
	const struct maps *maps = &change->view.maps;
	char addr[PRINT_PREFIX_LEN], buf[SHOW_TABLE_LEN];
	const char *table = show_table(one->elsewhere, buf);
	int rc;

	print_prefix(&one->dst, 128, true, addr);
	if (one->elsewhere)
		return exception_fail(
			err,
			"it has one in table %s, and can have no other: 'sixlane exception delete %s table %s' removes that",
			table, addr, table);
	/* one that has expired stays until a daemon removes it */
	maps_operator_expire(maps, &one->dst, util_now_ns());
	rc = change->verb == EXCEPTION_ADD ? maps_operator_add(maps, &one->dst, &one->value)
					   : maps_operator_set(maps, &one->dst, &one->value);
	if (rc == -EEXIST)
		return exception_fail(err, "File exists: 'replace' changes it");
	if (rc == -E2BIG)
		return exception_fail(err, "the limit of %u operator exceptions is reached",
				      SIXLANE_MAX_OPERATOR);
	return !rc || exception_fail(err, "%s", strerror(-rc));
}

static bool remove_one(const struct change *change, const struct exception *one, char *err)
{
	char addr[PRINT_PREFIX_LEN];
	int rc;

	print_prefix(&one->dst, 128, true, addr);
	if (!one->has_wish && change->verb == EXCEPTION_DELETE) {
		if (one->has_entry && one->entry.flags & SIXLANE_EXCEPTION_KERNEL)
			return exception_fail(
				err,
				"learned by the kernel: 'ip -6 route flush cache %s' removes it",
				addr);
		return exception_fail(err, "there is no operator exception");
	}
	rc = maps_operator_del(&change->view.maps, &one->dst);
	/* who else removes it has done what was asked for */
	return !rc || rc == -ENOENT || exception_fail(err, "%s", strerror(-rc));
}

static bool write_one(const struct change *change, struct exception *one, char *err)
{
	const int rc = exception_read(&change->view.maps, one);

	if (rc)
		return exception_fail(err, "%s", strerror(-rc));
	return sets(change) ? set_one(change, one, err) : remove_one(change, one, err);
}

/* CMD_OK, or CMD_FAILED (said). */
static int write_all(struct change *change)
{
	char name[EXCEPTION_NAME], err[EXCEPTION_ERR], line[32] = "";

	for (; change->n_done < change->list.n; change->n_done++) {
		struct exception *one = &change->list.at[change->n_done];

		if (write_one(change, one, err))
			continue;
		if (one->line)
			snprintf(line, sizeof(line), "line %u: ", one->line);
		log_error("%s%s: %s", line, exception_name(one, name), err);
		if (change->n_done)
			log_error("the %zu exceptions before it were applied", change->n_done);
		return CMD_FAILED;
	}
	return CMD_OK;
}

/* --- afterwards -------------------------------------------------------------------------- */

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
	uint64_t until = util_now_ns() + WAIT_NS + change->n_done * WAIT_EACH_NS;

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

	for (size_t i = 0; i < change->n_done; i++) {
		const struct exception *one = &change->list.at[i];

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
	json_t *object;

	if (!change->options->json) {
		if (change->verb == EXCEPTION_FLUSH)
			printf("removed %zu\n", change->n_done);
		return print_flush();
	}
	object = json_object();
	print_set(object, "requested", json_integer((json_int_t)change->list.n));
	print_set(object, "applied", json_integer((json_int_t)(change->n_done - n_short)));
	print_set(object, "daemon", json_boolean(change->daemon));
	return print_json(change->options, object);
}

/* What waits for a daemon, a device or a route is done as far as it can be. */
static int carry_out(struct change *change)
{
	sigset_t all, old;
	bool refused = false;
	uint64_t number;
	int rc, printed;

	/* the daemon is told of what was written; an interrupt may end the waiting */
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &old);
	rc = write_all(change);
	number = count_change(change);
	sigprocmask(SIG_SETMASK, &old, NULL);
	wait_done(change, number);
	printed = print_result(change, tell_shortcomings(change, &refused));
	return rc || refused ? CMD_FAILED : printed;
}

int exception_change(const struct cmd_options *options, enum exception_verb verb,
		     struct exceptions *list)
{
	struct change change = {
		.options = options, .verb = verb, .list = *list, .daemon = loader_daemon_runs()
	};
	struct exceptions found = { 0 };
	int rc = cmd_view_open_writable(&change.view), error = 0;

	if (rc)
		return rc;
	if (verb == EXCEPTION_FLUSH) {
		error = exception_collect(&change.view.maps, list->at, false, &found);
		change.list = found;
	}
	if (error) {
		log_error("cannot read the operator's exceptions: %s", strerror(-error));
		rc = CMD_FAILED;
	} else {
		rc = carry_out(&change);
	}
	free(found.at);
	cmd_view_close(&change.view);
	return rc;
}
