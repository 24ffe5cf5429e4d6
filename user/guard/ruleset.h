/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Netfilter rules of any origin (nf_tables, ip6_tables), reduced to what decides whether a
 * forwarded IPv6 packet is left alone: how they are built, and evaluated. Pure: knows neither
 * netlink nor sockets.
 *
 * A rule is a list of operations as nf_tables has them: loads into registers, conditions on
 * registers, a verdict or a side effect at the end. A condition on operands that are known for a
 * pair of devices matches or not. Any other may do either.
 *
 * Invariant: a set that could not be stored (no memory, too many rules) punts every packet.
 */
#ifndef GUARD_RULESET_H
#define GUARD_RULESET_H

#include "terms.h"

/* What a register is loaded with: nft's meta keys that devices and protocol decide. */
enum guard_meta {
	GUARD_META_OTHER, /* differs by packet */
	GUARD_META_IIF,	  /* u32, host order */
	GUARD_META_OIF,
	GUARD_META_IIFNAME, /* IFNAMSIZ bytes, zero-padded */
	GUARD_META_OIFNAME,
	GUARD_META_IIFTYPE, /* u16, host order: NFT_META_IIFTYPE, nft's "iiftype" */
	GUARD_META_OIFTYPE,
	GUARD_META_IIFKIND, /* IFNAMSIZ bytes, zero-padded */
	GUARD_META_OIFKIND,
	GUARD_META_NFPROTO,  /* u8: NFPROTO_IPV6 */
	GUARD_META_PROTOCOL, /* be16: ETH_P_IPV6 */
};

/* Bytes are compared as memcmp() does it. */
enum guard_compare { GUARD_EQ, GUARD_NE, GUARD_LT, GUARD_LE, GUARD_GT, GUARD_GE };

enum guard_verdict {
	GUARD_ACCEPT,
	GUARD_DROP, /* also queue and stolen: the packet does not simply go on */
	GUARD_JUMP,
	GUARD_GOTO,
	GUARD_RETURN,
	GUARD_CONTINUE,
};

/* Operations name an offset into these bytes and a length. NFT_REG32_00 is at 0. */
#define GUARD_REGISTER_BYTES 64u

/* Bounds of a set. */
#define GUARD_MAX_RULES 1000000u
#define GUARD_MAX_BYTES (256u << 20)

struct guard_ruleset;

/* NULL on lack of memory. */
struct guard_ruleset *guard_ruleset_new(void);
void guard_ruleset_free(struct guard_ruleset *rules);
void guard_ruleset_freep(struct guard_ruleset **rules);

/*
 * 0, or the first -errno of the functions below, none of which does anything after it. -ENOMEM;
 * -E2BIG: over a bound; -EINVAL: no such table, chain, set or register.
 */
int guard_ruleset_error(const struct guard_ruleset *rules);

/* Tables and chains are numbered from 0. text: "table inet filter", "ip6tables table filter". */
uint32_t guard_add_table(struct guard_ruleset *rules, const char *text);
uint32_t guard_add_chain(struct guard_ruleset *rules, uint32_t table, const char *name);

/*
 * Make a chain a base chain. accepts: its policy. device: NULL, or for _INGRESS and _EGRESS the
 * name of the device it is attached to (one call a device; "eth*" is a prefix). nat: type nat.
 */
void guard_set_base(struct guard_ruleset *rules, uint32_t chain, enum guard_hook hook, bool accepts,
		    const char *device, bool nat);

/*
 * A flowtable at a device, as of guard_set_base(). to_xdp: XDP may forward its packets as well,
 * because the kernel does no more with them.
 */
void guard_add_flowtable(struct guard_ruleset *rules, uint32_t table, const char *name,
			 const char *device, bool to_xdp);

/*
 * A set, or a verdict map. key_bytes: of a concatenation, each part padded to four. Elements may be
 * added before or after rules that look them up.
 */
uint32_t guard_add_set(struct guard_ruleset *rules, uint32_t key_bytes);
/* Not all elements are known: a lookup may match or not, with any verdict. */
void guard_set_unknown(struct guard_ruleset *rules, uint32_t set);
/*
 * Keys are not compared (prefixes, intervals): a lookup may match any element. To be called before
 * elements are added, whose keys are then not stored.
 */
void guard_set_inexact(struct guard_ruleset *rules, uint32_t set);
/* key: NULL for the catch-all element. chain: for _JUMP and _GOTO only. */
void guard_add_element(struct guard_ruleset *rules, uint32_t set, const void *key);
void guard_add_verdict_element(struct guard_ruleset *rules, uint32_t set, const void *key,
			       enum guard_verdict verdict, uint32_t chain);

/* Begin the next rule of a chain, to which all that follows belongs. handle: 0 for none. */
void guard_add_rule(struct guard_ruleset *rules, uint32_t chain, uint64_t handle);
/*
 * bytes: for _OTHER only; the others have their own sizes, padded to four with zeros. A packet may
 * lack a value that is not known for a query, which ends the rule.
 */
void guard_load(struct guard_ruleset *rules, unsigned int reg, unsigned int bytes,
		enum guard_meta meta);
void guard_store(struct guard_ruleset *rules, unsigned int reg, unsigned int bytes,
		 const void *value);
void guard_compare(struct guard_ruleset *rules, unsigned int reg, unsigned int bytes,
		   enum guard_compare how, const void *value);
/* A condition that sixlane does not evaluate. It changes no register. */
void guard_may_match(struct guard_ruleset *rules);
void guard_lookup(struct guard_ruleset *rules, uint32_t set, unsigned int reg, bool inverted);
/* A lookup in a verdict map. A key without an element ends the rule. */
void guard_lookup_verdict(struct guard_ruleset *rules, uint32_t set, unsigned int reg);
void guard_verdict(struct guard_ruleset *rules, enum guard_verdict verdict, uint32_t chain);
/* A side effect. text: "log", "reject", "limit"; copied, and cut at 255 characters. */
void guard_effect(struct guard_ruleset *rules, const char *text);
/* The rule needs connection tracking, which then sees every packet. */
void guard_add_conntrack(struct guard_ruleset *rules);

/*
 * xt_matches.c: x_tables extensions, by name. Legacy tables use them, and so do nf_tables rules
 * that iptables-nft made. Adds a match to the current rule, and its side effect only if with_effect
 * is true; or a target, which is not the standard one ("").
 */
void xt_add_match(struct guard_ruleset *rules, const char *name, bool with_effect);
void xt_add_target(struct guard_ruleset *rules, const char *name);

/* A rule looks up something known in the set, so that its elements matter. */
bool guard_set_matters(const struct guard_ruleset *rules, uint32_t set);

/*
 * Queries. reason: NULL, or GUARD_REASON_LEN bytes such as "table inet fw, chain forward, rule
 * handle 7: drop"; untouched unless the answer is yes. A set with an error answers yes.
 */

/* Over these a query answers yes: elements and operations looked at, and nested jumps. */
#define GUARD_MAX_STEPS 20000000u
#define GUARD_MAX_DEPTH 256u

/*
 * A packet may meet anything but acceptance at a hook: a drop, a side effect, a policy of drop.
 * in, out: NULL if not known. At _INGRESS and _PREROUTING only in counts, at _OUTPUT and _EGRESS
 * only out. Time is proportional to the rules and elements, whatever their jumps.
 */
bool guard_ruleset_punts(const struct guard_ruleset *rules, enum guard_hook hook,
			 const struct guard_iface *in, const struct guard_iface *out, char *reason);

/* A rule that a forwarded packet may reach needs connection tracking. */
bool guard_ruleset_tracks(const struct guard_ruleset *rules, char *reason);

/*
 * Any rule needs it, also where no forwarded packet comes: the kernel then tracks every packet of
 * the namespace, and defragments before that.
 */
bool guard_ruleset_needs_conntrack(const struct guard_ruleset *rules);

/* There is a base chain of type nat at a hook, with or without rules. */
bool guard_ruleset_nat(const struct guard_ruleset *rules, enum guard_hook hook, char *reason);

enum guard_flows {
	GUARD_FLOWS_NONE,
	GUARD_FLOWS_KERNEL, /* only the kernel may forward them */
	GUARD_FLOWS_XDP,
};
/*
 * Which flowtables a packet may belong to that comes in by a device (NULL: any). The kernel
 * forwards its flows past the rules from prerouting on. A set with an error answers _NONE.
 */
enum guard_flows guard_ruleset_flows(const struct guard_ruleset *rules,
				     const struct guard_iface *in, char *reason);

/* No packet meets anything: there is neither a base chain nor a flowtable. */
bool guard_ruleset_is_empty(const struct guard_ruleset *rules);

/* The same as guard_ruleset_punts(), with the number of steps: for tests of the bounds. */
bool ruleset_query_steps(const struct guard_ruleset *rules, enum guard_hook hook,
			 const struct guard_iface *in, const struct guard_iface *out,
			 uint32_t *steps);

/*
 * Whether a rule, a base chain or a flowtable may match this device and not another one. All
 * devices without a match get the same answers of guard_ruleset_punts().
 */
bool guard_ruleset_matches_device(const struct guard_ruleset *rules,
				  const struct guard_iface *iface);

#endif
