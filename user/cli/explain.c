// SPDX-License-Identifier: GPL-2.0-only
/*
 * sixlane explain: one packet step by step. The trace flavour of the program records what each step
 * decides; the flavour that runs on the port gives the verdict. Both run on the same packet with
 * the same maps. Whether they agree is part of the output.
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <linux/bpf.h>
#include <netinet/in.h>
#include <string.h>

#include "../../bpf/proto.h"
#include "../lib/log.h"
#include "../netlink/socket_query.h"
#include "explain.h"

#define HOP_LIMIT 64
#define SPORT 49152 /* the first dynamic port */
#define DPORT 33434 /* traceroute's */

/* The daemon may write between the two runs: a difference counts if it is there each time. */
#define TRIES 3

/* --- the command line -------------------------------------------------------------------- */

static bool is_keyword(const char *word)
{
	static const char *const keywords[] = { "dev", "size", "tos", "flowlabel", "mac" };

	for (size_t i = 0; i < ARRAY_SIZE(keywords); i++)
		if (!strcmp(word, keywords[i]))
			return true;
	return false;
}

/* Parses [PROTO [SPORT DPORT]]. Returns how many words they are, or -CMD_USAGE. */
static int parse_flow(int argc, char **argv, struct packet *packet)
{
	uint32_t sport = SPORT, dport = DPORT;
	int n = 0;

	packet->proto = IPPROTO_UDP;
	while (n < argc && !is_keyword(argv[n]))
		n++;
	if (n && !packet_parse_proto(argv[0], &packet->proto))
		return -cmd_usage(&cmd_explain,
				  "\"%s\" is not a protocol: udp, tcp, icmp6 or a number up to "
				  "255, before the ports",
				  argv[0]);
	if (n > 3)
		return -cmd_usage(&cmd_explain, "unexpected argument \"%s\"", argv[3]);
	if (n == 2)
		return -cmd_usage(&cmd_explain,
				  "\"%s %s\": give a protocol alone, or followed by both ports",
				  argv[0], argv[1]);
	if (n == 3 && !proto_has_ports(packet->proto))
		return -cmd_usage(&cmd_explain, "\"%s\" has no ports", argv[0]);
	if (n == 3 && (!args_parse_number(argv[1], UINT16_MAX, &sport) ||
		       !args_parse_number(argv[2], UINT16_MAX, &dport)))
		return -cmd_usage(&cmd_explain, "\"%s %s\" are not two ports", argv[1], argv[2]);
	if (proto_has_ports(packet->proto)) {
		packet->sport = (uint16_t)sport;
		packet->dport = (uint16_t)dport;
	}
	return n;
}

/* A number up to max, in C's notation. True on success. */
static bool parse_bits(const char *word, unsigned long max, uint32_t *out)
{
	unsigned long bits;
	char *end;

	bits = strtoul(word, &end, 0);
	if (*end || *word < '0' || *word > '9' || bits > max)
		return false;
	*out = (uint32_t)bits;
	return true;
}

/* Six bytes as `ip link` prints them. True on success. */
static bool parse_mac(const char *word, uint8_t mac[6])
{
	char *end;

	for (int i = 0; i < 6; i++) {
		unsigned long byte = strtoul(word, &end, 16);

		if (!isxdigit((unsigned char)*word) || end - word > 2 ||
		    *end != (i < 5 ? ':' : '\0'))
			return false;
		mac[i] = (uint8_t)byte;
		word = end + 1;
	}
	return true;
}

/* CMD_OK, or CMD_USAGE after logging. */
static int parse_keyword(const char *word, const char *value, struct explain *explain,
			 const char **port)
{
	struct packet *packet = &explain->packet;
	const uint32_t min_bytes = packet_min_bytes(packet->proto);
	uint32_t tclass;

	if (!strcmp(word, "dev")) {
		*port = value;
	} else if (!strcmp(word, "size")) {
		if (!args_parse_number(value, LOADER_RUN_ROOM / 2, &packet->ip_bytes) ||
		    packet->ip_bytes < min_bytes)
			return cmd_usage(&cmd_explain,
					 "size %s: bytes of the IPv6 packet, from %u to %u", value,
					 min_bytes, LOADER_RUN_ROOM / 2);
	} else if (!strcmp(word, "flowlabel")) {
		if (!parse_bits(value, PACKET_MAX_LABEL, &packet->label))
			return cmd_usage(&cmd_explain, "flowlabel %s: a flow label from 0 to 0x%x",
					 value, PACKET_MAX_LABEL);
	} else if (!strcmp(word, "mac")) {
		explain->has_mac = parse_mac(value, packet->dst_mac);
		if (!explain->has_mac)
			return cmd_usage(&cmd_explain,
					 "mac %s: a MAC address, as 02:00:00:00:00:01", value);
	} else if (!strcmp(word, "tos")) {
		if (!parse_bits(value, UINT8_MAX, &tclass))
			return cmd_usage(&cmd_explain, "tos %s: a traffic class from 0 to 0xff",
					 value);
		packet->tclass = (uint8_t)tclass;
	} else {
		return cmd_usage(&cmd_explain, "unexpected argument \"%s\"", word);
	}
	return CMD_OK;
}

static int parse_args(int argc, char **argv, struct explain *explain, const char **port)
{
	struct packet *packet = &explain->packet;
	int at = 2, n, rc;

	if (argc < 2)
		return cmd_usage(&cmd_explain, "two addresses are needed: SRC DST");
	if (inet_pton(AF_INET6, argv[0], &packet->src) != 1)
		return cmd_usage(&cmd_explain, "\"%s\" is not an IPv6 address", argv[0]);
	if (inet_pton(AF_INET6, argv[1], &packet->dst) != 1)
		return cmd_usage(&cmd_explain, "\"%s\" is not an IPv6 address", argv[1]);
	n = parse_flow(argc - at, argv + at, packet);
	if (n < 0)
		return -n;
	for (at += n; at < argc; at += 2) {
		if (at + 1 == argc)
			return cmd_usage(&cmd_explain, "\"%s\" needs a value", argv[at]);
		rc = parse_keyword(argv[at], argv[at + 1], explain, port);
		if (rc)
			return rc;
	}
	return CMD_OK;
}

/* --- the two runs ------------------------------------------------------------------------ */

/* The flow label of an answer is random. */
static void clear_label(struct loader_run_result *result)
{
	struct packet packet;
	uint8_t *label;

	if (result->verdict != SIXLANE_ANSWER_TOO_BIG ||
	    !packet_parse(result->frame, result->len, &packet))
		return;
	label = result->frame + PACKET_ETH_BYTES + 1;
	for (int i = 0; i < 2 && packet.tags[i].word; i++)
		label += sizeof(packet.tags[i]);
	label[0] &= 0xf0;
	label[1] = label[2] = 0;
}

static uint32_t differences(const struct loader_run_result *a, const struct loader_run_result *b)
{
	const bool same_frame = a->len == b->len && !memcmp(a->frame, b->frame, a->len);

	return (a->verdict != b->verdict ? EXPLAIN_VERDICT : 0) |
	       (a->slot != b->slot ? EXPLAIN_COUNTED_FOR : 0) |
	       (a->action != b->action ? EXPLAIN_ACTION : 0) | (same_frame ? 0 : EXPLAIN_FRAME);
}

static void parse_frame(struct loader_run_result *result, struct packet *out)
{
	clear_label(result);
	if (!packet_parse(result->frame, result->len, out))
		*out = (struct packet){ 0 };
}

/* Runs both programs once. 0, or -errno and err. */
static int compare(struct explain *explain, struct loader_run *tracer, struct loader_run *run,
		   char *err)
{
	uint32_t ingress = explain->ingress->ifindex;
	int rc = loader_run_trace(tracer, ingress, explain->frame, explain->frame_len,
				  &explain->traced, &explain->trace.records, err);

	if (!rc)
		rc = loader_run_frame(run, ingress, explain->frame, explain->frame_len,
				      &explain->result, err);
	if (rc)
		return rc;
	parse_frame(&explain->result, &explain->out);
	parse_frame(&explain->traced, &explain->traced_out);
	explain->differs = differences(&explain->traced, &explain->result);
	return 0;
}

static int run_both(struct explain *explain, struct loader_run *tracer, struct loader_run *run,
		    char *err)
{
	int rc = 0, tries = 0;

	do
		rc = compare(explain, tracer, run, err);
	while (!rc && explain->differs && ++tries < TRIES);
	explain->same_build =
		explain->prog.owner != LOADER_OURS || loader_run_is_same(run, explain->prog.id);
	loader_run_compiler(run, explain->compiler);
	return rc;
}

/* Whether the program can run on the frame. Logs the reason if it cannot. */
static bool fits(const struct explain *explain, bool frags)
{
	const size_t max = loader_run_linear_bytes(), ip_bytes = explain->packet.ip_bytes;

	if (frags || explain->frame_len <= max)
		return true;
	log_error(
		"size %zu: explain runs at most %zu bytes through a program for one buffer: give a smaller size",
		ip_bytes, max - (explain->frame_len - ip_bytes));
	return false;
}

/* Fills in the results. CMD_OK, or CMD_FAILED after logging. */
static int run_programs(struct explain *explain)
{
	const bool frags = explain->prog_known && explain->prog.frags;
	struct loader_run *tracer = NULL, *run = NULL;
	const char *object = loader_object_path();
	struct trace *trace = &explain->trace;
	char err[LOADER_ERR];
	int rc;

	if (!fits(explain, frags))
		return CMD_FAILED;
	rc = loader_run_open(object, frags, &explain->view.fds, &run, err);
	if (!rc)
		rc = loader_run_open_trace(object, frags, &explain->view.fds, &tracer, err);
	if (!rc)
		rc = run_both(explain, tracer, run, err);
	loader_run_close(tracer);
	loader_run_close(run);
	if (rc) {
		log_error("%s", err);
		return CMD_FAILED;
	}
	trace_read(&explain->view.maps, explain->ingress->ifindex, &explain->packet.dst,
		   &explain->packet.src, trace);
	if (!trace->view.by_source)
		return CMD_OK;
	if (entries_read_sources(&explain->view.maps, &explain->sources))
		return CMD_FAILED;
	explain->source = entries_match(&explain->sources, trace->view.set, &explain->packet.src);
	return CMD_OK;
}

/* --- the output -------------------------------------------------------------------------- */

static int to_text(const struct explain *explain)
{
	const char *last = "";

	for (size_t i = 0; i < explain->n_steps; i++) {
		const char *name = explain->steps[i].name;

		printf("%-13s %s\n", strcmp(name, last) != 0 ? name : "", explain->steps[i].text);
		last = name;
	}
	return print_flush();
}

static int print_steps(const struct cmd_options *options, struct explain *explain)
{
	int rc;

	explain_add_ingress(explain);
	explain_add_route(explain);
	explain_add_egress(explain);
	explain_add_verdict(explain);
	for (size_t i = 0; i < explain->n_steps; i++)
		if (!explain->steps[i].text)
			return cmd_no_memory();
	rc = options->json ? print_json(options, explain_json(explain)) : to_text(explain);
	return explain->differs ? CMD_FAILED : rc;
}

/* port: a device's name; NULL: choose one. */
static int explain_packet(const struct cmd_options *options, struct explain *explain,
			  const char *port)
{
	struct packet *packet = &explain->packet;
	int rc = cmd_view_open(&explain->view, false);

	if (rc)
		return rc;
	explain->daemon = loader_daemon_runs();
	if (port) {
		explain->port = ports_find(&explain->view.ports, nl_link_find(port, NULL));
		explain->port_reason = "as asked for";
		if (!explain->port)
			return cmd_usage(&cmd_explain, "cannot find device \"%s\"", port);
	}
	rc = explain_find_port(explain);
	if (rc)
		return rc;
	packet->hop_limit = HOP_LIMIT;
	explain->frame_len = packet_build(packet, explain->frame, sizeof(explain->frame));
	if (!explain->frame_len) {
		log_error("the frame is too long");
		return CMD_FAILED;
	}
	return run_programs(explain) ?: print_steps(options, explain);
}

static int run(const struct cmd_options *options, int argc, char **argv)
{
	static struct explain explain; /* large */
	const char *port = NULL;
	int rc = parse_args(argc, argv, &explain, &port);

	if (rc)
		return rc;
	rc = explain_packet(options, &explain, port);
	for (size_t i = 0; i < explain.n_steps; i++)
		free(explain.steps[i].text);
	entries_free(&explain.sources);
	cmd_view_close(&explain.view);
	return rc;
}

const struct cmd cmd_explain = {
	.name = "explain",
	.args = "SRC DST [PROTO [SPORT DPORT]] [dev PORT] [size BYTES] [tos TOS] [flowlabel LABEL] [mac MAC]",
	.help = "every step of one packet, by the real program",
	.run = run,
};
