/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Netfilter rules of any origin (nf_tables, ip6_tables), reduced to what decides whether a
 * forwarded IPv6 packet is left alone. Pure: knows neither netlink nor sockets.
 *
 * A rule is a list of operations, as the kernel's own nf_tables has them: loads into registers,
 * conditions on registers, and at the end a verdict or a side effect. A condition whose operands
 * are known for a pair of devices holds or not; any other may hold and may not.
 *
 * Invariant: what could not be stored (no memory, too many rules) makes the whole set hold
 * everything back.
 */
#ifndef GUARD_RULESET_H
#define GUARD_RULESET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where a packet meets rules. Netdev and inet hooks at a device: _INGRESS, _EGRESS. */
enum guard_hook {
	GUARD_HOOK_INGRESS,
	GUARD_HOOK_PREROUTING,
	GUARD_HOOK_FORWARD,
	GUARD_HOOK_OUTPUT,
	GUARD_HOOK_POSTROUTING,
	GUARD_HOOK_EGRESS,
	GUARD_N_HOOKS,
};

/* A device as rules see it. */
struct guard_iface {
	uint32_t ifindex;
	uint16_t type;	  /* ARPHRD_* */
	const char *name; /* at most IFNAMSIZ - 1 characters */
	const char *kind; /* IFLA_INFO_KIND, or "" */
};

/* What a register may be loaded with. GUARD_FACT_OTHER: something that differs by packet. */
enum guard_fact {
	GUARD_FACT_OTHER,
	GUARD_FACT_IIF, /* u32, host order */
	GUARD_FACT_OIF,
	GUARD_FACT_IIFNAME, /* IFNAMSIZ bytes, zero-padded */
	GUARD_FACT_OIFNAME,
	GUARD_FACT_IIFTYPE, /* u16, host order: of what nft calls so, NFT_META_IIFTYPE */
	GUARD_FACT_OIFTYPE,
	GUARD_FACT_IIFKIND, /* IFNAMSIZ bytes, zero-padded */
	GUARD_FACT_OIFKIND,
	GUARD_FACT_NFPROTO,  /* u8: NFPROTO_IPV6 */
	GUARD_FACT_PROTOCOL, /* be16: ETH_P_IPV6 */
};

enum guard_compare {
	GUARD_EQ, /* bytes are compared as memcmp() does it */
	GUARD_NE,
	GUARD_LT,
	GUARD_LE,
	GUARD_GT,
	GUARD_GE,
};

enum guard_verdict {
	GUARD_ACCEPT,
	GUARD_DROP, /* also queue and stolen: the packet does not simply go on */
	GUARD_JUMP,
	GUARD_GOTO,
	GUARD_RETURN,
	GUARD_CONTINUE,
};

/* Registers are 64 bytes, of which operations name an offset and a length: NFT_REG32_00 is at 0. */
#define GUARD_REGISTER_BYTES 64u

/* Over these a set holds everything back. */
#define GUARD_MAX_RULES 1000000u
#define GUARD_MAX_BYTES (256u << 20)
/* Over these a query holds: elements and operations looked at, and jumps within jumps. */
#define GUARD_MAX_STEPS 20000000u
#define GUARD_MAX_DEPTH 256u

struct guard_ruleset;

/* NULL on lack of memory. */
struct guard_ruleset *guard_ruleset_new(void);
void guard_ruleset_free(struct guard_ruleset *rules);
void guard_ruleset_freep(struct guard_ruleset **rules);

/*
 * --- Building. Errors are kept: the set is then incomplete and holds everything back. ---------
 */

/*
 * Tables and chains are named by number from 0 on. words: what people call the table, "table inet
 * filter" or "ip6tables table filter".
 */
uint32_t guard_add_table(struct guard_ruleset *rules, const char *words);

/* A chain that jumps lead to. Names are copied. */
uint32_t guard_add_chain(struct guard_ruleset *rules, uint32_t table, const char *name);

/*
 * Make a chain a base chain. accepts: its policy. device: of _INGRESS and _EGRESS, the name of the
 * one that it hangs at (one call a device), else NULL. nat: of type nat.
 */
void guard_set_base(struct guard_ruleset *rules, uint32_t chain, enum guard_hook hook, bool accepts,
		    const char *device, bool nat);

/*
 * A flowtable at a device (one call a device, '*' at the end of its name: a prefix). to_xdp: XDP
 * may forward its packets as well, since the kernel does no more with them than that.
 */
void guard_add_flowtable(struct guard_ruleset *rules, uint32_t table, const char *name,
			 const char *device, bool to_xdp);

/*
 * The set of elements named in lookups. key_bytes: of a concatenation, each part padded to four.
 * Sets may get their elements before or after rules look them up.
 */
uint32_t guard_add_set(struct guard_ruleset *rules, uint32_t key_bytes);
/* Its elements are not all known: a lookup then may hit and may not, with any verdict. */
void guard_set_unknown(struct guard_ruleset *rules, uint32_t set);
/*
 * Its keys are not compared (prefixes, intervals): a lookup may hit any element. Call it before
 * elements are added: their keys are then not kept.
 */
void guard_set_inexact(struct guard_ruleset *rules, uint32_t set);
/*
 * A key, or NULL: whatever no other element has. Of a verdict map also what it leads to (chain: of
 * _JUMP and _GOTO).
 */
void guard_add_element(struct guard_ruleset *rules, uint32_t set, const void *key);
void guard_add_verdict_element(struct guard_ruleset *rules, uint32_t set, const void *key,
			       enum guard_verdict verdict, uint32_t chain);

/* Begin the next rule of a chain; what follows belongs to it. handle: for people; 0: none. */
void guard_add_rule(struct guard_ruleset *rules, uint32_t chain, uint64_t handle);
/*
 * bytes: of _OTHER only; the others have sizes of their own, padded to four with zeros. What is not
 * known for a query may be missing from a packet, which ends the rule.
 */
void guard_load(struct guard_ruleset *rules, unsigned int reg, unsigned int bytes,
		enum guard_fact fact);
void guard_store(struct guard_ruleset *rules, unsigned int reg, unsigned int bytes,
		 const void *value);
void guard_compare(struct guard_ruleset *rules, unsigned int reg, unsigned int bytes,
		   enum guard_compare how, const void *value);
/* A condition that is not understood; registers keep what they have. */
void guard_may_match(struct guard_ruleset *rules);
void guard_lookup(struct guard_ruleset *rules, uint32_t set, unsigned int reg, bool inverted);
/* A verdict by a verdict map; a key that is not there ends the rule. */
void guard_lookup_verdict(struct guard_ruleset *rules, uint32_t set, unsigned int reg);
void guard_verdict(struct guard_ruleset *rules, enum guard_verdict verdict, uint32_t chain);
/* words: of people for it, "log", "reject", "limit"; copied, and cut at 255 characters. */
void guard_effect(struct guard_ruleset *rules, const char *words);
/* The rule asks connection tracking, which therefore has to see every packet. */
void guard_asks_conntrack(struct guard_ruleset *rules);

/* Whether a rule looks something up in the set that is known, so that its elements matter. */
bool guard_set_matters(const struct guard_ruleset *rules, uint32_t set);

/* Without a base chain or a flowtable no packet meets anything. */
bool guard_ruleset_is_empty(const struct guard_ruleset *rules);

/* 0, or the first -errno: -ENOMEM, -E2BIG (over a bound above), -EINVAL (no such chain, set,
 * register). */
int guard_ruleset_error(const struct guard_ruleset *rules);

/*
 * --- Asking ------------------------------------------------------------------------------------
 */

#define GUARD_REASON_LEN 256

/*
 * Whether an IPv6 packet may meet anything at a hook but acceptance: a drop, a side effect, a
 * policy that drops. in, out: NULL if not known, or any. Of _INGRESS and _PREROUTING only in
 * counts, of _OUTPUT and _EGRESS only out. A packet takes registers as unknown into each rule. The
 * answer takes time in proportion to the rules and elements, whatever their jumps. reason: NULL, or
 * GUARD_REASON_LEN bytes: "table inet fw, chain forward, rule handle 7: drop", cut if it is longer;
 * untouched if nothing holds.
 */
bool guard_ruleset_holds(const struct guard_ruleset *rules, enum guard_hook hook,
			 const struct guard_iface *in, const struct guard_iface *out, char *reason);

/* Whether a rule that any forwarded IPv6 packet may come to asks connection tracking. A set with an
 * error, too. */
bool guard_ruleset_tracks(const struct guard_ruleset *rules, char *reason);

/*
 * Whether any rule asks it, also one that forwarded packets do not come to: the kernel then tracks
 * every packet of the namespace, and puts fragments together before that.
 */
bool guard_ruleset_asks_conntrack(const struct guard_ruleset *rules);

/*
 * What comes in by a device may belong to flows, which the kernel forwards past the rules from
 * prerouting on. reason: as above. A set with an error, which holds everything, says none.
 */
enum guard_flows {
	GUARD_FLOWS_NONE,
	GUARD_FLOWS_KERNEL, /* only the kernel may forward them */
	GUARD_FLOWS_XDP,
};
enum guard_flows guard_ruleset_flows(const struct guard_ruleset *rules,
				     const struct guard_iface *in, char *reason);

/* Whether there is a base chain of type nat at a hook, with or without rules. */
bool guard_ruleset_nat(const struct guard_ruleset *rules, enum guard_hook hook, char *reason);

/*
 * Whether a rule or a base chain names a device, so that it may meet something else than others.
 * One answer of guard_ruleset_holds() is that of all devices that are named by none.
 */
bool guard_ruleset_names(const struct guard_ruleset *rules, const struct guard_iface *iface);

#endif
