// SPDX-License-Identifier: GPL-2.0-only
/*
 * See exception.h. Requests are written to sl_operator, whether or not a daemon runs; the
 * daemon applies them, and the command waits for that. A list is applied line by line, as `ip
 * -batch` does: the first failure ends it.
 */
#include "exception.h"

#include <errno.h>
#include <string.h>

#include "../lib/log.h"
#include "show.h"

/* How long the daemon may take: so long, and for each request. */
#define WAIT_NS 3000000000ull
#define WAIT_EACH_NS 100000ull
/* Warnings about single exceptions. */
#define MAX_SHOWN 10

struct change {
	enum exception_change kind;
	struct exceptions *list;
	size_t n_done;	 /* how many of the list were written */
	uint64_t number; /* of the last one in meta->operator_changes; 0: none */
	struct cmd_view view;
	bool daemon;
};

/* --- one request ------------------------------------------------------------------------- */

/* Logs why the request was not written. False. */
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

/* rc: 0 or -errno. True for 0; else logs. */
static bool check(const struct exception *one, int rc)
{
	if (rc == -EEXIST)
		return fail(one, "File exists: 'replace' changes it");
	if (rc == -E2BIG)
		return fail(one, "the limit of %u operator exceptions is reached",
			    SIXLANE_MAX_OPERATOR_EXCEPTIONS);
	return !rc || fail(one, "%s", strerror(-rc));
}

static bool set_request(const struct change *change, const struct exception *one,
			const struct exception_state *state)
{
	const struct maps *maps = &change->view.maps;
	char addr[PRINT_PREFIX_LEN], buf[SHOW_TABLE_LEN];
	const char *table = show_table(state->request.table, buf);
	const bool replace = change->kind == EXCEPTION_REPLACE;
	struct sixlane_operator same = one->value;

	same.added_ns = state->request.added_ns;
	if (state->request.table && state->request.table != one->value.table)
		return fail(
			one,
			"it has one in table %s, and can have no other: 'sixlane exception delete %s table %s' removes that",
			table, print_addr(&one->dst, addr), table);
	if (replace && !memcmp(&same, &state->request, sizeof(same)))
		return true;
	if (!replace) /* without a daemon an expired one is still there */
		maps_operator_expire(maps, &one->dst, util_now_ns());
	return check(one, maps_operator_set(maps, &one->dst, &one->value, replace));
}

static bool remove_request(const struct change *change, const struct exception *one,
			   const struct exception_state *state)
{
	char addr[PRINT_PREFIX_LEN];
	int rc;

	if (change->kind == EXCEPTION_DELETE && state->request.table != one->value.table) {
		if (!(state->entry.flags & SIXLANE_EXCEPTION_KERNEL))
			return fail(one, "there is no operator exception");
		return fail(one, "learned by the kernel: 'ip -6 route flush cache %s' removes it",
			    print_addr(&one->dst, addr));
	}
	rc = maps_operator_del(&change->view.maps, &one->dst);
	/* somebody else may have removed it meanwhile */
	return check(one, rc == -ENOENT ? 0 : rc);
}

/* --- the list ---------------------------------------------------------------------------- */

/* Replaces the list by the requests of its table, or by all. False after logging. */
static bool read_all(struct change *change)
{
	struct exceptions *list = change->list;
	const uint32_t table = list->at[0].value.table;
	size_t n = 0;
	int rc;

	list->n = 0;
	rc = exception_read_requests(&change->view.maps, list);
	if (rc)
		log_error("cannot read the operator's exceptions: %s", strerror(-rc));
	for (size_t i = 0; i < list->n; i++)
		if (!table || list->at[i].value.table == table)
			list->at[n++] = list->at[i];
	list->n = n;
	return !rc;
}

/* Writes all. False after logging: one failed. */
static bool write_all(struct change *change)
{
	struct sixlane_meta *meta = change->view.maps.meta;
	bool good = true;

	for (size_t i = 0; i < change->list->n && good; i++) {
		const struct exception *one = &change->list->at[i];
		struct exception_state state;

		good = check(one, exception_read(&change->view.maps, &one->dst, &state)) &&
		       (change->kind >= EXCEPTION_ADD ? set_request(change, one, &state)
						      : remove_request(change, one, &state));
		change->n_done += good;
		if (good) /* after each one: the command may be interrupted */
			change->number =
				__atomic_add_fetch(&meta->operator_changes, 1, __ATOMIC_SEQ_CST);
	}
	return good;
}

/* --- the daemon and the result ----------------------------------------------------------- */

/* Why a written request is not in effect; NULL: it is, or somebody has changed it again. */
static const char *why_not(const struct change *change, const struct exception *one,
			   char buf[EXCEPTION_WHY])
{
	const bool sets = change->kind >= EXCEPTION_ADD;
	struct exception_state now;
	const int rc = exception_read(&change->view.maps, &one->dst, &now);

	if (rc)
		return strerror(-rc);
	if (sets != !!now.request.table)
		return NULL;
	if (sets)
		return exception_why_inactive(&change->view, change->daemon, &one->dst, &now, buf);
	if (!(now.entry.flags & SIXLANE_EXCEPTION_OPERATOR))
		return NULL;
	return change->daemon ? "sixlaned has not applied it" : "sixlaned does not run";
}

/* Warns about requests that are not in effect. Returns how many there are. */
static size_t warn(const struct change *change)
{
	const char *is = change->kind >= EXCEPTION_ADD ? "inactive" : "still active", *why;
	char name[EXCEPTION_NAME], buf[EXCEPTION_WHY];
	size_t n_inactive = 0;

	for (size_t i = 0; i < change->n_done; i++) {
		const struct exception *one = &change->list->at[i];

		why = why_not(change, one, buf);
		if (why && n_inactive++ < MAX_SHOWN)
			log_warning("%s: stored, but %s: %s",
				    exception_name(&one->dst, one->value.table, name), is, why);
	}
	if (n_inactive > MAX_SHOWN)
		log_warning("%zu more exceptions are in the same state", n_inactive - MAX_SHOWN);
	return n_inactive;
}

static int print_result(const struct cmd_options *options, const struct change *change,
			size_t n_inactive)
{
	json_t *object;

	if (!options->json) {
		if (change->kind == EXCEPTION_FLUSH)
			printf("removed %zu\n", change->n_done);
		return print_flush();
	}
	object = json_object();
	print_set(object, "requested", change->list->n);
	print_set(object, "applied", change->n_done - n_inactive);
	print_set(object, "daemon", change->daemon);
	return print_json(options, object);
}

int exception_change(const struct cmd_options *options, enum exception_change kind,
		     struct exceptions *list)
{
	struct change change = { .kind = kind, .list = list, .daemon = loader_daemon_runs() };
	int rc = cmd_view_open(&change.view, true);
	bool good, in_time;
	size_t n_inactive;

	if (!rc) {
		good = (kind != EXCEPTION_FLUSH || read_all(&change)) && write_all(&change);
		in_time = !change.daemon ||
			  cmd_wait_for_daemon(&change.view.maps.meta->operator_done, change.number,
					      WAIT_NS + change.n_done * WAIT_EACH_NS);
		n_inactive = warn(&change);
		rc = print_result(options, &change, n_inactive);
		/* in time but inactive: it waits for a route, a device or the daemon */
		if (!good || (!in_time && n_inactive))
			rc = CMD_FAILED;
	}
	cmd_view_close(&change.view);
	return rc;
}
