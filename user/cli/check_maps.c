// SPDX-License-Identifier: GPL-2.0-only
/*
 * Checks of the daemon and of the maps: reasons for which packets of all ports pass to the kernel.
 */
#include "check.h"
#include "fib.h"

static void check_refused(struct checkup *checkup)
{
	struct loader_refusal refusal;
	char text[LOADER_ERR];

	for (size_t i = 0; i < checkup->view->ports.n; i++) {
		const struct link *link = &checkup->view->ports.links[i];

		if (!port_filter_has(&checkup->filter, link->ifindex) ||
		    !refusals_read(link->name, &checkup->ports, &refusal))
			continue;
		loader_refusal_text(&refusal, text);
		check_error(checkup, link->name, "%s", text);
	}
}

#define GUARD_ADVICE "exclude these ports from its rules, or set bypass in sixlaned.conf"

static void check_guard(struct checkup *checkup)
{
	char text[2 * GUARD_REASON_LEN];

	for (size_t i = 0; i < checkup->restrictions.n; i++) {
		restriction_text(&checkup->restrictions.at[i], text, sizeof(text));
		check_note(checkup, NULL, "%s", text);
		if (checkup->restrictions.at[i].verdict == SIXLANE_PASS_FIREWALL)
			check_advise(checkup, GUARD_ADVICE
				     "; a stateful firewall may offer flows to a flowtable");
	}
}

static void check_bypass(struct checkup *checkup)
{
	for (int cause = 0; cause < GUARD_N_CAUSES; cause++)
		if (checkup->meta.bypassed >> cause & 1)
			check_note(
				checkup, NULL,
				"%s is bypassed: it does not see the packets that sixlane forwards",
				guard_cause_names[cause]);
}

static void check_daemon(struct checkup *checkup)
{
	uint32_t flags = checkup->meta.flags;

	if (!checkup->daemon && flags & SIXLANE_META_READY)
		check_error(
			checkup, NULL,
			"sixlaned does not run: packets follow routes that are no longer updated");
	else if (!checkup->daemon)
		check_error(checkup, NULL,
			    "sixlaned does not run: every packet passes to the kernel");
	else if (checkup->has_maps && !(flags & SIXLANE_META_IN_SYNC))
		check_error(checkup, NULL, "sixlaned is reading the kernel's tables");
}

static void check_switch(struct checkup *checkup)
{
	if (checkup->meta.flags & SIXLANE_META_PASS_ALL)
		check_error(checkup, NULL,
			    "acceleration is off: every packet passes to the kernel");
}

static void check_rules(struct checkup *checkup)
{
	if (checkup->meta.flags & SIXLANE_META_RULES)
		check_error(
			checkup, NULL,
			"'ip -6 rule' is being read, or has more than %u rules: every packet passes to the kernel",
			SIXLANE_MAX_RULES);
	if (checkup->meta.flags & SIXLANE_META_GAPS)
		check_warn(
			checkup, NULL,
			"a table is incomplete: packets without a route in it pass to the kernel, instead of following the next rule");
}

static void check_room(struct checkup *checkup)
{
	const struct sixlane_meta *meta = &checkup->meta;

	if (meta->routes_missing)
		check_error(checkup, NULL,
			    "%llu prefixes do not fit the maps: packets to them pass to the kernel",
			    meta->routes_missing);
	if (meta->exceptions_overflow)
		check_warn(
			checkup, NULL,
			"%llu exceptions do not fit the maps, or lack a next hop: packets to them pass to the kernel",
			meta->exceptions_overflow);
	if (meta->parity_punted)
		check_warn(
			checkup, NULL,
			"XDP and the kernel disagreed on %llu prefixes: packets to them pass to the kernel for now; see the log of sixlaned",
			meta->parity_punted);
	if (meta->neighbours >= SIXLANE_MAX_NEIGHBOURS - 1)
		check_error(
			checkup, NULL,
			"the maps are full with %u neighbours: packets to others pass to the kernel",
			SIXLANE_MAX_NEIGHBOURS - 1);
}

static bool default_expires(const struct maps *maps, uint32_t table)
{
	uint32_t value;

	return !maps_default_route(maps, table, &value) &&
	       maps->next_hops[sixlane_route_next_hop(value)].nh_entry.type == SIXLANE_PUNT_EXPIRES;
}

/* Warn of a default route that expires, such as one of a router advertisement. */
static void check_default(struct checkup *checkup)
{
	const struct maps *maps = &checkup->view->maps;

	/* doctor reports all routes with a lifetime */
	if (checkup->gateways || !default_expires(maps, SIXLANE_TABLE_MAIN))
		return;
	check_warn(
		checkup, NULL,
		"the default route expires, as one by a router advertisement does: the kernel forwards its packets (%s)",
		cmd_verdict_name(SIXLANE_PUNT_EXPIRES));
	check_advise(checkup,
		     "run 'ip -6 route replace default via GATEWAY dev PORT', without a lifetime");
}

static void check_fib(struct checkup *checkup)
{
	const char *why;

	if (!checkup->meta.fib_failures)
		return;
	why = fib_why_inactive(&checkup->view->maps, checkup->daemon);
	if (why)
		check_warn(checkup, NULL,
			   "lookups use the LPM trie, which is slower than the compiled FIB: %s",
			   why);
}

static void check_names(struct checkup *checkup)
{
	const json_t *missing;
	size_t i;

	json_array_foreach(checkup->missing_ports, i, missing)
	{
		const char *name = json_string_value(json_object_get(missing, "name"));

		check_error(
			checkup, name,
			"no device is named \"%s\" (%s, in sixlaned's settings or on its command line)",
			name, json_string_value(json_object_get(missing, "setting")));
	}
}

const struct check checks_of_maps[] = {
	{ "verifier", check_refused, .usual = NULL },
	{ "guard", check_guard, .usual = GUARD_ADVICE },
	{ "bypass", check_bypass,
	  .usual = "none needed if intended; otherwise remove it from bypass in sixlaned.conf" },
	{ "daemon", check_daemon,
	  .usual = "run 'systemctl start sixlaned', or 'sixlaned PORT...'" },
	{ "pass_all", check_switch, .usual = "set pass_all to false in sixlaned.conf" },
	{ "rules", check_rules, .usual = "remove some rules, or try again in a moment" },
	{ "map_full", check_room, .usual = "raise max_routes or max_exceptions in sixlaned.conf" },
	{ "default_route", check_default, .usual = NULL },
	{ "fib", check_fib, .usual = "'sixlane fib' shows details" },
	{ "port_names", check_names, .usual = "correct the setting, or create the device" },
	{ .name = NULL },
};
