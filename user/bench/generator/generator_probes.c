// SPDX-License-Identifier: GPL-2.0-only
/*
 * Probes of latency: frames by a packet socket, each with the time at which it was given to the
 * kernel. They go by all ports in turn, to destinations of the traffic's, and are few enough to be
 * no load; a source that stamps its own frames does so before they wait for their turn.
 */
#include "generator.h"

#include <errno.h>
#include <linux/if_packet.h>
#include <netinet/if_ether.h>
#include <netinet/in.h>
#include <netinet/ip6.h>
#include <netinet/udp.h>
#include <pthread.h>
#include <string.h>

#include "../forward/frame.h"

#define INTERVAL_NS 1000000 /* so that a run of a minute has 60,000 */
#define PORT_DISCARD 9
#define PORT_FIRST 1024u
#define MOST_BYTES 65536u

struct probe {
	struct ethhdr eth;
	struct ip6_hdr ip6;
	struct udphdr udp;
	struct sink_probe stamp;
} __attribute__((packed));

struct generator_probes {
	const struct generator_traffic *traffic;
	uint8_t hop_limit;
	pthread_t thread;
	bool is_over; /* atomic */
	int socket;
	uint64_t sent;
	size_t bytes; /* of a frame, without FCS */
	_Alignas(uint64_t) uint8_t frame[MOST_BYTES];
};

/* The payload behind the stamp is zero. */
static uint16_t checksum(const struct probe *probe)
{
	union sixlane_addr addresses[2];

	memcpy(&addresses[0], &probe->ip6.ip6_src, sizeof(addresses[0]));
	memcpy(&addresses[1], &probe->ip6.ip6_dst, sizeof(addresses[1]));
	return frame_checksum(IPPROTO_UDP, ntohs(probe->udp.len), addresses, &probe->udp,
			      sizeof(probe->udp) + sizeof(probe->stamp));
}

static void write_probe(struct generator_probes *probes, size_t port, uint64_t *seed)
{
	const struct generator_traffic *traffic = probes->traffic;
	const struct generator_range *range =
		&traffic->ranges[bench_random(seed) % traffic->n_ranges];
	struct probe *probe = (struct probe *)probes->frame;
	uint16_t udp_bytes = (uint16_t)(probes->bytes - offsetof(struct probe, udp));
	union sixlane_addr dst;

	for (int i = 0; i < 2; i++)
		dst.halves[i] = range->low.halves[i] | (bench_random(seed) & range->high.halves[i]);
	memcpy(probe->eth.h_dest, traffic->dst_macs[port], ETH_ALEN);
	memcpy(probe->eth.h_source, traffic->ports[port].mac, ETH_ALEN);
	probe->eth.h_proto = htons(ETH_P_IPV6);
	probe->ip6 = (struct ip6_hdr){ .ip6_flow = htonl(6u << 28),
				       .ip6_plen = htons(udp_bytes),
				       .ip6_nxt = IPPROTO_UDP,
				       .ip6_hlim = probes->hop_limit };
	memcpy(&probe->ip6.ip6_src, &traffic->src, sizeof(probe->ip6.ip6_src));
	memcpy(&probe->ip6.ip6_dst, &dst, sizeof(probe->ip6.ip6_dst));
	probe->udp.source =
		htons((uint16_t)(PORT_FIRST + bench_random(seed) % (65536u - PORT_FIRST)));
	probe->udp.dest = htons(PORT_DISCARD);
	probe->udp.len = htons(udp_bytes);
	probe->udp.check = 0;
	probe->stamp = (struct sink_probe){ SINK_MAGIC, util_now_ns() };
	probe->udp.check = checksum(probe);
}

static void *run_probes(void *arg)
{
	struct generator_probes *probes = arg;
	const struct timespec pause = { .tv_nsec = INTERVAL_NS };
	uint64_t seed = probes->traffic->seed;
	struct sockaddr_ll to = { .sll_family = AF_PACKET, .sll_halen = ETH_ALEN };

	for (size_t i = 0; !__atomic_load_n(&probes->is_over, __ATOMIC_ACQUIRE); i++) {
		size_t port = i % probes->traffic->n_ports;

		to.sll_ifindex = probes->traffic->ports[port].ifindex;
		write_probe(probes, port, &seed);
		if (sendto(probes->socket, probes->frame, probes->bytes, 0, (struct sockaddr *)&to,
			   sizeof(to)) == (ssize_t)probes->bytes)
			probes->sent++;
		nanosleep(&pause, NULL);
	}
	return NULL;
}

int generator_probes_begin(const struct generator_traffic *traffic, uint8_t hop_limit,
			   struct generator_probes **out)
{
	struct generator_probes *probes = calloc(1, sizeof(*probes));
	int ret;

	if (!probes)
		return bench_fail(-ENOMEM, "probes");
	probes->traffic = traffic;
	probes->hop_limit = hop_limit;
	probes->bytes = traffic->frame_bytes - GENERATOR_FCS_BYTES;
	if (probes->bytes < sizeof(struct probe))
		probes->bytes = sizeof(struct probe);
	/* it receives nothing */
	probes->socket = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	ret = probes->socket < 0 ? -errno
				 : -pthread_create(&probes->thread, NULL, run_probes, probes);
	if (!ret) {
		*out = probes;
		return 0;
	}
	util_close(&probes->socket);
	free(probes);
	return bench_fail(ret, "probes by a packet socket");
}

void generator_probes_end(struct generator_probes *probes, uint64_t *sent)
{
	__atomic_store_n(&probes->is_over, true, __ATOMIC_RELEASE);
	pthread_join(probes->thread, NULL);
	*sent = probes->sent;
	util_close(&probes->socket);
	free(probes);
}
