// SPDX-License-Identifier: GPL-2.0-only
/*
 * sixlane explain: one packet, told step by step. The steps come from a walk through the maps in
 * user space (walk.h), the verdict from the real program on the same maps and on that very
 * packet; that the two agree is part of the answer.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/bpf.h>
#include <netinet/in.h>
#include <string.h>

#include "../../bpf/proto.h"
#include "../lib/log.h"
#include "explain.h"

#define HOP_LIMIT 64
#define SPORT 49152 /* the first of those that anybody may use */
#define DPORT 33434 /* traceroute's */

/* The daemon may write between walk and run; what differs so often is no coincidence. */
#define TRIES 4

/* --- the command line -------------------------------------------------------------------- */

static bool is_keyword(const char *word)
{
	return !strcmp(word, "dev") || !strcmp(word, "size") || !strcmp(word, "tos") ||
	       !strcmp(word, "flowlabel");
}

/* PROTO SPORT DPORT, as far as they are there. Returns how many words they are, or -CMD_USAGE. */
static int take_flow(int argc, char **argv, struct packet *packet)
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
		return -cmd_usage(&cmd_explain, "\"%s\" is too much", argv[3]);
	if (n == 2)
		return -cmd_usage(&cmd_explain,
				  "\"%s %s\": a protocol alone, or with both ports behind it",
				  argv[0], argv[1]);
	if (n == 3 && !proto_has_ports(packet->proto))
		return -cmd_usage(&cmd_explain, "\"%s\" has no ports", argv[0]);
	if (n == 3 && (!cmd_parse_number(argv[1], UINT16_MAX, &sport) ||
		       !cmd_parse_number(argv[2], UINT16_MAX, &dport)))
		return -cmd_usage(&cmd_explain, "\"%s %s\" are not two ports", argv[1], argv[2]);
	if (proto_has_ports(packet->proto)) {
		packet->sport = (uint16_t)sport;
		packet->dport = (uint16_t)dport;
	}
	return n;
}

/* A number up to max, as C writes it. True on success. */
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

/* CMD_OK or CMD_USAGE (said). */
static int take_keyword(const char *word, const char *value, struct packet *packet,
			const char **port)
{
	uint32_t tclass;

	if (!strcmp(word, "dev")) {
		*port = value;
		return CMD_OK;
	}
	if (!strcmp(word, "size")) {
		if (cmd_parse_number(value, LOADER_RUN_ROOM / 2, &packet->ip_bytes) &&
		    packet->ip_bytes >= packet_min_bytes(packet->proto))
			return CMD_OK;
		return cmd_usage(&cmd_explain, "size %s: bytes of the IPv6 packet, from %u to %u",
				 value, packet_min_bytes(packet->proto), LOADER_RUN_ROOM / 2);
	}
	if (!strcmp(word, "flowlabel")) {
		if (parse_bits(value, PACKET_MAX_LABEL, &packet->label))
			return CMD_OK;
		return cmd_usage(&cmd_explain, "flowlabel %s: a flow label from 0 to 0x%x", value,
				 PACKET_MAX_LABEL);
	}
	if (strcmp(word, "tos") != 0)
		return cmd_usage(&cmd_explain, "\"%s\" is too much", word);
	if (!parse_bits(value, UINT8_MAX, &tclass))
		return cmd_usage(&cmd_explain, "tos %s: a traffic class from 0 to 0xff", value);
	packet->tclass = (uint8_t)tclass;
	return CMD_OK;
}

static int parse_args(int argc, char **argv, struct packet *packet, const char **port)
{
	int at = 2, n, rc;

	if (argc < 2)
		return cmd_usage(&cmd_explain, "from which address to which?");
	if (inet_pton(AF_INET6, argv[0], &packet->src) != 1)
		return cmd_usage(&cmd_explain, "\"%s\" is not an IPv6 address", argv[0]);
	if (inet_pton(AF_INET6, argv[1], &packet->dst) != 1)
		return cmd_usage(&cmd_explain, "\"%s\" is not an IPv6 address", argv[1]);
	n = take_flow(argc - at, argv + at, packet);
	if (n < 0)
		return -n;
	for (at += n; at < argc; at += 2) {
		if (at + 1 == argc)
			return cmd_usage(&cmd_explain, "what after \"%s\"?", argv[at]);
		rc = take_keyword(argv[at], argv[at + 1], packet, port);
		if (rc)
			return rc;
	}
	return CMD_OK;
}

/* --- walk and run ------------------------------------------------------------------------ */

static bool build(struct explain *explain)
{
	struct packet *packet = &explain->packet;

	packet->hop_limit = HOP_LIMIT;
	explain->frame_len = packet_build(packet, explain->frame, sizeof(explain->frame));
	explain->query.has_src = explain->query.has_flow = true;
	explain->query.proto = packet->proto;
	explain->query.tclass = packet->tclass;
	explain->query.hop_limit = packet->hop_limit;
	explain->query.sport = packet->sport;
	explain->query.dport = packet->dport;
	explain->query.label = packet->label;
	explain->query.ip_bytes = packet->ip_bytes;
	return explain->frame_len;
}

/* The frame that leaves by the next hop which the walk came to, into explain->wanted. */
static size_t build_output(struct explain *explain)
{
	const struct walk_hop *hop = &explain->walk.hop;
	struct packet packet = explain->packet;

	memcpy(packet.src_mac, hop->egress.mac.bytes, sizeof(packet.src_mac));
	memcpy(packet.dst_mac, hop->neigh.mac.bytes, sizeof(packet.dst_mac));
	memset(packet.tags, 0, sizeof(packet.tags));
	if (hop->egress.flags & SIXLANE_PORT_TAGGED)
		memcpy(packet.tags, hop->egress.tags, sizeof(packet.tags));
	packet.hop_limit--;
	return packet_build(&packet, explain->wanted, sizeof(explain->wanted));
}

/* The same of the answer. A label is drawn at random, so what the program drew is taken for it. */
static size_t build_answer(struct explain *explain)
{
	const struct walk_answer *walked = &explain->walk.hop.answer;
	const struct sixlane_port *port = &explain->walk.in;
	struct packet_too_big answer = { .src = walked->source,
					 .mtu = walked->mtu,
					 .aged = walked->aged,
					 .hop_limit = (uint8_t)port->hop_limit };

	memcpy(answer.dst_mac, walked->to_sender ? explain->packet.src_mac : walked->mac,
	       sizeof(answer.dst_mac));
	memcpy(answer.src_mac, port->mac.bytes, sizeof(answer.src_mac));
	if (port->flags & SIXLANE_PORT_TAGGED)
		memcpy(answer.tags, port->tags, sizeof(answer.tags));
	if (explain->view.maps.meta->flags & SIXLANE_META_FLOW_LABEL)
		answer.label = explain->out.label;
	return packet_build_too_big(&answer, explain->frame, explain->frame_len, explain->wanted,
				    sizeof(explain->wanted));
}

static uint32_t action_of(uint32_t verdict)
{
	static const uint8_t actions[] = {
#define X(name, action, string, text) XDP_##action,
		SIXLANE_VERDICTS(X)
#undef X
	};

	return actions[verdict];
}

/* What was put out is what the verdict says: forwarded by that hop, an answer, or what came in. */
static bool output_agrees(struct explain *explain)
{
	const struct loader_run_result *result = &explain->result;
	const uint8_t *wanted = explain->wanted;
	size_t len;

	if (result->verdict == SIXLANE_FORWARD) {
		len = build_output(explain);
	} else if (result->verdict == SIXLANE_ANSWER_TOO_BIG) {
		len = build_answer(explain);
	} else {
		wanted = explain->frame;
		len = explain->frame_len;
	}
	return result->len == len && !memcmp(result->frame, wanted, len);
}

static bool agrees(struct explain *explain)
{
	const struct loader_run_result *result = &explain->result;

	return explain->walk.verdict == result->verdict && result->slot == explain->walk.in_slot &&
	       result->action == action_of(result->verdict) && output_agrees(explain);
}

/* One walk and one run. 0 or -errno and err. */
static int compare(struct explain *explain, struct loader_run *run, char *err)
{
	int rc;

	walk_packet(&explain->view.maps, &explain->query, &explain->walk);
	rc = loader_run_frame(run, explain->query.ingress, explain->frame, explain->frame_len,
			      &explain->result, err);
	if (rc)
		return rc;
	if (!packet_read(explain->result.frame, explain->result.len, &explain->out))
		explain->out = (struct packet){ 0 };
	explain->agree = agrees(explain);
	return 0;
}

static int find_source(struct explain *explain)
{
	int rc;

	explain->sources = (struct sources){ 0 };
	if (!explain->walk.by_source)
		return 0;
	rc = sources_read(&explain->view.maps, &explain->sources);
	if (rc) {
		log_error("cannot read the source-specific routes: %s", strerror(-rc));
		return rc;
	}
	explain->source = sources_match(&explain->sources, explain->walk.set, &explain->packet.src);
	return 0;
}

/* CMD_OK or CMD_FAILED (said). */
static int find_out(struct explain *explain)
{
	bool frags = explain->prog_known && explain->prog.frags;
	struct loader_run *run;
	char err[LOADER_ERR];
	int rc = loader_run_open(loader_object_path(), frags, &explain->view.fds, &run, err);

	explain->query.frags = explain->frame_len > loader_run_linear_bytes();
	if (rc) {
		log_error("%s", err);
		return CMD_FAILED;
	}
	for (int i = 0; i < TRIES && !rc && !explain->agree; i++)
		rc = compare(explain, run, err);
	explain->same_build =
		explain->prog.owner != LOADER_OURS || loader_run_is_same(run, explain->prog.id);
	loader_run_compiler(run, explain->compiler);
	loader_run_close(run);
	if (rc) {
		log_error("%s", err);
		return CMD_FAILED;
	}
	return find_source(explain) ? CMD_FAILED : CMD_OK;
}

/* --- the answer -------------------------------------------------------------------------- */

static void to_text(const struct explain *explain)
{
	const char *last = "";

	for (size_t i = 0; i < explain->n_steps; i++) {
		const char *name = explain->steps[i].name;

		printf("%-10s %s\n", strcmp(name, last) != 0 ? name : "", explain->steps[i].text);
		last = name;
	}
}

static int answer(const struct cmd_options *options, struct explain *explain)
{
	int rc;

	if (!explain_tell(explain)) {
		log_error("out of memory");
		return CMD_FAILED;
	}
	if (options->json) {
		rc = print_json(options, explain_json(explain));
	} else {
		to_text(explain);
		rc = print_flush();
	}
	return explain->agree ? rc : CMD_FAILED;
}

static int explain_packet(const struct cmd_options *options, struct explain *explain,
			  const char *port)
{
	int rc = cmd_view_open(&explain->view);

	if (rc)
		return rc;
	explain->daemon = loader_daemon_runs();
	explain->query.src = explain->packet.src;
	explain->query.dst = explain->packet.dst;
	rc = explain_find_port(explain, port);
	if (!rc && !build(explain)) {
		log_error("the frame is too long");
		rc = CMD_FAILED;
	}
	if (!rc)
		rc = find_out(explain);
	if (!rc)
		rc = answer(options, explain);
	for (size_t i = 0; i < explain->n_steps; i++)
		free(explain->steps[i].text);
	sources_free(&explain->sources);
	cmd_view_close(&explain->view);
	return rc;
}

static int run(const struct cmd_options *options, int argc, char **argv)
{
	struct explain *explain = calloc(1, sizeof(*explain));
	const char *port = NULL;
	int rc;

	if (!explain) {
		log_error("out of memory");
		return CMD_FAILED;
	}
	rc = parse_args(argc, argv, &explain->packet, &port);
	if (!rc)
		rc = explain_packet(options, explain, port);
	free(explain);
	return rc;
}

const struct cmd cmd_explain = {
	.name = "explain",
	.args = "SRC DST [PROTO [SPORT DPORT]] [dev PORT] [size BYTES] [tos TOS] [flowlabel LABEL]",
	.help = "every step of one packet, by the real program",
	.run = run,
};
