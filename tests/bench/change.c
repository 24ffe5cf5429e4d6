// SPDX-License-Identifier: GPL-2.0-only
/*
 * bench-change: how long until a changed route is visible to the datapath. Replaces a random
 * route's gateway over netlink and reads sixlane's pinned maps, as the XDP program would, until
 * the new gateway stands there. Runs in the router's namespace; puts back what it found.
 *
 * JSON on standard output: the nanoseconds of each change, from before the request is sent.
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <limits.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <string.h>
#include <sys/mman.h>

#include "../../user/bench/bench.h"
#include "../../user/lib/log.h"

#define GIVE_UP_NS 2000000000u

struct change {
	struct mnl_socket *socket;
	uint32_t ifindex, metric, protocol, sequence;
	int routes_fd;
	const struct sixlane_next_hop *next_hops;
	const struct sixlane_neigh *neighbours;
};

static int complain(int err, const char *what)
{
	fprintf(stderr, "bench-change: %s: %s\n", what, strerror(-err));
	return err;
}

static int open_pin(const char *dir, const char *name)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = bpf_obj_get(path);
	return fd < 0 ? complain(-errno, path) : fd;
}

static const void *map_array(const char *dir, const char *name, size_t bytes)
{
	_cleanup_close_ int fd = open_pin(dir, name);
	void *at;

	if (fd < 0)
		return NULL;
	at = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
	return at == MAP_FAILED ? NULL : at;
}

static int open_maps(struct change *change, const char *dir)
{
	change->routes_fd = open_pin(dir, "sl_routes");
	change->next_hops =
		map_array(dir, "sl_next_hops", SIXLANE_MAX_NEXT_HOPS * sizeof(*change->next_hops));
	change->neighbours = map_array(dir, "sl_neighbours",
				       SIXLANE_MAX_NEIGHBOURS * sizeof(*change->neighbours));
	return change->routes_fd < 0 || !change->next_hops || !change->neighbours ? -ENOENT : 0;
}

/* Whether packets to a prefix would go by this gateway now. */
static bool goes_by(const struct change *change, const struct prefix *prefix,
		    const uint8_t gateway[16])
{
	struct sixlane_route_key key = { .prefix_len = SIXLANE_TABLE_BITS + prefix->len,
					 .table = htonl(SIXLANE_TABLE_MAIN) };
	const struct sixlane_next_hop *hop;
	union sixlane_fate fate;
	uint32_t value, slot;

	key.addr = prefix->addr;
	if (bpf_map_lookup_elem(change->routes_fd, &key, &value) ||
	    sixlane_route_len(value) != prefix->len)
		return false;
	hop = &change->next_hops[sixlane_route_next_hop(value) % SIXLANE_MAX_NEXT_HOPS];
	fate.word = __atomic_load_n(&hop->fate.word, __ATOMIC_RELAXED);
	slot = fate.neighbour;
	if (!slot || fate.kind != SIXLANE_FORWARD)
		return false;
	return !memcmp(&change->neighbours[slot % SIXLANE_MAX_NEIGHBOURS].key.addr, gateway, 16);
}

static int request(struct change *change, const struct prefix *prefix, const uint8_t gateway[16])
{
	char buffer[256];
	struct nlmsghdr *header = mnl_nlmsg_put_header(buffer);
	struct rtmsg *route;

	header->nlmsg_type = RTM_NEWROUTE;
	header->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_REPLACE;
	header->nlmsg_seq = ++change->sequence;
	route = mnl_nlmsg_put_extra_header(header, sizeof(*route));
	*route = (struct rtmsg){ .rtm_family = AF_INET6,
				 .rtm_dst_len = prefix->len,
				 .rtm_table = RT_TABLE_MAIN,
				 .rtm_protocol = (uint8_t)change->protocol,
				 .rtm_type = RTN_UNICAST };
	mnl_attr_put(header, RTA_DST, 16, &prefix->addr);
	mnl_attr_put(header, RTA_GATEWAY, 16, gateway);
	mnl_attr_put_u32(header, RTA_OIF, change->ifindex);
	mnl_attr_put_u32(header, RTA_PRIORITY, change->metric);
	return mnl_socket_sendto(change->socket, header, header->nlmsg_len) < 0 ? -errno : 0;
}

static int read_ack(struct change *change)
{
	char buffer[8192];
	ssize_t len = mnl_socket_recvfrom(change->socket, buffer, sizeof(buffer));

	if (len < 0)
		return -errno;
	if (mnl_cb_run(buffer, (size_t)len, change->sequence, 0, NULL, NULL) < 0)
		return -errno;
	return 0;
}

/* Nanoseconds, or -errno. */
static int64_t measure(struct change *change, const struct prefix *prefix,
		       const uint8_t gateway[16])
{
	uint64_t start = util_now_ns(), end;
	int ret = request(change, prefix, gateway);

	if (ret)
		return ret;
	do {
		end = util_now_ns();
		if (end - start > GIVE_UP_NS)
			return -ETIMEDOUT;
	} while (!goes_by(change, prefix, gateway));
	ret = read_ack(change);
	return ret ? ret : (int64_t)(end - start);
}

static int measure_all(struct change *change, const struct bench_table *table,
		       uint8_t gateways[2][16], unsigned int n)
{
	uint64_t seed = 1;

	printf("[");
	for (unsigned int i = 0; i < n; i++) {
		const struct prefix *prefix = &table->prefixes[bench_random(&seed) % table->n];
		bool first = goes_by(change, prefix, gateways[0]);
		int64_t ns = measure(change, prefix, gateways[first]);

		if (ns < 0)
			return complain((int)ns, "change of a route");
		printf("%s%lld", i ? ", " : "", (long long)ns);
	}
	printf("]\n");
	return 0;
}

static int open_socket(struct change *change)
{
	change->socket = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	if (!change->socket)
		return complain(-errno, "netlink");
	if (mnl_socket_bind(change->socket, 0, MNL_SOCKET_AUTOPID))
		return complain(-errno, "netlink");
	return 0;
}

int main(int argc, char **argv)
{
	_cleanup_(bench_table_free) struct bench_table table = { 0 };
	struct change change = { 0 };
	uint8_t gateways[2][16];
	int ret;

	if (argc != 9) {
		fprintf(stderr, "Usage: bench-change PINS DEV GATEWAY GATEWAY PROTOCOL METRIC "
				"PREFIXES CHANGES\n");
		return 2;
	}
	change.ifindex = if_nametoindex(argv[2]);
	change.protocol = (uint32_t)atoi(argv[5]);
	change.metric = (uint32_t)atoi(argv[6]);
	if (!change.ifindex || inet_pton(AF_INET6, argv[3], gateways[0]) != 1 ||
	    inet_pton(AF_INET6, argv[4], gateways[1]) != 1) {
		complain(-EINVAL, "device or gateways");
		return 2;
	}
	log_init("bench-change", LOG_INFO);
	ret = bench_table_file(argv[7], 1, &table) ?: open_maps(&change, argv[1]) ?: open_socket(&change) ?:
	      measure_all(&change, &table, gateways, (unsigned int)atoi(argv[8]));
	return ret ? 1 : 0;
}
