// SPDX-License-Identifier: GPL-2.0-only
/* The netlink sockets against the kernel, in a network namespace of their own. */

#include "../unit.h"

#include <errno.h>
#include <net/if.h>
#include <sched.h>

#include "netlink_requests.h"

/* A blackhole route of 2001:db8:N::/48. */
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

static int route_add(struct nl_socket *socket, uint16_t n)
{
	return route_change(socket, RTM_NEWROUTE, n, 48);
}

static int route_del(struct nl_socket *socket, uint16_t n)
{
	return route_change(socket, RTM_DELROUTE, n, 48);
}

static void change_routes(struct nl_socket *socket,
			  int (*change)(struct nl_socket *socket, uint16_t n), uint16_t first,
			  uint16_t end)
{
	for (uint16_t n = first; n < end; n++)
		assert_int_equal(change(socket, n), 0);
}

static bool in_namespace;

/* Skips the test if it would change the machine's own routes. */
static struct nl_socket *namespace_socket(size_t rcvbuf)
{
	if (!in_namespace) {
		print_message("SKIP: no network namespace of our own: needs root\n");
		skip();
	}
	return new_socket(rcvbuf);
}

static void errors_of_the_kernel(void **state)
{
	_cleanup_socket_ struct nl_socket *socket = namespace_socket(0);
	struct seen seen = { 0 };
	struct nlmsghdr *nlh;

	assert_int_equal(route_del(socket, 1), -ESRCH);
	assert_int_equal(route_change(socket, RTM_NEWROUTE, 1, 129), -EINVAL);
	nlh = request(RTM_NEWROUTE, sizeof(struct rtmsg));
	mnl_attr_put_u8(nlh, RTA_OIF, 1);
	assert_int_not_equal(nl_socket_request(socket, nlh, NULL, NULL, TIMEOUT_MS), 0);
	assert_int_equal(route_add(socket, 1), 0);
	assert_int_equal(route_add(socket, 1), -EEXIST);
	assert_int_equal(route_del(socket, 1), 0);
	/* Strict checking refuses a filter that dumps of rules do not have. */
	nlh = request(RTM_GETRULE, sizeof(struct rtmsg));
	((struct rtmsg *)mnl_nlmsg_get_payload(nlh))->rtm_dst_len = 64;
	assert_int_equal(dump(socket, nlh, &seen, NULL), -EINVAL);
	assert_int_equal(seen.messages, 0);
}

static void failing_callback_leaves_the_socket_usable(void **state)
{
	_cleanup_socket_ struct nl_socket *socket = namespace_socket(0);
	struct seen seen = { .fail_at = 3, .fail_with = -EXFULL };
	struct nlmsghdr *nlh;

	change_routes(socket, route_add, 0, 1000);
	nlh = route_dump();
	assert_int_equal(dump(socket, nlh, &seen, NULL), -EXFULL);
	assert_int_equal(seen.messages, 3);
	/* the first dump must have ended, and requests from idle must not disturb the second */
	seen = (struct seen){ .send_on = socket };
	assert_int_equal(dump(socket, nlh, &seen, NULL), 0);
	assert_true(seen.messages >= 1000);
	assert_true(seen.idles >= 3);
	mnl_attr_put_u32(nlh, RTA_TABLE, RT_TABLE_MAIN);
	seen = (struct seen){ 0 };
	assert_int_equal(dump(socket, nlh, &seen, NULL), 0);
	assert_int_equal(seen.messages, 1000);
	change_routes(socket, route_del, 0, 1000);
}

static void dump_in_pieces(void **state)
{
	_cleanup_socket_ struct nl_socket *socket = namespace_socket(0);
	_cleanup_socket_ struct nl_socket *other = new_socket(0);
	unsigned int pieces = 1;
	struct seen seen = { 0 };
	int r;

	change_routes(other, route_add, 0, 1000);
	assert_int_equal(nl_socket_dump_start(socket, route_dump()), 0);
	while ((r = nl_socket_dump_next(socket, count, &seen)) == 1) {
		/* neither socket disturbs the other */
		assert_int_equal(route_add(socket, 0), -EINVAL);
		assert_int_equal(route_add(other, 0), -EEXIST);
		pieces++;
	}
	assert_int_equal(r, 0);
	assert_true(seen.messages >= 1000);
	assert_true(pieces > 3);
	/* another dump, which fails halfway: the socket can be freed */
	seen = (struct seen){ .fail_at = 3, .fail_with = -EXFULL };
	assert_int_equal(nl_socket_dump_start(socket, route_dump()), 0);
	assert_int_equal(nl_socket_dump_next(socket, count, &seen), -EXFULL);
	change_routes(other, route_del, 0, 1000);
}

static struct nlmsghdr *destination(uint8_t family)
{
	const uint8_t loopback[16] = { [15] = 1 };
	struct nlmsghdr *nlh = route_dump();
	struct rtmsg *body = mnl_nlmsg_get_payload(nlh);

	*body = (struct rtmsg){ .rtm_family = family, .rtm_dst_len = 128 };
	mnl_attr_put(nlh, RTA_DST, sizeof(loopback), loopback);
	return nlh;
}

static void one_answer(void **state)
{
	_cleanup_socket_ struct nl_socket *socket = namespace_socket(0);
	struct seen seen = { 0 };
	char byte;

	assert_int_equal(
		nl_socket_request_one(socket, destination(AF_INET6), count, &seen, TIMEOUT_MS), 0);
	assert_int_equal(seen.messages, 1);
	assert_int_equal(seen.last_type, RTM_NEWROUTE);
	assert_true(nl_socket_request_one(socket, destination(AF_UNIX), count, &seen, TIMEOUT_MS) <
		    0);
	assert_int_equal(seen.messages, 1);
	/* no acknowledgement */
	assert_int_equal(recv(nl_socket_fd(socket), &byte, sizeof(byte), MSG_DONTWAIT), -1);
	assert_int_equal(errno, EAGAIN);
}

/* The error reply to nl_socket_send() is dropped by the next request. */
static void replies_to_nl_socket_send(void **state)
{
	_cleanup_socket_ struct nl_socket *socket = namespace_socket(0);
	struct nlmsghdr *wrong = destination(AF_UNIX);
	struct seen seen = { 0 };
	char byte;

	wrong->nlmsg_flags = NLM_F_REQUEST;
	assert_int_equal(nl_socket_send(socket, wrong, wrong->nlmsg_len), 0);
	assert_int_equal(
		nl_socket_request_one(socket, destination(AF_INET6), count, &seen, TIMEOUT_MS), 0);
	assert_int_equal(seen.messages, 1);
	assert_int_equal(recv(nl_socket_fd(socket), &byte, sizeof(byte), MSG_DONTWAIT), -1);
}

static void notifications(void **state)
{
	_cleanup_socket_ struct nl_socket *socket = namespace_socket(1 << 20);
	_cleanup_socket_ struct nl_socket *requests = namespace_socket(0);
	struct seen seen = { 0 };

	assert_int_equal(nl_socket_join(socket, 1000), -EINVAL);
	assert_int_equal(nl_socket_join(socket, RTNLGRP_IPV6_ROUTE), 0);
	assert_int_equal(nl_socket_join(socket, RTNLGRP_NEXTHOP), 0);
	assert_int_equal(nl_socket_read(socket, count, &seen), 0);
	assert_int_equal(route_add(requests, 7), 0);
	assert_int_equal(route_del(requests, 7), 0);
	assert_int_equal(nl_socket_read(socket, count, &seen), 2);
	assert_int_equal(seen.messages, 2);
	assert_int_equal(seen.last_type, RTM_DELROUTE);
	assert_int_equal(nl_socket_read(socket, count, &seen), 0);
	/* they would lose notifications */
	assert_int_equal(dump(socket, link_dump(), &seen, NULL), -EINVAL);
	assert_int_equal(nl_socket_request(socket, link_dump(), count, &seen, TIMEOUT_MS), -EINVAL);
}

static void group_above_31(void **state)
{
	_cleanup_socket_ struct nl_socket *socket = namespace_socket(0);
	_cleanup_socket_ struct nl_socket *requests = namespace_socket(0);
	struct nlmsghdr *nlh;
	struct seen seen = { 0 };

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
	_cleanup_socket_ struct nl_socket *socket = namespace_socket(1);
	_cleanup_socket_ struct nl_socket *requests = namespace_socket(0);
	struct seen seen = { 0 };

	assert_int_equal(nl_socket_join(socket, RTNLGRP_IPV6_ROUTE), 0);
	for (int round = 0; round < 3; round++) {
		seen.messages = 0;
		change_routes(requests, route_add, 0, 100);
		assert_int_equal(nl_socket_read(socket, count, &seen), -ENOBUFS);
		assert_in_range(seen.messages, 1, 99);
		/* the kernel has stopped dropping: the next change is seen */
		seen.messages = 0;
		assert_int_equal(route_del(requests, 0), 0);
		assert_int_equal(nl_socket_read(socket, count, &seen), 1);
		assert_int_equal(seen.messages, 1);
		change_routes(requests, route_del, 1, 100);
		assert_int_equal(nl_socket_read(socket, count, &seen), -ENOBUFS);
		assert_int_equal(nl_socket_read(socket, count, &seen), 0);
	}
}

static int loopback_up(void)
{
	_cleanup_socket_ struct nl_socket *socket = NULL;
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
		cmocka_unit_test(errors_of_the_kernel),
		cmocka_unit_test(failing_callback_leaves_the_socket_usable),
		cmocka_unit_test(dump_in_pieces),
		cmocka_unit_test(one_answer),
		cmocka_unit_test(replies_to_nl_socket_send),
		cmocka_unit_test(notifications),
		cmocka_unit_test(group_above_31),
		cmocka_unit_test(real_overrun),
	};

	return cmocka_run_group_tests_name("socket", tests, namespace_enter, NULL);
}
