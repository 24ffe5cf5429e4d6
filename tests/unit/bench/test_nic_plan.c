// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is to be changed of a NIC, from what it is and what is wanted, and whose interrupts are
 * whose: names as drivers give them, lines as /proc/interrupts has them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>

#include "../../../user/bench/nic/nic_machine.h"
#include "../../../user/lib/util.h"
#include "../unit.h"

static const unsigned int cpus[] = { 2, 3, 40 };

/* An idle NIC with eight pairs of queues. */
static struct nic_state make_state(void)
{
	struct nic_state state = {
		.dev = "nic0",
		.ifindex = 7,
		.mtu = 1500,
		.in_sysfs = true,
		.has_channels = true,
		.has_rings = true,
		.has_coalesce = true,
		.channels = { .max_combined = 8, .combined_count = 8 },
		.rings = { .rx_max_pending = 4096,
			   .tx_max_pending = 2048,
			   .rx_pending = 512,
			   .tx_pending = 512 },
		.coalesce = { .use_adaptive_rx_coalesce = 1, .rx_coalesce_usecs = 50 },
		.rx_queues = 8,
		.tx_queues = 8,
	};

	return state;
}

static struct nic_want make_want(void)
{
	return (struct nic_want){ .usecs = -1, .cpus = cpus, .n_cpus = ARRAY_SIZE(cpus) };
}

/* The commands of a plan, a line each. */
static const char *commands(const struct nic_plan *plan)
{
	static char text[16384];
	char command[NIC_COMMAND_LEN];
	size_t used = 0;

	*text = '\0';
	for (size_t i = 0; i < plan->n; i++) {
		nic_change_command(&plan->at[i], command);
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s\n", command);
	}
	return text;
}

static const char *plan_device(const struct nic_state *state, const struct nic_want *want)
{
	static struct nic_plan plan;

	plan.n = 0;
	nic_plan_device(state, want, &plan);
	return commands(&plan);
}

static void test_nothing_wanted(void **state)
{
	struct nic_state nic = make_state();
	const struct nic_want want = make_want();

	assert_string_equal(plan_device(&nic, &want), "ip link set dev nic0 up\n");
	nic.up = true;
	assert_string_equal(plan_device(&nic, &want), "");
}

static void test_all_wanted(void **state)
{
	struct nic_state nic = make_state();
	struct nic_want want = make_want();

	want.queues = 4;
	want.ring = 4096;
	want.mtu = 9000;
	want.usecs = 0;
	for (size_t i = 0; i < NIC_N_FEATURES; i++) {
		nic.has_feature[i] = true;
		nic.features[i].on = i < 2;
	}
	assert_string_equal(plan_device(&nic, &want),
			    "ethtool -L nic0 combined 4\n"
			    "ethtool -G nic0 rx 4096 tx 2048\n"
			    "ethtool -C nic0 adaptive-rx off adaptive-tx off rx-usecs 0 "
			    "tx-usecs 0\n"
			    "ethtool -K nic0 rx-lro off\n"
			    "ethtool -K nic0 rx-gro-hw off\n"
			    "ip link set dev nic0 mtu 9000\n"
			    "ip link set dev nic0 up\n");
}

static void test_queues_apart(void **state)
{
	struct nic_state nic = make_state();
	struct nic_want want = make_want();

	nic.up = true;
	nic.channels =
		(struct ethtool_channels){ .max_rx = 4, .max_tx = 6, .rx_count = 1, .tx_count = 2 };
	assert_int_equal(nic_state_max_queues(&nic), 4);
	want.queues = 4;
	assert_string_equal(plan_device(&nic, &want), "ethtool -L nic0 rx 4 tx 4\n");
	want.queues = 5;
	assert_string_equal(plan_device(&nic, &want), "");
}

/* i40e takes 8 pairs and also rings of one direction: pairs are what is meant. */
static void test_pairs_before_queues_apart(void **state)
{
	struct nic_state nic = make_state();
	struct nic_want want = make_want();

	nic.up = true;
	nic.channels = (struct ethtool_channels){ .max_rx = 2,
						  .max_tx = 2,
						  .max_combined = 8,
						  .rx_count = 1,
						  .tx_count = 1,
						  .combined_count = 1 };
	want.queues = 3;
	assert_int_equal(nic_state_max_queues(&nic), 8);
	assert_string_equal(plan_device(&nic, &want), "ethtool -L nic0 rx 0 tx 0 combined 3\n");
}

static void test_driver_without_settings(void **state)
{
	struct nic_state nic = make_state();
	struct nic_want want = make_want();

	nic.up = true;
	nic.has_channels = nic.has_rings = nic.has_coalesce = false;
	nic.rx_queues = 3;
	want.queues = want.ring = 8;
	want.usecs = 10;
	assert_int_equal(nic_state_max_queues(&nic), 3);
	assert_string_equal(plan_device(&nic, &want), "");
}

static void test_fixed_feature(void **state)
{
	struct nic_state nic = make_state();
	const struct nic_want want = make_want();

	nic.up = true;
	nic.has_feature[0] = true;
	nic.features[0] = (struct nic_feature){ .on = true, .fixed = true };
	assert_string_equal(plan_device(&nic, &want), "");
}

static const char *plan_affinity(const struct nic_state *nic, const struct nic_want *want,
				 const struct nic_irq *irqs, size_t n)
{
	static struct nic_plan plan;

	plan.n = 0;
	nic_plan_affinity(nic, want, irqs, n, &plan);
	return commands(&plan);
}

static void test_affinity(void **state)
{
	struct nic_state nic = make_state();
	struct nic_want want = make_want();
	const struct nic_irq irqs[] = { { 30, -1, "nic0" },
					{ 31, 0, "nic0-TxRx-0" },
					{ 32, 3, "nic0-TxRx-3" },
					{ 33, 2, "nic0-TxRx-2" } };

	want.queues = 3;
	assert_string_equal(plan_affinity(&nic, &want, irqs, ARRAY_SIZE(irqs)),
			    "echo 2 >/proc/irq/31/smp_affinity_list\n"
			    "echo 2 >/proc/irq/32/smp_affinity_list\n"
			    "echo 40 >/proc/irq/33/smp_affinity_list\n"
			    "echo 4 >/sys/class/net/nic0/queues/tx-0/xps_cpus\n"
			    "echo 8 >/sys/class/net/nic0/queues/tx-1/xps_cpus\n"
			    "echo 100,00000000 >/sys/class/net/nic0/queues/tx-2/xps_cpus\n"
			    "echo 0 >/sys/class/net/nic0/queues/rx-0/rps_cpus\n"
			    "echo 0 >/sys/class/net/nic0/queues/rx-1/rps_cpus\n"
			    "echo 0 >/sys/class/net/nic0/queues/rx-2/rps_cpus\n");
	want.queues = 1;
	assert_string_equal(plan_affinity(&nic, &want, NULL, 0),
			    "echo 0 >/sys/class/net/nic0/queues/rx-0/rps_cpus\n");
	/* of the eight that the kernel has for the device */
	want.queues = 0;
	nic.channels.combined_count = 2;
	assert_string_equal(plan_affinity(&nic, &want, NULL, 0),
			    "echo 4 >/sys/class/net/nic0/queues/tx-0/xps_cpus\n"
			    "echo 8 >/sys/class/net/nic0/queues/tx-1/xps_cpus\n"
			    "echo 0 >/sys/class/net/nic0/queues/rx-0/rps_cpus\n"
			    "echo 0 >/sys/class/net/nic0/queues/rx-1/rps_cpus\n");
	want.n_cpus = 0;
	assert_string_equal(plan_affinity(&nic, &want, irqs, ARRAY_SIZE(irqs)), "");
}

/* Another device may have that name in the namespace that /sys is of. */
static void test_affinity_of_another_namespace(void **state)
{
	struct nic_state nic = make_state();
	const struct nic_want want = make_want();
	const struct nic_irq irqs[] = { { 31, 0, "nic0-TxRx-0" } };

	nic.in_sysfs = false;
	assert_string_equal(plan_affinity(&nic, &want, irqs, ARRAY_SIZE(irqs)), "");
}

/* --- interrupts ----------------------------------------------------------------------------- */

static void test_queue_names(void **state)
{
	static const struct {
		const char *name;
		int queue;
	} rows[] = {
		{ "eth0-TxRx-3", 3 },
		{ "virtio2-input.0", 0 },
		{ "virtio2-output.11", 11 },
		{ "mlx5_comp7@pci:0000:03:00.0", 7 },
		{ "i40e-eth0-TxRx-12", 12 },
		{ "mlx4-1@0000:01:00.0", 1 },
		{ "gve-ntfy-blk3@pci:0000:00:04.0", 3 },
		{ "mana_q5@pci:7870:00:00.0", 5 },
		{ "eth0-rx-0", 0 },
		{ "eth0", -1 },
		{ "enp3s0f1", -1 },
		{ "virtio2-config", -1 },
		{ "mlx5_async0@pci:0000:03:00.0", -1 },
		{ "ena-mgmnt@pci:0000:00:05.0", -1 },
		{ "i40e-0000:3b:00.0:misc", -1 },
		{ "i40e-0000:3b:00.0:fdir-TxRx-0", -1 },
		{ "", -1 },
		{ "7", -1 },
		{ "eth0-123456", -1 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (nic_irq_queue(rows[i].name) != rows[i].queue)
			fail_msg("%s is of queue %d", rows[i].name, nic_irq_queue(rows[i].name));
}

static void test_lines(void **state)
{
	struct nic_irq irq;

	assert_true(nic_irq_parse(" 38:          0       3576 PCI-MSIX-0000:00:03.0   1-edge      "
				  "virtio2-input.3\n",
				  &irq));
	assert_int_equal(irq.number, 38);
	assert_int_equal(irq.queue, 3);
	assert_string_equal(irq.name, "virtio2-input.3");
	/* no end of a line, as where the kernel writes it to a short buffer */
	assert_true(nic_irq_parse("138: 0 0 PCI-MSI 1-edge eth0", &irq));
	assert_int_equal(irq.queue, -1);
	assert_false(nic_irq_parse("           CPU0       CPU1\n", &irq));
	assert_false(nic_irq_parse("LOC:      51890      61907   Local timer interrupts\n", &irq));
	assert_false(nic_irq_parse(" 39:          0          0\n", &irq));
	assert_false(nic_irq_parse(" 39:\n", &irq));
	assert_false(nic_irq_parse("", &irq));
}

/* --- the command line's words --------------------------------------------------------------- */

static void test_bonds(void **state)
{
	static struct nic_machine machine;

	assert_int_equal(nic_machine_add(&machine, "eth9"), 0);
	assert_int_equal(nic_machine_add_bond(&machine, "bond0=eth0,eth1"), 0);
	assert_int_equal(machine.n_devs, 3);
	assert_int_equal(machine.n_bonds, 1);
	assert_string_equal(machine.bonds[0].name, "bond0");
	assert_int_equal(machine.bonds[0].n_slaves, 2);
	assert_string_equal(machine.bonds[0].slaves[1], "eth1");
	assert_int_equal(nic_machine_add_bond(&machine, "bond1=eth1,eth2"), -EEXIST);
	assert_int_equal(nic_machine_add(&machine, "eth0"), -EEXIST);
	assert_int_equal(nic_machine_add(&machine, ""), -ENAMETOOLONG);
	assert_int_equal(nic_machine_add(&machine, "a-name-with-16-by"), -ENAMETOOLONG);
	for (size_t i = 0; i < 6; i++) {
		static const char *const bad[] = { "bond1",	  "=eth4",	 "bond1=",
						   "bond1=eth4,", "bond1=,eth5", "" };

		assert_int_equal(nic_machine_add_bond(&machine, bad[i]), -EINVAL);
	}
	assert_int_equal(nic_machine_add_bond(&machine, "a-name-with-16-by=eth6"), -ENAMETOOLONG);
	assert_int_equal(nic_machine_add_bond(&machine, "bond1=a-name-with-16-by"), -ENAMETOOLONG);
	assert_int_equal(machine.n_bonds, 1);
}

static void test_modes(void **state)
{
	uint8_t number;

	assert_int_equal(nic_bond_parse_mode("802.3ad", &number), 0);
	assert_int_equal(number, 4);
	assert_int_equal(nic_bond_parse_mode("broadcast", &number), -EINVAL);
	assert_int_equal(nic_bond_parse_mode("balance-alb", &number), -EINVAL);
	assert_int_equal(nic_bond_parse_policy("layer3+4", &number), 0);
	assert_int_equal(number, 1);
	assert_int_equal(nic_bond_parse_policy("vlan+srcmac", &number), -EINVAL);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_wanted),
		cmocka_unit_test(test_all_wanted),
		cmocka_unit_test(test_queues_apart),
		cmocka_unit_test(test_pairs_before_queues_apart),
		cmocka_unit_test(test_driver_without_settings),
		cmocka_unit_test(test_fixed_feature),
		cmocka_unit_test(test_affinity),
		cmocka_unit_test(test_affinity_of_another_namespace),
		cmocka_unit_test(test_queue_names),
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_bonds),
		cmocka_unit_test(test_modes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
