// SPDX-License-Identifier: GPL-2.0-only
/*
 * What speaks against measuring a device, and by which devices a login comes in: pure decisions
 * about facts that are made up.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>

#include "../../../user/bench/nic/nic_check.h"
#include "../../../user/lib/util.h"
#include "../../../user/loader/driver.h"
#include "../../../user/loader/loader.h"
#include "../unit.h"

static struct nic_facts make_facts(void)
{
	struct nic_facts facts = { .is_ethernet = true, .has_carrier = true };

	strcpy(facts.state.dev, "nic0");
	facts.state.up = true;
	facts.state.has_channels = true;
	facts.state.channels.max_combined = 8;
	return facts;
}

static struct nic_problem problems[NIC_MAX_PROBLEMS];

static size_t judge(const struct nic_facts *facts, struct nic_check_want want)
{
	memset(problems, 0, sizeof(problems));
	return nic_judge(facts, &want, problems);
}

/* One problem only, with this error, whose text has these words. */
static void assert_one(const struct nic_facts *facts, struct nic_check_want want, int error,
		       const char *words)
{
	assert_int_equal(judge(facts, want), 1);
	assert_int_equal(problems[0].error, error);
	assert_non_null(strstr(problems[0].text, words));
	assert_non_null(strstr(problems[0].text, "nic0"));
}

static const struct nic_check_want plain, forced = { .force = true }, slave = { .enslave = true },
					  forced_slave = { .enslave = true, .force = true },
					  isolated = { .isolate = true, .force = true };

static void test_idle(void **state)
{
	const struct nic_facts facts = make_facts();

	assert_int_equal(judge(&facts, plain), 0);
	assert_int_equal(judge(&facts, (struct nic_check_want){ .queues = 8, .enslave = true }), 0);
}

static void test_layers(void **state)
{
	struct nic_facts facts = make_facts();

	strcpy(facts.master, "bond7");
	assert_one(&facts, forced, -EBUSY, "nomaster");
	facts = make_facts();
	strcpy(facts.upper, "vlan9");
	assert_one(&facts, forced, -EBUSY, "vlan9 is on it");
}

static void test_programs(void **state)
{
	struct nic_facts facts = make_facts();

	facts.prog = (struct loader_prog){
		.owner = LOADER_FOREIGN, .mode = XDP_MODE_GENERIC, .id = 12, .name = "theirs"
	};
	assert_one(&facts, forced, -EBUSY, "\"theirs\" (id 12)");
	assert_non_null(strstr(problems[0].text, "xdpgeneric off"));
	facts.prog.owner = LOADER_OTHER_MAPS;
	assert_one(&facts, forced, -EBUSY, "sixlane detach nic0");
	facts = make_facts();
	strcpy(facts.filter, "clsact");
	assert_one(&facts, forced, -EBUSY, "tc qdisc del dev nic0 clsact");
	facts = make_facts();
	strcpy(facts.queueing, "tbf");
	assert_one(&facts, plain, 0, "\"tbf\"");
	/* it would not come back */
	assert_one(&facts, isolated, -EBUSY, "tc qdisc del dev nic0 root");
}

static void test_addresses(void **state)
{
	struct nic_facts facts = make_facts();

	facts.n_addresses = 2;
	strcpy(facts.address, "2001:db8::1/64");
	assert_one(&facts, plain, -EBUSY, "2001:db8::1/64");
	assert_one(&facts, slave, -EBUSY, "--force");
	/* they come back */
	assert_one(&facts, forced, 0, "2001:db8::1/64");
	assert_one(&facts, forced_slave, 0, "2001:db8::1/64");
}

static void test_routes(void **state)
{
	struct nic_facts facts = make_facts();

	facts.n_routes = 3;
	strcpy(facts.route, "2001:db8::/32");
	assert_one(&facts, plain, -EBUSY, "3 routes");
	assert_one(&facts, forced, 0, "3 routes");
	/* they would not come back */
	assert_one(&facts, forced_slave, -EBUSY, "as a slave");
	assert_one(&facts, isolated, -EBUSY, "ip route flush");
}

static void test_neighbours(void **state)
{
	struct nic_facts facts = make_facts();

	facts.n_neighbours = 2;
	assert_int_equal(judge(&facts, plain), 0);
	assert_one(&facts, forced_slave, -EBUSY, "2 configured neighbours");
	assert_one(&facts, isolated, -EBUSY, "ip neigh flush");
}

static void test_default_route(void **state)
{
	struct nic_facts facts = make_facts();

	facts.n_routes = 1;
	facts.has_default_route = true;
	strcpy(facts.route, "default");
	assert_int_equal(judge(&facts, forced), 2);
	assert_int_equal(problems[1].error, 0);
	assert_non_null(strstr(problems[1].text, "default route"));
}

static void test_login(void **state)
{
	struct nic_facts facts = make_facts();

	strcpy(facts.login, "192.0.2.9");
	assert_one(&facts, forced, -EPERM, "--force-login");
	assert_one(&facts, (struct nic_check_want){ .force_login = true }, 0, "192.0.2.9");
}

static void test_queues(void **state)
{
	struct nic_facts facts = make_facts();

	assert_one(&facts, (struct nic_check_want){ .queues = 9 }, -ERANGE, "--queues 8");
	facts.state.has_channels = false;
	facts.state.rx_queues = 1;
	facts.state.tx_queues = 4;
	assert_one(&facts, (struct nic_check_want){ .queues = 2 }, -ERANGE, "1 queues");
	assert_int_equal(judge(&facts, (struct nic_check_want){ .queues = 1 }), 0);
}

static void test_kind_and_link(void **state)
{
	struct nic_facts facts = make_facts();

	facts.has_carrier = false;
	assert_one(&facts, plain, 0, "no link");
	/* nobody can tell while it is down */
	facts.state.up = false;
	assert_int_equal(judge(&facts, plain), 0);
	facts.is_ethernet = false;
	assert_one(&facts, forced, -EOPNOTSUPP, "Ethernet");
}

static void test_all_is_said(void **state)
{
	struct nic_facts facts = make_facts();

	facts.is_ethernet = facts.has_carrier = false;
	facts.has_default_route = true;
	facts.n_routes = facts.n_addresses = 1;
	facts.prog.owner = LOADER_FOREIGN;
	strcpy(facts.login, "192.0.2.9");
	strcpy(facts.master, "bond7");
	strcpy(facts.upper, "vlan9");
	strcpy(facts.filter, "ingress");
	strcpy(facts.queueing, "tbf");
	assert_int_equal(judge(&facts, (struct nic_check_want){ .queues = 9 }), 12);
}

/* --- logins --------------------------------------------------------------------------------- */

static void test_connection(void **state)
{
	static const uint8_t addr4[] = { 192, 0, 2, 9 }, addr6[] = { 0x20, 0x01, 0x0d, 0xb8 };
	struct nic_login login;

	assert_true(nic_login_parse("192.0.2.9 50000 192.0.2.1 22", &login));
	assert_int_equal(login.family, AF_INET);
	assert_memory_equal(login.addr, addr4, 4);
	assert_true(nic_login_parse("2001:db8::5 50000 2001:db8::1 22", &login));
	assert_int_equal(login.family, AF_INET6);
	assert_memory_equal(login.addr, addr6, 4);
	assert_int_equal(login.scope, 0);
	assert_true(nic_login_parse("::ffff:192.0.2.9 50000 ::ffff:192.0.2.1 22", &login));
	assert_int_equal(login.family, AF_INET);
	assert_memory_equal(login.addr, addr4, 4);
	assert_true(nic_login_parse("fe80::1%lo 50000 fe80::2%lo 22", &login));
	assert_string_equal(login.peer, "fe80::1");
	assert_int_equal(login.scope, 1);
	assert_false(nic_login_parse("", &login));
	assert_false(nic_login_parse("UNKNOWN 65535 UNKNOWN 65535", &login));
	assert_false(nic_login_parse("192.0.2.900 1 2 3", &login));
}

/* eth0 and eth1 in bond0, vlan5 on that; eth2 by itself, in a VRF. */
static void test_passes(void **state)
{
	struct link links[] = {
		{ .name = "eth0", .ifindex = 2, .master = 4 },
		{ .name = "eth1", .ifindex = 3, .master = 4 },
		{ .name = "bond0", .ifindex = 4 },
		{ .name = "vlan5", .ifindex = 5, .lower = 4 },
		{ .name = "eth2", .ifindex = 6, .master = 7 },
		{ .name = "red", .ifindex = 7 },
		/* either end of a veth is below the other one */
		{ .name = "veth0", .ifindex = 8, .lower = 9 },
		{ .name = "veth1", .ifindex = 9, .lower = 8 },
	};
	const struct ports ports = { links, ARRAY_SIZE(links) };

	assert_true(nic_login_passes(&ports, 2, 2));
	assert_true(nic_login_passes(&ports, 4, 3));
	assert_true(nic_login_passes(&ports, 5, 2));
	assert_true(nic_login_passes(&ports, 5, 4));
	assert_true(nic_login_passes(&ports, 8, 9));
	assert_false(nic_login_passes(&ports, 5, 6));
	assert_false(nic_login_passes(&ports, 2, 3));
	assert_false(nic_login_passes(&ports, 2, 4));
	assert_false(nic_login_passes(&ports, 8, 2));
	assert_true(nic_login_passes(&ports, 7, 6));
	assert_false(nic_login_passes(&ports, 0, 2));
	assert_false(nic_login_passes(&ports, 99, 2));
}

/* The kernel's words for what can be mended are not those for a driver that never takes one. */
static void test_driver_refusals(void **state)
{
	static const struct {
		const char *name, *said, *words;
		uint32_t mtu;
		int rc;
		size_t page_bytes;
		bool never; /* "has no native XDP" */
	} rows[] = {
		{ "e1000e", "Underlying driver does not support XDP in native mode",
		  "'sixlane attach eth0 generic'", 1500, -EOPNOTSUPP, 4096, true },
		{ "vmxnet3", "vmxnet3: MTU 9000 too large for XDP",
		  "its MTU is 9000, and vmxnet3 supports native XDP up to MTU 3494", 9000,
		  -EOPNOTSUPP, 4096, false },
		{ "igb", "igb: The RX buffer size is too small for the frame size",
		  "its MTU is 9000, and igb supports native XDP up to MTU 3046", 9000, -EINVAL,
		  4096, false },
		{ "igb", "", "up to MTU 2022", 2500, -EINVAL, 16384, false },
		{ "other", "other: MTU too big", "its MTU is 9000, and a smaller one may work",
		  9000, -EINVAL, 4096, false },
		{ "other", "", "Cannot allocate memory", 9000, -ENOMEM, 4096, false },
		{ "other", "other: too few queues", "other: too few queues", 9000, -ENOSPC, 4096,
		  false },
		{ "virtio_net", "virtio_net: Can't set XDP while host is implementing GRO_HW/CSUM",
		  "in its present configuration (virtio_net: Can't", 1500, -EOPNOTSUPP, 4096,
		  false },
		{ "", "", "in its present configuration, or never (Operation not supported)", 1500,
		  -EOPNOTSUPP, 4096, false },
	};
	char text[LOADER_ERR];
	bool is_mtu;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct loader_driver driver = { "eth0", "", rows[i].mtu, rows[i].page_bytes };

		strcpy(driver.name, rows[i].name);
		loader_driver_refusal(rows[i].rc, &driver, rows[i].said, text);
		is_mtu = loader_driver_attach_error(rows[i].rc, &driver, rows[i].said) == -EMSGSIZE;
		assert_int_equal(is_mtu, !!strstr(rows[i].words, "MTU"));
		assert_non_null(strstr(text, "eth0"));
		assert_non_null(strstr(text, rows[i].said));
		assert_non_null(strstr(text, rows[i].words));
		assert_int_equal(!!strstr(text, "has no native XDP"), rows[i].never);
		if (!strstr(rows[i].words, "MTU"))
			assert_null(strstr(text, "its MTU"));
	}
}

static void test_driver_queues(void **state)
{
	assert_true(loader_driver_locks_queues("virtio_net", 1, 2));
	assert_true(loader_driver_locks_queues("virtio_net", 4, 4));
	assert_false(loader_driver_locks_queues("virtio_net", 5, 4));
	assert_false(loader_driver_locks_queues("virtio_net", 0, 4)); /* not told */
	assert_false(loader_driver_locks_queues("igb", 1, 4));
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_idle),	      cmocka_unit_test(test_layers),
		cmocka_unit_test(test_programs),      cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_routes),	      cmocka_unit_test(test_neighbours),
		cmocka_unit_test(test_default_route), cmocka_unit_test(test_login),
		cmocka_unit_test(test_queues),	      cmocka_unit_test(test_kind_and_link),
		cmocka_unit_test(test_all_is_said),   cmocka_unit_test(test_connection),
		cmocka_unit_test(test_passes),	      cmocka_unit_test(test_driver_refusals),
		cmocka_unit_test(test_driver_queues),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
