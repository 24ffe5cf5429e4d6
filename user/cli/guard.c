// SPDX-License-Identifier: GPL-2.0-only
/* See guard.h. */
#include "guard.h"

#include <errno.h>
#include <string.h>

int cmd_guard_open(const struct cmd_view *view, struct cmd_guard *out)
{
	struct cmd_guard opened = { 0 };
	uint32_t bypassed = view->maps.meta ? (uint32_t)view->maps.meta->bypassed : 0;
	uint64_t due_ns;
	bool changed;
	int ret = guard_new(bypassed, 0, &opened.guard);

	for (size_t i = 0; !ret && i < view->ports.n; i++)
		ret = links_set(&opened.links, &view->ports.links[i], &changed);
	if (ret) {
		cmd_guard_close(&opened);
		return ret;
	}
	guard_run(opened.guard, &opened.links, &due_ns);
	*out = opened;
	return 0;
}

void cmd_guard_close(struct cmd_guard *guard)
{
	guard_free(guard->guard);
	links_clear(&guard->links);
}

void cmd_guard_reason(const struct cmd_guard *guard, enum sixlane_verdict verdict,
		      const struct sixlane_port *in, uint32_t out, const union sixlane_addr *src,
		      const union sixlane_addr *dst, char *reason)
{
	const struct device *from = links_find(&guard->links, in->ifindex);
	const struct device *to = out ? links_find(&guard->links, out) : NULL;
	const enum guard_cause cause = verdict == SIXLANE_PASS_IPSEC ? GUARD_XFRM
				       : verdict == SIXLANE_PASS_TC  ? GUARD_TC
								     : GUARD_NETFILTER;
	size_t length;

	if (!from || !guard_reason(guard->guard, &guard->links, cause, from, to, src, dst, reason))
		snprintf(reason, GUARD_REASON_LEN,
			 "nothing now: sixlaned is about to read it again");
	if (verdict != SIXLANE_PASS_FIREWALL || !(in->flags & SIXLANE_PORT_FLOWS))
		return;
	length = strlen(reason);
	snprintf(reason + length, GUARD_REASON_LEN - length, "%s",
		 "; XDP forwards the packets of the port's flowtables");
}

struct reading {
	const struct cmd_view *view;
	struct cmd_guard guard;
	bool has_guard; /* opened when the first restriction is found */
	struct restrictions *list;
	int error;
};

static bool add_name(const char ***names, size_t *n, const char *name)
{
	const char **grown;

	for (size_t i = 0; i < *n; i++)
		if (!strcmp((*names)[i], name))
			return true;
	grown = reallocarray(*names, *n + 1, sizeof(*grown));
	if (!grown)
		return false;
	*names = grown;
	grown[(*n)++] = name;
	return true;
}

static struct restriction *get(struct restrictions *list, enum sixlane_verdict verdict,
			       const char *reason)
{
	struct restriction *grown;

	for (size_t i = 0; i < list->n; i++)
		if (list->at[i].verdict == verdict && !strcmp(list->at[i].reason, reason))
			return &list->at[i];
	grown = reallocarray(list->at, list->n + 1, sizeof(*grown));
	if (!grown)
		return NULL;
	list->at = grown;
	grown[list->n] = (struct restriction){ .verdict = verdict };
	snprintf(grown[list->n].reason, GUARD_REASON_LEN, "%s", reason);
	return &grown[list->n++];
}

/* to NULL: whatever the egress. */
static void add(struct reading *reading, enum sixlane_verdict verdict, const char *reason,
		const struct link *from, const struct link *to)
{
	struct restriction *found = get(reading->list, verdict, reason);

	if (!found || !add_name(&found->from, &found->n_from, from->name) ||
	    (to && !add_name(&found->to, &found->n_to, to->name)))
		reading->error = -ENOMEM;
}

/* out NULL: whatever the egress. */
static void add_slots(struct reading *reading, enum sixlane_verdict verdict,
		      const struct sixlane_port *in, const struct sixlane_port *out)
{
	const struct link *from = ports_find(&reading->view->ports, in->ifindex);
	const struct link *to = out ? ports_find(&reading->view->ports, out->ifindex) : NULL;
	char reason[GUARD_REASON_LEN];

	if (!from || (out && !to))
		return;
	if (!reading->has_guard && cmd_guard_open(reading->view, &reading->guard)) {
		reading->error = -ENOMEM;
		return;
	}
	reading->has_guard = true;
	cmd_guard_reason(&reading->guard, verdict, in, out ? out->ifindex : 0, NULL, NULL, reason);
	add(reading, verdict, reason, from, to);
}

static void read_pair(struct reading *reading, uint32_t in_slot, uint32_t out_slot)
{
	const struct sixlane_port *in = &reading->view->maps.ports[in_slot];
	const struct sixlane_port *out = &reading->view->maps.ports[out_slot];

	if (in_slot == out_slot || !out->ifindex || !out->flags)
		return;
	if (out->flags & SIXLANE_PORT_OUT_FIREWALL ||
	    (in->flags & SIXLANE_PORT_GUARD &&
	     !maps_pair_is_free(&reading->view->maps, in_slot, out_slot)))
		add_slots(reading, SIXLANE_PASS_FIREWALL, in, out);
	if (out->flags & SIXLANE_PORT_OUT_TC)
		add_slots(reading, SIXLANE_PASS_TC, in, out);
}

static void read_port(struct reading *reading, uint32_t slot)
{
	const uint32_t ipsec =
		SIXLANE_META_IPSEC | SIXLANE_META_IPSEC_ALL | SIXLANE_META_IPSEC_ICMP6;
	const struct sixlane_port *in = &reading->view->maps.ports[slot];

	if (!in->ifindex || !(in->flags & SIXLANE_PORT_INGRESS))
		return;
	if (reading->view->maps.meta->flags & ipsec && in->flags & SIXLANE_PORT_GUARD)
		add_slots(reading, SIXLANE_PASS_IPSEC, in, NULL);
	if (in->flags & SIXLANE_PORT_IN_TC)
		add_slots(reading, SIXLANE_PASS_TC, in, NULL);
	if (in->flags & SIXLANE_PORT_IN_FIREWALL) {
		add_slots(reading, SIXLANE_PASS_FIREWALL, in, NULL);
		return;
	}
	for (uint32_t out = 1; out < SIXLANE_MAX_PORTS; out++)
		read_pair(reading, slot, out);
}

static int finish(struct reading *reading)
{
	if (reading->has_guard)
		cmd_guard_close(&reading->guard);
	if (reading->error)
		restrictions_free(reading->list);
	return reading->error;
}

int restrictions_read(const struct cmd_view *view, struct restrictions *out)
{
	struct reading reading = { .view = view, .list = out };

	for (uint32_t slot = 1; slot < SIXLANE_MAX_PORTS; slot++)
		read_port(&reading, slot);
	return finish(&reading);
}

/* to NULL: whatever the egress. False: there is no restriction. */
static bool predict(struct reading *reading, enum guard_cause cause, const struct link *from,
		    const struct link *to)
{
	static const enum sixlane_verdict verdicts[GUARD_N_CAUSES] = {
		[GUARD_NETFILTER] = SIXLANE_PASS_FIREWALL,
		[GUARD_XFRM] = SIXLANE_PASS_IPSEC,
		[GUARD_TC] = SIXLANE_PASS_TC,
	};
	const struct links *links = &reading->guard.links;
	const struct device *in = links_find(links, from->ifindex);
	const struct device *out = to ? links_find(links, to->ifindex) : NULL;
	char reason[GUARD_REASON_LEN];

	if (!in || !guard_reason(reading->guard.guard, links, cause, in, out, NULL, NULL, reason))
		return false;
	add(reading, verdicts[cause], reason, from, to);
	return true;
}

int restrictions_predict(const struct cmd_view *view, const struct link *const *links, size_t n,
			 struct restrictions *out)
{
	struct reading reading = { .view = view, .list = out };

	reading.error = cmd_guard_open(view, &reading.guard);
	reading.has_guard = !reading.error;
	for (size_t in = 0; in < n && !reading.error; in++)
		for (enum guard_cause cause = 0; cause < GUARD_N_CAUSES; cause++)
			if (!predict(&reading, cause, links[in], NULL))
				for (size_t to = 0; to < n; to++)
					if (to != in)
						predict(&reading, cause, links[in], links[to]);
	return finish(&reading);
}

void restrictions_free(struct restrictions *list)
{
	for (size_t i = 0; i < list->n; i++) {
		free(list->at[i].from);
		free(list->at[i].to);
	}
	free(list->at);
	*list = (struct restrictions){ 0 };
}

static size_t put_names(char *buf, size_t size, size_t used, const char *before,
			const char *const *names, size_t n)
{
	for (size_t i = 0; i < n && used < size; i++)
		used += (size_t)snprintf(buf + used, size - used, "%s%s", i ? ", " : before,
					 names[i]);
	return used;
}

void restriction_text(const struct restriction *restriction, char *buf, size_t size)
{
	size_t used =
		put_names(buf, size, 0, "packets from ", restriction->from, restriction->n_from);

	used = put_names(buf, size, used, " to ", restriction->to, restriction->n_to);
	if (used < size)
		snprintf(buf + used, size - used, " %s to the kernel (%s): %s",
			 restriction->verdict == SIXLANE_PASS_IPSEC ? "may pass" : "pass",
			 cmd_verdict_name(restriction->verdict), restriction->reason);
}

static json_t *names_json(const char *const *names, size_t n)
{
	json_t *array = json_array();

	for (size_t i = 0; i < n; i++)
		print_append(array, names[i]);
	return array;
}

json_t *restrictions_json(const struct cmd_view *view, const struct restrictions *list)
{
	json_t *object = json_object(), *restricted = json_array(), *bypassed = json_array();

	for (size_t i = 0; i < list->n; i++) {
		const struct restriction *one = &list->at[i];
		json_t *row = json_object();

		print_set(row, "verdict", cmd_verdict_name(one->verdict));
		print_set(row, "from", names_json(one->from, one->n_from));
		print_set(row, "to", one->n_to ? names_json(one->to, one->n_to) : json_null());
		print_set(row, "reason", one->reason);
		print_append(restricted, row);
	}
	for (int cause = 0; cause < GUARD_N_CAUSES; cause++)
		if (view->maps.meta->bypassed >> cause & 1)
			print_append(bypassed, guard_cause_names[cause]);
	print_set(object, "bypassed", bypassed);
	print_set(object, "restricted", restricted);
	return object;
}
