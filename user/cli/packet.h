/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One packet as bytes: built from what a person says of it, and read again as it left the program.
 * Pure. Upper-layer checksums are left at zero: no such packet is ever sent.
 */
#ifndef USER_CLI_PACKET_H
#define USER_CLI_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../bpf/abi/sixlane.h"

#define PACKET_ETH_BYTES 14u
#define PACKET_IP6_BYTES 40u
#define PACKET_MAX_LABEL 0xfffffu

struct packet {
	uint8_t dst_mac[6], src_mac[6];
	union sixlane_tag tags[2]; /* the outer first; 0: none */
	union sixlane_addr src, dst;
	uint8_t proto, tclass, hop_limit;
	uint16_t sport, dport; /* host order; of protocols that have some */
	uint32_t label;	       /* of the flow, host order, at most PACKET_MAX_LABEL */
	uint32_t ip_bytes;     /* header and payload; below packet_min_bytes(): that many */
};

/* Headers of the protocol included. */
uint32_t packet_min_bytes(uint8_t proto);

/* The frame's length, 0: it does not fit into room. Sets packet->ip_bytes. */
size_t packet_build(struct packet *packet, uint8_t *frame, size_t room);

/* Read MACs, tags, addresses, protocol, hop limit, traffic class, flow label and length. False: not
 * a whole IPv6 frame. */
bool packet_read(const uint8_t *frame, size_t len, struct packet *packet);

/* A protocol by its number or as "tcp", "udp", "icmp6". */
bool packet_parse_proto(const char *word, uint8_t *proto);
/* "UDP", "TCP", "ICMPv6"; otherwise "protocol N" in buf. */
const char *packet_proto_name(uint8_t proto, char buf[16]);

#endif
