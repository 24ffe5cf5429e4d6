// SPDX-License-Identifier: GPL-2.0-only
/*
 * What kernel.bpf.c asks: sixlane's LPM trie, without its compiled FIB; and the kernel's own
 * tables, of IPv6 and of IPv4, in a namespace that the caller has made, with a device that routes
 * end in. There a route's metric is its value, since a next hop does not tell which route led to
 * it; of IPv4, where that would be slow, all metrics are 1.
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>

#include "lookup.h"

#define OBJECT "bench-kernel.bpf.o"

/* --- the trie ------------------------------------------------------------------------------- */

void trie_change(struct lookup_side *side, size_t i, bool back)
{
	const struct prefix prefix = lookup_prefix(side, i);
	const struct sixlane_route_key key = { .prefix_len = SIXLANE_TABLE_BITS + prefix.len,
					       .table = htonl(SIXLANE_TABLE_MAIN),
					       .addr = prefix.addr };
	uint32_t value = (uint32_t)i + 1;
	int fd = (int)(intptr_t)side->state;

	if (back ? bpf_map_update_elem(fd, &key, &value, BPF_ANY) : bpf_map_delete_elem(fd, &key))
		plan_check(errno, "trie: route %zu of %zu", i + 1, side->n);
}

void trie_open(struct lookup_side *side)
{
	uint64_t start;
	char path[64];
	int fd;

	bpf_open(side, OBJECT);
	bpf_map__set_max_entries(bpf_object__find_map_by_name(side->bpf.object, "trie"),
				 (uint32_t)side->n);
	bpf_load(side, "trie");
	fd = bpf_map_of(side, "trie");
	side->state = (void *)(intptr_t)fd;
	start = util_now_ns();
	for (size_t i = 0; i < side->n; i++)
		trie_change(side, i, true);
	side->insert_ns = util_now_ns() - start;
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	side->bytes = lookup_figure(path, "memlock:");
}

/* --- routes of the kernel ------------------------------------------------------------------- */

/* Of linux/bpf.h since Linux 6.3, without which this must build. */
#define FIB_LOOKUP_SKIP_NEIGH (1u << 2)
/* Messages of one send(): the kernel takes them one after the other, so more save nothing. */
#define BATCH_BYTES 32768u
#define MESSAGE_BYTES 512u

/* Both are on the link, though nothing has an address there. */
static const uint8_t gateway6[16] = { 0xfe, 0x80, [15] = 2 }, gateway4[4] = { 169, 254, 0, 2 };

struct routes {
	struct mnl_socket *socket;
	uint32_t sequence;
	size_t used; /* of buffer */
	char buffer[BATCH_BYTES + MESSAGE_BYTES];
};

/* Returns when the kernel has done all messages so far, of which the last wants an answer, or dies
 * by the first error. */
static void send_all(struct routes *routes)
{
	char answer[8192];
	ssize_t n = mnl_socket_sendto(routes->socket, routes->buffer, routes->used);

	routes->used = 0;
	while (n >= 0) {
		n = mnl_socket_recvfrom(routes->socket, answer, sizeof(answer));
		if (n >= 0 && mnl_cb_run(answer, (size_t)n, 0, 0, NULL, NULL) < 0)
			n = -1;
		else if (n >= 0 && ((struct nlmsghdr *)answer)->nlmsg_seq == routes->sequence)
			return;
	}
	plan_check(errno, "routes of the kernel");
}

/* last: when it returns, the kernel has done this and all before it. */
static void put_route(struct lookup_side *side, size_t i, bool back, bool last)
{
	const struct bench_prefix *prefix = &side->prefixes[i];
	const bool is_ipv4 = side->is_ipv4;
	struct routes *routes = side->state;
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(routes->buffer + routes->used);
	struct rtmsg *rtm = mnl_nlmsg_put_extra_header(nlh, sizeof(*rtm));

	nlh->nlmsg_type = back ? RTM_NEWROUTE : RTM_DELROUTE;
	nlh->nlmsg_flags = NLM_F_REQUEST | (back ? NLM_F_CREATE | NLM_F_EXCL : 0);
	nlh->nlmsg_seq = ++routes->sequence;
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
	mnl_attr_put_u32(nlh, RTA_OIF, side->bpf.packet.ifindex);
	mnl_attr_put(nlh, RTA_GATEWAY, is_ipv4 ? 4 : 16, is_ipv4 ? gateway4 : gateway6);
	routes->used += NLMSG_ALIGN(nlh->nlmsg_len);
	if (!last && routes->used < BATCH_BYTES)
		return;
	nlh->nlmsg_flags |= NLM_F_ACK;
	send_all(routes);
}

void kernel_change(struct lookup_side *side, size_t i, bool back)
{
	put_route(side, i, back, true);
}

/* Routes end in a device, not in a neighbour, for which older kernels look in vain. */
static void choose_flags(struct lookup_side *side)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	struct walk_packet packet = side->bpf.packet;

	packet.fib_flags = FIB_LOOKUP_SKIP_NEIGH;
	opts.data_in = opts.data_out = &packet;
	opts.data_size_in = opts.data_size_out = sizeof(packet);
	plan_check(bpf_prog_test_run_opts(side->bpf.run[0], &opts), "bpf_fib_lookup()");
	side->bpf.packet.fib_flags = packet.sum ? FIB_LOOKUP_SKIP_NEIGH : 0;
}

/*
 * What the kernel has for its own structures and per-CPU data: it keeps no account of a table of
 * routes. The rest of the machine has a part in it.
 */
static uint64_t kernel_bytes(void)
{
	return 1024 * (lookup_figure("/proc/meminfo", "Slab:") +
		       lookup_figure("/proc/meminfo", "Percpu:"));
}

void kernel_open(struct lookup_side *side)
{
	struct routes *routes = side->state = plan_alloc(1, sizeof(*routes));
	uint64_t before, after, start;

	bpf_open(side, OBJECT);
	bpf_load(side, side->engine->name);
	routes->socket = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	if (!routes->socket || mnl_socket_bind(routes->socket, 0, MNL_SOCKET_AUTOPID))
		plan_check(errno, "netlink");
	before = kernel_bytes();
	start = util_now_ns();
	for (size_t i = 0; i < side->n; i++)
		put_route(side, i, true, i + 1 == side->n);
	side->insert_ns = util_now_ns() - start;
	after = kernel_bytes();
	side->bytes = after > before ? after - before : 0;
	choose_flags(side);
}

/* fib6 is a trie of lookup_trie_depth()'s kind, with a root of its own that is always there. */
uint32_t kernel6_depth(struct lookup_side *side)
{
	return lookup_trie_depth(side) + (side->prefixes[0].len > 0);
}
