// SPDX-License-Identifier: GPL-2.0-only
/* See explain.h. */
#include "explain.h"

static void packet_json(const struct explain *explain, json_t *object)
{
	const struct packet *packet = &explain->packet;
	char text[PRINT_PREFIX_LEN];

	print_set(object, "source", print_addr(&packet->src, text));
	print_set(object, "destination", print_addr(&packet->dst, text));
	print_set(object, "protocol", packet->proto);
	print_set(object, "sport", packet->sport);
	print_set(object, "dport", packet->dport);
	print_set(object, "flow_label", packet->label);
	print_set(object, "size", packet->ip_bytes);
	print_set(object, "port", explain->port->name);
	print_set(object, "port_reason", explain->port_reason);
	print_set(object, "ingress", explain->ingress->name);
	print_set(object, "ingress_tags", show_tags_json(packet->tags));
}

/* Null without a choice: no group, or a hash that XDP cannot compute. */
static json_t *draws_json(const struct trace *trace)
{
	json_t *array, *object;

	if (!trace->n_draws || trace->view.group.n_buckets == 1)
		return json_null();
	array = json_array();
	for (uint32_t i = 0; i < trace->n_draws; i++) {
		const struct trace_draw *draw = &trace->draws[i];

		object = json_object();
		print_set(object, "bucket", draw->bucket);
		print_set(object, "member",
			  draw->member == TRACE_NO_MEMBER ? json_null()
							  : json_integer(draw->member));
		print_set(object, "skipped", draw->skipped);
		print_append(array, object);
	}
	return array;
}

static void route_json(const struct explain *explain, json_t *object)
{
	const struct trace *trace = &explain->trace;
	const struct entry *source = explain->source;
	char text[PRINT_PREFIX_LEN];

	print_set(object, "table", print_nonzero(trace->table));
	print_set(object, "rule",
		  trace->n_rules ? json_integer(trace->rules[trace->n_rules - 1].rule.priority)
				 : json_null());
	print_covering(&explain->packet.dst, trace->view.prefix_len, text);
	print_set(object, "prefix", trace->view.value ? text : NULL);
	if (source)
		print_prefix(&source->prefix.addr, source->prefix.len, text);
	print_set(object, "source_prefix", source ? text : NULL);
	print_set(object, "group", json_null());
	show_group_json(&explain->view, &trace->view, object);
	print_set(object, "draws", draws_json(trace));
	print_set(object, "bucket",
		  trace->view.group.resilient && trace->n_draws && !trace->scanned
			  ? json_integer(trace->draws[trace->n_draws - 1].bucket)
			  : json_null());
}

static json_t *neighbour_json(const struct explain *explain)
{
	const struct hop_view *hop = &explain->trace.view.hop;
	const union sixlane_addr *addr =
		hop->has_gateway ? &hop->neigh.key.addr : &explain->packet.dst;
	char text[PRINT_PREFIX_LEN], mac[PRINT_MAC_LEN];
	json_t *object;

	if (!hop->port)
		return json_null();
	object = json_object();
	print_mac(hop->neigh.mac.bytes, mac);
	print_set(object, "address", print_addr(addr, text));
	print_set(object, "on_link", json_boolean(!hop->has_gateway));
	print_set(object, "mac", hop->has_mac ? mac : NULL);
	return object;
}

static void hop_json(const struct explain *explain, json_t *object)
{
	const struct hop_view *hop = &explain->trace.view.hop;
	json_t *member = json_null();

	if (hop->port) {
		member = json_object();
		show_frame_json(&explain->view, hop, true, member);
	}
	print_set(object, "member", member);
	print_set(object, "neighbour", neighbour_json(explain));
	print_set(object, "mtu", print_nonzero(hop->mtu));
}

/* Packet Too Big by the program. */
static json_t *answer_json(const struct explain *explain)
{
	const union sixlane_trace_facts *facts = explain_facts(explain, SIXLANE_TRACE_ANSWER);
	char text[PRINT_PREFIX_LEN];
	json_t *object;

	if (explain->result.verdict != SIXLANE_ANSWER_TOO_BIG || !facts)
		return json_null();
	object = json_object();
	print_set(object, "mtu", facts->answer.mtu);
	print_set(object, "source", print_addr(&explain->out.src, text));
	print_set(object, "to_sender", json_boolean(facts->answer.way == SIXLANE_TRACE_WAY_SENDER));
	return object;
}

/* Null unless the packet is sent, or the two programs differ. out: parsed from the frame. */
static json_t *output_json(const struct explain *explain, uint32_t verdict,
			   const struct packet *out)
{
	const bool sent = verdict == SIXLANE_FORWARD || verdict == SIXLANE_ANSWER_TOO_BIG;
	char mac[PRINT_MAC_LEN];
	json_t *object;

	if (!out->ip_bytes || !(sent || explain->differs))
		return json_null();
	object = json_object();
	print_set(object, "dst_mac", print_mac(out->dst_mac, mac));
	print_set(object, "src_mac", print_mac(out->src_mac, mac));
	print_set(object, "tags", show_tags_json(out->tags));
	print_set(object, "hop_limit", out->hop_limit);
	print_set(object, "size", out->ip_bytes);
	return object;
}

static void result_json(const struct explain *explain, json_t *object)
{
	const struct loader_run_result *result = &explain->result, *traced = &explain->traced;
	const struct cmd_view *view = &explain->view;
	char port[IFNAMSIZ];

	print_set(object, "verdict", cmd_verdict_name(result->verdict));
	print_set(object, "counted_for", cmd_slot_name(view, result->slot, port));
	print_set(object, "action", explain_action(result->action));
	print_set(object, "output", output_json(explain, result->verdict, &explain->out));
	print_set(object, "trace_verdict", cmd_verdict_name(traced->verdict));
	print_set(object, "trace_counted_for", cmd_slot_name(view, traced->slot, port));
	print_set(object, "trace_action", explain_action(traced->action));
	print_set(object, "trace_output",
		  output_json(explain, traced->verdict, &explain->traced_out));
	if (*explain->guard_reason)
		print_set(object, "guard_reason", explain->guard_reason);
	print_set(object, "compiler", *explain->compiler ? explain->compiler : NULL);
	print_set(object, "agree", json_boolean(!explain->differs));
	print_set(object, "differs",
		  print_bits_json(explain->differs, explain_difference_names,
				  ARRAY_SIZE(explain_difference_names)));
	print_set(object, "differs_at",
		  explain->differs & EXPLAIN_FRAME
			  ? json_integer((json_int_t)explain_differs_at(explain))
			  : json_null());
}

/* The steps in words, and the records of the program. */
static void steps_json(const struct explain *explain, json_t *object)
{
	json_t *steps = json_array(), *records = json_array(), *one;
	const struct sixlane_trace *trace = &explain->trace.records;

	for (size_t i = 0; i < explain->n_steps; i++) {
		one = json_object();
		print_set(one, "step", explain->steps[i].name);
		print_set(one, "text", explain->steps[i].text);
		print_append(steps, one);
	}
	for (uint32_t i = 0; i < trace->n && i < SIXLANE_TRACE_RECORDS; i++) {
		one = json_object();
		print_set(one, "step", trace_step_name(trace->records[i].step));
		print_set(one, "verdict", cmd_verdict_name(trace->records[i].verdict));
		print_append(records, one);
	}
	print_set(object, "steps", steps);
	print_set(object, "trace", records);
}

json_t *explain_json(const struct explain *explain)
{
	json_t *object = json_object();

	packet_json(explain, object);
	route_json(explain, object);
	hop_json(explain, object);
	print_set(object, "exception", json_null());
	show_exception_json(&explain->view, &explain->trace.view, object);
	print_set(object, "answer", answer_json(explain));
	result_json(explain, object);
	steps_json(explain, object);
	return object;
}
