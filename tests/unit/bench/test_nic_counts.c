// SPDX-License-Identifier: GPL-2.0-only
/*
 * Whether counts add up: a run of two bonds of two slaves each that does, and what is found in it
 * when one number after the other is another.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../../../user/bench/nic/nic_counts.h"
#include "../../../user/lib/util.h"
#include "../unit.h"

enum { IN, IN0, IN1, OUT, OUT0, OUT1, N_PORTS };

#define EACH 500000u /* packets of the generator by each slave */
#define OTHERS 20u   /* of neighbour discovery and the like, by the first ingress slave */

static void put_port(struct nic_run *run, int place, const char *name, int bond)
{
	struct nic_port *port = &run->ports[place];
	bool in = place < OUT;

	strcpy(port->name, name);
	port->bond = bond;
	port->is_bond = bond < 0;
	port->is_ingress = in;
	port->is_egress = !in;
	port->tells_tx_drops = true;
	port->tells_queues = !port->is_bond;
	if (in)
		port->counts.rx = port->counts.queues_rx = port->is_bond ? 2 * EACH : EACH;
	else
		port->counts.tx = port->counts.queues_tx = port->is_bond ? 2 * EACH : EACH;
}

static struct nic_run *make_run(void)
{
	static struct nic_run run;
	struct nic_counts *in = &run.ports[IN].counts;

	memset(&run, 0, sizeof(run));
	put_port(&run, IN, "bond0", -1);
	put_port(&run, IN0, "eth0", IN);
	put_port(&run, IN1, "eth1", IN);
	put_port(&run, OUT, "bond1", -1);
	put_port(&run, OUT0, "eth2", OUT);
	put_port(&run, OUT1, "eth3", OUT);
	run.n = N_PORTS;
	run.by_sixlane = run.counts_sent = run.counts_received = true;
	run.sent = run.received = 2 * EACH;
	run.seconds = 10;
	in->verdicts[SIXLANE_FORWARD] = 2 * EACH;
	in->verdicts[SIXLANE_PASS_DESTINATION] = OTHERS - 5;
	in->verdicts[SIXLANE_PASS_NOT_IPV6] = 5;
	in->icmp6_rx = OTHERS - 5;
	in->rx += OTHERS;
	run.ports[IN0].counts.rx += OTHERS;
	run.ports[IN0].counts.queues_rx += OTHERS;
	return &run;
}

/* "name port, name …" of what does not hold. */
static const char *faults(const struct nic_run *run)
{
	static char text[512];
	struct nic_fault list[16];
	size_t n = nic_counts_check(run, list, ARRAY_SIZE(list)), used = 0;

	*text = '\0';
	for (size_t i = 0; i < n; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s%s%s",
					 i ? ", " : "", list[i].name, *list[i].port ? " " : "",
					 list[i].port);
	return text;
}

static void test_all_is_well(void **state)
{
	struct nic_run *run = make_run();

	assert_string_equal(faults(run), "");
	run->by_sixlane = false;
	assert_string_equal(faults(run), "");
}

static void test_bond(void **state)
{
	struct nic_run *run = make_run();

	run->ports[IN].counts.rx -= 8;
	assert_string_equal(faults(run), "");
	run->ports[IN].counts.rx -= 1;
	assert_string_equal(faults(run), "bond-rx bond0");
	run = make_run();
	run->ports[OUT].counts.tx += 9;
	assert_string_equal(faults(run), "bond-tx bond1");
}

static void test_queues(void **state)
{
	struct nic_run *run = make_run();

	run->ports[IN1].counts.queues_rx -= 9;
	run->ports[OUT0].counts.queues_tx = 0;
	assert_string_equal(faults(run), "queues-rx eth1, queues-tx eth2");
	run->ports[IN1].tells_queues = run->ports[OUT0].tells_queues = false;
	assert_string_equal(faults(run), "");
}

static void test_verdicts(void **state)
{
	struct nic_run *run = make_run();

	/* packets that no program has seen, as when it was taken off meanwhile */
	run->ports[IN].counts.verdicts[SIXLANE_FORWARD] -= 100;
	run->received -= 100;
	run->ports[OUT].counts.tx -= 100;
	run->ports[OUT0].counts.tx -= 100;
	run->ports[OUT0].counts.queues_tx -= 100;
	assert_string_equal(faults(run), "verdicts, sent");
	/* counted by the slave itself, while its bond did not use it */
	run->ports[IN1].counts.verdicts[SIXLANE_PASS_BOND_SLAVE] = 100;
	assert_string_equal(faults(run), "sent");
}

static void test_driver_that_counts_xdp_apart(void **state)
{
	struct nic_run *run = make_run();

	for (int i = IN0; i <= IN1; i++) {
		run->ports[i].counts.xdp_rx = EACH;
		run->ports[i].counts.rx -= EACH;
		run->ports[i].counts.queues_rx -= EACH;
		run->ports[IN].counts.rx -= EACH;
	}
	for (int i = OUT0; i <= OUT1; i++) {
		run->ports[i].counts.xdp_tx = EACH;
		run->ports[i].counts.tx = run->ports[i].counts.queues_tx = 0;
	}
	run->ports[OUT].counts.tx = 0;
	assert_string_equal(faults(run), "");
}

/* Not one of the generator's own may be missing. */
static void test_one_packet(void **state)
{
	struct nic_run *run = make_run();

	run->sent++;
	assert_string_equal(faults(run), "sent");
	run->sent -= 2;
	assert_string_equal(faults(run), "sent");
	run = make_run();
	run->received++;
	assert_string_equal(faults(run), "received, returned");
}

static void test_missed_by_the_nic(void **state)
{
	struct nic_run *run = make_run();

	run->sent += 1000;
	run->ports[IN0].counts.rx_missed = 1000;
	assert_string_equal(faults(run), "");
	/* some of them may have been others' … */
	run->ports[IN0].counts.rx_missed += OTHERS;
	assert_string_equal(faults(run), "");
	/* … but not so many, and there are no more of the generator's than are told */
	run->ports[IN0].counts.rx_missed += 100;
	assert_string_equal(faults(run), "sent");
	run->ports[IN0].counts.rx_missed = 999;
	assert_string_equal(faults(run), "sent");
}

/* A switch between the two may lose packets, but it makes none. */
static void test_hidden_losses(void **state)
{
	struct nic_run *run = make_run();

	run->hides_losses = true;
	run->sent += 70000;
	run->received -= 70000;
	assert_string_equal(faults(run), "");
	run->received = run->sent = 2 * EACH;
	run->sent--;
	assert_string_equal(faults(run), "sent");
}

static void test_transmitted(void **state)
{
	struct nic_run *run = make_run();
	struct nic_counts *out = &run->ports[OUT0].counts;

	out->tx -= 50;
	out->queues_tx -= 50;
	run->ports[OUT].counts.tx -= 50;
	run->received -= 50;
	assert_string_equal(faults(run), "transmitted");
	run->ports[OUT0].tx_unnoticed = 50;
	assert_string_equal(faults(run), "");
	run->ports[OUT0].tx_unnoticed = 49;
	assert_string_equal(faults(run), "transmitted");
	out->xdp_tx_drops = 1;
	assert_string_equal(faults(run), "");
	/* a driver that keeps it to itself */
	out->xdp_tx_drops = run->ports[OUT0].tx_unnoticed = 0;
	run->ports[OUT0].tells_tx_drops = false;
	assert_string_equal(faults(run), "");
	/* one that tells, of a device that has left */
	run->ports[OUT0].tells_tx_drops = true;
	assert_string_equal(faults(run), "transmitted");
	run->loses_device = true;
	assert_string_equal(faults(run), "");
}

/* A driver that notices late what has left, and tells at once what was redirected. */
static void test_told_at_once(void **state)
{
	struct nic_run *run = make_run();
	struct nic_port *port = &run->ports[OUT0];

	port->tells_redirected = true;
	port->tx_unnoticed = 50;
	port->counts.tx -= 50;
	assert_string_equal(faults(run), "");
	/* one of them is nowhere: none of the 50 excuses that */
	port->counts.queues_tx--;
	assert_string_equal(faults(run), "transmitted, received");
	/* of the kernel's forwarding nobody tells at once */
	run->by_sixlane = false;
	assert_string_equal(faults(run), "");
}

/* This machine's own packets leave by the same ports, and LACPDUs every second. */
static void test_own_packets(void **state)
{
	struct nic_run *run = make_run();

	run->ports[OUT0].counts.tx += 30;
	run->ports[OUT0].counts.queues_tx += 30;
	run->ports[OUT].counts.tx += 30;
	assert_string_equal(faults(run), "transmitted, received");
	run->ports[OUT].counts.icmp6_tx = 14;
	assert_string_equal(faults(run), "");
	run->ports[OUT].counts.icmp6_tx = 3;
	assert_string_equal(faults(run), "transmitted, received");
	run->ports[OUT0].runs_lacp = true;
	assert_string_equal(faults(run), "");
}

/* What sixlane passed, the kernel has forwarded. */
static void test_passed_and_forwarded(void **state)
{
	struct nic_run *run = make_run();

	run->ports[IN].counts.verdicts[SIXLANE_FORWARD] -= 1000;
	run->ports[IN].counts.verdicts[SIXLANE_PASS_UNRESOLVED] += 1000;
	assert_string_equal(faults(run), "");
}

/* Others' packets are none of the generator's, whoever forwards them. */
static void test_who_forwards(void **state)
{
	struct nic_run *run = make_run();
	struct nic_forwarded forwarded = nic_counts_forwarded(run);

	assert_int_equal(forwarded.here, 2 * EACH);
	assert_int_equal(forwarded.elsewhere, 0);
	run->ports[IN].counts.verdicts[SIXLANE_FORWARD] -= 100;
	run->ports[IN].counts.verdicts[SIXLANE_PASS_UNRESOLVED] += 70;
	run->ports[IN].counts.verdicts[SIXLANE_PASS_EGRESS_DEVICE] += 30;
	forwarded = nic_counts_forwarded(run);
	assert_int_equal(forwarded.here, 2 * EACH - 100);
	assert_int_equal(forwarded.elsewhere, 100);
	assert_int_equal(forwarded.verdict, SIXLANE_PASS_UNRESOLVED);
}

static void test_kernel_alone(void **state)
{
	struct nic_run *run = make_run();

	run->by_sixlane = false;
	memset(run->ports[IN].counts.verdicts, 0, sizeof(run->ports[IN].counts.verdicts));
	assert_string_equal(faults(run), "");
	run->sent -= 100;
	run->received -= 100;
	assert_string_equal(faults(run), "sent, received");
}

static void test_no_generator(void **state)
{
	struct nic_run *run = make_run();

	run->sent = run->received = 0;
	run->counts_sent = run->counts_received = run->by_sixlane = false;
	assert_string_equal(faults(run), "");
	run->ports[OUT1].counts.queues_tx = 0;
	assert_string_equal(faults(run), "queues-tx eth3");
}

static void test_nothing_comes_back(void **state)
{
	struct nic_run *run = make_run();

	run->received = 0;
	run->counts_received = false;
	assert_string_equal(faults(run), "");
}

static void test_more_faults_than_room(void **state)
{
	struct nic_run *run = make_run();
	struct nic_fault fault = { 0 };

	run->ports[IN1].counts.queues_rx = run->ports[IN0].counts.queues_rx = 0;
	assert_int_equal(nic_counts_check(run, &fault, 1), 2);
	assert_string_equal(fault.port, "eth0");
	assert_int_equal(nic_counts_check(run, NULL, 0), 2);
}

static void test_text(void **state)
{
	struct nic_run *run = make_run();
	struct nic_fault fault;
	char text[NIC_FAULT_LEN];

	run->ports[IN1].counts.queues_rx -= 100;
	assert_int_equal(nic_counts_check(run, &fault, 1), 1);
	nic_fault_text(&fault, text);
	assert_string_equal(text, "queues-rx of eth1: 500000 received by the device, but 499900 "
				  "received by its queues (8 may differ: packets that came between "
				  "the readings)");
}

static void test_subtract(void **state)
{
	struct nic_counts before = { .rx = 10, .verdicts = { 5, [SIXLANE_MAX_VERDICTS - 1] = 1 } };
	struct nic_counts after = { .rx = 14, .verdicts = { 6, [SIXLANE_MAX_VERDICTS - 1] = 3 } };
	struct nic_counts run = { .tx = 99 };

	assert_true(nic_counts_subtract(&after, &before, &run));
	assert_int_equal(run.rx, 4);
	assert_int_equal(run.tx, 0);
	assert_int_equal(run.verdicts[0], 1);
	assert_int_equal(run.verdicts[SIXLANE_MAX_VERDICTS - 1], 2);
	/* the driver was reset meanwhile */
	after.rx = 9;
	assert_false(nic_counts_subtract(&after, &before, &run));
	assert_int_equal(run.rx, 4);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_is_well),
		cmocka_unit_test(test_bond),
		cmocka_unit_test(test_queues),
		cmocka_unit_test(test_verdicts),
		cmocka_unit_test(test_driver_that_counts_xdp_apart),
		cmocka_unit_test(test_one_packet),
		cmocka_unit_test(test_missed_by_the_nic),
		cmocka_unit_test(test_hidden_losses),
		cmocka_unit_test(test_transmitted),
		cmocka_unit_test(test_told_at_once),
		cmocka_unit_test(test_own_packets),
		cmocka_unit_test(test_passed_and_forwarded),
		cmocka_unit_test(test_who_forwards),
		cmocka_unit_test(test_kernel_alone),
		cmocka_unit_test(test_no_generator),
		cmocka_unit_test(test_nothing_comes_back),
		cmocka_unit_test(test_more_faults_than_room),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_subtract),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
