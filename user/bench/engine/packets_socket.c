// SPDX-License-Identifier: GPL-2.0-only
/*
 * Frames sent by packet sockets, past the device's queueing discipline: for frames that are too
 * large for a test run, which has one page for each.
 */
#include "packets_user.h"

#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>

#define BATCH 32u /* frames a system call; fewer than a veth's ring holds */
#define MOST_BYTES 9216

struct socket_frame {
	uint8_t header[PACKETS_HEADER_MOST];
	uint32_t header_bytes, target_mask;
	int ifindex;
	const struct packets_target *targets;
	size_t n_targets;
};

struct sender {
	uint8_t frames[BATCH][MOST_BYTES];
	struct iovec parts[BATCH];
	struct mmsghdr messages[BATCH];
	int fd;
};

static int open_sender(const struct lanes *lanes, struct sender *sender)
{
	struct sockaddr_ll to = { .sll_family = AF_PACKET, .sll_ifindex = lanes->frame->ifindex };
	int one = 1;

	for (unsigned int i = 0; i < BATCH; i++) {
		memcpy(sender->frames[i], lanes->frame->header, lanes->frame->header_bytes);
		sender->parts[i] = (struct iovec){ sender->frames[i], lanes->bytes };
		sender->messages[i].msg_hdr =
			(struct msghdr){ .msg_iov = &sender->parts[i], .msg_iovlen = 1 };
	}
	sender->fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (sender->fd < 0 || bind(sender->fd, (struct sockaddr *)&to, sizeof(to)) ||
	    setsockopt(sender->fd, SOL_PACKET, PACKET_QDISC_BYPASS, &one, sizeof(one)))
		return plan_fail(-errno, "a packet socket");
	return 0;
}

/* Write what differs from frame to frame. */
static void write_frame(const struct lane *lane, uint64_t number, uint8_t *frame)
{
	const struct socket_frame *of = lane->all->frame;
	const struct packets_run *run = &lane->all->run;
	const struct packets_target *target =
		&of->targets[lane->state.first_target + (number & of->target_mask)];
	uint16_t port = htons((uint16_t)(PACKETS_PORT_FIRST + (number & run->port_mask)));
	bool has_room = lane->all->bytes >= of->header_bytes + PACKETS_STAMP_BYTES;
	uint64_t now = run->stamped && has_room ? util_now_ns() : 0;
	uint16_t stamp[3] = { (uint16_t)now, (uint16_t)(now >> 16), (uint16_t)(now >> 32) };
	uint16_t sum = packets_fold(target->sum + port + stamp[0] + stamp[1] + stamp[2]);
	uint32_t l4 = of->header_bytes - PACKETS_IP6_BYTES;

	memcpy(frame + PACKETS_DST, target->addr, sizeof(target->addr));
	if (has_room)
		memcpy(frame + of->header_bytes, stamp, sizeof(stamp));
	if (!l4)
		return;
	memcpy(frame + PACKETS_IP6_BYTES, &port, sizeof(port));
	memcpy(frame + PACKETS_IP6_BYTES + (l4 == PACKETS_TCP_BYTES ? 16 : 6), &sum, sizeof(sum));
}

static int send_batch(struct lane *lane, struct sender *sender, unsigned int n)
{
	unsigned int sent = 0;

	for (unsigned int i = 0; i < n; i++)
		write_frame(lane, lane->state.made + i, sender->frames[i]);
	while (sent < n && !lane_is_over(lane)) {
		int ret = sendmmsg(sender->fd, sender->messages + sent, n - sent, 0);

		if (ret > 0)
			sent += (unsigned int)ret;
		else if (errno == ENOBUFS || errno == EAGAIN)
			sched_yield(); /* the ring is full; this CPU has to empty it */
		else if (errno != EINTR)
			return plan_fail(-errno, "sending by a packet socket");
	}
	lane->state.made += sent;
	return 0;
}

/* Take the time until the lane has made its count. Returns whether the run is over. */
static bool is_over(struct lane *lane)
{
	struct packets_state *state = &lane->state;
	struct lanes *lanes = lane->all;

	if (!state->done) {
		state->last_ns = util_now_ns();
		state->last_made = state->made;
		state->done = state->made >= (lanes->run.together ? lanes->run.count : state->most);
		__atomic_add_fetch(&lanes->done, state->done, __ATOMIC_RELAXED);
	}
	return state->made >= state->most || lane_is_over(lane) ||
	       __atomic_load_n(&lanes->done, __ATOMIC_RELAXED) == lanes->run.lanes;
}

int socket_lane(struct lane *lane)
{
	_cleanup_free_ struct sender *sender = calloc(1, sizeof(*sender));
	int ret;

	if (!sender)
		return plan_fail(-ENOMEM, "a lane");
	ret = open_sender(lane->all, sender);
	lane->state.first_ns = util_now_ns();
	while (!ret && !is_over(lane)) {
		uint64_t left = lane->state.most - lane->state.made;

		ret = send_batch(lane, sender, left < BATCH ? (unsigned int)left : BATCH);
	}
	/* The other lanes must not wait for one that failed. */
	if (ret)
		__atomic_store_n(&lane->all->over, true, __ATOMIC_RELEASE);
	util_close(&sender->fd);
	return ret;
}

int socket_open(struct lanes *lanes, json_t *arguments)
{
	struct socket_frame *frame = lanes->frame = calloc(1, sizeof(*frame));
	const char *header, *device, *path;
	int n, ret;

	if (!frame)
		return plan_fail(-ENOMEM, "a run");
	ret = plan_take(arguments, "{s:s, s:s, s:s, s:i}", "header", &header, "device", &device,
			"targets", &path, "n", &n);
	if (ret)
		return ret;
	frame->target_mask = (uint32_t)n - 1;
	frame->ifindex = object_ifindex(device);
	ret = object_hex(header, frame->header, sizeof(frame->header));
	frame->header_bytes = (uint32_t)ret;
	frame->targets = plan_map(path, sizeof(*frame->targets), &frame->n_targets);
	return frame->ifindex < 0 || ret < 0 || !frame->targets ? -EINVAL : 0;
}

void socket_close(struct lanes *lanes)
{
	struct socket_frame *frame = lanes->frame;

	if (frame && frame->targets)
		munmap((void *)(uintptr_t)frame->targets,
		       frame->n_targets * sizeof(*frame->targets));
	free(frame);
}
