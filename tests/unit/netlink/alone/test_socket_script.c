// SPDX-License-Identifier: GPL-2.0-only
/*
 * The netlink sockets against a script: this program's recvmsg() and sendto() replace those of libc
 * and do what a kernel does only under pressure.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <sys/syscall.h>

#include "../../unit.h"
#include "../netlink_requests.h"

struct datagram {
	int error;	 /* of recvmsg; 0: none */
	int flags;	 /* MSG_TRUNC */
	uint32_t sender; /* nl_pid */
	size_t size;
	char data[128] __attribute__((aligned(8)));
};

static struct datagram script[16];
static size_t script_size, script_at;
static bool scripted, armed;
static uint32_t sent_sequence;
static unsigned int repeats; /* of the script's last datagram */

#define ANSWER 0xffffffffu /* is replaced by the request's sequence number */

static void script_begin(bool by_request)
{
	memset(script, 0, sizeof(script));
	script_size = script_at = 0;
	repeats = 0;
	scripted = true;
	armed = !by_request;
}

static struct datagram *script_add(void)
{
	assert_true(script_size < ARRAY_SIZE(script));
	return &script[script_size++];
}

/* Appends a message to a datagram. */
static void message_add(struct datagram *d, uint16_t type, uint16_t flags, uint32_t sequence,
			const void *payload, size_t size)
{
	struct nlmsghdr *nlh = (void *)(d->data + d->size);

	assert_true(d->size + MNL_ALIGN(sizeof(*nlh) + size) <= sizeof(d->data));
	*nlh = (struct nlmsghdr){ .nlmsg_len = (uint32_t)(sizeof(*nlh) + size),
				  .nlmsg_type = type,
				  .nlmsg_flags = flags,
				  .nlmsg_seq = sequence };
	if (size > 0)
		memcpy(nlh + 1, payload, size);
	d->size += MNL_ALIGN(sizeof(*nlh) + size);
}

static void answer_add(uint16_t type, uint16_t flags)
{
	message_add(script_add(), type, flags, ANSWER, NULL, 0);
}

static void done_add(int error, uint16_t flags)
{
	message_add(script_add(), NLMSG_DONE, flags, ANSWER, &error, sizeof(error));
}

static ssize_t script_play(const struct datagram *d, struct msghdr *msg)
{
	struct nlmsghdr *nlh = msg->msg_iov[0].iov_base;
	struct sockaddr_nl from = { .nl_family = AF_NETLINK, .nl_pid = d->sender };
	int left = (int)d->size;

	if (d->error) {
		errno = d->error;
		return -1;
	}
	memcpy(msg->msg_name, &from, sizeof(from));
	msg->msg_namelen = sizeof(from);
	msg->msg_flags = d->flags;
	memcpy(nlh, d->data, d->size);
	for (; mnl_nlmsg_ok(nlh, left); nlh = mnl_nlmsg_next(nlh, &left))
		if (nlh->nlmsg_seq == ANSWER)
			nlh->nlmsg_seq = sent_sequence;
	return (ssize_t)d->size;
}

ssize_t recvmsg(int fd, struct msghdr *msg, int flags)
{
	if (!scripted)
		return syscall(SYS_recvmsg, fd, msg, flags);
	if (armed && script_at + 1 == script_size && repeats > 0) {
		repeats--;
		return script_play(&script[script_at], msg);
	}
	if (armed && script_at < script_size)
		return script_play(&script[script_at++], msg);
	errno = EAGAIN;
	return -1;
}

ssize_t sendto(int fd, const void *data, size_t size, int flags, const struct sockaddr *to,
	       socklen_t to_size)
{
	if (!scripted)
		return syscall(SYS_sendto, fd, data, size, flags, to, to_size);
	sent_sequence = ((const struct nlmsghdr *)data)->nlmsg_seq;
	armed = true;
	return (ssize_t)size;
}

/* --- the tests --------------------------------------------------------------------------- */

static int dump_scripted(struct nl_socket *socket, struct seen *seen, int timeout_ms,
			 bool *filtered)
{
	return nl_socket_dump(socket, link_dump(), count, seen, idle, seen, timeout_ms, filtered);
}

/* The whole script was read, to the end of the dump. */
#define assert_played() assert_int_equal(script_at, script_size)

static int script_end(void **state)
{
	scripted = false;
	return 0;
}

static void dump_interrupted(void **state)
{
	_cleanup_socket_ struct nl_socket *socket = new_socket(0);

	for (int where = 0; where < 4; where++) {
		struct seen seen = { 0 };

		script_begin(true);
		for (int i = 0; i < 3; i++)
			answer_add(RTM_NEWLINK, NLM_F_MULTI | (i == where ? NLM_F_DUMP_INTR : 0));
		done_add(0, NLM_F_MULTI | (where == 3 ? NLM_F_DUMP_INTR : 0));
		assert_int_equal(dump_scripted(socket, &seen, 100, NULL), -EINTR);
		assert_int_equal(seen.messages, 3);
		assert_played();
	}
}

static void dump_filtered(void **state)
{
	static const struct {
		uint16_t first, second, done;
		bool messages, expected;
	} cases[] = {
		{ NLM_F_DUMP_FILTERED, NLM_F_DUMP_FILTERED, 0, true, true },
		{ NLM_F_DUMP_FILTERED, 0, NLM_F_DUMP_FILTERED, true, false },
		{ 0, NLM_F_DUMP_FILTERED, NLM_F_DUMP_FILTERED, true, false },
		{ 0, 0, NLM_F_DUMP_FILTERED, false, true },
		{ 0, 0, 0, false, false },
	};
	_cleanup_socket_ struct nl_socket *socket = new_socket(0);

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct seen seen = { 0 };
		bool filtered = !cases[i].expected;

		script_begin(true);
		if (cases[i].messages) {
			answer_add(RTM_NEWLINK, cases[i].first);
			answer_add(RTM_NEWLINK, cases[i].second);
		}
		done_add(0, cases[i].done);
		assert_int_equal(dump_scripted(socket, &seen, 100, &filtered), 0);
		assert_int_equal(filtered, cases[i].expected);
	}
}

static void dump_that_fails_at_its_end(void **state)
{
	_cleanup_socket_ struct nl_socket *socket = new_socket(0);
	struct nlmsgerr err = { .error = -EOPNOTSUPP };
	struct seen seen = { 0 };

	script_begin(true);
	answer_add(RTM_NEWLINK, NLM_F_MULTI);
	done_add(-ENOMEM, NLM_F_MULTI);
	assert_int_equal(dump_scripted(socket, &seen, 100, NULL), -ENOMEM);
	script_begin(true);
	message_add(script_add(), NLMSG_ERROR, 0, ANSWER, &err, sizeof(err));
	assert_int_equal(dump_scripted(socket, &seen, 100, NULL), -EOPNOTSUPP);
	script_begin(true);
	message_add(script_add(), NLMSG_ERROR, 0, ANSWER, &err, 8);
	assert_int_equal(dump_scripted(socket, &seen, 30, NULL), -EBADMSG);
}

static void dump_without_an_end(void **state)
{
	_cleanup_socket_ struct nl_socket *socket = new_socket(0);
	struct seen seen = { 0 };

	script_begin(true);
	answer_add(RTM_NEWLINK, NLM_F_MULTI);
	assert_int_equal(dump_scripted(socket, &seen, 1000, NULL), -ETIMEDOUT);
	assert_int_equal(seen.messages, 1);
	assert_true(seen.idles >= 3); /* also while waiting */
}

static void dump_ignores_what_is_no_answer(void **state)
{
	_cleanup_socket_ struct nl_socket *socket = new_socket(0);
	struct seen seen = { 0 };
	int ended = 0;

	script_begin(true);
	message_add(script_add(), NLMSG_DONE, 0, 0, &ended, sizeof(ended));
	message_add(script_add(), RTM_NEWLINK, 0, 12345, NULL, 0);
	answer_add(RTM_NEWLINK, NLM_F_MULTI);
	answer_add(RTM_NEWLINK, NLM_F_MULTI);
	script[script_size - 1].sender = 77;
	script_add()->error = EINTR;
	done_add(0, NLM_F_MULTI);
	assert_int_equal(dump_scripted(socket, &seen, 100, NULL), 0);
	assert_int_equal(seen.messages, 1);
	assert_played();
}

static void dump_damaged(void **state)
{
	_cleanup_socket_ struct nl_socket *socket = new_socket(0);

	for (int how = 0; how < 4; how++) {
		struct seen seen = { 0 };
		struct nlmsghdr *nlh;

		script_begin(true);
		answer_add(RTM_NEWLINK, NLM_F_MULTI);
		answer_add(RTM_NEWLINK, NLM_F_MULTI);
		nlh = (void *)script[1].data;
		if (how == 0)
			script[1].flags = MSG_TRUNC;
		else if (how == 1)
			nlh->nlmsg_len = 17; /* beyond the datagram */
		else if (how == 2)
			nlh->nlmsg_len = 15; /* less than a header */
		else
			script[1].size = 12;
		done_add(0, NLM_F_MULTI);
		assert_int_equal(dump_scripted(socket, &seen, 100, NULL), -EBADMSG);
		assert_int_equal(seen.messages, 1);
		assert_played();
	}
}

static void read_overruns(void **state)
{
	_cleanup_socket_ struct nl_socket *socket = new_socket(0);
	struct seen seen = { 0 };

	/* ENOBUFS comes first; the datagrams behind it are handled all the same. */
	script_begin(false);
	script_add()->error = ENOBUFS;
	answer_add(RTM_NEWLINK, 0);
	answer_add(RTM_NEWLINK, 0);
	assert_int_equal(nl_socket_read(socket, count, &seen), -ENOBUFS);
	assert_int_equal(seen.messages, 2);
	assert_int_equal(nl_socket_read(socket, count, &seen), 0);
	/* With nothing behind it. */
	script_begin(false);
	script_add()->error = ENOBUFS;
	assert_int_equal(nl_socket_read(socket, count, &seen), -ENOBUFS);
	assert_int_equal(nl_socket_read(socket, count, &seen), 0);
	/* As a message. */
	script_begin(false);
	answer_add(NLMSG_OVERRUN, 0);
	answer_add(RTM_DELLINK, 0);
	assert_int_equal(nl_socket_read(socket, count, &seen), -ENOBUFS);
	assert_int_equal(seen.last_type, RTM_DELLINK);
	/* It is reported even after another failure. */
	seen = (struct seen){ .fail_at = 1, .fail_with = -ENOMEM };
	script_begin(false);
	script_add()->error = ENOBUFS;
	answer_add(RTM_NEWLINK, 0);
	answer_add(RTM_NEWLINK, 0);
	assert_int_equal(nl_socket_read(socket, count, &seen), -ENOMEM);
	assert_int_equal(nl_socket_read(socket, count, &seen), -ENOBUFS);
	assert_int_equal(seen.messages, 2);
}

static void read_damaged(void **state)
{
	_cleanup_socket_ struct nl_socket *socket = new_socket(0);
	struct seen seen = { 0 };

	script_begin(false);
	answer_add(RTM_NEWLINK, 0);
	script_add()->flags = MSG_TRUNC;
	assert_int_equal(nl_socket_read(socket, count, &seen), -EBADMSG);
	assert_int_equal(seen.messages, 1);
	script_begin(false);
	answer_add(RTM_NEWLINK, 0);
	script[0].size += 4;
	assert_int_equal(nl_socket_read(socket, count, &seen), -EBADMSG);
	assert_int_equal(seen.messages, 2);
}

static void read_skips_control_messages(void **state)
{
	_cleanup_socket_ struct nl_socket *socket = new_socket(0);
	struct seen seen = { 0 };
	struct datagram *d;

	script_begin(false);
	d = script_add();
	message_add(d, NLMSG_ERROR, 0, 0, NULL, 0);
	message_add(d, NLMSG_NOOP, 0, 0, NULL, 0);
	message_add(d, NLMSG_DONE, 0, 0, NULL, 0);
	message_add(d, RTM_NEWLINK, 0, 0, NULL, 0);
	assert_int_equal(nl_socket_read(socket, count, &seen), 1);
	assert_int_equal(seen.messages, 1);
}

static void read_returns_during_a_storm(void **state)
{
	_cleanup_socket_ struct nl_socket *socket = new_socket(0);
	struct seen seen = { 0 };

	script_begin(false);
	answer_add(RTM_NEWLINK, 0);
	repeats = NL_SOCKET_READ_MAX + 9;
	assert_int_equal(nl_socket_read(socket, count, &seen), NL_SOCKET_READ_MAX);
	assert_int_equal(nl_socket_read(socket, count, &seen), 10);
	assert_int_equal(seen.messages, NL_SOCKET_READ_MAX + 10);
	/* But not after an overrun: all must be read before the next dump. */
	seen = (struct seen){ 0 };
	script_begin(false);
	script_add()->error = ENOBUFS;
	answer_add(RTM_NEWLINK, 0);
	repeats = NL_SOCKET_READ_MAX + 9;
	assert_int_equal(nl_socket_read(socket, count, &seen), -ENOBUFS);
	assert_int_equal(seen.messages, NL_SOCKET_READ_MAX + 10);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(dump_interrupted, script_end),
		cmocka_unit_test_teardown(dump_filtered, script_end),
		cmocka_unit_test_teardown(dump_that_fails_at_its_end, script_end),
		cmocka_unit_test_teardown(dump_without_an_end, script_end),
		cmocka_unit_test_teardown(dump_ignores_what_is_no_answer, script_end),
		cmocka_unit_test_teardown(dump_damaged, script_end),
		cmocka_unit_test_teardown(read_overruns, script_end),
		cmocka_unit_test_teardown(read_damaged, script_end),
		cmocka_unit_test_teardown(read_skips_control_messages, script_end),
		cmocka_unit_test_teardown(read_returns_during_a_storm, script_end),
	};

	return cmocka_run_group_tests_name("socket_script", tests, NULL, NULL);
}
