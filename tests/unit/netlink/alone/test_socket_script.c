// SPDX-License-Identifier: GPL-2.0-only
/*
 * The netlink sockets against a script: this program's recvmsg() and sendto() replace those of libc
 * and do what a kernel does only under pressure.
 */

#include "../../unit.h"

#include <errno.h>
#include <sys/syscall.h>

#include "../netlink_requests.h"

/* A datagram of one message; size 0: as long as the message. */
struct datagram {
	int error;	 /* of recvmsg(); 0: none */
	int flags;	 /* MSG_TRUNC */
	uint32_t sender; /* nl_pid */
	uint32_t size;
	uint16_t type; /* of the message; 0: the script ends */
	uint16_t nlmsg_flags;
	bool reply;	      /* has the request's sequence number */
	uint32_t sequence;    /* otherwise */
	uint32_t length;      /* nlmsg_len; 0: as it is */
	uint32_t payload_len; /* of payload: an int, or a struct nlmsgerr */
	int payload;
};

/* clang-format off */
#define LINK(...) { .type = RTM_NEWLINK, .reply = true, __VA_ARGS__ }
#define DONE(...) { .type = NLMSG_DONE, .reply = true, .payload_len = 4, __VA_ARGS__ }
#define ERROR(error, len) \
	{ .type = NLMSG_ERROR, .reply = true, .payload_len = len, .payload = error }
#define NOTIFICATION(...) { .type = RTM_NEWLINK, __VA_ARGS__ }
#define FAILURE(errno_) { .type = NLMSG_NOOP, .error = errno_ }
#define INTERRUPTED .nlmsg_flags = NLM_F_DUMP_INTR
#define FILTERED .nlmsg_flags = NLM_F_DUMP_FILTERED
/* clang-format on */

static const struct datagram *script; /* NULL: the real kernel */
static bool armed;
static uint32_t sent_sequence;
static unsigned int repeats; /* of the script's last datagram */

static void script_begin(const struct datagram *datagrams, bool by_request)
{
	script = datagrams;
	repeats = 0;
	armed = !by_request;
}

static ssize_t script_play(const struct datagram *d, struct msghdr *msg)
{
	struct nlmsghdr *nlh = msg->msg_iov[0].iov_base;
	struct sockaddr_nl from = { .nl_family = AF_NETLINK, .nl_pid = d->sender };
	uint32_t length = (uint32_t)sizeof(*nlh) + d->payload_len;

	if (d->error) {
		errno = d->error;
		return -1;
	}
	memcpy(msg->msg_name, &from, sizeof(from));
	msg->msg_namelen = sizeof(from);
	msg->msg_flags = d->flags;
	memset(nlh, 0, length);
	*nlh = (struct nlmsghdr){ .nlmsg_len = d->length ? d->length : length,
				  .nlmsg_type = d->type,
				  .nlmsg_flags = d->nlmsg_flags,
				  .nlmsg_seq = d->reply ? sent_sequence : d->sequence };
	if (d->payload_len)
		memcpy(nlh + 1, &d->payload, sizeof(d->payload));
	return d->size ? (ssize_t)d->size : (ssize_t)length;
}

ssize_t recvmsg(int fd, struct msghdr *msg, int flags)
{
	if (!script)
		return syscall(SYS_recvmsg, fd, msg, flags);
	if (armed && script->type && !script[1].type && repeats > 0) {
		repeats--;
		return script_play(script, msg);
	}
	if (armed && script->type)
		return script_play(script++, msg);
	errno = EAGAIN;
	return -1;
}

ssize_t sendto(int fd, const void *data, size_t size, int flags, const struct sockaddr *to,
	       socklen_t to_size)
{
	if (!script)
		return syscall(SYS_sendto, fd, data, size, flags, to, to_size);
	sent_sequence = ((const struct nlmsghdr *)data)->nlmsg_seq;
	armed = true;
	return (ssize_t)size;
}

static int script_end(void **state)
{
	script = NULL;
	return 0;
}

/* --- dumps -------------------------------------------------------------------------------- */

static const struct {
	const char *what;
	struct datagram script[7];
	int result;
	unsigned int messages;
	int filtered; /* -1: not set */
} dumps[] = {
	/* clang-format off */
	{ "interrupted at the first message", { LINK(INTERRUPTED), LINK(), DONE() }, -EINTR, 2, -1 },
	{ "... at another one", { LINK(), LINK(INTERRUPTED), LINK(), DONE() }, -EINTR, 3, -1 },
	{ "... at its end", { LINK(), DONE(INTERRUPTED) }, -EINTR, 1, -1 },
	{ "filtered", { LINK(FILTERED), LINK(FILTERED), DONE() }, 0, 2, 1 },
	{ "... not the second message", { LINK(FILTERED), LINK(), DONE(FILTERED) }, 0, 2, 0 },
	{ "... not the first message", { LINK(), LINK(FILTERED), DONE(FILTERED) }, 0, 2, 0 },
	{ "... without a message", { DONE(FILTERED) }, 0, 0, 1 },
	{ "empty and not filtered", { DONE() }, 0, 0, 0 },
	{ "fails at its end", { LINK(), DONE(.payload = -ENOMEM) }, -ENOMEM, 1, -1 },
	{ "refused", { ERROR(-EOPNOTSUPP, sizeof(struct nlmsgerr)) }, -EOPNOTSUPP, 0, -1 },
	{ "refused by half an error", { ERROR(-EOPNOTSUPP, 8) }, -EBADMSG, 0, -1 },
	{ "without an end", { LINK() }, -ETIMEDOUT, 1, -1 },
	{ "among datagrams that are no reply", {
		{ .type = NLMSG_DONE, .payload_len = 4 },
		NOTIFICATION(.sequence = 12345), LINK(), LINK(.sender = 77), FAILURE(EINTR),
		DONE() },
	  0, 1, 0 },
	{ "truncated", { LINK(), LINK(.flags = MSG_TRUNC), DONE() }, -EBADMSG, 1, -1 },
	{ "longer than its datagram", { LINK(), LINK(.length = 17), DONE() }, -EBADMSG, 1, -1 },
	{ "shorter than a header", { LINK(), LINK(.length = 15), DONE() }, -EBADMSG, 1, -1 },
	{ "datagram shorter than a header", { LINK(), LINK(.size = 12), DONE() }, -EBADMSG, 1, -1 },
	/* clang-format on */
};

/* A dump is read to its end, also after an error. */
static void scripted_dumps(void **state)
{
	_cleanup_socket_ struct nl_socket *socket = new_socket(0);

	for (size_t i = 0; i < ARRAY_SIZE(dumps); i++) {
		struct seen seen = { 0 };
		bool filtered = dumps[i].filtered == 0;
		int result;

		script_begin(dumps[i].script, true);
		result = nl_socket_dump(socket, link_dump(), count, &seen, idle, &seen, 100,
					&filtered);
		if (result != dumps[i].result || seen.messages != dumps[i].messages ||
		    script->type || !seen.idles ||
		    (dumps[i].filtered >= 0 && filtered != dumps[i].filtered))
			fail_msg("%s: %d with %u messages", dumps[i].what, result, seen.messages);
	}
}

static void idle_is_called_while_waiting(void **state)
{
	static const struct datagram nothing[] = { LINK(), { 0 } };
	_cleanup_socket_ struct nl_socket *socket = new_socket(0);
	struct seen seen = { 0 };

	script_begin(nothing, true);
	assert_int_equal(nl_socket_dump(socket, link_dump(), count, &seen, idle, &seen, 1000, NULL),
			 -ETIMEDOUT);
	assert_true(seen.idles >= 3);
}

/* --- notifications ------------------------------------------------------------------------- */

static const struct {
	const char *what;
	struct datagram script[5];
	int result, second; /* of two calls */
	unsigned int messages;
	unsigned int fail_at; /* fn fails at this message */
} reads[] = {
	/* clang-format off */
	{ "overrun, then messages", { FAILURE(ENOBUFS), NOTIFICATION(), NOTIFICATION() },
	  -ENOBUFS, 0, 2, 0 },
	{ "overrun alone", { FAILURE(ENOBUFS) }, -ENOBUFS, 0, 0, 0 },
	{ "overrun as a message", { { .type = NLMSG_OVERRUN }, NOTIFICATION() }, -ENOBUFS, 0, 1, 0 },
	{ "overrun, reported after another failure",
	  { FAILURE(ENOBUFS), NOTIFICATION(), NOTIFICATION() }, -ENOMEM, -ENOBUFS, 2, 1 },
	{ "truncated", { NOTIFICATION(), NOTIFICATION(.flags = MSG_TRUNC) }, -EBADMSG, 0, 1, 0 },
	{ "rest behind a message", { NOTIFICATION(.size = 20) }, -EBADMSG, 0, 1, 0 },
	{ "control messages", { { .type = NLMSG_ERROR }, { .type = NLMSG_NOOP },
	  { .type = NLMSG_DONE }, NOTIFICATION() }, 4, 0, 1, 0 },
	/* clang-format on */
};

static void scripted_reads(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(reads); i++) {
		_cleanup_socket_ struct nl_socket *socket = new_socket(0);
		struct seen seen = { .fail_at = reads[i].fail_at, .fail_with = -ENOMEM };
		int first, second;

		script_begin(reads[i].script, false);
		first = nl_socket_read(socket, count, &seen);
		second = nl_socket_read(socket, count, &seen);
		if (first != reads[i].result || second != reads[i].second ||
		    seen.messages != reads[i].messages)
			fail_msg("%s: %d, %d with %u messages", reads[i].what, first, second,
				 seen.messages);
	}
}

static void read_returns_during_a_storm(void **state)
{
	static const struct datagram one[] = { NOTIFICATION(), { 0 } };
	static const struct datagram overrun[] = { FAILURE(ENOBUFS), NOTIFICATION(), { 0 } };
	_cleanup_socket_ struct nl_socket *socket = new_socket(0);
	struct seen seen = { 0 };

	script_begin(one, false);
	repeats = NL_SOCKET_READ_MAX + 9;
	assert_int_equal(nl_socket_read(socket, count, &seen), NL_SOCKET_READ_MAX);
	assert_int_equal(nl_socket_read(socket, count, &seen), 10);
	assert_int_equal(seen.messages, NL_SOCKET_READ_MAX + 10);
	/* But not after an overrun: all must be read before the next dump. */
	seen = (struct seen){ 0 };
	script_begin(overrun, false);
	repeats = NL_SOCKET_READ_MAX + 9;
	assert_int_equal(nl_socket_read(socket, count, &seen), -ENOBUFS);
	assert_int_equal(seen.messages, NL_SOCKET_READ_MAX + 10);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(scripted_dumps, script_end),
		cmocka_unit_test_teardown(idle_is_called_while_waiting, script_end),
		cmocka_unit_test_teardown(scripted_reads, script_end),
		cmocka_unit_test_teardown(read_returns_during_a_storm, script_end),
	};

	return cmocka_run_group_tests_name("socket_script", tests, NULL, NULL);
}
