// SPDX-License-Identifier: GPL-2.0-only
/*
 * tc_dump [-f MS] DEVICE...: print a line of JSON for each device of this network namespace, with
 * the guard's reasons in traffic control against acceleration there. With -f, first wait up to MS
 * milliseconds for a notification that requires a new read; "follow" shows whether one came.
 *
 * tc_dump -x DEVICE ingress|egress: attach a tcx program that passes everything, print "attached",
 * and wait until stdin ends.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <jansson.h>
#include <linux/bpf.h>
#include <net/if.h>
#include <poll.h>
#include <string.h>

#include "../../user/guard/tc.h"
#include "../../user/lib/util.h"

/* BPF_TCX_INGRESS and _EGRESS of Linux 6.6 */
#define TCX_INGRESS 46
#define TCX_EGRESS 47

static int fail(const char *what, int error)
{
	fprintf(stderr, "tc_dump: %s: %s\n", what, strerror(-error));
	return 1;
}

static int attach(const char *name, const char *where)
{
	/* r0 = TCX_NEXT (-1); exit */
	const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .imm = -1 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	enum bpf_attach_type type = !strcmp(where, "ingress") ? TCX_INGRESS : TCX_EGRESS;
	int program, link;

	program = bpf_prog_load(BPF_PROG_TYPE_SCHED_CLS, "goes_on", "GPL", insns, ARRAY_SIZE(insns),
				NULL);
	if (program < 0)
		return fail("cannot load a program", program);
	link = bpf_link_create(program, (int)if_nametoindex(name), type, NULL);
	if (link < 0)
		return fail("cannot attach it", link);
	puts("attached");
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}

static bool follow(struct nl_socket *socket, int timeout_ms)
{
	struct pollfd pfd = { .fd = nl_socket_fd(socket), .events = POLLIN };
	bool changed = false;

	puts("waits");
	fflush(stdout);
	while (!changed && poll(&pfd, 1, timeout_ms) > 0)
		changed = notifications_read(&tc_notifications, socket, NULL);
	return changed;
}

static int print_device(const struct queueing *queueing, const char *name, bool changed)
{
	char tcx_ingress[GUARD_REASON_LEN], tcx_egress[GUARD_REASON_LEN];
	uint32_t ifindex = if_nametoindex(name);
	const struct queueing_device *device = queueing_find(queueing, ifindex);
	json_t *object;
	int r = tc_read_tcx(ifindex, false, tcx_ingress) ?: tc_read_tcx(ifindex, true, tcx_egress);

	if (r)
		return fail("cannot ask for tcx programs", r);
	object = json_pack("{s:s,s:s,s:s,s:s,s:s,s:b}", "device", name, "ingress",
			   device ? device->ingress : "", "egress", device ? device->egress : "",
			   "tcx_ingress", tcx_ingress, "tcx_egress", tcx_egress, "follow", changed);
	json_dumpf(object, stdout, JSON_COMPACT);
	putchar('\n');
	json_decref(object);
	return 0;
}

int main(int argc, char **argv)
{
	_cleanup_(nl_socket_freep) struct nl_socket *socket = NULL;
	struct queueing *queueing = NULL;
	bool changed = false;
	int r, at = 1;

	if (argc == 4 && !strcmp(argv[1], "-x"))
		return attach(argv[2], argv[3]);
	r = notifications_open(&tc_notifications, 0, &socket);
	if (r)
		return fail("cannot open sockets", r);
	if (argc > 3 && !strcmp(argv[1], "-f")) {
		changed = follow(socket, atoi(argv[2]));
		at = 3;
	}
	r = tc_read(&queueing);
	if (r)
		return fail("cannot read traffic control", r);
	for (; at < argc; at++)
		if (print_device(queueing, argv[at], changed))
			return 1;
	queueing_free(queueing);
	return 0;
}
