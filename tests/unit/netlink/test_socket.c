// SPDX-License-Identifier: GPL-2.0-only
/* The netlink sockets against the real kernel, in a network namespace of the test's own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <net/if.h>
#include <sched.h>

#include "../unit.h"
#include "netlink_requests.h"

#define TIMEOUT_MS 5000

/* 2001:db8:N::/48 to nowhere. */
static int route_change(struct nl_socket *socket, uint16_t type, uint16_t n, uint8_t prefix_len)
{
	struct nlmsghdr *nlh = request(type, sizeof(struct rtmsg));
	struct rtmsg *rtm = mnl_nlmsg_get_payload(nlh);
	uint8_t addr[16] = { 0x20, 0x01, 0x0d, 0xb8, (uint8_t)(n >> 8), (uint8_t)n };

	rtm->rtm_dst_len = prefix_len;
	rtm->rtm_table = RT_TABLE_MAIN;
	rtm->rtm_type = RTN_BLACKHOLE;
	rtm->rtm_protocol = RTPROT_STATIC;
	mnl_attr_put(nlh, RTA_DST, sizeof(addr), addr);
	if (type == RTM_NEWROUTE)
		nlh->nlmsg_flags = NLM_F_CREATE | NLM_F_EXCL;
	return nl_socket_request(socket, nlh, NULL, NULL, TIMEOUT_MS);
}

static bool in_namespace;

#define NEEDS_NAMESPACE()                                                                     \
	do {                                                                                  \
		if (!in_namespace) {                                                          \
			print_message("SKIP: no network namespace of our own: needs root\n"); \
			skip();                                                               \
		}                                                                             \
	} while (0)

static void dump_of_links(void **state)
{
	_cleanup_(nl_socket_freep) struct nl_socket *socket = new_socket(0);
	struct seen seen = { 0 };
	bool filtered = true;

	assert_int_equal(nl_socket_dump(socket, link_dump(), count, &seen, idle, &seen, TIMEOUT_MS,
					&filtered),
			 0);
	assert_true(seen.messages >= 1);
	assert_int_equal(seen.last_type, RTM_NEWLINK);
	assert_true(seen.idles >= 1);
	assert_false(filtered);
}

static void errors_of_the_kernel(void **state)
{
	_cleanup_(nl_socket_freep) struct nl_socket *socket = NULL;
	struct seen seen = { 0 };
	struct nlmsghdr *nlh;

	NEEDS_NAMESPACE();
	socket = new_socket(0);
	assert_int_equal(route_change(socket, RTM_DELROUTE, 1, 48), -ESRCH);
	assert_int_equal(route_change(socket, RTM_NEWROUTE, 1, 129), -EINVAL);
	nlh = request(RTM_NEWROUTE, sizeof(struct rtmsg));
	mnl_attr_put_u8(nlh, RTA_OIF, 1);
	assert_int_not_equal(nl_socket_request(socket, nlh, NULL, NULL, TIMEOUT_MS), 0);
	assert_string_not_equal(nl_socket_error(socket), "");
	assert_int_equal(route_change(socket, RTM_NEWROUTE, 1, 48), 0);
	assert_string_equal(nl_socket_error(socket), "");
	assert_int_equal(route_change(socket, RTM_NEWROUTE, 1, 48), -EEXIST);
	assert_int_equal(route_change(socket, RTM_DELROUTE, 1, 48), 0);
	/* Strict checking refuses a dump of rules by something that a rule dump cannot filter. */
	nlh = request(RTM_GETRULE, sizeof(struct rtmsg));
	((struct rtmsg *)mnl_nlmsg_get_payload(nlh))->rtm_dst_len = 64;
	assert_int_equal(nl_socket_dump(socket, nlh, count, &seen, NULL, NULL, TIMEOUT_MS, NULL),
			 -EINVAL);
	assert_string_not_equal(nl_socket_error(socket), "");
	assert_int_equal(seen.messages, 0);
}

static void large_dump_survives_its_own_interruption(void **state)
{
	_cleanup_(nl_socket_freep) struct nl_socket *socket = NULL;
	struct seen seen = { .fail_at = 3, .fail_with = -EXFULL };
	struct nlmsghdr *nlh;

	NEEDS_NAMESPACE();
	socket = new_socket(0);
	for (uint16_t n = 0; n < 1000; n++)
		assert_int_equal(route_change(socket, RTM_NEWROUTE, n, 48), 0);
	nlh = request(RTM_GETROUTE, sizeof(struct rtmsg));
	assert_int_equal(nl_socket_dump(socket, nlh, count, &seen, idle, &seen, TIMEOUT_MS, NULL),
			 -EXFULL);
	assert_int_equal(seen.messages, 3);
	/* The kernel must not think that the first dump still goes on; nor may what is sent
	 * meanwhile disturb the second. */
	seen = (struct seen){ .send_on = socket };
	assert_int_equal(nl_socket_dump(socket, nlh, count, &seen, idle, &seen, TIMEOUT_MS, NULL),
			 0);
	assert_true(seen.messages >= 1000);
	assert_true(seen.idles >= 3);
	mnl_attr_put_u32(nlh, RTA_TABLE, RT_TABLE_MAIN);
	seen = (struct seen){ 0 };
	assert_int_equal(nl_socket_dump(socket, nlh, count, &seen, NULL, NULL, TIMEOUT_MS, NULL),
			 0);
	assert_int_equal(seen.messages, 1000);
	for (uint16_t n = 0; n < 1000; n++)
		assert_int_equal(route_change(socket, RTM_DELROUTE, n, 48), 0);
}

static void dump_in_pieces(void **state)
{
	_cleanup_(nl_socket_freep) struct nl_socket *socket = NULL, *other = NULL;
	unsigned int pieces = 1;
	struct seen seen = { 0 };
	int r;

	NEEDS_NAMESPACE();
	socket = new_socket(0);
	other = new_socket(0);
	for (uint16_t n = 0; n < 1000; n++)
		assert_int_equal(route_change(other, RTM_NEWROUTE, n, 48), 0);
	assert_int_equal(nl_socket_dump_start(socket, request(RTM_GETROUTE, sizeof(struct rtmsg))),
			 0);
	while ((r = nl_socket_dump_next(socket, count, &seen)) == 1) {
		/* neither disturbs the other */
		assert_int_equal(route_change(socket, RTM_NEWROUTE, 0, 48), -EINVAL);
		assert_int_equal(route_change(other, RTM_NEWROUTE, 0, 48), -EEXIST);
		pieces++;
	}
	assert_int_equal(r, 0);
	assert_true(seen.messages >= 1000);
	assert_true(pieces > 3);
	/* and another one, which fails in its midst: freed as it is */
	seen = (struct seen){ .fail_at = 3, .fail_with = -EXFULL };
	assert_int_equal(nl_socket_dump_start(socket, request(RTM_GETROUTE, sizeof(struct rtmsg))),
			 0);
	assert_int_equal(nl_socket_dump_next(socket, count, &seen), -EXFULL);
	for (uint16_t n = 0; n < 1000; n++)
		assert_int_equal(route_change(other, RTM_DELROUTE, n, 48), 0);
}

static struct nlmsghdr *destination(uint8_t family)
{
	const uint8_t loopback[16] = { [15] = 1 };
	struct nlmsghdr *nlh = request(RTM_GETROUTE, sizeof(struct rtmsg));
	struct rtmsg *body = mnl_nlmsg_get_payload(nlh);

	*body = (struct rtmsg){ .rtm_family = family, .rtm_dst_len = 128 };
	mnl_attr_put(nlh, RTA_DST, sizeof(loopback), loopback);
	return nlh;
}

static void one_answer(void **state)
{
	_cleanup_(nl_socket_freep) struct nl_socket *socket = NULL;
	struct seen seen = { 0 };
	char byte;

	NEEDS_NAMESPACE();
	socket = new_socket(0);
	assert_int_equal(nl_socket_ask(socket, destination(AF_INET6), count, &seen, TIMEOUT_MS), 0);
	assert_int_equal(seen.messages, 1);
	assert_int_equal(seen.last_type, RTM_NEWROUTE);
	assert_true(nl_socket_ask(socket, destination(AF_UNIX), count, &seen, TIMEOUT_MS) < 0);
	assert_int_equal(seen.messages, 1);
	/* no acknowledgement */
	assert_int_equal(recv(nl_socket_fd(socket), &byte, sizeof(byte), MSG_DONTWAIT), -1);
	assert_int_equal(errno, EAGAIN);
}

/* What answers nothing that anybody waits for does not stay in the buffer. */
static void answers_nobody_waits_for(void **state)
{
	_cleanup_(nl_socket_freep) struct nl_socket *socket = NULL;
	struct nlmsghdr *wrong = destination(AF_UNIX);
	struct seen seen = { 0 };
	char byte;

	NEEDS_NAMESPACE();
	socket = new_socket(0);
	wrong->nlmsg_flags = NLM_F_REQUEST;
	assert_int_equal(nl_socket_send(socket, wrong, wrong->nlmsg_len), 0);
	assert_int_equal(nl_socket_ask(socket, destination(AF_INET6), count, &seen, TIMEOUT_MS), 0);
	assert_int_equal(seen.messages, 1);
	assert_int_equal(recv(nl_socket_fd(socket), &byte, sizeof(byte), MSG_DONTWAIT), -1);
}

static void notifications(void **state)
{
	_cleanup_(nl_socket_freep) struct nl_socket *socket = NULL;
	_cleanup_(nl_socket_freep) struct nl_socket *requests = NULL;
	struct seen seen = { 0 };

	NEEDS_NAMESPACE();
	socket = new_socket(1 << 20);
	requests = new_socket(0);
	assert_int_equal(nl_socket_join(socket, 1000), -EINVAL);
	assert_int_equal(nl_socket_join(socket, RTNLGRP_IPV6_ROUTE), 0);
	assert_int_equal(nl_socket_join(socket, RTNLGRP_NEXTHOP), 0);
	assert_int_equal(nl_socket_read(socket, count, &seen), 0);
	assert_int_equal(route_change(requests, RTM_NEWROUTE, 7, 48), 0);
	assert_int_equal(route_change(requests, RTM_DELROUTE, 7, 48), 0);
	assert_int_equal(nl_socket_read(socket, count, &seen), 2);
	assert_int_equal(seen.messages, 2);
	assert_int_equal(seen.last_type, RTM_DELROUTE);
	assert_int_equal(nl_socket_read(socket, count, &seen), 0);
	/* Would swallow notifications. */
	assert_int_equal(
		nl_socket_dump(socket, link_dump(), count, &seen, NULL, NULL, TIMEOUT_MS, NULL),
		-EINVAL);
	assert_int_equal(nl_socket_request(socket, link_dump(), count, &seen, TIMEOUT_MS), -EINVAL);
}

static void group_above_31(void **state)
{
	_cleanup_(nl_socket_freep) struct nl_socket *socket = NULL;
	_cleanup_(nl_socket_freep) struct nl_socket *requests = NULL;
	struct nlmsghdr *nlh;
	struct seen seen = { 0 };

	NEEDS_NAMESPACE();
	socket = new_socket(0);
	requests = new_socket(0);
	assert_int_equal(nl_socket_join(socket, RTNLGRP_NEXTHOP), 0);
	nlh = request(104 /* RTM_NEWNEXTHOP */, 8 /* struct nhmsg */);
	nlh->nlmsg_flags = NLM_F_CREATE;
	mnl_attr_put_u32(nlh, 1 /* NHA_ID */, 5);
	mnl_attr_put(nlh, 4 /* NHA_BLACKHOLE */, 0, NULL);
	assert_int_equal(nl_socket_request(requests, nlh, NULL, NULL, TIMEOUT_MS), 0);
	assert_int_equal(nl_socket_read(socket, count, &seen), 1);
	assert_int_equal(seen.last_type, 104);
}

static void real_overrun(void **state)
{
	_cleanup_(nl_socket_freep) struct nl_socket *socket = NULL;
	_cleanup_(nl_socket_freep) struct nl_socket *requests = NULL;
	struct seen seen = { 0 };

	NEEDS_NAMESPACE();
	socket = new_socket(1);
	requests = new_socket(0);
	assert_int_equal(nl_socket_join(socket, RTNLGRP_IPV6_ROUTE), 0);
	for (int round = 0; round < 3; round++) {
		seen.messages = 0;
		for (uint16_t n = 0; n < 100; n++)
			assert_int_equal(route_change(requests, RTM_NEWROUTE, n, 48), 0);
		assert_int_equal(nl_socket_read(socket, count, &seen), -ENOBUFS);
		assert_in_range(seen.messages, 1, 99);
		/* The very next change is seen: the kernel has stopped dropping. */
		seen.messages = 0;
		assert_int_equal(route_change(requests, RTM_DELROUTE, 0, 48), 0);
		assert_int_equal(nl_socket_read(socket, count, &seen), 1);
		assert_int_equal(seen.messages, 1);
		for (uint16_t n = 1; n < 100; n++)
			assert_int_equal(route_change(requests, RTM_DELROUTE, n, 48), 0);
		assert_int_equal(nl_socket_read(socket, count, &seen), -ENOBUFS);
		assert_int_equal(nl_socket_read(socket, count, &seen), 0);
	}
}

static void foreign_senders_are_ignored(void **state)
{
	_cleanup_(nl_socket_freep) struct nl_socket *receiver = NULL;
	_cleanup_close_ int other = -1;
	struct sockaddr_nl to;
	socklen_t size = sizeof(to);
	struct seen seen = { 0 };

	NEEDS_NAMESPACE();
	receiver = new_socket(0);
	other = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	assert_true(other >= 0);
	assert_int_equal(getsockname(nl_socket_fd(receiver), (struct sockaddr *)&to, &size), 0);
	assert_true(sendto(other, link_dump(), link_dump()->nlmsg_len, 0, (struct sockaddr *)&to,
			   sizeof(to)) > 0);
	assert_int_equal(nl_socket_read(receiver, count, &seen), 1);
	assert_int_equal(seen.messages, 0);
}

static void route_dumps_are_always_called_filtered(void **state)
{
	_cleanup_(nl_socket_freep) struct nl_socket *socket = NULL;
	struct seen seen = { 0 };
	bool filtered = false;

	NEEDS_NAMESPACE();
	socket = new_socket(0);
	/* Because they leave out exceptions (rt6_dump_route): the mark says nothing of routes. */
	assert_int_equal(nl_socket_dump(socket, request(RTM_GETROUTE, sizeof(struct rtmsg)), count,
					&seen, NULL, NULL, TIMEOUT_MS, &filtered),
			 0);
	assert_true(seen.messages > 0);
	assert_true(filtered);
}

static int loopback_up(void)
{
	_cleanup_(nl_socket_freep) struct nl_socket *socket = NULL;
	struct nlmsghdr *nlh = request(RTM_NEWLINK, sizeof(struct ifinfomsg));
	struct ifinfomsg *ifi = mnl_nlmsg_get_payload(nlh);

	*ifi = (struct ifinfomsg){ .ifi_index = 1, .ifi_flags = IFF_UP, .ifi_change = IFF_UP };
	if (nl_socket_new(NETLINK_ROUTE, 0, &socket) < 0)
		return -1;
	return nl_socket_request(socket, nlh, NULL, NULL, TIMEOUT_MS);
}

static int namespace_enter(void **state)
{
	in_namespace = unshare(CLONE_NEWNET) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0;
	return in_namespace ? loopback_up() : 0;
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dump_of_links),
		cmocka_unit_test(errors_of_the_kernel),
		cmocka_unit_test(large_dump_survives_its_own_interruption),
		cmocka_unit_test(dump_in_pieces),
		cmocka_unit_test(one_answer),
		cmocka_unit_test(answers_nobody_waits_for),
		cmocka_unit_test(notifications),
		cmocka_unit_test(group_above_31),
		cmocka_unit_test(real_overrun),
		cmocka_unit_test(foreign_senders_are_ignored),
		cmocka_unit_test(route_dumps_are_always_called_filtered),
	};

	return cmocka_run_group_tests_name("socket", tests, namespace_enter, NULL);
}
