/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ICMPv6 Packet Too Big as RFC 4443 has it and icmp6_send() makes it, byte by byte. Shares nothing
 * with the datapath, the checksum least of all.
 */
#ifndef TESTS_BPF_ANSWER_H
#define TESTS_BPF_ANSWER_H

#include <stdbool.h>

#include "frame.h"
#include "world.h"

#define ANSWER_QUOTED 1232 /* so that all of it makes 1280 */

struct answer {
	uint32_t mtu;
	bool decremented; /* the quoted packet's hop limit is one less than it was */
	const uint8_t *dst_mac, *src_mac;
	const uint8_t *src; /* address */
	uint8_t hop_limit;
};

/* One that a device sends to this MAC, about a packet as it came in. */
struct answer answer_by(enum device dev, const uint8_t *dst_mac, uint32_t mtu);

/* One to a packet by DEV_IN, sent to NEIGH_IN. */
void answer_by_ingress(struct frame *out, const struct frame *packet, uint32_t mtu);

/* To a packet without tags, of which the answer has none either. */
void answer_build(struct frame *out, const struct frame *packet, const struct answer *answer);

#endif
