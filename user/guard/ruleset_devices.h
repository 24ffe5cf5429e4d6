/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which devices a ruleset tells from others. While a rule is built, the meta key in each register
 * word is tracked; values that such a word is compared with are stored once.
 */
#ifndef GUARD_RULESET_DEVICES_H
#define GUARD_RULESET_DEVICES_H

#include "ruleset.h"

struct set;

/* Bytes of a meta key with its padding; 0 for GUARD_META_OTHER. */
unsigned int ruleset_meta_bytes(enum guard_meta meta);

/* A new rule begins: registers hold nothing known. */
void ruleset_devices_rule(struct guard_ruleset *rules);
void ruleset_devices_load(struct guard_ruleset *rules, unsigned int reg, unsigned int bytes,
			  enum guard_meta meta);
void ruleset_devices_compare(struct guard_ruleset *rules, unsigned int reg, unsigned int bytes,
			     enum guard_compare how, const void *value);
void ruleset_devices_lookup(struct guard_ruleset *rules, struct set *set, unsigned int reg);
void ruleset_devices_element(struct guard_ruleset *rules, const struct set *set,
			     const uint8_t *key);
/* A chain or flowtable is attached to a device: IFNAMSIZ bytes, padded with zeros. */
void ruleset_devices_attach(struct guard_ruleset *rules, const char *device);

/*
 * Whether a rule, a base chain or a flowtable may match this device and not another one. All
 * devices without a match get the same answers of guard_ruleset_punts().
 */
bool guard_ruleset_matches_device(const struct guard_ruleset *rules,
				  const struct guard_iface *iface);

#endif
