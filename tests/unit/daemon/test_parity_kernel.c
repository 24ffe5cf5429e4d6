// SPDX-License-Identifier: GPL-2.0-only
/* Whether the hop of a forwarded packet agrees with an answer of the kernel. */
#include <errno.h>

#include "../../../user/daemon/parity.h"
#include "../fib/fib_world.h"
#include "../netlink/netlink_build.h"
#include "../unit.h"

#define PORT 4u

/* A sample of a packet by this next hop: a gateway, or the destination itself. */
static struct sixlane_sample sample_by(const char *next_hop)
{
	return (struct sixlane_sample){ .dst = addr("2001:db8::1"),
					.next_hop = addr(next_hop),
					.egress = PORT };
}

static struct nlmsghdr *route(uint8_t type, const char *gateway, uint32_t ifindex)
{
	struct nlmsghdr *nlh = build_route();
	union sixlane_addr via;

	((struct rtmsg *)mnl_nlmsg_get_payload(nlh))->rtm_type = type;
	if (ifindex)
		mnl_attr_put_u32(nlh, RTA_OIF, ifindex);
	if (!gateway)
		return nlh;
	via = addr(gateway);
	mnl_attr_put(nlh, RTA_GATEWAY, sizeof(via), &via);
	return nlh;
}

static enum parity choice(const char *next_hop, const struct nlmsghdr *nlh)
{
	const struct sixlane_sample sample = sample_by(next_hop);
	struct parity_answer answer;

	return parity_of_choice(&sample, nlh, &answer);
}

static void kernel_chose_one_hop(void **state)
{
	const struct {
		const char *next_hop, *gateway;
		uint32_t ifindex;
		enum parity parity;
	} rows[] = {
		{ "fe80::1", "fe80::1", PORT, PARITY_SAME },
		{ "fe80::1", "fe80::1", PORT + 1, PARITY_DIFFERS },
		{ "fe80::1", "fe80::2", PORT, PARITY_DIFFERS },
		{ "fe80::1", NULL, PORT, PARITY_DIFFERS },
		{ "2001:db8::1", NULL, PORT, PARITY_SAME },
		{ "2001:db8::1", NULL, PORT + 1, PARITY_DIFFERS },
		{ "2001:db8::1", "fe80::1", PORT, PARITY_DIFFERS },
		/* a gateway that is the destination is the same neighbour */
		{ "2001:db8::1", "2001:db8::1", PORT, PARITY_SAME },
		{ "fe80::1", NULL, 0, PARITY_DIFFERS },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(choice(rows[i].next_hop,
					route(RTN_UNICAST, rows[i].gateway, rows[i].ifindex)),
				 rows[i].parity);
	assert_int_equal(choice("fe80::1", route(RTN_LOCAL, "fe80::1", PORT)), PARITY_DIFFERS);
}

static void not_comparable(void **state)
{
	struct nlmsghdr *nlh = route(RTN_UNICAST, "fe80::1", PORT);

	mnl_attr_put_u32(nlh, 63, 1);
	assert_int_equal(choice("fe80::1", nlh), PARITY_UNKNOWN);
	nlh = route(RTN_UNICAST, NULL, PORT);
	mnl_attr_put(nlh, RTA_GATEWAY, 3, "\1\2\3");
	assert_int_equal(choice("fe80::1", nlh), PARITY_UNKNOWN);
	/* a route that encapsulates can, as XDP does not */
	nlh = route(RTN_UNICAST, "fe80::1", PORT);
	mnl_attr_put_u16(nlh, RTA_ENCAP_TYPE, LWTUNNEL_ENCAP_IP6);
	assert_int_equal(choice("fe80::1", nlh), PARITY_DIFFERS);
}

static void put_hop(struct nlmsghdr *nlh, const char *gateway, uint32_t ifindex, uint8_t flags)
{
	struct rtnexthop *rtnh = mnl_nlmsg_get_payload_tail(nlh);
	const union sixlane_addr via = addr(gateway);

	*rtnh = (struct rtnexthop){ .rtnh_ifindex = (int)ifindex, .rtnh_flags = flags };
	nlh->nlmsg_len += sizeof(*rtnh);
	mnl_attr_put(nlh, RTA_GATEWAY, sizeof(via), &via);
	rtnh->rtnh_len = (uint16_t)((char *)mnl_nlmsg_get_payload_tail(nlh) - (const char *)rtnh);
}

static struct nlmsghdr *multipath(uint8_t flags)
{
	struct nlmsghdr *nlh = route(RTN_UNICAST, NULL, 0);
	struct nlattr *nest = mnl_attr_nest_start(nlh, RTA_MULTIPATH);

	put_hop(nlh, "fe80::1", PORT + 1, 0);
	put_hop(nlh, "fe80::2", PORT, flags);
	put_hop(nlh, "fe80::3", PORT, 0);
	mnl_attr_nest_end(nlh, nest);
	return nlh;
}

static enum parity whole(const char *next_hop, const struct nlmsghdr *nlh)
{
	const struct sixlane_sample sample = sample_by(next_hop);

	return parity_of_route(&sample, nlh);
}

static void any_live_hop_is_accepted(void **state)
{
	assert_int_equal(whole("fe80::2", multipath(0)), PARITY_SAME);
	assert_int_equal(whole("fe80::2", multipath(RTNH_F_LINKDOWN)), PARITY_SAME);
	assert_int_equal(whole("fe80::2", multipath(RTNH_F_DEAD)), PARITY_DIFFERS);
	assert_int_equal(whole("fe80::3", multipath(RTNH_F_DEAD)), PARITY_SAME);
	assert_int_equal(whole("fe80::1", multipath(0)), PARITY_DIFFERS);
}

/* With a single hop it is certain that the kernel chose another one, for example by an exception.
 */
static void single_hop_differs(void **state)
{
	struct nlmsghdr *nlh = route(RTN_UNICAST, "fe80::1", PORT);
	assert_int_equal(whole("fe80::1", nlh), PARITY_DIFFERS);
	/* which the kernel may name of another route */
	mnl_attr_put_u32(nlh, RTA_NH_ID, 7);
	assert_int_equal(whole("fe80::1", nlh), PARITY_UNKNOWN);
	assert_int_equal(whole("fe80::1", route(RTN_BLACKHOLE, NULL, 0)), PARITY_DIFFERS);
}

static void errors_are_answers(void **state)
{
	assert_int_equal(parity_of_error(-ENETUNREACH, false), PARITY_DIFFERS);
	assert_int_equal(parity_of_error(-EHOSTUNREACH, false), PARITY_DIFFERS);
	assert_int_equal(parity_of_error(-EACCES, false), PARITY_DIFFERS);
	assert_int_equal(parity_of_error(-EAGAIN, false), PARITY_DIFFERS);
	assert_int_equal(parity_of_error(-EINVAL, true), PARITY_DIFFERS);
	assert_int_equal(parity_of_error(-EINVAL, false), PARITY_UNKNOWN);
	assert_int_equal(parity_of_error(-ENODEV, true), PARITY_UNKNOWN);
	assert_int_equal(parity_of_error(-ENOBUFS, true), PARITY_UNKNOWN);
	assert_int_equal(parity_of_error(-ETIMEDOUT, true), PARITY_UNKNOWN);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernel_chose_one_hop),	    cmocka_unit_test(not_comparable),
		cmocka_unit_test(any_live_hop_is_accepted), cmocka_unit_test(single_hop_differs),
		cmocka_unit_test(errors_are_answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
