// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rulesets: registers of which some bytes are known, and what the devices of a query put there.
 */
#include "ruleset_internal.h"

#include <netinet/in.h>

#include <linux/if_ether.h>
#include <linux/netfilter.h>
#include <string.h>

_Static_assert(GUARD_REGISTER_BYTES == 64, "a bit of known a byte");

static uint64_t bits_of(unsigned int reg, unsigned int bytes)
{
	return bytes ? (UINT64_MAX >> (GUARD_REGISTER_BYTES - bytes)) << reg : 0;
}

static bool is_known(const struct registers *regs, unsigned int i)
{
	return regs->known >> i & 1;
}

/* Whole registers of four bytes, as the kernel writes them. */
static void forget(struct registers *regs, unsigned int reg, unsigned int bytes)
{
	unsigned int first = reg & ~(WORD_BYTES - 1);
	unsigned int end = (reg + bytes + WORD_BYTES - 1) & ~(WORD_BYTES - 1);

	regs->known &= ~bits_of(first, end - first);
}

void registers_write(struct registers *regs, unsigned int reg, unsigned int bytes,
		     const uint8_t *value)
{
	forget(regs, reg, bytes);
	memcpy(regs->bytes + reg, value, bytes);
	regs->known |= bits_of(reg, bytes);
}

enum truth registers_load(struct registers *regs, unsigned int reg, unsigned int bytes,
			  const struct fact_value *value)
{
	forget(regs, reg, bytes);
	if (value->state == KNOWN)
		registers_write(regs, reg, bytes, value->bytes);
	return value->state == KNOWN ? TRUE : value->state == UNKNOWN ? MAYBE : FALSE;
}

bool registers_know(const struct registers *regs, unsigned int reg, unsigned int bytes)
{
	return regs->known & bits_of(reg, bytes);
}

static enum truth truth_of(enum guard_compare how, int order)
{
	switch (how) {
	case GUARD_EQ:
		return order == 0;
	case GUARD_NE:
		return order != 0;
	case GUARD_LT:
		return order < 0;
	case GUARD_LE:
		return order <= 0;
	case GUARD_GT:
		return order > 0;
	case GUARD_GE:
		return order >= 0;
	}
	return MAYBE;
}

/* Two values that differ in a known byte are different, whatever the others are. */
enum truth registers_compare(const struct registers *regs, unsigned int reg, unsigned int bytes,
			     enum guard_compare how, const uint8_t *value)
{
	bool ordered = how != GUARD_EQ && how != GUARD_NE, known = true;

	for (unsigned int i = 0; i < bytes; i++) {
		if (!is_known(regs, reg + i))
			known = false;
		else if (regs->bytes[reg + i] != value[i] && (known || !ordered))
			return truth_of(how, regs->bytes[reg + i] - value[i]);
	}
	return known ? truth_of(how, 0) : MAYBE;
}

/* What a hook has for a device. */
enum side { SIDE_DEVICE, SIDE_ABSENT };

static void set_fact(struct facts *facts, enum guard_fact fact, const void *value, size_t bytes)
{
	struct fact_value *at = &facts->at[fact];

	memset(at->bytes, 0, sizeof(at->bytes));
	memcpy(at->bytes, value, bytes);
	at->state = KNOWN;
}

/*
 * The facts of one device, of which base is the one for its ifindex. Where a hook has no device
 * (nft_meta_get_eval), there is number 0 and no name, and to ask for its type or kind ends the
 * rule.
 */
static void set_device(struct facts *facts, enum guard_fact base, const struct guard_iface *iface,
		       enum side side)
{
	static const uint32_t none;
	enum guard_fact name = base + GUARD_FACT_IIFNAME - GUARD_FACT_IIF;
	enum guard_fact type = base + GUARD_FACT_IIFTYPE - GUARD_FACT_IIF;
	enum guard_fact kind = base + GUARD_FACT_IIFKIND - GUARD_FACT_IIF;

	if (side == SIDE_ABSENT) {
		set_fact(facts, base, &none, sizeof(none));
		set_fact(facts, name, "", 0);
		facts->at[type].state = facts->at[kind].state = BREAKS;
	} else if (iface) {
		set_fact(facts, base, &iface->ifindex, sizeof(iface->ifindex));
		set_fact(facts, name, iface->name, strnlen(iface->name, NAME_BYTES));
		set_fact(facts, type, &iface->type, sizeof(iface->type));
		set_fact(facts, kind, iface->kind, strnlen(iface->kind, NAME_BYTES));
		if (!iface->kind[0])
			facts->at[kind].state = BREAKS;
	}
}

static bool has_in(enum guard_hook hook)
{
	return hook != GUARD_HOOK_OUTPUT && hook != GUARD_HOOK_EGRESS;
}

static bool has_out(enum guard_hook hook)
{
	return hook != GUARD_HOOK_INGRESS && hook != GUARD_HOOK_PREROUTING;
}

/*
 * What nft calls iiftype is the type of skb->dev (NFT_META_IFTYPE, Linux 5.16): behind the routing
 * that of the egress device. Linux 5.15 asks for the ingress device there.
 */
static void set_iiftype(struct facts *facts, enum guard_hook hook, const struct guard_iface *in,
			const struct guard_iface *out)
{
	struct fact_value *iiftype = &facts->at[GUARD_FACT_IIFTYPE];

	if (hook == GUARD_HOOK_EGRESS)
		*iiftype = facts->at[GUARD_FACT_OIFTYPE];
	else if (hook == GUARD_HOOK_OUTPUT ||
		 (hook == GUARD_HOOK_POSTROUTING && (!in || !out || in->type != out->type)))
		iiftype->state = UNKNOWN;
}

void ruleset_facts(struct facts *facts, enum guard_hook hook, const struct guard_iface *in,
		   const struct guard_iface *out)
{
	const uint8_t nfproto = NFPROTO_IPV6;
	const uint16_t protocol = htons(ETH_P_IPV6);

	set_device(facts, GUARD_FACT_IIF, in, has_in(hook) ? SIDE_DEVICE : SIDE_ABSENT);
	set_device(facts, GUARD_FACT_OIF, out, has_out(hook) ? SIDE_DEVICE : SIDE_ABSENT);
	set_iiftype(facts, hook, in, out);
	set_fact(facts, GUARD_FACT_NFPROTO, &nfproto, sizeof(nfproto));
	/* A VLAN's device may have written the tag already. */
	if (hook != GUARD_HOOK_EGRESS)
		set_fact(facts, GUARD_FACT_PROTOCOL, &protocol, sizeof(protocol));
}
