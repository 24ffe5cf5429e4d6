// SPDX-License-Identifier: GPL-2.0-only
/*
 * guard_dump [-f] [-s nf_tables|ip6_tables] DEVICE...: print a line of JSON with the result of the
 * guard's reader for the netfilter rules of this network namespace: for each pair of devices and
 * each hook the reason why packets pass to the kernel, or null. With -f, for each line of input, it
 * then processes the notifications: it prints {"changed": false} if none mattered, or the result of
 * a new read.
 *
 * guard_dump -s hooks DEVICE...: print the functions at netfilter's hooks, and BPF programs by
 * links.
 *
 * guard_dump -s tc [-f] DEVICE...: print a line for each device, with the reasons in traffic
 * control. With -f, it first waits for a notification that requires a new read; "follow" shows
 * whether one came.
 *
 * guard_dump -s xfrm [SRC DST]: print the number of IPsec policies, and that for packets from SRC
 * to DST; again each time that the reader reports a change, until its input ends.
 *
 * guard_dump -x ingress|egress DEVICE, -x netfilter HOOK: attach a BPF program that passes
 * everything, print its id, and wait until the input ends.
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <linux/bpf.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#include "../../user/guard/ip6_tables.h"
#include "../../user/guard/nf_hooks.h"
#include "../../user/guard/nf_tables.h"
#include "../../user/guard/ruleset.h"
#include "../../user/guard/tc.h"
#include "../../user/guard/xfrm.h"
#include "../../user/netlink/parse.h"
#include "../../user/netlink/socket.h"

#define TIMEOUT_MS 5000

struct iface {
	struct link link;
	struct guard_iface iface;
};

static const char *const hooks[GUARD_N_HOOKS] = {
	[GUARD_HOOK_INGRESS] = "ingress", [GUARD_HOOK_PREROUTING] = "prerouting",
	[GUARD_HOOK_FORWARD] = "forward", [GUARD_HOOK_OUTPUT] = "output",
	[GUARD_HOOK_EGRESS] = "egress",	  [GUARD_HOOK_POSTROUTING] = "postrouting",
};

static void die(const char *what, int error)
{
	fprintf(stderr, "guard_dump: %s: %s\n", what, strerror(-error));
	exit(2);
}

static int link_message(const struct nlmsghdr *nlh, void *link)
{
	return parse_link(nlh, link);
}

static void device_read(struct nl_socket *socket, const char *name, struct iface *device)
{
	char buffer[256] __attribute__((aligned(8))) = { 0 };
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buffer);
	struct ifinfomsg *header = mnl_nlmsg_put_extra_header(nlh, sizeof(*header));
	int r;

	nlh->nlmsg_type = RTM_GETLINK;
	header->ifi_index = (int)if_nametoindex(name);
	r = nl_socket_request_one(socket, nlh, link_message, &device->link, TIMEOUT_MS);
	if (r < 0)
		die(name, r);
	device->iface = (struct guard_iface){
		.ifindex = device->link.ifindex,
		.type = device->link.type,
		.name = device->link.name,
		.kind = device->link.kind,
	};
}

/* --- output --- */

static json_t *reason_json(bool held, const char *reason)
{
	return held ? json_string(reason) : json_null();
}

static json_t *pair_json(const struct guard_ruleset *rules, const struct guard_iface *in,
			 const struct guard_iface *out)
{
	json_t *held = json_object();
	char reason[GUARD_REASON_LEN];

	for (enum guard_hook hook = 0; hook < GUARD_N_HOOKS; hook++)
		json_object_set_new(
			held, hooks[hook],
			reason_json(guard_ruleset_punts(rules, hook, in, out, reason), reason));
	return json_pack("{s:s, s:s, s:o}", "in", in->name, "out", out->name, "held", held);
}

static json_t *pairs_json(const struct guard_ruleset *rules, const struct iface *devices, size_t n)
{
	json_t *pairs = json_array();

	for (size_t i = 0; i < n; i++) {
		for (size_t j = 0; j < n; j++) {
			if (i != j)
				json_array_append_new(pairs, pair_json(rules, &devices[i].iface,
								       &devices[j].iface));
		}
	}
	return pairs;
}

static json_t *nat_json(const struct guard_ruleset *rules)
{
	json_t *nat = json_object();
	char reason[GUARD_REASON_LEN];

	for (enum guard_hook hook = 0; hook < GUARD_N_HOOKS; hook++) {
		if (guard_ruleset_nat(rules, hook, reason))
			json_object_set_new(nat, hooks[hook], json_string(reason));
	}
	return nat;
}

static json_t *named_json(const struct guard_ruleset *rules, const struct iface *devices, size_t n)
{
	json_t *named = json_array();

	for (size_t i = 0; i < n; i++) {
		if (guard_ruleset_matches_device(rules, &devices[i].iface))
			json_array_append_new(named, json_string(devices[i].iface.name));
	}
	return named;
}

static void say(json_t *object)
{
	json_dumpf(object, stdout, JSON_COMPACT);
	putchar('\n');
	fflush(stdout);
	json_decref(object);
}

static double cpu_ms(void)
{
	return (double)clock() * 1000 / CLOCKS_PER_SEC;
}

/* --- sources --- */

struct source {
	const char *name;
	int (*read)(struct guard_ruleset **out);
};

static struct nf_parser *parser; /* of the last reading of nf_tables */

static int read_nf_tables(struct guard_ruleset **out)
{
	return nf_tables_read(NULL, NULL, &parser, out);
}

static const struct source sources[] = {
	{ "nf_tables", read_nf_tables },
	{ "ip6_tables", ip6_tables_read },
	{ "hooks", NULL },
};

static void read_rules(const struct source *source, const struct iface *devices, size_t n)
{
	_cleanup_(guard_ruleset_freep) struct guard_ruleset *rules = NULL;
	char reason[GUARD_REASON_LEN];
	double before = cpu_ms(), after;
	int r = source->read(&rules);
	bool tracks;

	if (r < 0) {
		say(json_pack("{s:s}", "failed", strerror(-r)));
		return;
	}
	after = cpu_ms();
	tracks = guard_ruleset_tracks(rules, reason);
	say(json_pack("{s:b, s:i, s:f, s:o, s:o, s:o, s:o}", "asks_conntrack",
		      guard_ruleset_needs_conntrack(rules), "error", guard_ruleset_error(rules),
		      "read_ms", after - before, "tracks", reason_json(tracks, reason), "nat",
		      nat_json(rules), "names", named_json(rules, devices, n), "pairs",
		      pairs_json(rules, devices, n)));
}

static void follow(const struct source *source, struct nl_socket *socket,
		   const struct iface *devices, size_t n)
{
	char line[16];

	while (fgets(line, sizeof(line), stdin)) {
		if (notifications_read(&nf_tables_notifications, socket, parser))
			read_rules(source, devices, n);
		else
			say(json_pack("{s:b}", "changed", 0));
	}
}

/* --- functions at hooks, which are no rules --- */

static json_t *unknown_json(const struct nf_hooks *found)
{
	json_t *unknown = json_object();

	for (enum guard_hook hook = 0; hook < GUARD_N_HOOKS; hook++) {
		if (found->unknown[hook][0])
			json_object_set_new(unknown, hooks[hook],
					    json_string(found->unknown[hook]));
	}
	return unknown;
}

static json_t *hooks_json(const struct nf_hooks *found)
{
	return json_pack("{s:b, s:b, s:o}", "known", found->known, "defragments",
			 found->defragments, "unknown", unknown_json(found));
}

static int read_hooks(const struct iface *devices, size_t n)
{
	struct nf_hooks all = { 0 }, links = { 0 };
	json_t *answer, *each = json_object();
	bool guess;
	int r = nf_hooks_read(&all);

	if (r == 0)
		r = nf_hooks_read_bpf(&links);
	if (r == 0)
		r = nf_hooks_guess_defragments(&guess);
	if (r < 0)
		die("hooks", r);
	for (size_t i = 0; i < n; i++) {
		struct nf_hooks one = { 0 };

		r = nf_hooks_read_device(devices[i].iface.ifindex, devices[i].iface.name, &one);
		if (r < 0)
			die(devices[i].iface.name, r);
		json_object_set_new(each, devices[i].iface.name, hooks_json(&one));
	}
	answer = hooks_json(&all);
	json_object_set_new(answer, "devices", each);
	json_object_set_new(answer, "links", unknown_json(&links));
	json_object_set_new(answer, "guess", json_boolean(guess));
	say(answer);
	return 0;
}

/* --- traffic control --- */

static bool wait_for_change(struct nl_socket *socket)
{
	struct pollfd pfd = { .fd = nl_socket_fd(socket), .events = POLLIN };
	bool changed = false;

	puts("waits");
	fflush(stdout);
	while (!changed && poll(&pfd, 1, TIMEOUT_MS) > 0)
		changed = notifications_read(&tc_notifications, socket, NULL);
	return changed;
}

static void say_queueing(const struct queueing *queueing, const char *name, bool changed)
{
	char tcx_ingress[GUARD_REASON_LEN], tcx_egress[GUARD_REASON_LEN];
	uint32_t ifindex = if_nametoindex(name);
	const struct queueing_device *device = queueing_find(queueing, ifindex);
	int r = tc_read_tcx(ifindex, false, tcx_ingress) ?: tc_read_tcx(ifindex, true, tcx_egress);

	if (r)
		die("tcx programs", r);
	say(json_pack("{s:s,s:s,s:s,s:s,s:s,s:b}", "device", name, "ingress",
		      device ? device->ingress : "", "egress", device ? device->egress : "",
		      "tcx_ingress", tcx_ingress, "tcx_egress", tcx_egress, "follow", changed));
}

static void read_tc(char *const *names, bool follows)
{
	_cleanup_(nl_socket_freep) struct nl_socket *socket = NULL;
	struct queueing *queueing = NULL;
	bool changed = false;
	int r = notifications_open(&tc_notifications, 0, &socket);

	if (r)
		die("tc", r);
	if (follows)
		changed = wait_for_change(socket);
	r = tc_read(&queueing);
	if (r)
		die("tc", r);
	for (; *names; names++)
		say_queueing(queueing, *names, changed);
	queueing_free(queueing);
}

/* --- IPsec policies --- */

static int count_entry(void *ctx, const struct sixlane_route_key *key, uint32_t value)
{
	size_t *n = ctx;

	(*n)++;
	return 0;
}

static void say_policies(const struct nl_socket *socket, const union sixlane_addr *addrs)
{
	_cleanup_(policies_freep) struct policies *policies = NULL;
	const struct policy *policy = NULL;
	char held[GUARD_REASON_LEN] = "";
	size_t n_entries = 0;
	int r = xfrm_read(&policies);

	if (r == 0)
		r = policies_entries(policies, count_entry, &n_entries);
	if (r < 0)
		die("xfrm", r);
	if (addrs)
		policy = policies_find(policies, &addrs[0], &addrs[1]);
	if (policy)
		policy_format(policy, held);
	say(json_pack("{s:b, s:i, s:i, s:s, s:s, s:s}", "xfrm", socket != NULL, "policies",
		      (int)policies->n, "entries", (int)n_entries, "all", policies->all,
		      "icmp_errors", policies->icmp_errors, "held", held));
}

static void read_xfrm(char *const *words, size_t n)
{
	struct pollfd fds[] = { { .fd = STDIN_FILENO, .events = POLLIN },
				{ .fd = -1, .events = POLLIN } };
	_cleanup_(nl_socket_freep) struct nl_socket *socket = NULL;
	union sixlane_addr addrs[2];
	int r;

	for (size_t i = 0; i < n && i < ARRAY_SIZE(addrs); i++) {
		if (inet_pton(AF_INET6, words[i], &addrs[i]) != 1)
			die(words[i], -EINVAL);
	}
	r = notifications_open(&xfrm_notifications, 0, &socket);
	if (r < 0)
		die("xfrm", r);
	if (socket)
		fds[1].fd = nl_socket_fd(socket);
	say_policies(socket, n ? addrs : NULL);
	while (poll(fds, ARRAY_SIZE(fds), -1) > 0 && !fds[0].revents) {
		if (notifications_read(&xfrm_notifications, socket, NULL))
			say_policies(socket, n ? addrs : NULL);
	}
}

/* --- BPF programs at hooks --- */

static int load_program(enum bpf_prog_type type, enum bpf_attach_type attach, int result)
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = attach);
	const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .imm = result },
		{ .code = BPF_JMP | BPF_EXIT },
	};

	return bpf_prog_load(type, "passes", "GPL", insns, ARRAY_SIZE(insns), &opts);
}

static int attach_tcx(const char *where, const char *device)
{
	/* BPF_TCX_INGRESS and _EGRESS of Linux 6.6; TCX_NEXT */
	unsigned int attach = !strcmp(where, "ingress") ? 46 : 47;
	int program = load_program(BPF_PROG_TYPE_SCHED_CLS, 0, -1);
	int link = bpf_link_create(program, (int)if_nametoindex(device), attach, NULL);

	return link < 0 ? link : program;
}

/* Needs Linux 6.4. libbpf of Debian 12 has no function for it. */
static int attach_netfilter(const char *name)
{
	static const char *const names[] = { "prerouting", "input", "forward", "output",
					     "postrouting" };
	/* BPF_PROG_TYPE_NETFILTER and BPF_NETFILTER; NF_ACCEPT */
	int program = load_program(32, 45, 1);
	struct {
		__u32 program, target, attach, flags, family, hook, priority, hook_flags;
	} attr = { (__u32)program, 0, 45, 0, AF_INET6, 0, 100, 0 };

	while (attr.hook < ARRAY_SIZE(names) && strcmp(names[attr.hook], name))
		attr.hook++;
	return syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr)) < 0 ? -errno : program;
}

/* The program stays attached until this process ends. */
static int attach(const char *where, const char *at)
{
	struct bpf_prog_info info = { 0 };
	__u32 size = sizeof(info);
	int program = strcmp(where, "netfilter") ? attach_tcx(where, at) : attach_netfilter(at);

	if (program < 0)
		die("cannot attach a program", program);
	bpf_obj_get_info_by_fd(program, &info, &size);
	printf("%u\n", info.id);
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}

static const struct source *find_source(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(sources); i++) {
		if (!strcmp(sources[i].name, name))
			return &sources[i];
	}
	die(name, -ENOENT);
	return NULL;
}

static int read_netfilter(const struct source *source, char *const *names, size_t n, bool follows)
{
	_cleanup_(nl_socket_freep) struct nl_socket *links = NULL;
	_cleanup_(nl_socket_freep) struct nl_socket *socket = NULL;
	_cleanup_free_ struct iface *devices = calloc(n + 1, sizeof(*devices));
	int r = devices ? nl_socket_new(NETLINK_ROUTE, 0, &links) : -ENOMEM;

	if (r < 0)
		die("netlink", r);
	for (size_t i = 0; i < n; i++)
		device_read(links, names[i], &devices[i]);
	if (!source->read)
		return read_hooks(devices, n);
	r = notifications_open(&nf_tables_notifications, 0, &socket);
	if (r < 0)
		die("nf_tables", r);
	read_rules(source, devices, n);
	if (follows)
		follow(source, socket, devices, n);
	nf_parser_free(parser);
	return 0;
}

int main(int argc, char **argv)
{
	const char *source = "nf_tables", *attached = NULL;
	bool follows = false;
	int c;

	while ((c = getopt(argc, argv, "fs:x:")) >= 0) {
		if (c == '?')
			return 2;
		follows |= c == 'f';
		source = c == 's' ? optarg : source;
		attached = c == 'x' ? optarg : attached;
	}
	argv += optind;
	argc -= optind;
	if (attached)
		return argc == 1 ? attach(attached, argv[0]) : 2;
	if (!strcmp(source, "tc"))
		read_tc(argv, follows);
	else if (!strcmp(source, "xfrm"))
		read_xfrm(argv, (size_t)argc);
	else
		return read_netfilter(find_source(source), argv, (size_t)argc, follows);
	return 0;
}
