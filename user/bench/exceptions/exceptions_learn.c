// SPDX-License-Identifier: GPL-2.0-only
/* See exceptions_learn.h. */
#include "exceptions_learn.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/rtnetlink.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "../forward/forward_socket.h"
#include "../kernel_net.h"
#include "../progress.h"
#include "../request.h"
#include "exceptions_count.h"

/* More than any frame of the bench has, less than the links'. */
#define MTU 1400u
#define RECEIVED "Icmp6InPktTooBigs"
/* Fewer than a veth's ring holds. */
#define BATCH 64u

/* Many times what it takes, also where a machine is emulated. */
#define ARRIVE_NS 10000000000ull
#define FOLLOW_NS 120000000000ull
/* The last message is counted before the kernel has taken it in; what it does not keep never comes.
 */
#define KEEP_NS 1000000000ull
#define POLL_MS 1

/* --- messages ------------------------------------------------------------------------------- */

/* Of a header that is not aligned. */
static void put_addresses(void *ip6, const union sixlane_addr *src, const union sixlane_addr *dst)
{
	memcpy((uint8_t *)ip6 + offsetof(struct ip6_hdr, ip6_src), src, sizeof(*src));
	memcpy((uint8_t *)ip6 + offsetof(struct ip6_hdr, ip6_dst), dst, sizeof(*dst));
}

static struct ip6_hdr make_header(size_t payload)
{
	return (struct ip6_hdr){ .ip6_flow = htonl(6u << 28),
				 .ip6_plen = htons((uint16_t)payload),
				 .ip6_nxt = IPPROTO_ICMPV6,
				 .ip6_hlim = 64 };
}

/* All but what the message is about. */
static void make_message(const struct forward_net *net, struct learn_message *out)
{
	*out = (struct learn_message){
		.eth = { .h_proto = htons(ETH_P_IPV6) },
		.ip6 = make_header(sizeof(*out) - offsetof(struct learn_message, icmp6)),
		.icmp6 = { .icmp6_type = ICMP6_PACKET_TOO_BIG },
		.quoted = make_header(sizeof(out->echo)),
		.echo = { .icmp6_type = ICMP6_ECHO_REQUEST },
	};
	memcpy(out->eth.h_dest, net->p1_mac, ETH_ALEN);
	memcpy(out->eth.h_source, net->b_mac, ETH_ALEN);
	put_addresses(&out->ip6, &net->gateways[0], &net->p1_addr);
}

static int send_one(struct learner *learner, const union sixlane_addr *dst, uint32_t mtu)
{
	const struct forward_net *net = &learner->router->net;
	const union sixlane_addr addresses[] = { net->gateways[0], net->p1_addr };
	struct learn_message *message = &learner->message;
	const size_t bytes = sizeof(*message) - offsetof(struct learn_message, icmp6);
	ssize_t sent;

	put_addresses(&message->quoted, &net->p1_addr, dst);
	message->icmp6.icmp6_mtu = htonl(mtu);
	message->icmp6.icmp6_cksum = 0;
	message->icmp6.icmp6_cksum =
		frame_checksum(IPPROTO_ICMPV6, bytes, addresses, &message->icmp6, bytes);
	do {
		sent = send(learner->fd, message, sizeof(*message), 0);
	} while (sent < 0 && errno == EINTR && !bench_interrupted());
	if (sent < 0 && errno == EINTR)
		return -EINTR;
	return sent < 0 ? bench_fail(-errno, "sending Packet Too Big") : 0;
}

/* Wait a moment; true: not after this time, and nobody wants it to end. */
static bool is_in_time(uint64_t deadline_ns)
{
	poll(NULL, 0, POLL_MS);
	return util_now_ns() < deadline_ns && !bench_interrupted();
}

/* Until the router has received so many. */
static int wait_received(uint64_t wanted)
{
	uint64_t deadline_ns = util_now_ns() + ARRIVE_NS, received;
	int ret;

	do {
		ret = forward_net_counter(RECEIVED, &received);
		if (ret || received >= wanted)
			return ret;
	} while (is_in_time(deadline_ns));
	if (bench_interrupted())
		return -EINTR;
	return bench_bad(-ETIMEDOUT, "of Packet Too Big to the router %llu were lost",
			 (unsigned long long)(wanted - received));
}

/* No faster than the router takes them in. */
static int send_all(struct learner *learner, const union sixlane_addr *destinations, size_t n,
		    uint32_t mtu)
{
	uint64_t before;
	int ret = forward_net_counter(RECEIVED, &before);

	for (size_t i = 0; i < n && !ret; i++) {
		ret = send_one(learner, &destinations[i], mtu);
		if (!ret && ((i + 1) % BATCH == 0 || i + 1 == n))
			ret = wait_received(before + i + 1);
	}
	return ret;
}

/* --- the kernel and sixlane ----------------------------------------------------------------- */

static int wait_kernel(uint64_t wanted)
{
	uint64_t deadline_ns = util_now_ns() + KEEP_NS, n;
	int ret;

	do {
		ret = exceptions_count_kernel(&n);
		if (ret || n == wanted)
			return ret;
	} while (is_in_time(deadline_ns));
	if (bench_interrupted())
		return -EINTR;
	return bench_bad(
		-ENOSPC,
		"the kernel has %llu exceptions instead of %llu: it limits those of one route; use fewer exceptions, or a table with more routes",
		(unsigned long long)n, (unsigned long long)wanted);
}

static int wait_ours(const struct maps *maps, uint64_t wanted)
{
	uint64_t deadline_ns = util_now_ns() + FOLLOW_NS, n;
	int ret;

	do {
		ret = exceptions_count_ours(maps, &n, NULL);
		if (ret || n == wanted)
			return ret;
	} while (is_in_time(deadline_ns));
	if (bench_interrupted())
		return -EINTR;
	return bench_bad(-ETIMEDOUT, "sixlaned has %llu exceptions, not %llu, after %llu s",
			 (unsigned long long)n, (unsigned long long)wanted, FOLLOW_NS / 1000000000);
}

static int add_entry(void *filter, const union sixlane_addr *dst,
		     const struct sixlane_exception *value)
{
	(void)value;
	maps_punted_add(filter, dst);
	return 0;
}

/* No packet is the kernel's since something has just been learned or forgotten: the filter has
 * the bits of entries alone. */
static bool is_settled(const struct maps *maps)
{
	const size_t bytes = SIXLANE_PUNTED_WORDS * sizeof(uint64_t);
	uint64_t *filter = calloc(1, bytes);
	bool settled;

	settled = filter && !maps_looks(maps) && !maps_exception_each(maps, add_entry, filter) &&
		  !memcmp(filter, maps->punted, bytes);
	free(filter);
	return settled;
}

static int wait_settled(const struct maps *maps)
{
	const uint64_t deadline_ns = util_now_ns() + FOLLOW_NS;

	do {
		if (is_settled(maps))
			return 0;
	} while (is_in_time(deadline_ns));
	if (bench_interrupted())
		return -EINTR;
	return bench_bad(-ETIMEDOUT, "sixlaned leaves packets to the kernel after %llu s",
			 FOLLOW_NS / 1000000000);
}

static int check_bound(const struct maps *maps, uint64_t wanted)
{
	if (wanted <= maps->meta->max_exceptions)
		return 0;
	return bench_bad(-ENOSPC, "%llu exceptions: sixlaned keeps %llu at most",
			 (unsigned long long)wanted,
			 (unsigned long long)maps->meta->max_exceptions);
}

int learn_all(struct learner *learner, const union sixlane_addr *destinations, size_t n, double *ms)
{
	const struct maps *maps = &learner->router->daemon.maps;
	uint64_t before, start_ns;
	int ret = exceptions_count_kernel(&before) ?: check_bound(maps, before + n);

	if (ret)
		return ret;
	start_ns = util_now_ns();
	ret = send_all(learner, destinations, n, MTU) ?: wait_kernel(before + n)
								 ?: wait_ours(maps, before + n);
	*ms = (double)(util_now_ns() - start_ns) / 1e6;
	return ret ?: wait_settled(maps);
}

/* As `ip route flush cache` does. */
static int flush(const union sixlane_addr *destinations, size_t n)
{
	struct bench_request *request = bench_request_new();
	int ret = request ? 0 : -errno;

	for (size_t i = 0; i < n && !ret; i++) {
		struct nlmsghdr *nlh = bench_request_begin(request, RTM_DELROUTE, 0);
		struct rtmsg *rtm = mnl_nlmsg_put_extra_header(nlh, sizeof(*rtm));

		*rtm = (struct rtmsg){ .rtm_family = AF_INET6,
				       .rtm_dst_len = 128,
				       .rtm_table = RT_TABLE_MAIN,
				       .rtm_flags = RTM_F_CLONED };
		mnl_attr_put(nlh, RTA_DST, sizeof(destinations[i]), &destinations[i]);
		ret = bench_request_end(request, nlh, i + 1 == n);
	}
	bench_request_free(request);
	return ret ? bench_fail(ret, "the kernel does not forget its exceptions") : 0;
}

int learn_forget(struct learner *learner, const union sixlane_addr *destinations, size_t n)
{
	const struct maps *maps = &learner->router->daemon.maps;
	uint64_t left;
	int ret = flush(destinations, n) ?: exceptions_count_kernel(&left);

	/* Nobody announces that, and sixlaned would find it at its next look at everything. A
	 * message from which the kernel learns nothing has it ask at once. */
	ret = ret ?: send_all(learner, destinations, n, FORWARD_MTU);
	return ret ?: wait_ours(maps, left) ?: wait_settled(maps);
}

int learn_open(const struct forward_router *router, struct learner *out)
{
	int back, left, ret = bench_net_enter(router->net.b, &back);

	*out = (struct learner){ .router = router, .fd = -1 };
	make_message(&router->net, &out->message);
	if (!ret) {
		out->fd = forward_socket_open(router->net.b_h0);
		if (out->fd < 0)
			ret = bench_fail(out->fd, "packet socket");
	}
	left = bench_net_leave(&back);
	return ret ?: left;
}

void learn_close(struct learner *learner)
{
	util_close(&learner->fd);
	learner->fd = -1;
}
