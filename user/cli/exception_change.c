// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the operator wants is written to sl_operator, whether or not a daemon runs; the daemon
 * brings it into force, for which it is waited here. All or nothing: what cannot be done is said
 * before anything is changed, and what fails half way is undone.
 */
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
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

struct change {
	const struct cmd_options *options;
	struct cmd_view view;
	struct exception_state *before; /* of each request */
	const struct exception_requests *requests;
	bool daemon;
	bool adds;    /* what there was none of, or an expired one */
	bool written; /* something was, which the daemon may have read */
};

#define FILE_EXISTS "File exists: 'replace' changes it"

#define NAME_LEN (PRINT_PREFIX_LEN + SHOW_TABLE_LEN + 8)

/* "2001:db8::1", "2001:db8::1 table 100". */
static const char *name_of(const struct exception_key *key, char buf[NAME_LEN])
{
	char addr[PRINT_PREFIX_LEN], table[SHOW_TABLE_LEN];

	print_prefix(&key->dst, 128, true, addr);
	if (key->table == SIXLANE_TABLE_MAIN)
		snprintf(buf, NAME_LEN, "%s", addr);
	else
		snprintf(buf, NAME_LEN, "%s table %s", addr, show_table(key->table, table));
	return buf;
}

/* CMD_FAILED. */
static int fail(const struct exception_request *request, const char *why)
{
	char name[NAME_LEN], line[32] = "";

	if (request->line)
		snprintf(line, sizeof(line), "line %u: ", request->line);
	log_error("%s%s: %s", line, name_of(&request->key, name), why);
	return CMD_FAILED;
}

/* --- before ------------------------------------------------------------------------------ */

/* Close with change_close. CMD_OK or CMD_FAILED (said). */
static int change_open(struct change *change, const struct cmd_options *options)
{
	*change = (struct change){ .options = options, .daemon = loader_daemon_runs() };
	return cmd_view_open_writable(&change->view);
}

static void change_close(struct change *change)
{
	free(change->before);
	cmd_view_close(&change->view);
}

/* What is there of each request now. CMD_OK or CMD_FAILED (said). */
static int read_before(struct change *change, const struct exception_requests *requests)
{
	int rc;

	change->requests = requests;
	change->before = calloc(requests->n + 1, sizeof(*change->before));
	if (!change->before) {
		log_error("out of memory");
		return CMD_FAILED;
	}
	for (size_t i = 0; i < requests->n; i++) {
		rc = exception_read(&change->view.maps, &requests->at[i].key, &change->before[i]);
		if (rc)
			return fail(&requests->at[i], strerror(-rc));
	}
	return CMD_OK;
}

/* --- writing ----------------------------------------------------------------------------- */

static int write_one(const struct maps *maps, const union sixlane_addr *dst,
		     const struct sixlane_operator *wish)
{
	return wish ? maps_operator_set(maps, dst, wish) : maps_operator_del(maps, dst);
}

static void undo(struct change *change, size_t n)
{
	while (n--) {
		const struct exception_state *before = &change->before[n];

		write_one(&change->view.maps, &before->key.dst,
			  before->has_wish ? &before->wish : NULL);
	}
}

/* All requests, or their ends. CMD_OK, or CMD_FAILED (said) and nothing has changed. */
static int write_all(struct change *change, bool set)
{
	char why[64];
	int rc;

	for (size_t i = 0; i < change->requests->n; i++) {
		const struct exception_request *request = &change->requests->at[i];

		/* somebody else may have added it since it was looked for */
		if (set && change->adds && !change->before[i].has_wish)
			rc = maps_operator_add(&change->view.maps, &request->key.dst,
					       &request->value);
		else
			rc = write_one(&change->view.maps, &request->key.dst,
				       set ? &request->value : NULL);
		/* who else removes it has done what was asked for */
		change->written |= !rc;
		if (!rc || (rc == -ENOENT && !set))
			continue;
		undo(change, i);
		if (rc == -E2BIG)
			snprintf(why, sizeof(why), "the limit of %u operator exceptions is reached",
				 SIXLANE_MAX_EXCEPTIONS);
		else
			snprintf(why, sizeof(why), "%s",
				 rc == -EEXIST ? FILE_EXISTS : strerror(-rc));
		return fail(request, why);
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
	uint64_t until = util_now_ns() + WAIT_NS + change->requests->n * WAIT_EACH_NS;

	while (change->daemon && __atomic_load_n(&meta->operator_done, __ATOMIC_ACQUIRE) < number &&
	       util_now_ns() < until)
		nanosleep(&pause, NULL);
}

/* What became of one request. NULL: it is as it was asked for. */
static const char *shortcoming(const struct change *change, const struct exception_request *request,
			       bool set, struct exception_why *why)
{
	struct exception_state now;
	int rc = exception_read(&change->view.maps, &request->key, &now);

	why->refused = true;
	if (rc)
		return strerror(-rc);
	if (set && !now.has_wish)
		return "it has expired, or another process has removed it";
	if (set)
		return exception_why_not(&change->view, change->daemon, &now, why);
	if (!now.has_entry || !(now.entry.flags & SIXLANE_EXCEPTION_OPERATOR))
		return NULL;
	why->refused = change->daemon;
	return change->daemon ? "sixlaned has not applied it" : "sixlaned does not run";
}

struct outcome {
	size_t n_short;	  /* requests that are not in force … */
	size_t n_refused; /* … and of these, those for which nothing can be waited */
};

/* Tells of the first ones. */
static struct outcome tell_shortcomings(const struct change *change, bool set)
{
	struct outcome outcome = { 0 };
	struct exception_why buf;
	char name[NAME_LEN];
	const char *why;

	for (size_t i = 0; i < change->requests->n; i++) {
		const struct exception_request *request = &change->requests->at[i];

		why = shortcoming(change, request, set, &buf);
		if (!why)
			continue;
		outcome.n_refused += buf.refused;
		if (outcome.n_short++ >= MAX_TOLD)
			continue;
		log_warning("%s: stored, but %s: %s", name_of(&request->key, name),
			    set ? "inactive" : "still active", why);
	}
	if (outcome.n_short > MAX_TOLD)
		log_warning("%zu more exceptions are in the same state",
			    outcome.n_short - MAX_TOLD);
	return outcome;
}

static int print_result(const struct change *change, size_t n_short)
{
	json_t *object;

	if (!change->options->json)
		return print_flush();
	object = json_object();
	print_set(object, "requested", json_integer((json_int_t)change->requests->n));
	print_set(object, "applied", json_integer((json_int_t)(change->requests->n - n_short)));
	print_set(object, "daemon", json_boolean(change->daemon));
	return print_json(change->options, object);
}

/* Who interrupts the command must not leave a part of the list. The old mask. */
static sigset_t block_signals(void)
{
	sigset_t ours, old;

	sigemptyset(&ours);
	sigaddset(&ours, SIGINT);
	sigaddset(&ours, SIGTERM);
	sigaddset(&ours, SIGHUP);
	sigaddset(&ours, SIGPIPE);
	sigprocmask(SIG_BLOCK, &ours, &old);
	return old;
}

/* What waits for a daemon, a device or a route is done as far as it can be. */
static int write_and_settle(struct change *change, bool set)
{
	const sigset_t old = block_signals();
	struct outcome outcome;
	int rc = write_all(change, set);
	/* what was undone may be in force already */
	bool counts = rc ? change->written : change->requests->n > 0;
	uint64_t number = counts ? count_change(change) : 0;

	/* waiting may be interrupted */
	sigprocmask(SIG_SETMASK, &old, NULL);
	wait_done(change, number);
	if (rc)
		return rc;
	outcome = tell_shortcomings(change, set);
	rc = print_result(change, outcome.n_short);
	return outcome.n_refused ? CMD_FAILED : rc;
}

/* --- the verbs --------------------------------------------------------------------------- */

/* A destination has one, whatever the table. */
static int check_tables(const struct change *change)
{
	char addr[PRINT_PREFIX_LEN], buf[SHOW_TABLE_LEN], why[256];
	const char *table;

	for (size_t i = 0; i < change->requests->n; i++) {
		const struct exception_state *before = &change->before[i];

		if (!before->elsewhere)
			continue;
		print_prefix(&before->key.dst, 128, true, addr);
		table = show_table(before->elsewhere, buf);
		snprintf(
			why, sizeof(why),
			"it has one in table %s, and can have no other: 'sixlane exception delete %s table %s' removes that",
			table, addr, table);
		return fail(&change->requests->at[i], why);
	}
	return CMD_OK;
}

static int check_new(const struct change *change)
{
	for (size_t i = 0; i < change->requests->n; i++) {
		const struct exception_state *before = &change->before[i];

		/* an expired one may still be there, as long as no daemon has removed it */
		if (before->has_wish && !exception_is_over(before->wish.expires_ns))
			return fail(&change->requests->at[i], FILE_EXISTS);
	}
	return CMD_OK;
}

/* ifindex of the VRF that a device is in or is, 0: none. */
static uint32_t vrf_of(const struct ports *ports, const char *name)
{
	uint32_t master = 0;

	for (size_t i = 0; i < ports->n; i++) {
		const struct link *link = &ports->links[i];

		if (!strcmp(link->name, name))
			master = link->vrf_table ? link->ifindex : link->master;
	}
	for (size_t i = 0; i < ports->n; i++) {
		if (ports->links[i].ifindex == master && ports->links[i].vrf_table)
			return master;
	}
	return 0;
}

/* Whether the kernel would call the gateway a local address: in the same VRF, or, link-local, of
 * the same device. */
static bool is_own(const struct ports *ports, const struct sixlane_operator *wish,
		   const struct ifaddrs *own)
{
	const struct sockaddr_in6 *sin6 = (const void *)own->ifa_addr;

	if (!sin6 || sin6->sin6_family != AF_INET6 ||
	    memcmp(&sin6->sin6_addr, &wish->gateway, sizeof(wish->gateway)) != 0)
		return false;
	if (IN6_IS_ADDR_LINKLOCAL(&sin6->sin6_addr))
		return !strcmp(own->ifa_name, wish->device);
	return vrf_of(ports, own->ifa_name) == vrf_of(ports, wish->device);
}

/* NULL: nothing is wrong with the next hop, as far as can be told. */
static const char *why_no_way(const struct ports *ports, const struct sixlane_operator *wish,
			      const struct ifaddrs *all)
{
	if (!*wish->device)
		return NULL;
	for (; all; all = all->ifa_next) {
		if (all->ifa_flags & IFF_LOOPBACK && !strcmp(all->ifa_name, wish->device))
			return "via a loopback device, which forwards nothing";
		if (is_own(ports, wish, all))
			return "via an address of the router itself";
	}
	return NULL;
}

/* What the kernel would not take for a gateway. */
static int check_ways(const struct change *change)
{
	const struct exception_requests *requests = change->requests;
	struct ifaddrs *all = NULL;
	const char *why = NULL;
	int rc = CMD_OK;

	if (getifaddrs(&all))
		return CMD_OK;
	for (size_t i = 0; i < requests->n && !rc; i++) {
		why = why_no_way(&change->view.ports, &requests->at[i].value, all);
		if (why)
			rc = fail(&requests->at[i], why);
	}
	freeifaddrs(all);
	return rc;
}

int exception_add(const struct cmd_options *options, const struct exception_requests *requests,
		  bool replace)
{
	struct change change;
	int rc = change_open(&change, options);

	if (rc)
		return rc;
	change.adds = !replace;
	rc = read_before(&change, requests);
	if (!rc)
		rc = check_tables(&change);
	if (!rc && !replace)
		rc = check_new(&change);
	if (!rc)
		rc = check_ways(&change);
	if (!rc)
		rc = write_and_settle(&change, true);
	change_close(&change);
	return rc;
}

static int check_there(const struct change *change)
{
	char addr[PRINT_PREFIX_LEN], why[PRINT_PREFIX_LEN + 64];

	for (size_t i = 0; i < change->requests->n; i++) {
		const struct exception_state *state = &change->before[i];
		const struct exception_request *request = &change->requests->at[i];

		if (state->has_wish)
			continue;
		if (!state->has_entry || !(state->entry.flags & SIXLANE_EXCEPTION_KERNEL))
			return fail(request, "there is no operator exception");
		print_prefix(&request->key.dst, 128, true, addr);
		snprintf(why, sizeof(why),
			 "learned by the kernel: 'ip -6 route flush cache %s' removes it", addr);
		return fail(request, why);
	}
	return CMD_OK;
}

int exception_del(const struct cmd_options *options, const struct exception_requests *requests)
{
	struct change change;
	int rc = change_open(&change, options);

	if (rc)
		return rc;
	rc = read_before(&change, requests);
	if (!rc)
		rc = check_there(&change);
	if (!rc)
		rc = write_and_settle(&change, false);
	change_close(&change);
	return rc;
}

struct collect {
	struct exception_requests requests;
	uint32_t table; /* 0: all */
};

static int collect(void *ctx, const union sixlane_addr *dst, const struct sixlane_operator *value)
{
	const struct exception_request request = { .key = { .dst = *dst, .table = value->table },
						   .value = *value };
	struct collect *to = ctx;

	if (to->table && value->table != to->table)
		return 0;
	return exception_append(&to->requests, &request) ? 0 : -ENOMEM;
}

int exception_flush(const struct cmd_options *options, uint32_t table)
{
	struct collect all = { .table = table };
	struct change change;
	int rc = change_open(&change, options);

	if (rc)
		return rc;
	rc = maps_operator_each(&change.view.maps, collect, &all);
	if (rc) {
		log_error("cannot read the operator's exceptions: %s", strerror(-rc));
		rc = CMD_FAILED;
	} else {
		rc = read_before(&change, &all.requests);
	}
	if (!rc)
		rc = write_and_settle(&change, false);
	if (!rc && !options->json)
		printf("removed %zu\n", all.requests.n);
	change_close(&change);
	free(all.requests.at);
	return rc ?: print_flush();
}
