// SPDX-License-Identifier: GPL-2.0-only
/*
 * The random choices of compiled_world.h: prefixes of each shape of table, addresses, changes.
 */

#include "compiled_world.h"

uint32_t cworld_random(struct cworld *world, uint32_t n)
{
	world->random = world->random * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(world->random >> 33) % n;
}

compiled_bits cworld_random_addr(struct cworld *world)
{
	compiled_bits addr = 0;

	for (int i = 0; i < 8; i++)
		addr = addr << 16 | cworld_random(world, 1u << 16);
	return addr;
}

/* A value as in sl_routes: never 0, sometimes with a flag. */
uint32_t cworld_random_value(struct cworld *world, uint8_t len)
{
	return sixlane_route_value(1 + cworld_random(world, SIXLANE_ROUTE_ID_MASK), len) |
	       (cworld_random(world, 2) ? SIXLANE_ROUTE_EXCEPTIONS : 0);
}

/* The first n bits of first, then those of other. */
static compiled_bits join(compiled_bits first, uint8_t n, compiled_bits other)
{
	return (first & cworld_mask(n)) | (other & ~cworld_mask(n));
}

static compiled_bits random_near(struct cworld *world, const struct cworld_table *table,
				 uint32_t n_pool, uint8_t n)
{
	return join(table->pool[cworld_random(world, n_pool)], n, cworld_random_addr(world));
}

static struct cworld_prefix random_real(struct cworld *world, const struct cworld_table *table)
{
	static const uint8_t lengths[] = { 48, 48, 48, 48, 48, 48, 48, 48, 48, 48,  44, 44,
					   40, 40, 36, 36, 32, 32, 32, 29, 33, 34,  46, 47,
					   45, 42, 64, 56, 28, 20, 12, 3,  0,  128, 35, 38 };
	static const compiled_bits global = (compiled_bits)1 << 125;

	return (struct cworld_prefix){
		join(global, 3,
		     random_near(world, table, 8, (uint8_t)(16 + 4 * cworld_random(world, 6)))),
		lengths[cworld_random(world, ARRAY_SIZE(lengths))]
	};
}

static struct cworld_prefix random_dense(struct cworld *world, const struct cworld_table *table)
{
	uint8_t len = cworld_random(world, 8) ? 48 : (uint8_t)(34 + cworld_random(world, 20));

	return (struct cworld_prefix){ random_near(world, table, 2, 38), len };
}

static struct cworld_prefix random_host(struct cworld *world, const struct cworld_table *table)
{
	uint8_t len = cworld_random(world, 10) ? 128 : (uint8_t)(100 + cworld_random(world, 28));

	return (struct cworld_prefix){
		random_near(world, table, 1, cworld_random(world, 2) ? 108 : 118), len
	};
}

/* On a path, or the one that branches off with its last bit. */
static struct cworld_prefix random_on_path(struct cworld *world, const struct cworld_table *table)
{
	struct cworld_prefix prefix = { table->pool[cworld_random(world, 4)],
					(uint8_t)cworld_random(world, 129) };

	if (prefix.len && !cworld_random(world, 3))
		prefix.addr ^= (compiled_bits)1 << (128 - prefix.len);
	return prefix;
}

static struct cworld_prefix random_any(struct cworld *world, const struct cworld_table *table)
{
	struct cworld_prefix prefix = { 0, (uint8_t)cworld_random(world, 129) };

	switch (cworld_random(world, 3)) {
	case 0:
		prefix.addr = cworld_random_addr(world);
		break;
	case 1:
		prefix.addr = random_near(world, table, 8, (uint8_t)cworld_random(world, 129));
		break;
	default:
		for (int i = 0; i < 3; i++)
			prefix.addr |= (compiled_bits)1 << cworld_random(world, 128);
		break;
	}
	return prefix;
}

static struct cworld_prefix random_small(struct cworld *world, const struct cworld_table *table)
{
	static const uint8_t lengths[] = { 0, 0, 1, 3, 48, 64, 65, 127, 128 };

	return (struct cworld_prefix){ table->pool[cworld_random(world, 2)],
				       lengths[cworld_random(world, ARRAY_SIZE(lengths))] };
}

struct cworld_prefix cworld_random_prefix(struct cworld *world, const struct cworld_table *table)
{
	static struct cworld_prefix (*const of_shape[CWORLD_SHAPES])(
		struct cworld *, const struct cworld_table *) = {
		[CWORLD_REAL] = random_real,  [CWORLD_DENSE48] = random_dense,
		[CWORLD_HOSTS] = random_host, [CWORLD_PATHS] = random_on_path,
		[CWORLD_ANY] = random_any,    [CWORLD_SMALL] = random_small,
	};
	struct cworld_prefix prefix = of_shape[table->shape](world, table);

	prefix.addr &= cworld_mask(prefix.len);
	return prefix;
}

struct cworld_prefix cworld_random_present(struct cworld *world, const struct cworld_table *table)
{
	return table->n ? table->routes[cworld_random(world, table->n)].prefix
			: cworld_random_prefix(world, table);
}

compiled_bits cworld_random_target(struct cworld *world, const struct cworld_table *table)
{
	struct cworld_prefix prefix = cworld_random_present(world, table);

	switch (cworld_random(world, 8)) {
	case 0:
		return prefix.addr;
	case 1:
		return cworld_last(&prefix);
	case 2:
		return prefix.addr - 1;
	case 3:
		return cworld_last(&prefix) + 1;
	case 4:
		return cworld_random_addr(world);
	case 5: /* A bit beyond the prefix is another one. */
		return prefix.addr ^ (compiled_bits)1 << cworld_random(world, 128);
	default:
		return join(prefix.addr, prefix.len, cworld_random_addr(world));
	}
}

void cworld_fill(struct cworld *world, struct cworld_table *table, uint32_t n)
{
	for (uint32_t tries = 0; table->n_live < n && tries < 4 * n; tries++) {
		struct cworld_prefix prefix = cworld_random_prefix(world, table);

		cworld_put(world, table, &prefix, cworld_random_value(world, prefix.len));
	}
}

struct cworld_change cworld_random_change(struct cworld *world, uint32_t want)
{
	struct cworld_table *table = &world->tables[cworld_random(world, world->n_tables)];
	struct cworld_change change = { .table = table };
	uint32_t room = table->shape == CWORLD_SMALL ? 2 : want;
	bool grow = table->n_live < room && cworld_random(world, 2 * room) >= table->n_live;

	if (grow)
		cworld_sweep(world, table);
	if (grow && table->n < table->room)
		change.prefix = cworld_random_prefix(world, table);
	else
		change.prefix = cworld_random_present(world, table);
	change.before = cworld_value(table, &change.prefix);
	change.after = grow || !cworld_random(world, 3)
			       ? cworld_random_value(world, change.prefix.len)
			       : 0;
	if (table->n == table->room && !change.before)
		change.after = 0;
	return change;
}
