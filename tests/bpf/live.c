// SPDX-License-Identifier: GPL-2.0-only
/*
 * Frames that really leave: BPF_PROG_TEST_RUN in live-frames mode, and a packet socket behind
 * each egress. The other tests see only what the program answers.
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../user/lib/util.h"
#include "tests.h"

#define LIVE_FRAMES (1u << 1) /* BPF_F_TEST_XDP_LIVE_FRAMES, Linux 5.18 */
#define DEADLINE_MS 5000

/* Where frames arrive that leave by a device: its veth peer. */
static int listen_behind(enum device dev)
{
	struct sockaddr_ll addr = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(ETH_P_ALL),
	};
	char name[IFNAMSIZ];
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);

	snprintf(name, sizeof(name), "peer%d", dev);
	addr.sll_ifindex = (int)if_nametoindex(name);
	assert_true(fd >= 0 && addr.sll_ifindex);
	assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	return fd;
}

/* 0, or -EINVAL from a kernel without live frames. */
static int send_live(const struct frame *frame)
{
	struct xdp_md ctx = {
		.data_end = (uint32_t)frame->len,
		.ingress_ifindex = WORLD_IFINDEX(DEV_IN),
	};
	struct bpf_test_run_opts opts = {
		.sz = sizeof(opts),
		.data_in = frame->bytes,
		.data_size_in = (uint32_t)frame->len,
		.ctx_in = &ctx,
		.ctx_size_in = sizeof(ctx),
		.repeat = 1,
		.flags = LIVE_FRAMES,
	};

	return bpf_prog_test_run_opts(harness_prog_fd(PROG_AS_IS), &opts);
}

static void expect_readable(int fd)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

	assert_int_equal(poll(&poll_fd, 1, DEADLINE_MS), 1);
}

static void expect_arrival(int fd, const struct frame *want)
{
	struct frame got;

	expect_readable(fd);
	assert_int_equal(recv(fd, got.bytes, sizeof(got.bytes), 0), want->len);
	assert_memory_equal(got.bytes, want->bytes, want->len);
}

/* A packet socket gets the outer tag as auxiliary data and not in the frame. */
static void expect_tagged_arrival(int fd, const struct frame *want)
{
	union {
		char bytes[CMSG_SPACE(sizeof(struct tpacket_auxdata))];
		struct cmsghdr align;
	} control;
	struct frame got, untagged = *want;
	struct iovec iov = { .iov_base = got.bytes, .iov_len = sizeof(got.bytes) };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	struct tpacket_auxdata aux = { 0 };

	frame_pop(&untagged, 4);
	expect_readable(fd);
	assert_int_equal(recvmsg(fd, &msg, 0), untagged.len);
	assert_non_null(CMSG_FIRSTHDR(&msg));
	memcpy(&aux, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(aux));
	assert_true(aux.tp_status & TP_STATUS_VLAN_VALID);
	assert_int_equal(aux.tp_vlan_tpid, frame_get16(want, AT_ETHERTYPE));
	assert_int_equal(aux.tp_vlan_tci, frame_get16(want, AT_ETHERTYPE + 2));
	assert_memory_equal(got.bytes, untagged.bytes, untagged.len);
}

static void expect_nothing(int fd)
{
	char byte;

	assert_int_equal(recv(fd, &byte, 1, MSG_DONTWAIT), -1);
	assert_int_equal(errno, EAGAIN);
}

/* A frame to a next hop, live; skips the test where the kernel has no such mode. */
static void send_to(uint32_t next_hop, size_t padding, struct frame *frame)
{
	int err;

	harness_install_route(next_hop);
	frame_plain(frame, 0, padding);
	err = send_live(frame);
	if (err == -EINVAL) {
		fprintf(stderr, "SKIP: this kernel has no live-frames mode (Linux 5.18)\n");
		skip();
	}
	assert_int_equal(err, 0);
}

TEST(test_frames_leave_by_their_egress, "frames leave by their egress")
{
	_cleanup_close_ int out = listen_behind(DEV_OUT), alt = listen_behind(DEV_ALT);
	struct frame frame;

	send_to(NH_GATEWAY, 9, &frame);
	frame_route(&frame, world_neigh_mac[NEIGH_GATEWAY], world_device_mac[DEV_OUT]);
	expect_arrival(out, &frame);
	send_to(NH_ALT, 0, &frame);
	frame_route(&frame, world_neigh_mac[NEIGH_ALT], world_device_mac[DEV_ALT]);
	expect_arrival(alt, &frame);
	send_to(NH_ENTRY + SIXLANE_DROP_BLACKHOLE, 0, &frame);
	expect_nothing(out);
	expect_nothing(alt);
}

/* Untagged in; one tag and two tags out. */
TEST(test_tags_arrive, "tags arrive on the wire")
{
	static const enum neighbour vias[] = { NEIGH_OUT_10, NEIGH_OUT_AD30_40 };
	_cleanup_close_ int out = listen_behind(DEV_OUT);
	struct frame frame;
	int one = 1;

	assert_int_equal(setsockopt(out, SOL_PACKET, PACKET_AUXDATA, &one, sizeof(one)), 0);
	for (size_t i = 0; i < sizeof(vias) / sizeof(vias[0]); i++) {
		enum device egress = world_neigh_device(vias[i]);

		send_to(NH_VIA(vias[i]), 5, &frame);
		frame_route(&frame, world_neigh_mac[vias[i]], world_device_mac[egress]);
		frame_push(&frame, world_device_tags(egress), WORLD_TAGS);
		expect_tagged_arrival(out, &frame);
	}
}
