// SPDX-License-Identifier: GPL-2.0-only
/* See explain.h. */
#include "explain.h"

#include <linux/bpf.h>

const char *const explain_difference_names[4] = { "verdict", "counted_for", "action", "frame" };

void explain_add(struct explain *explain, const char *name, const char *fmt, ...)
{
	struct explain_step *step = &explain->steps[explain->n_steps];
	va_list ap;

	if (explain->n_steps == EXPLAIN_MAX_STEPS)
		return;
	va_start(ap, fmt);
	if (vasprintf(&step->text, fmt, ap) < 0)
		step->text = NULL;
	va_end(ap);
	step->name = name;
	explain->n_steps++;
}

const union sixlane_trace_facts *explain_facts(const struct explain *explain,
					       enum sixlane_trace_step step)
{
	return trace_facts(&explain->trace.records, step);
}

const char *explain_hop_text(const struct explain *explain, const struct hop_view *hop,
			     const char *none, char buf[EXPLAIN_HOP_LEN])
{
	char gateway[PRINT_PREFIX_LEN] = "", port[IFNAMSIZ];
	const char *name = cmd_slot_name(&explain->view, hop->port, port) ?: none;

	if (hop->has_gateway)
		print_addr(&hop->neigh.key.addr, gateway);
	snprintf(buf, EXPLAIN_HOP_LEN, "%s%s%s%s%s", *gateway ? "via " : "", gateway,
		 *gateway && name ? " " : "", name ? "dev " : "", name ?: "");
	return buf;
}

size_t explain_differs_at(const struct explain *explain)
{
	const struct loader_run_result *a = &explain->result, *b = &explain->traced;
	size_t len = a->len < b->len ? a->len : b->len, i = 0;

	while (i < len && a->frame[i] == b->frame[i])
		i++;
	return i;
}

const char *explain_action(uint32_t action)
{
	static const char *const names[] = {
		[XDP_ABORTED] = "XDP_ABORTED",	 [XDP_DROP] = "XDP_DROP",
		[XDP_PASS] = "XDP_PASS",	 [XDP_TX] = "XDP_TX",
		[XDP_REDIRECT] = "XDP_REDIRECT",
	};

	return action < ARRAY_SIZE(names) ? names[action] : "unknown";
}
