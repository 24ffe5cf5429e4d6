// SPDX-License-Identifier: GPL-2.0-only
/*
 * Changes that are taken back, against a machine of a few numbers in shared memory: what the
 * guardian, another process, does to it is seen here. nic_undo.c is built into this test, which
 * has to know the guardian's number.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../unit.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../../../user/bench/nic/nic_undo.c"

#define N_DEVICES 8 /* ifindex 1 … 7 */

/* MTUs stand for all that there is to set. */
static struct machine {
	uint32_t mtu[N_DEVICES];
	int make_error[N_DEVICES], read_error[N_DEVICES];
	uint32_t order[128]; /* ifindex of each change made, in turn */
	uint32_t n;
	bool inside;		    /* where the guardian is */
	bool was_inside[128];	    /* when each change was made */
	int inside_error;	    /* of going there */
	bool moved;		    /* the only device that can be */
	int move_error, find_error; /* of its way back */
} * machine;

static int fake_read(const struct nic_change *change, struct nic_change *now)
{
	*now = *change;
	if (change->what == NIC_INSIDE || change->what == NIC_NETNS) {
		now->netns.inside = change->what == NIC_NETNS ? machine->moved : machine->inside;
		return change->what == NIC_NETNS && machine->moved ? machine->find_error : 0;
	}
	now->mtu = machine->mtu[change->ifindex];
	return machine->read_error[change->ifindex];
}

static int fake_netns(const struct nic_change *change)
{
	int ret = change->netns.inside ? 0 : machine->move_error;

	if (change->what == NIC_INSIDE)
		ret = machine->inside_error;
	if (!ret)
		*(change->what == NIC_INSIDE ? &machine->inside : &machine->moved) =
			change->netns.inside;
	return ret;
}

static int fake_make(const struct nic_change *change)
{
	if (change->what == NIC_INSIDE || change->what == NIC_NETNS)
		return fake_netns(change);
	if (machine->make_error[change->ifindex])
		return machine->make_error[change->ifindex];
	machine->was_inside[machine->n] = machine->inside;
	machine->order[machine->n++] = change->ifindex;
	machine->mtu[change->ifindex] = change->mtu;
	return 0;
}

static const struct nic_backend fake = { fake_read, fake_make };

static struct nic_change mtu_of(uint32_t ifindex, uint32_t mtu)
{
	struct nic_change change;

	memset(&change, 0, sizeof(change));
	change.what = NIC_MTU;
	change.ifindex = ifindex;
	strcpy(change.dev, "nic");
	change.mtu = mtu;
	return change;
}

static int set_mtu(struct nic_undo *undo, uint32_t ifindex, uint32_t mtu)
{
	struct nic_change change = mtu_of(ifindex, mtu);

	return nic_undo_set(undo, &change);
}

static int make_machine(void **state)
{
	machine = mmap(NULL, sizeof(*machine), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	assert_true(machine != MAP_FAILED);
	for (int i = 0; i < N_DEVICES; i++)
		machine->mtu[i] = 1500;
	return 0;
}

static int drop_machine(void **state)
{
	return munmap(machine, sizeof(*machine));
}

static struct nic_undo *begin(void)
{
	struct nic_undo *undo = NULL;

	assert_int_equal(nic_undo_begin(&fake, &undo), 0);
	return undo;
}

static void assert_restored(void)
{
	for (int i = 0; i < N_DEVICES; i++)
		assert_int_equal(machine->mtu[i], 1500);
}

static void test_last_first(void **state)
{
	struct nic_undo *undo = begin();
	const uint32_t order[] = { 1, 2, 1, 3, 3, 1, 2, 1 };

	assert_int_equal(set_mtu(undo, 1, 2000), 0);
	assert_int_equal(set_mtu(undo, 2, 3000), 0);
	assert_int_equal(set_mtu(undo, 1, 4000), 0);
	assert_int_equal(set_mtu(undo, 3, 5000), 0);
	assert_int_equal(machine->mtu[1], 4000);
	assert_int_equal(nic_undo_end(undo), 0);
	assert_restored();
	assert_int_equal(machine->n, 8);
	assert_memory_equal(machine->order, order, sizeof(order));
}

static void test_nothing_to_do(void **state)
{
	struct nic_undo *undo = begin();

	assert_int_equal(set_mtu(undo, 1, 1500), 0);
	assert_int_equal(machine->n, 0);
	assert_int_equal(set_mtu(undo, 2, 2000), 0);
	/* somebody else has set it back already */
	machine->mtu[2] = 1500;
	assert_int_equal(nic_undo_end(undo), 0);
	assert_int_equal(machine->n, 1);
}

static void test_kept(void **state)
{
	struct nic_undo *undo = begin();
	const struct nic_change now = mtu_of(4, 1500);

	assert_int_equal(nic_undo_keep(undo, &now), 0);
	assert_int_equal(machine->n, 0);
	machine->mtu[4] = 9000;
	assert_int_equal(nic_undo_end(undo), 0);
	assert_restored();
}

static void test_refused_change(void **state)
{
	struct nic_undo *undo = begin();

	assert_int_equal(set_mtu(undo, 1, 2000), 0);
	machine->make_error[2] = -EPERM;
	assert_int_equal(set_mtu(undo, 2, 2000), -EPERM);
	machine->read_error[3] = -EOPNOTSUPP;
	assert_int_equal(set_mtu(undo, 3, 2000), -EOPNOTSUPP);
	/* neither is anything to restore */
	assert_int_equal(nic_undo_end(undo), 0);
	assert_restored();
}

static void test_what_cannot_be_restored(void **state)
{
	struct nic_undo *undo = begin();

	for (uint32_t i = 1; i <= 3; i++)
		assert_int_equal(set_mtu(undo, i, 2000), 0);
	machine->make_error[2] = -EBUSY;
	assert_int_equal(nic_undo_end(undo), -EIO);
	/* the others are */
	assert_int_equal(machine->mtu[1], 1500);
	assert_int_equal(machine->mtu[2], 2000);
	assert_int_equal(machine->mtu[3], 1500);
}

static void test_what_is_gone(void **state)
{
	struct nic_undo *undo = begin();

	for (uint32_t i = 1; i <= 2; i++)
		assert_int_equal(set_mtu(undo, i, 2000), 0);
	machine->read_error[1] = -ENODEV;
	machine->make_error[2] = -ENOENT;
	assert_int_equal(nic_undo_end(undo), 0);
}

/* --- a network namespace -------------------------------------------------------------------- */

static struct nic_change netns_of(enum nic_what what, bool inside)
{
	struct nic_change change = mtu_of(0, 0);

	change.what = what;
	change.netns.inside = inside;
	if (what == NIC_INSIDE)
		memset(change.dev, 0, sizeof(change.dev));
	return change;
}

/* What was changed in there is set back in there, what was before outside. */
static void test_guardian_follows(void **state)
{
	const struct nic_change outside = netns_of(NIC_INSIDE, false);
	struct nic_undo *undo = begin();

	assert_int_equal(set_mtu(undo, 1, 2000), 0);
	assert_int_equal(nic_undo_keep(undo, &outside), 0);
	assert_true(machine->inside);
	assert_int_equal(set_mtu(undo, 2, 2000), 0);
	assert_int_equal(nic_undo_end(undo), 0);
	assert_restored();
	assert_int_equal(machine->n, 4);
	assert_int_equal(machine->order[2], 2);
	assert_true(machine->was_inside[2]);
	assert_int_equal(machine->order[3], 1);
	assert_false(machine->was_inside[3]);
}

static void test_guardian_cannot_follow(void **state)
{
	const struct nic_change outside = netns_of(NIC_INSIDE, false);
	struct nic_undo *undo = begin();

	assert_int_equal(set_mtu(undo, 1, 2000), 0);
	machine->inside_error = -EPERM;
	assert_int_equal(nic_undo_keep(undo, &outside), -EPERM);
	/* it is not inside, and has not to leave */
	assert_int_equal(nic_undo_end(undo), 0);
	assert_restored();
}

/* A device that is kept by its name, and another one; the first is moved away. */
static struct nic_undo *begin_and_move(void)
{
	const struct nic_change named = mtu_of(0, 1500), inside = netns_of(NIC_NETNS, true);
	struct nic_undo *undo = begin();

	assert_int_equal(nic_undo_keep(undo, &named), 0);
	assert_int_equal(set_mtu(undo, 1, 2000), 0);
	assert_int_equal(nic_undo_set(undo, &inside), 0);
	assert_true(machine->moved);
	machine->mtu[0] = 4000;
	return undo;
}

static void test_comes_back(void **state)
{
	assert_int_equal(nic_undo_end(begin_and_move()), 0);
	assert_false(machine->moved);
	assert_restored();
}

/* What has its name by then is not to get its settings. */
static void test_does_not_come_back(void **state)
{
	machine->move_error = -EEXIST;
	assert_int_equal(nic_undo_end(begin_and_move()), -EIO);
	assert_int_equal(machine->mtu[0], 4000);
	assert_int_equal(machine->mtu[1], 1500);
}

static void test_is_gone_in_there(void **state)
{
	struct nic_undo *undo = begin_and_move();

	machine->find_error = -ENODEV;
	assert_int_equal(nic_undo_end(undo), 0);
	assert_int_equal(machine->mtu[0], 4000);
	assert_int_equal(machine->mtu[1], 1500);
}

/* --- ends that nobody wants ----------------------------------------------------------------- */

/* A process that sets a few and waits to be killed; its guardian's end is the pipe's. */
static void run_and_kill(int number)
{
	int done[2], alive[2];
	struct pollfd pollfd;
	char byte;
	pid_t pid;

	assert_int_equal(pipe(done), 0);
	assert_int_equal(pipe(alive), 0);
	pid = fork();
	if (!pid) {
		struct nic_undo *undo = NULL;

		close(alive[0]);
		/* to the guardian alone, whose writing end is closed by its exit */
		if (nic_undo_begin(&fake, &undo))
			_exit(1);
		close(alive[1]);
		for (uint32_t i = 1; i < N_DEVICES; i++)
			set_mtu(undo, i, 2000 + i);
		if (write(done[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(alive[1]);
	close(done[1]);
	assert_int_equal(read(done[0], &byte, 1), 1);
	assert_int_equal(machine->mtu[7], 2007);
	kill(pid, number);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	pollfd = (struct pollfd){ .fd = alive[0], .events = POLLIN };
	assert_int_equal(poll(&pollfd, 1, 10000), 1);
	assert_int_equal(read(alive[0], &byte, 1), 0);
	close(alive[0]);
	close(done[0]);
}

static void test_killed(void **state)
{
	static const int signals[] = { SIGKILL, SIGTERM, SIGABRT };

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		run_and_kill(signals[i]);
		assert_restored();
	}
}

static void test_signals_to_the_guardian(void **state)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	struct nic_undo *undo = begin();

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		assert_int_equal(kill(undo->guardian, signals[i]), 0);
	assert_int_equal(set_mtu(undo, 1, 2000), 0);
	assert_int_equal(nic_undo_end(undo), 0);
	assert_restored();
}

static void test_no_guardian(void **state)
{
	struct nic_undo *undo = begin();
	siginfo_t info;

	kill(undo->guardian, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)undo->guardian, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(set_mtu(undo, 1, 2000), -EOWNERDEAD);
	assert_restored();
	assert_int_equal(nic_undo_end(undo), -EOWNERDEAD);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_machine, drop_machine)
		TEST(test_last_first),
		TEST(test_nothing_to_do),
		TEST(test_kept),
		TEST(test_refused_change),
		TEST(test_what_is_gone),
		TEST(test_what_cannot_be_restored),
		TEST(test_killed),
		TEST(test_signals_to_the_guardian),
		TEST(test_no_guardian),
		TEST(test_guardian_follows),
		TEST(test_guardian_cannot_follow),
		TEST(test_comes_back),
		TEST(test_does_not_come_back),
		TEST(test_is_gone_in_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
