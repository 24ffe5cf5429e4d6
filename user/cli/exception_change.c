// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the operator wants is written to sl_operator, whether or not a daemon runs; the daemon
 * brings it into force, for which it is waited here. A list is carried out line by line, as
 * `ip -batch` does it: the first one that fails ends it.
 */
#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "../lib/log.h"
#include "../lib/wakeup.h"
#include "exception.h"
#include "show.h"

#define WAIT_NS 3000000000ull /* at least, and for each request … */
#define WAIT_EACH_NS 100000ull
#define PAUSE_NS 200000
/* A daemon may be told of many thousands at once, a person not. */
#define MAX_TOLD 10

struct change {
	enum exception_verb verb;
	struct exceptions *list;
	size_t n_done;	 /* the first ones of the list */
	uint64_t number; /* of the last of these among all changes; 0: none */
	struct cmd_view view;
	bool daemon;
};

/* --- one of them ------------------------------------------------------------------------- */

/* Says why it was not carried out. False. */
static _printf_(2, 3) bool fail(const struct exception *one, const char *fmt, ...)
{
	char name[EXCEPTION_NAME], line[32] = "", why[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	if (one->line)
		snprintf(line, sizeof(line), "line %u: ", one->line);
	log_error("%s%s: %s%s", line, exception_name(&one->dst, one->value.table, name), why,
		  one->line ? "; the lines from here on are not applied" : "");
	return false;
}

/* rc: 0 or -errno. */
static bool wrote(const struct exception *one, int rc)
{
	if (rc == -EEXIST)
		return fail(one, "File exists: 'replace' changes it");
	if (rc == -E2BIG)
		return fail(one, "the limit of %u operator exceptions is reached",
			    SIXLANE_MAX_OPERATOR);
	return !rc || fail(one, "%s", strerror(-rc));
}

static bool set_wish(const struct change *change, const struct exception *one,
		     const struct exception_state *state)
{
	const struct maps *maps = &change->view.maps;
	char addr[PRINT_PREFIX_LEN], buf[SHOW_TABLE_LEN];
	const char *table = show_table(state->wish.table, buf);
	const bool replace = change->verb == EXCEPTION_REPLACE;
	struct sixlane_operator same = one->value;

	same.added_ns = state->wish.added_ns;
	print_prefix(&one->dst, 128, true, addr);
	if (state->wish.table && state->wish.table != one->value.table)
		return fail(
			one,
			"it has one in table %s, and can have no other: 'sixlane exception delete %s table %s' removes that",
			table, addr, table);
	if (replace && !memcmp(&same, &state->wish, sizeof(same)))
		return true;
	if (!replace) /* one that has expired stays until a daemon removes it */
		maps_operator_expire(maps, &one->dst, util_now_ns());
	return wrote(one, maps_operator_set(maps, &one->dst, &one->value, replace));
}

static bool remove_wish(const struct change *change, const struct exception *one,
			const struct exception_state *state)
{
	char addr[PRINT_PREFIX_LEN];
	int rc;

	print_prefix(&one->dst, 128, true, addr);
	if (change->verb == EXCEPTION_DELETE && state->wish.table != one->value.table) {
		if (!(state->entry.flags & SIXLANE_EXCEPTION_KERNEL))
			return fail(one, "there is no operator exception");
		return fail(one, "learned by the kernel: 'ip -6 route flush cache %s' removes it",
			    addr);
	}
	rc = maps_operator_del(&change->view.maps, &one->dst);
	/* who else removes it has done what is asked for */
	return wrote(one, rc == -ENOENT ? 0 : rc);
}

/* --- all of them ------------------------------------------------------------------------- */

/* False: it is not known what is there, which is said. */
static bool find_all(struct change *change)
{
	struct exceptions *list = change->list;
	const uint32_t table = list->at[0].value.table;
	size_t n = 0;
	int rc;

	list->n = 0;
	rc = exception_collect(&change->view.maps, list);
	if (rc)
		log_error("cannot read the operator's exceptions: %s", strerror(-rc));
	for (size_t i = 0; i < list->n; i++)
		if (!table || list->at[i].value.table == table)
			list->at[n++] = list->at[i];
	list->n = n;
	return !rc;
}

/* False: one failed, which is said. */
static bool carry_out(struct change *change)
{
	struct sixlane_meta *meta = change->view.maps.meta;
	bool good = true;

	for (size_t i = 0; i < change->list->n && good; i++) {
		const struct exception *one = &change->list->at[i];
		struct exception_state state;

		good = wrote(one, exception_read(&change->view.maps, &one->dst, &state)) &&
		       (change->verb >= EXCEPTION_ADD ? set_wish(change, one, &state)
						      : remove_wish(change, one, &state));
		change->n_done += good;
		if (good) /* each: the command may be interrupted */
			change->number =
				__atomic_add_fetch(&meta->operator_changes, 1, __ATOMIC_SEQ_CST);
	}
	return good;
}

/* --- after ------------------------------------------------------------------------------- */

/* Until it is done. False: the daemon has had all the time it may need. */
static bool wait_for_daemon(const struct change *change)
{
	static const struct timespec pause = { .tv_nsec = PAUSE_NS };
	const struct sixlane_meta *meta = change->view.maps.meta;
	const uint64_t until = util_now_ns() + WAIT_NS + change->n_done * WAIT_EACH_NS;

	if (!change->daemon)
		return true;
	wakeup_send(loader_pin_dir()); /* a daemon of another network namespace looks within a second */
	while (__atomic_load_n(&meta->operator_done, __ATOMIC_ACQUIRE) < change->number) {
		if (util_now_ns() >= until)
			return false;
		nanosleep(&pause, NULL);
	}
	return true;
}

/* What became of one that is done. NULL: it is as it was asked for, or somebody else's by now. */
static const char *shortcoming(const struct change *change, const struct exception *one,
			       char buf[EXCEPTION_WHY])
{
	const bool sets = change->verb >= EXCEPTION_ADD;
	struct exception_state now;
	const int rc = exception_read(&change->view.maps, &one->dst, &now);

	if (rc)
		return strerror(-rc);
	if (sets != !!now.wish.table)
		return NULL;
	if (sets)
		return exception_why_not(&change->view, change->daemon, &one->dst, &now, buf);
	if (!(now.entry.flags & SIXLANE_EXCEPTION_OPERATOR))
		return NULL;
	return change->daemon ? "sixlaned has not applied it" : "sixlaned does not run";
}

/* Returns how many are not in force. */
static size_t tell_shortcomings(const struct change *change)
{
	const char *is = change->verb >= EXCEPTION_ADD ? "inactive" : "still active", *why;
	char name[EXCEPTION_NAME], buf[EXCEPTION_WHY];
	size_t n_short = 0;

	for (size_t i = 0; i < change->n_done; i++) {
		const struct exception *one = &change->list->at[i];

		why = shortcoming(change, one, buf);
		if (why && n_short++ < MAX_TOLD)
			log_warning("%s: stored, but %s: %s",
				    exception_name(&one->dst, one->value.table, name), is, why);
	}
	if (n_short > MAX_TOLD)
		log_warning("%zu more exceptions are in the same state", n_short - MAX_TOLD);
	return n_short;
}

static int print_result(const struct cmd_options *options, const struct change *change,
			size_t n_short)
{
	json_t *object;

	if (!options->json) {
		if (change->verb == EXCEPTION_FLUSH)
			printf("removed %zu\n", change->n_done);
		return print_flush();
	}
	object = json_object();
	print_set(object, "requested", json_integer((json_int_t)change->list->n));
	print_set(object, "applied", json_integer((json_int_t)(change->n_done - n_short)));
	print_set(object, "daemon", json_boolean(change->daemon));
	return print_json(options, object);
}

int exception_change(const struct cmd_options *options, enum exception_verb verb,
		     struct exceptions *list)
{
	struct change change = { .verb = verb, .list = list, .daemon = loader_daemon_runs() };
	int rc = cmd_view_open_writable(&change.view);
	bool good, in_time;
	size_t n_short;

	if (rc)
		return rc;
	good = (verb != EXCEPTION_FLUSH || find_all(&change)) && carry_out(&change);
	in_time = wait_for_daemon(&change);
	n_short = tell_shortcomings(&change);
	rc = print_result(options, &change, n_short);
	cmd_view_close(&change.view);
	/* one that waits for a route, a device or the daemon may come */
	return good && (in_time || !n_short) ? rc : CMD_FAILED;
}
