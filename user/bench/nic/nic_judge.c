// SPDX-License-Identifier: GPL-2.0-only
/*
 * What speaks against measuring a device, from the facts about it. Pure. Each sentence says what to
 * do.
 */
#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "nic_check.h"

struct list {
	struct nic_problem *at;
	size_t n;
};

static void add(struct list *list, int error, const char *fmt, ...) _printf_(3, 4);
static void add(struct list *list, int error, const char *fmt, ...)
{
	struct nic_problem *problem = &list->at[list->n];
	va_list ap;

	if (list->n == NIC_MAX_PROBLEMS)
		return;
	problem->error = error;
	va_start(ap, fmt);
	vsnprintf(problem->text, sizeof(problem->text), fmt, ap);
	va_end(ap);
	list->n++;
}

static void judge_programs(const struct nic_facts *facts, const struct nic_check_want *want,
			   struct list *list)
{
	const char *dev = facts->state.dev;
	const struct loader_prog *prog = &facts->prog;

	if (prog->owner == LOADER_FOREIGN)
		add(list, -EBUSY,
		    "%s is busy: it runs another XDP program, \"%s\" (id %u); detach that first "
		    "('ip link set dev %s xdp%s off')",
		    dev, prog->name, prog->id, dev,
		    prog->mode == XDP_MODE_GENERIC ? "generic" : "");
	else if (prog->owner != LOADER_NO_PROG)
		add(list, -EBUSY,
		    "%s is busy: it runs sixlane, which forwards for this machine; 'sixlane detach "
		    "%s' first",
		    dev, dev);
	if (*facts->filter)
		add(list, -EBUSY,
		    "%s is busy: tc programs or filters see what comes in by it (a qdisc \"%s\"); "
		    "'tc qdisc del dev %s %s' first, if nobody needs them",
		    dev, facts->filter, dev, facts->filter);
	if (*facts->queueing && want->isolate)
		add(list, -EBUSY,
		    "%s is busy: in another network namespace it would lose its configured qdisc \"%s\"; if nobody needs that, run 'tc qdisc del dev %s root' first",
		    dev, facts->queueing, dev);
	else if (*facts->queueing)
		add(list, 0,
		    "%s has a qdisc \"%s\" that somebody chose: the kernel's forwarding passes "
		    "it, sixlane's does not ('tc qdisc del dev %s root' takes it off)",
		    dev, facts->queueing, dev);
}

static void judge_layers(const struct nic_facts *facts, struct list *list)
{
	const char *dev = facts->state.dev;

	if (*facts->master)
		add(list, -EBUSY,
		    "%s is busy: it is a slave of %s; name %s, or take it out of that first ('ip "
		    "link set dev %s nomaster')",
		    dev, facts->master, facts->master, dev);
	if (*facts->upper)
		add(list, -EBUSY,
		    "%s is busy: %s is on it; 'ip link delete dev %s' first, or measure another "
		    "device",
		    dev, facts->upper, facts->upper);
}

static void judge_addresses(const struct nic_facts *facts, const struct nic_check_want *want,
			    struct list *list)
{
	const char *dev = facts->state.dev;
	int error = want->force ? 0 : -EBUSY;
	const char *what = want->force ? "they do not work while it is measured"
				       : "take them off first, or --force takes it all the same";

	if (facts->n_routes && (want->enslave || want->isolate))
		add(list, -EBUSY,
		    "%s is busy: this machine has %zu routes by it (%s …), which it would lose %s; "
		    "take them off first ('ip route flush dev %s', and with -6)",
		    dev, facts->n_routes, facts->route,
		    want->isolate ? "in another network namespace" : "as a slave of a bond", dev);
	else if (facts->n_routes)
		add(list, error, "%s %s: this machine has %zu routes by it (%s …); %s", dev,
		    want->force ? "is in use" : "is busy", facts->n_routes, facts->route, what);
	if (facts->n_addresses)
		add(list, error, "%s %s: this machine has %zu addresses there (%s …); %s", dev,
		    want->force ? "is in use" : "is busy", facts->n_addresses, facts->address,
		    what);
	if (facts->n_neighbours && (want->enslave || want->isolate))
		add(list, -EBUSY,
		    "%s is busy: it would lose its %zu configured neighbours; if nobody needs them, run 'ip neigh flush dev %s nud permanent' first",
		    dev, facts->n_neighbours, dev);
	if (facts->has_default_route)
		add(list, 0,
		    "%s has this machine's default route: what it says to others will be lost "
		    "among the measurement's packets",
		    dev);
}

static void judge_login(const struct nic_facts *facts, const struct nic_check_want *want,
			struct list *list)
{
	const char *dev = facts->state.dev;

	if (!*facts->login)
		return;
	if (want->force_login)
		add(list, 0, "%s carries the login from %s, which may well break", dev,
		    facts->login);
	else
		add(list, -EPERM,
		    "%s carries the login from %s, by which this command was started: measuring "
		    "would cut it off. Log in by another device, or, from a console or with a way "
		    "back, use --force-login",
		    dev, facts->login);
}

size_t nic_judge(const struct nic_facts *facts, const struct nic_check_want *want,
		 struct nic_problem out[NIC_MAX_PROBLEMS])
{
	const char *dev = facts->state.dev;
	unsigned int max = nic_state_max_queues(&facts->state);
	struct list list = { .at = out };

	if (!facts->is_ethernet)
		add(&list, -EOPNOTSUPP, "%s is not an Ethernet device: measure another one", dev);
	judge_login(facts, want, &list);
	judge_layers(facts, &list);
	judge_programs(facts, want, &list);
	judge_addresses(facts, want, &list);
	if (want->queues > max)
		add(&list, -ERANGE,
		    "%s has %u queues at most, not %u: use --queues %u, or a device with more "
		    "('ethtool -l %s')",
		    dev, max, want->queues, max, dev);
	if (facts->state.up && !facts->has_carrier)
		add(&list, 0, "%s has no link: see to its cable, and to the other end", dev);
	return list.n;
}
