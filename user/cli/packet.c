// SPDX-License-Identifier: GPL-2.0-only
/* See packet.h. */
#include "packet.h"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <netinet/in.h>
#include <string.h>
#include <strings.h>

#include "cmd.h"

#define TCP_BYTES 20
#define UDP_BYTES 8
#define ICMP6_BYTES 8
#define ICMP6_ECHO_REQUEST 128
#define TCP_DATA_OFFSET (TCP_BYTES / 4 << 4)
#define TCP_SYN 0x02
#define OTHER_BYTES 8 /* two ports, or the smallest extension header */

static const struct {
	const char *name, *title;
	uint8_t proto;
	uint8_t bytes;
} known[] = {
	{ "udp", "UDP", IPPROTO_UDP, UDP_BYTES },
	{ "tcp", "TCP", IPPROTO_TCP, TCP_BYTES },
	{ "icmp6", "ICMPv6", IPPROTO_ICMPV6, ICMP6_BYTES },
	{ "icmpv6", "ICMPv6", IPPROTO_ICMPV6, ICMP6_BYTES },
	{ "ipv6-icmp", "ICMPv6", IPPROTO_ICMPV6, ICMP6_BYTES },
};

uint32_t packet_min_bytes(uint8_t proto)
{
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (known[i].proto == proto)
			return PACKET_IP6_BYTES + known[i].bytes;
	}
	return PACKET_IP6_BYTES + OTHER_BYTES;
}

bool packet_parse_proto(const char *word, uint8_t *proto)
{
	uint32_t number;

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (strcasecmp(word, known[i].name) != 0)
			continue;
		*proto = known[i].proto;
		return true;
	}
	if (!args_parse_number(word, UINT8_MAX, &number))
		return false;
	*proto = (uint8_t)number;
	return true;
}

const char *packet_proto_name(uint8_t proto, char buf[16])
{
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (known[i].proto == proto)
			return known[i].title;
	}
	snprintf(buf, 16, "protocol %u", proto);
	return buf;
}

static uint8_t *put(uint8_t *at, const void *bytes, size_t n)
{
	memcpy(at, bytes, n);
	return at + n;
}

static uint8_t *put16(uint8_t *at, uint16_t value)
{
	value = htons(value);
	return put(at, &value, sizeof(value));
}

static uint8_t *put_ethernet(uint8_t *at, const struct packet *packet)
{
	at = put(at, packet->dst_mac, sizeof(packet->dst_mac));
	at = put(at, packet->src_mac, sizeof(packet->src_mac));
	for (size_t i = 0; i < ARRAY_SIZE(packet->tags) && packet->tags[i].word; i++)
		at = put(at, &packet->tags[i], sizeof(packet->tags[i]));
	return put16(at, ETH_P_IPV6);
}

static uint8_t *put_ip6(uint8_t *at, const struct packet *packet)
{
	at[0] = (uint8_t)(6 << 4 | packet->tclass >> 4);
	at[1] = (uint8_t)(packet->tclass << 4 | packet->label >> 16);
	put16(at + 2, (uint16_t)packet->label);
	at = put16(at + 4, (uint16_t)(packet->ip_bytes - PACKET_IP6_BYTES));
	*at++ = packet->proto;
	*at++ = packet->hop_limit;
	at = put(at, &packet->src, sizeof(packet->src));
	return put(at, &packet->dst, sizeof(packet->dst));
}

/* The rest of the frame is zero already. */
static void put_upper(uint8_t *at, const struct packet *packet)
{
	if (packet->proto == IPPROTO_ICMPV6) {
		*at = ICMP6_ECHO_REQUEST;
		return;
	}
	at = put16(at, packet->sport);
	at = put16(at, packet->dport);
	if (packet->proto == IPPROTO_UDP) {
		put16(at, (uint16_t)(packet->ip_bytes - PACKET_IP6_BYTES));
	} else if (packet->proto == IPPROTO_TCP) {
		at[8] = TCP_DATA_OFFSET;
		at[9] = TCP_SYN;
	}
}

size_t packet_build(struct packet *packet, uint8_t *frame, size_t size)
{
	uint32_t least = packet_min_bytes(packet->proto);
	uint8_t *at;
	size_t len;

	if (packet->ip_bytes < least)
		packet->ip_bytes = least;
	len = PACKET_ETH_BYTES + packet->ip_bytes;
	for (size_t i = 0; i < ARRAY_SIZE(packet->tags) && packet->tags[i].word; i++)
		len += sizeof(packet->tags[i]);
	if (len > size || packet->ip_bytes - PACKET_IP6_BYTES > UINT16_MAX)
		return 0;
	memset(frame, 0, len);
	at = put_ethernet(frame, packet);
	at = put_ip6(at, packet);
	put_upper(at, packet);
	return len;
}

/* --- parsing ----------------------------------------------------------------------------- */

static uint16_t get16(const uint8_t *at)
{
	return (uint16_t)(at[0] << 8 | at[1]);
}

static bool is_tag(uint16_t type)
{
	return type == ETH_P_8021Q || type == ETH_P_8021AD;
}

bool packet_parse(const uint8_t *frame, size_t len, struct packet *packet)
{
	struct packet parsed = { 0 };
	size_t at = 2 * sizeof(parsed.dst_mac);

	if (len < PACKET_ETH_BYTES)
		return false;
	memcpy(parsed.dst_mac, frame, sizeof(parsed.dst_mac));
	memcpy(parsed.src_mac, frame + sizeof(parsed.dst_mac), sizeof(parsed.src_mac));
	for (size_t i = 0;
	     i < ARRAY_SIZE(parsed.tags) && at + 6 <= len && is_tag(get16(frame + at)); i++) {
		memcpy(&parsed.tags[i], frame + at, sizeof(parsed.tags[i]));
		at += sizeof(parsed.tags[i]);
	}
	if (at + 2 + PACKET_IP6_BYTES > len || get16(frame + at) != ETH_P_IPV6)
		return false;
	at += 2;
	parsed.ip_bytes = PACKET_IP6_BYTES + get16(frame + at + 4);
	parsed.hop_limit = frame[at + 7];
	memcpy(&parsed.src, frame + at + 8, sizeof(parsed.src));
	memcpy(&parsed.dst, frame + at + 24, sizeof(parsed.dst));
	*packet = parsed;
	return at + parsed.ip_bytes <= len;
}
