// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is held back at served ports, each reason once, for `sixlane status`.
 */
#include <errno.h>
#include <string.h>

#include "guard.h"

struct reading {
	const struct cmd_view *view;
	struct cmd_guard guard;
	bool opened; /* guard: not before something is held */
	struct held_list *list;
	int error;
};

static bool is_served(const struct sixlane_port *port)
{
	return port->ifindex && port->flags & SIXLANE_PORT_INGRESS;
}

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

static struct held *find_or_add(struct held_list *list, enum sixlane_verdict verdict,
				const char *reason)
{
	struct held *grown;

	for (size_t i = 0; i < list->n; i++)
		if (list->at[i].verdict == verdict && !strcmp(list->at[i].reason, reason))
			return &list->at[i];
	grown = reallocarray(list->at, list->n + 1, sizeof(*grown));
	if (!grown)
		return NULL;
	list->at = grown;
	grown[list->n] = (struct held){ .verdict = verdict };
	snprintf(grown[list->n].reason, GUARD_REASON_LEN, "%s", reason);
	return &grown[list->n++];
}

/* to: NULL: whatever they leave by. */
static void add(struct reading *reading, enum sixlane_verdict verdict, const char *reason,
		const struct link *from, const struct link *to)
{
	struct held *held = find_or_add(reading->list, verdict, reason);

	if (!held || !add_name(&held->from, &held->n_from, from->name) ||
	    (to && !add_name(&held->to, &held->n_to, to->name)))
		reading->error = -ENOMEM;
}

/* out: NULL: whatever they leave by. */
static void note(struct reading *reading, enum sixlane_verdict verdict,
		 const struct sixlane_port *in, const struct sixlane_port *out)
{
	const struct link *from = ports_find(&reading->view->ports, in->ifindex);
	const struct link *to = out ? ports_find(&reading->view->ports, out->ifindex) : NULL;
	char reason[GUARD_REASON_LEN];

	if (!from || (out && !to))
		return;
	if (!reading->opened && cmd_guard_open(reading->view, &reading->guard)) {
		reading->error = -ENOMEM;
		return;
	}
	reading->opened = true;
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
		note(reading, SIXLANE_PASS_FIREWALL, in, out);
	if (out->flags & SIXLANE_PORT_OUT_TC)
		note(reading, SIXLANE_PASS_TC, in, out);
}

static void read_port(struct reading *reading, uint32_t slot)
{
	const uint32_t ipsec =
		SIXLANE_META_IPSEC | SIXLANE_META_IPSEC_ALL | SIXLANE_META_IPSEC_ICMP6;
	const struct sixlane_port *in = &reading->view->maps.ports[slot];

	if (reading->view->maps.meta->flags & ipsec && in->flags & SIXLANE_PORT_GUARD)
		note(reading, SIXLANE_PASS_IPSEC, in, NULL);
	if (in->flags & SIXLANE_PORT_IN_TC)
		note(reading, SIXLANE_PASS_TC, in, NULL);
	if (in->flags & SIXLANE_PORT_IN_FIREWALL) {
		note(reading, SIXLANE_PASS_FIREWALL, in, NULL);
		return;
	}
	for (uint32_t out = 1; out < SIXLANE_MAX_PORTS; out++)
		read_pair(reading, slot, out);
}

static int finish(struct reading *reading, struct held_list *out)
{
	if (reading->opened)
		cmd_guard_close(&reading->guard);
	if (reading->error) {
		held_free(reading->list);
		return reading->error;
	}
	*out = *reading->list;
	return 0;
}

int held_read(const struct cmd_view *view, struct held_list *out)
{
	struct held_list list = { 0 };
	struct reading reading = { .view = view, .list = &list };

	for (uint32_t slot = 1; slot < SIXLANE_MAX_PORTS; slot++)
		if (is_served(&view->maps.ports[slot]))
			read_port(&reading, slot);
	return finish(&reading, out);
}

/* to: NULL: whatever they leave by. */
static bool foresee(struct reading *reading, enum guard_cause cause, const struct link *from,
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

int held_foresee(const struct cmd_view *view, const struct link *const *links, size_t n,
		 struct held_list *out)
{
	struct held_list list = { 0 };
	struct reading reading = { .view = view, .list = &list };

	reading.error = cmd_guard_open(view, &reading.guard);
	reading.opened = !reading.error;
	for (size_t in = 0; in < n && !reading.error; in++)
		for (enum guard_cause cause = 0; cause < GUARD_N_CAUSES; cause++)
			if (!foresee(&reading, cause, links[in], NULL))
				for (size_t to = 0; to < n; to++)
					if (to != in)
						foresee(&reading, cause, links[in], links[to]);
	return finish(&reading, out);
}

void held_free(struct held_list *list)
{
	for (size_t i = 0; i < list->n; i++) {
		free(list->at[i].from);
		free(list->at[i].to);
	}
	free(list->at);
	*list = (struct held_list){ 0 };
}

static size_t put_names(char *buf, size_t size, size_t used, const char *before,
			const char *const *names, size_t n)
{
	for (size_t i = 0; i < n && used < size; i++)
		used += (size_t)snprintf(buf + used, size - used, "%s%s", i ? ", " : before,
					 names[i]);
	return used;
}

void held_text(const struct held *held, char *buf, size_t size)
{
	size_t used = put_names(buf, size, 0, "packets from ", held->from, held->n_from);

	used = put_names(buf, size, used, " to ", held->to, held->n_to);
	if (used < size)
		snprintf(buf + used, size - used, " %s to the kernel (%s): %s",
			 held->verdict == SIXLANE_PASS_IPSEC ? "may pass" : "pass",
			 cmd_verdict_name(held->verdict), held->reason);
}

static json_t *names_json(const char *const *names, size_t n)
{
	json_t *array = json_array();

	for (size_t i = 0; i < n; i++)
		print_append(array, print_string(names[i]));
	return array;
}

json_t *held_json(const struct cmd_view *view, const struct held_list *list)
{
	json_t *object = json_object(), *held = json_array(), *bypassed = json_array();

	for (size_t i = 0; i < list->n; i++) {
		json_t *one = json_object();

		print_set(one, "verdict", print_string(cmd_verdict_name(list->at[i].verdict)));
		print_set(one, "from", names_json(list->at[i].from, list->at[i].n_from));
		print_set(one, "to",
			  list->at[i].n_to ? names_json(list->at[i].to, list->at[i].n_to)
					   : json_null());
		print_set(one, "reason", print_string(list->at[i].reason));
		print_append(held, one);
	}
	for (int cause = 0; cause < GUARD_N_CAUSES; cause++)
		if (view->maps.meta->bypassed >> cause & 1)
			print_append(bypassed, print_string(guard_cause_names[cause]));
	print_set(object, "bypassed", bypassed);
	print_set(object, "restricted", held);
	return object;
}
