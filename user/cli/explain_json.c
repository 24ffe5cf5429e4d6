// SPDX-License-Identifier: GPL-2.0-only
/*
 * An explained packet as JSON: the keys are always there, null where there is nothing to tell.
 */
#include "explain.h"

static json_t *address_json(const union sixlane_addr *addr)
{
	char text[PRINT_PREFIX_LEN];

	print_prefix(addr, 128, true, text);
	return print_string(text);
}

static json_t *tags_json(const union sixlane_tag tags[2])
{
	json_t *array = json_array();
	char text[SHOW_TAGS_LEN];

	for (int i = 0; i < 2 && tags[i].word; i++) {
		const union sixlane_tag one[2] = { tags[i] };

		print_append(array, print_string(show_tags(one, text)));
	}
	return array;
}

static void packet_json(const struct explain *explain, json_t *object)
{
	const struct packet *packet = &explain->packet;

	print_set(object, "source", address_json(&packet->src));
	print_set(object, "destination", address_json(&packet->dst));
	print_set(object, "protocol", json_integer(packet->proto));
	print_set(object, "sport", json_integer(packet->sport));
	print_set(object, "dport", json_integer(packet->dport));
	print_set(object, "flow_label", json_integer(packet->label));
	print_set(object, "size", json_integer(packet->ip_bytes));
	print_set(object, "port", print_string(explain->port->name));
	print_set(object, "port_reason", print_string(explain->port_reason));
	print_set(object, "ingress", print_string(explain->ingress->name));
	print_set(object, "ingress_tags", tags_json(packet->tags));
}

/* Null where nothing is drawn: no group, or a hash that XDP cannot make. */
static json_t *draws_json(const struct trace *trace)
{
	const struct trace_choice *choice = &trace->choice;
	json_t *array, *object;

	if (!choice->n_draws || trace->view.group.n_buckets == 1)
		return json_null();
	array = json_array();
	for (uint32_t i = 0; i < choice->n_draws; i++) {
		const struct trace_draw *draw = &choice->draws[i];

		object = json_object();
		print_set(object, "bucket", json_integer(draw->bucket));
		print_set(object, "member",
			  draw->member == TRACE_NO_MEMBER ? json_null()
							  : json_integer(draw->member));
		print_set(object, "skipped", json_boolean(draw->skipped));
		print_append(array, object);
	}
	return array;
}

/* The steps that the program came to. */
static json_t *records_json(const struct sixlane_trace *trace)
{
	json_t *array = json_array(), *object;

	for (uint32_t i = 0; i < trace->n && i < SIXLANE_TRACE_RECORDS; i++) {
		object = json_object();
		print_set(object, "step", print_string(trace_step_name(trace->records[i].step)));
		print_set(object, "verdict",
			  print_string(cmd_verdict_name(trace->records[i].verdict)));
		print_append(array, object);
	}
	return array;
}

/* Keys of the route; null where there is none. */
static void route_json(const struct explain *explain, json_t *object)
{
	const struct trace *trace = &explain->trace;
	const struct trace_choice *choice = &trace->choice;
	const uint32_t table = trace->route.table;
	char text[PRINT_PREFIX_LEN];

	print_set(object, "table", table ? json_integer(table) : json_null());
	print_set(object, "rule",
		  trace->n_rules ? json_integer(trace->rules[trace->n_rules - 1].rule.priority)
				 : json_null());
	show_covering(&explain->packet.dst, trace->view.prefix_len, text);
	print_set(object, "prefix", print_string(trace->view.value ? text : NULL));
	if (explain->source)
		print_prefix(&explain->source->key.addr, source_len(explain->source), false, text);
	print_set(object, "source_prefix", print_string(explain->source ? text : NULL));
	print_set(object, "group", json_null());
	show_group_json(&explain->view, &trace->view, object);
	print_set(object, "draws", draws_json(trace));
	print_set(object, "bucket",
		  trace->view.group.buckets && choice->n_draws && !choice->scanned
			  ? json_integer(choice->draws[choice->n_draws - 1].bucket)
			  : json_null());
}

static json_t *neighbour_json(const struct explain *explain)
{
	const struct hop_view *hop = &explain->trace.view.hop;
	json_t *object;
	char mac[PRINT_MAC_LEN];

	if (!hop->port)
		return json_null();
	object = json_object();
	print_mac(hop->neigh.mac.bytes, mac);
	print_set(object, "address",
		  address_json(hop->has_gateway ? &hop->neigh.key.addr : &explain->packet.dst));
	print_set(object, "on_link", json_boolean(!hop->has_gateway));
	print_set(object, "mac", print_string(hop->has_mac ? mac : NULL));
	return object;
}

static void way_out_json(const struct explain *explain, json_t *object)
{
	const struct hop_view *hop = &explain->trace.view.hop;
	json_t *member = json_null();

	if (hop->port) {
		member = json_object();
		show_hop_json(&explain->view, hop, true, member);
	}
	print_set(object, "member", member);
	print_set(object, "neighbour", neighbour_json(explain));
	print_set(object, "mtu", hop->mtu ? json_integer(hop->mtu) : json_null());
}

/* Packet Too Big by the program. */
static json_t *answer_json(const struct explain *explain)
{
	const union sixlane_trace_facts *answer =
		trace_facts(&explain->trace.records, SIXLANE_TRACE_ANSWER);
	json_t *object;

	if (explain->result.verdict != SIXLANE_ANSWER_TOO_BIG || !answer)
		return json_null();
	object = json_object();
	print_set(object, "mtu", json_integer(answer->answer.mtu));
	print_set(object, "source", address_json(&explain->out.src));
	print_set(object, "to_sender",
		  json_boolean(answer->answer.way == SIXLANE_TRACE_WAY_SENDER));
	return object;
}

/* out: of a frame; null where it is not whole, and of packets that are not sent by either. */
static json_t *output_json(const struct explain *explain, uint32_t verdict,
			   const struct packet *out)
{
	const bool sent = verdict == SIXLANE_FORWARD || verdict == SIXLANE_ANSWER_TOO_BIG;
	json_t *object;
	char mac[PRINT_MAC_LEN];

	if (!out->ip_bytes || !(sent || explain->differs))
		return json_null();
	object = json_object();
	print_mac(out->dst_mac, mac);
	print_set(object, "dst_mac", print_string(mac));
	print_mac(out->src_mac, mac);
	print_set(object, "src_mac", print_string(mac));
	print_set(object, "tags", tags_json(out->tags));
	print_set(object, "hop_limit", json_integer(out->hop_limit));
	print_set(object, "size", json_integer(out->ip_bytes));
	return object;
}

/* What one of the two programs did: the keys NAMEverdict, NAMEcounted_for … */
static void result_json(const struct explain *explain, const char *name,
			const struct loader_run_result *result, const struct packet *out,
			json_t *object)
{
	char key[32], port[IFNAMSIZ];

	snprintf(key, sizeof(key), "%sverdict", name);
	print_set(object, key, print_string(cmd_verdict_name(result->verdict)));
	snprintf(key, sizeof(key), "%scounted_for", name);
	print_set(object, key, print_string(cmd_slot_name(&explain->view, result->slot, port)));
	snprintf(key, sizeof(key), "%saction", name);
	print_set(object, key, print_string(explain_action(result->action)));
	snprintf(key, sizeof(key), "%soutput", name);
	print_set(object, key, output_json(explain, result->verdict, out));
}

json_t *explain_json(const struct explain *explain)
{
	json_t *object = json_object(), *steps = json_array(), *step;

	packet_json(explain, object);
	route_json(explain, object);
	way_out_json(explain, object);
	print_set(object, "exception", json_null());
	show_exception_json(&explain->view, &explain->trace.view, object);
	print_set(object, "answer", answer_json(explain));
	result_json(explain, "", &explain->result, &explain->out, object);
	result_json(explain, "trace_", &explain->traced, &explain->traced_out, object);
	if (*explain->held_by)
		print_set(object, "guard_reason", print_string(explain->held_by));
	print_set(object, "compiler", print_string(*explain->compiler ? explain->compiler : NULL));
	print_set(object, "agree", json_boolean(!explain->differs));
	print_set(object, "differs", print_bits_json(explain->differs, explain_difference));
	print_set(object, "differs_at",
		  explain->differs & EXPLAIN_FRAME
			  ? json_integer((json_int_t)explain_differs_at(explain))
			  : json_null());
	for (size_t i = 0; i < explain->n_steps; i++) {
		step = json_object();
		print_set(step, "step", print_string(explain->steps[i].name));
		print_set(step, "text", print_string(explain->steps[i].text));
		print_append(steps, step);
	}
	print_set(object, "steps", steps);
	print_set(object, "trace", records_json(&explain->trace.records));
	return object;
}
