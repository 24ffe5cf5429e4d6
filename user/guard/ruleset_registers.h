/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The 64 bytes of nf_tables' registers, of which some are known, and the meta keys that the devices
 * of a query decide. Pure. Only ruleset_query.c uses it.
 */
#ifndef GUARD_RULESET_REGISTERS_H
#define GUARD_RULESET_REGISTERS_H

#include "ruleset_store.h"

enum truth { FALSE, TRUE, MAYBE };

/* BREAKS: to load the value ends the rule. */
struct meta_value {
	enum { UNKNOWN, KNOWN, BREAKS } state;
	uint8_t bytes[NAME_BYTES];
};

struct meta_values {
	struct meta_value at[N_METAS];
};

struct registers {
	uint8_t bytes[GUARD_REGISTER_BYTES];
	uint64_t known; /* a bit for each byte */
};

/*
 * The values at a hook, as nft_meta_get_eval() has them. *values must be zero. in, out: NULL if
 * they are not known.
 */
void meta_values_init(struct meta_values *values, enum guard_hook hook,
		      const struct guard_iface *in, const struct guard_iface *out);
/* Whether the rule goes on: it ends if the packet lacks the value (a header, a kind). */
enum truth registers_load(struct registers *regs, unsigned int reg, unsigned int bytes,
			  const struct meta_value *value);
void registers_write(struct registers *regs, unsigned int reg, unsigned int bytes,
		     const uint8_t *value);
/* Whether any of these bytes is known. */
bool registers_any_known(const struct registers *regs, unsigned int reg, unsigned int bytes);
enum truth registers_compare(const struct registers *regs, unsigned int reg, unsigned int bytes,
			     enum guard_compare how, const uint8_t *value);

#endif
