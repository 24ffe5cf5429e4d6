/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One packet as bytes: built from its fields, and parsed after it left the program. Pure. Checksums
 * of upper layers stay zero, since no such packet is ever sent.
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
	uint16_t sport, dport; /* host order; for protocols with ports */
	uint32_t label;	       /* flow label, host order, at most PACKET_MAX_LABEL */
	uint32_t ip_bytes;     /* header and payload; raised to packet_min_bytes() when built */
};

/* The IPv6 header and that of the protocol. */
uint32_t packet_min_bytes(uint8_t proto);

/* Returns the frame's length, or 0 if it exceeds size. Sets packet->ip_bytes. */
size_t packet_build(struct packet *packet, uint8_t *frame, size_t size);

/* Parses MACs, tags, addresses, hop limit and length. False: not a whole IPv6 frame. */
bool packet_parse(const uint8_t *frame, size_t len, struct packet *packet);

/* A protocol by its number or as "tcp", "udp", "icmp6". */
bool packet_parse_proto(const char *word, uint8_t *proto);
/* "UDP", "TCP", "ICMPv6"; otherwise "protocol N" in buf. */
const char *packet_proto_name(uint8_t proto, char buf[16]);

#endif
