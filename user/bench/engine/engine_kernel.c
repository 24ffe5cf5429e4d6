// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kernel's own tables, of IPv6 and of IPv4, as a BPF program asks them by bpf_fib_lookup(). The
 * caller has made a namespace for them, with a device that routes end in. A route's metric is its
 * value, since a next hop does not tell which route led to it; of IPv4, where that would be slow,
 * all metrics are 1.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>

#include "bpf.h"

/* Of linux/bpf.h since Linux 6.3, without which this must build. */
#define FIB_LOOKUP_SKIP_NEIGH (1u << 2)
/* Messages of one send(): the kernel takes them one after the other, so more save nothing. */
#define BATCH_BYTES 32768u
#define MESSAGE_BYTES 512u

/* Both are on the link, though nothing has an address there. */
static const uint8_t gateway6[16] = { 0xfe, 0x80, [15] = 2 }, gateway4[4] = { 169, 254, 0, 2 };

struct kernel_side {
	struct bpf_side bpf;
	struct mnl_socket *socket;
	uint32_t sequence;
	size_t used; /* of buffer */
	char buffer[BATCH_BYTES + MESSAGE_BYTES];
};

/* --- routes --------------------------------------------------------------------------------- */

/* The messages so far, of which the last wants an answer. Returns the first error, or 0. */
static int send_all(struct kernel_side *side)
{
	size_t bytes = side->used;
	char answer[8192];
	ssize_t n;

	side->used = 0;
	if (mnl_socket_sendto(side->socket, side->buffer, bytes) < 0)
		return -errno;
	do {
		n = mnl_socket_recvfrom(side->socket, answer, sizeof(answer));
		if (n < 0 || mnl_cb_run(answer, (size_t)n, 0, 0, NULL, NULL) < 0)
			return -errno;
	} while (((struct nlmsghdr *)answer)->nlmsg_seq != side->sequence);
	return 0;
}

/* last: when it returns, the kernel has done this and all before it. */
static int change_route(struct lookup_side *side, size_t i, bool back, bool last)
{
	const struct bench_prefix *prefix = &side->table.prefixes[i];
	const bool is_ipv4 = side->table.is_ipv4;
	struct kernel_side *kernel = side->state;
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(kernel->buffer + kernel->used);
	struct rtmsg *rtm = mnl_nlmsg_put_extra_header(nlh, sizeof(*rtm));
	int ret = 0;

	nlh->nlmsg_type = back ? RTM_NEWROUTE : RTM_DELROUTE;
	nlh->nlmsg_flags = NLM_F_REQUEST | (back ? NLM_F_CREATE | NLM_F_EXCL : 0);
	nlh->nlmsg_seq = ++kernel->sequence;
	*rtm = (struct rtmsg){
		.rtm_family = is_ipv4 ? AF_INET : AF_INET6,
		.rtm_dst_len = (unsigned char)prefix->len,
		.rtm_table = RT_TABLE_MAIN,
		.rtm_protocol = RTPROT_STATIC,
		.rtm_type = RTN_UNICAST,
		.rtm_flags = RTNH_F_ONLINK,
	};
	mnl_attr_put(nlh, RTA_DST, is_ipv4 ? 4 : 16, prefix->addr);
	mnl_attr_put_u32(nlh, RTA_PRIORITY, is_ipv4 ? 1 : (uint32_t)i + 1);
	mnl_attr_put_u32(nlh, RTA_OIF, kernel->bpf.packet.ifindex);
	mnl_attr_put(nlh, RTA_GATEWAY, is_ipv4 ? 4 : 16, is_ipv4 ? gateway4 : gateway6);
	kernel->used += NLMSG_ALIGN(nlh->nlmsg_len);
	if (last || kernel->used >= BATCH_BYTES) {
		nlh->nlmsg_flags |= NLM_F_ACK;
		ret = send_all(kernel);
	}
	return ret ? plan_fail(ret, "%s: route %zu of %zu", side->engine->name, i + 1,
			       side->table.n)
		   : 0;
}

static int change(struct lookup_side *side, size_t i, bool back)
{
	return change_route(side, i, back, true);
}

/* --- the engine ----------------------------------------------------------------------------- */

static int no_maps(struct lookup_side *side, struct bpf_object *object)
{
	(void)side;
	(void)object;
	return 0;
}

/* What is opened in the namespace stays there. */
static int open_namespace(struct lookup_side *side)
{
	struct kernel_side *kernel = side->state;
	int back = -1, ret, left;

	kernel->bpf.packet.ifindex = side->ifindex;
	kernel->bpf.netns = open(side->netns, O_RDONLY | O_CLOEXEC);
	if (kernel->bpf.netns < 0)
		return plan_fail(-errno, "%s", side->netns);
	ret = bpf_netns_enter(kernel->bpf.netns, &back);
	if (ret)
		return ret;
	kernel->socket = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	if (!kernel->socket || mnl_socket_bind(kernel->socket, 0, MNL_SOCKET_AUTOPID))
		ret = plan_fail(-errno, "netlink");
	left = bpf_netns_leave(&back);
	return ret ?: left;
}

/* Routes end in a device, not in a neighbour, for which older kernels look in vain. */
static int choose_flags(struct kernel_side *side)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	struct walk_packet packet = side->bpf.packet;
	int back = -1, ret = bpf_netns_enter(side->bpf.netns, &back), left;

	packet.fib_flags = FIB_LOOKUP_SKIP_NEIGH;
	opts.data_in = opts.data_out = &packet;
	opts.data_size_in = opts.data_size_out = sizeof(packet);
	ret = ret ?: bpf_prog_test_run_opts(side->bpf.run[0], &opts);
	left = bpf_netns_leave(&back);
	side->bpf.packet.fib_flags = packet.sum ? FIB_LOOKUP_SKIP_NEIGH : 0;
	return ret ? plan_fail(ret, "cannot run bpf_fib_lookup()") : left;
}

/*
 * What the kernel has for its own structures and per-CPU data: it keeps no account of a table of
 * routes. The rest of the machine has a part in it.
 */
static uint64_t kernel_bytes(void)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/meminfo", "re");
	unsigned long long kilobytes, sum = 0;
	char line[128];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "Slab: %llu", &kilobytes) == 1 ||
		    sscanf(line, "Percpu: %llu", &kilobytes) == 1)
			sum += kilobytes * 1024;
	return sum;
}

static int open_kernel(struct lookup_side *side)
{
	const struct bpf_engine engine = { "bench-kernel.bpf.o", side->engine->name, no_maps };
	int ret = bpf_side_open(side, &engine, sizeof(struct kernel_side));
	uint64_t before, after, start;

	ret = ret ?: open_namespace(side);
	before = kernel_bytes();
	start = util_now_ns();
	for (size_t i = 0; i < side->table.n && !ret; i++)
		ret = change_route(side, i, true, i + 1 == side->table.n);
	side->insert_ns = util_now_ns() - start;
	after = kernel_bytes();
	side->bytes = after > before ? after - before : 0;
	return ret ?: choose_flags(side->state);
}

/* fib6 is a trie of lookup_trie_depth()'s kind, with a root of its own that is always there. */
static int depth6(struct lookup_side *side, uint32_t *nodes)
{
	*nodes = lookup_trie_depth(&side->table) + (side->table.prefixes[0].len > 0);
	return 0;
}

const struct lookup_engine lookup_kernel6 = { "kernel6",	open_kernel, bpf_side_measure,
					      bpf_side_answers, change,	     depth6 };
const struct lookup_engine lookup_kernel4 = { "kernel4",	open_kernel, bpf_side_measure,
					      bpf_side_answers, change,	     NULL };
