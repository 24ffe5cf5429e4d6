// SPDX-License-Identifier: GPL-2.0-only
/* See rib_steps.h. */
#include "rib_steps.h"

static void note_change(void *ctx, uint32_t table, const struct prefix *dst)
{
	struct steps_world *world = ctx;

	assert_int_equal(table, RT_TABLE_MAIN);
	assert_true(prefix_equal(dst, &world->dst));
	world->changes++;
}

void steps_open(struct steps_world *world)
{
	memset(world, 0, sizeof(*world));
	assert_int_equal(prefix_parse("2001:db8:1::/48", &world->dst), 0);
	world->rib = rib_new(note_change, world);
	assert_non_null(world->rib);
}

static void format_route(FILE *out, const struct rib_route *route)
{
	fprintf(out, "%u", route->metric);
	if (route->type == RTN_BLACKHOLE)
		fputs(" blackhole", out);
	if (route->next_hop_id)
		fprintf(out, " #%u", route->next_hop_id);
	for (uint16_t i = 0; i < route->n_hops; i++) {
		const struct route_hop *hop = &route->hops[i];

		if (hop->has_gateway)
			fprintf(out, " %x%u", hop->gateway.bytes[15], hop->ifindex);
		else
			fprintf(out, " -%u", hop->ifindex);
		if (hop->weight != 1)
			fprintf(out, "*%u", hop->weight);
	}
	if (route->mtu)
		fprintf(out, " mtu %s%u", route->mtu_locked ? "lock " : "", route->mtu);
	if (route->expires_ns)
		fprintf(out, " ends %llu", (unsigned long long)route->expires_ns / 1000000);
	if (route->preference != 2)
		fprintf(out, " pref %u", route->preference);
	if (route->own_source)
		fprintf(out, " src");
	if (route->src.len)
		fprintf(out, " from /%u", route->src.len);
	if (route->truncated)
		fputs(" truncated", out);
	if (route->encap)
		fputs(" encap", out);
	if (route->unknown)
		fputs(" unknown", out);
	if (route->unlike)
		fputs(" unlike", out);
	if (route->stale)
		fputs(" stale", out);
}

void steps_state(const struct steps_world *world, const char *request, const char *expected)
{
	const struct rib_dest *dest = rib_find(world->rib, RT_TABLE_MAIN, &world->dst);
	char *text = NULL;
	size_t n = 0, count = 0;
	FILE *out = open_memstream(&text, &n);

	assert_non_null(out);
	for (const struct rib_route *r = dest ? dest->routes : NULL; r; r = r->next) {
		fputs(r == dest->routes ? "" : "; ", out);
		format_route(out, r);
		count++;
	}
	fclose(out);
	if (strcmp(text, expected))
		fail_msg("%s: has \"%s\", should have \"%s\"", request, text, expected);
	free(text);
	assert_int_equal(rib_routes(world->rib), count);
}

/* At most four, valid while as many routes are parsed. */
static const struct route_hop *parse_hops(const char *text, uint16_t *n)
{
	static struct route_hop storage[4][4];
	static unsigned int next;
	struct route_hop *hops = storage[next++ % 4];
	unsigned int gateway, ifindex, weight;
	int used, more;

	for (*n = 0; text && *text; text += used, ++*n) {
		if (sscanf(text, " -%u%n", &ifindex, &used) == 1) {
			hops[*n] = (struct route_hop)DEV(ifindex);
			continue;
		}
		assert_int_equal(sscanf(text, " %1x%u%n", &gateway, &ifindex, &used), 2);
		hops[*n] = (struct route_hop)VIA((uint8_t)gateway, ifindex);
		if (sscanf(text + used, "*%u%n", &weight, &more) != 1)
			continue;
		hops[*n].weight = (uint16_t)weight;
		used += more;
	}
	return hops;
}

struct route steps_route(const struct steps_world *world, const struct step *step)
{
	struct route route = {
		.dst = world->dst,
		.table = RT_TABLE_MAIN,
		.metric = step->metric ? step->metric : 50,
		.next_hop_id = step->nhid,
		.mtu = step->mtu,
		.mtu_locked = step->mtu_locked,
		.own_source = step->own_source,
		.preference = step->preference ? step->preference : 2,
		.type = step->type ? step->type : RTN_UNICAST,
		.protocol = step->protocol ? step->protocol : RTPROT_BOOT,
		.expires = step->expires || step->ends_ms,
		.expires_ns = step->ends_ms * 1000000ull,
		.encap = step->encap,
		.unknown = step->unknown,
		.unlike = step->unlike,
		.truncated = step->truncated,
	};

	route.hops = parse_hops(step->hops, &route.n_hops);

	if (step->src_len) {
		route.src.len = step->src_len;
		route.src.addr.bytes[0] = 0x20;
	}
	return route;
}

int steps_apply(struct steps_world *world, const struct step *step)
{
	const struct route route = steps_route(world, step);
	bool changed;
	int rc;

	if (step->flags == MARK || step->flags == SWEEP) {
		(step->flags == MARK ? rib_mark : rib_sweep)(world->rib);
		return 0;
	}
	rc = step->flags & DEL ? rib_del(world->rib, &route, &changed)
			       : rib_add(world->rib, &route, step->flags, &changed);
	world->changes += changed;
	return rc;
}

void steps_play(struct steps_world *world, const struct step *steps, size_t n)
{
	const char *state = "";
	bool marked = false;

	for (size_t i = 0; i < n; i++) {
		unsigned int before = world->changes;
		int rc = steps_apply(world, &steps[i]);

		if (rc != steps[i].rc)
			fail_msg("%s: returns %d, should be %d", steps[i].request, rc, steps[i].rc);
		if (world->changes - before != (steps[i].after != NULL))
			fail_msg("%s: reported %u times", steps[i].request,
				 world->changes - before);
		if (steps[i].after)
			state = steps[i].after;
		steps_state(world, steps[i].request, state);
		marked = steps[i].flags == MARK || (marked && steps[i].flags != SWEEP);
		if (steps[i].flags & DEL || marked)
			continue;
		/* The same message again, or a change of offload flags only. */
		before = world->changes;
		steps_apply(world, &steps[i]);
		assert_int_equal(world->changes, before);
		steps_state(world, "repeated", state);
	}
}
