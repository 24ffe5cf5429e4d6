// SPDX-License-Identifier: GPL-2.0-only
/* See nic_router.h. */
#include "nic_router.h"

#include <errno.h>
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "../../cli/ports.h"

#define METRIC 1024u
#define CONF "/proc/sys/net/ipv6/conf/"
/* Networks of bench_net_address(). */
#define IN_NET 0xa
#define OUT_NET 0xb

static union sixlane_addr gateway(unsigned int hop)
{
	return bench_net_address(OUT_NET, (uint16_t)(2 + hop));
}

/* --- next hops ------------------------------------------------------------------------------ */

static uint32_t id_of(unsigned int hop)
{
	return hop + 1;
}

/* The object of the one leads to the other, or to itself. */
static int put_next_hop(const struct nic_router *router, unsigned int of, unsigned int to)
{
	struct nlmsghdr *nlh =
		bench_request_begin(router->request, RTM_NEWNEXTHOP, NLM_F_CREATE | NLM_F_REPLACE);
	struct nhmsg *nhm = mnl_nlmsg_put_extra_header(nlh, sizeof(*nhm));
	union sixlane_addr addr = gateway(to);

	*nhm = (struct nhmsg){ .nh_family = AF_INET6, .nh_protocol = RTPROT_STATIC };
	mnl_attr_put_u32(nlh, NHA_ID, id_of(of));
	mnl_attr_put_u32(nlh, NHA_OIF, router->out);
	mnl_attr_put(nlh, NHA_GATEWAY, sizeof(addr), &addr);
	return bench_request_end(router->request, nlh, true);
}

static int put_neighbour(const struct nic_router *router, unsigned int hop)
{
	return bench_request_add_neighbour(router->request, router->out, gateway(hop),
					   router->hop_macs[hop]);
}

int nic_router_lose_next_hop(struct nic_router *router)
{
	int ret = bench_request_delete_neighbour(router->request, router->out, gateway(0));

	return ret ? bench_fail(ret, "taking a neighbour away") : 0;
}

int nic_router_replace_next_hop(struct nic_router *router)
{
	int ret = put_next_hop(router, 0, 1);

	return ret ? bench_fail(ret, "replacing a next hop") : 0;
}

int nic_router_restore_next_hop(struct nic_router *router)
{
	int ret = put_neighbour(router, 0) ?: put_next_hop(router, 0, 0);

	return ret ? bench_fail(ret, "restoring a next hop") : 0;
}

/* --- routes --------------------------------------------------------------------------------- */

static struct bench_net_routes routes_by(unsigned int hop)
{
	return (struct bench_net_routes){
		.family = AF_INET6,
		.metric = METRIC,
		.next_hop = id_of(hop),
	};
}

int nic_router_change(struct nic_router *router, size_t route)
{
	const struct bench_net_routes routes = routes_by(!router->by_other[route]);
	int ret = bench_net_replace_route(router->request, &routes, router->table, route);

	router->by_other[route] = !router->by_other[route];
	return ret ? bench_fail(ret, "changing a route") : 0;
}

int nic_router_settle(struct nic_router *router)
{
	int ret = 0;

	for (size_t i = 0; i < router->table->n && !ret; i++)
		if (router->by_other[i])
			ret = nic_router_change(router, i);
	return ret;
}

/* --- all of it ------------------------------------------------------------------------------ */

static int find_ports(const char *in, const char *out, struct nic_router *router)
{
	const struct link *link;
	struct ports ports;
	int ret = ports_read(&ports);

	if (ret)
		return bench_fail(ret, "cannot read which devices there are");
	router->in = if_nametoindex(in);
	router->out = if_nametoindex(out);
	link = ports_find(&ports, router->in);
	if (!link || !ports_find(&ports, router->out))
		ret = bench_bad(-ENODEV, "there is no device %s", link ? out : in);
	else
		memcpy(router->in_mac, link->mac, sizeof(router->in_mac));
	ports_free(&ports);
	return ret;
}

/* Nobody is to be heard of but the generator, as far as that can be had. */
static int be_a_router(void)
{
	return bench_set_sysctl(CONF "all/forwarding", "1")
		       ?: bench_set_sysctl(CONF "all/accept_dad", "0");
}

static int configure(struct nic_router *router)
{
	struct bench_request *request = router->request;
	int ret = be_a_router() ?: bench_request_all_up(request) /* the loopback */
			  ?: bench_request_add_address(request, router->in,
						       bench_net_address(IN_NET, 1))
			  ?: bench_request_add_address(request, router->out,
						       bench_net_address(OUT_NET, 1));

	for (unsigned int hop = 0; hop < NIC_NEXT_HOPS && !ret; hop++)
		ret = put_neighbour(router, hop) ?: put_next_hop(router, hop, hop);
	return ret ? bench_fail(ret, "addresses and next hops of the router") : 0;
}

int nic_router_open(const char *in, const char *out, const uint8_t hop_macs[NIC_NEXT_HOPS][6],
		    const struct bench_table *table, struct nic_router *router)
{
	const struct bench_net_routes routes = routes_by(0);
	int ret = find_ports(in, out, router);

	if (ret)
		return ret;
	memcpy(router->hop_macs, hop_macs, sizeof(router->hop_macs));
	router->src = bench_net_address(IN_NET, 2);
	router->table = table;
	router->by_other = calloc(table->n, sizeof(*router->by_other));
	router->request = bench_request_new();
	if (!router->by_other || !router->request)
		return bench_fail(-errno, "the router");
	return configure(router) ?: bench_net_add_routes(&routes, table);
}

void nic_router_close(struct nic_router *router)
{
	bench_request_free(router->request);
	free(router->by_other);
	router->request = NULL;
	router->by_other = NULL;
}
