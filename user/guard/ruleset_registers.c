// SPDX-License-Identifier: GPL-2.0-only
/*
 * Registers and meta keys of a query. The kernel writes whole words of four bytes, so that a load
 * makes all bytes of its words unknown first.
 */
#include "ruleset_store.h"

#include <netinet/in.h>

#include <linux/if_ether.h>
#include <linux/netfilter.h>
#include <string.h>

_Static_assert(GUARD_REGISTER_BYTES == 64, "known has a bit for each byte");

static uint64_t bits_of(unsigned int reg, unsigned int bytes)
{
	return bytes ? (UINT64_MAX >> (GUARD_REGISTER_BYTES - bytes)) << reg : 0;
}

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
			  const struct meta_value *value)
{
	forget(regs, reg, bytes);
	if (value->state == KNOWN)
		registers_write(regs, reg, bytes, value->bytes);
	return value->state == KNOWN ? TRUE : value->state == UNKNOWN ? MAYBE : FALSE;
}

bool registers_any_known(const struct registers *regs, unsigned int reg, unsigned int bytes)
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

/* Values are unequal if any known byte differs. Their order needs all bytes before that one. */
enum truth registers_compare(const struct registers *regs, unsigned int reg, unsigned int bytes,
			     enum guard_compare how, const uint8_t *value)
{
	bool ordered = how != GUARD_EQ && how != GUARD_NE, known = true;

	for (unsigned int i = 0; i < bytes; i++) {
		if (!(regs->known >> (reg + i) & 1))
			known = false;
		else if (regs->bytes[reg + i] != value[i] && (known || !ordered))
			return truth_of(how, regs->bytes[reg + i] - value[i]);
	}
	return known ? truth_of(how, 0) : MAYBE;
}

static void set_value(struct meta_values *values, enum guard_meta meta, const void *value,
		      size_t bytes)
{
	struct meta_value *at = &values->at[meta];

	memset(at->bytes, 0, sizeof(at->bytes));
	memcpy(at->bytes, value, bytes);
	at->state = KNOWN;
}

/*
 * The keys of one device: base is its IIF or OIF. Where a hook has no device, the kernel loads
 * index 0 and an empty name, and ends the rule at its type or kind.
 */
static void set_device(struct meta_values *values, enum guard_meta base, bool exists,
		       const struct guard_iface *iface)
{
	static const uint32_t none;
	enum guard_meta name = base + GUARD_META_IIFNAME - GUARD_META_IIF;
	enum guard_meta type = base + GUARD_META_IIFTYPE - GUARD_META_IIF;
	enum guard_meta kind = base + GUARD_META_IIFKIND - GUARD_META_IIF;

	if (!exists) {
		set_value(values, base, &none, sizeof(none));
		set_value(values, name, "", 0);
		values->at[type].state = values->at[kind].state = BREAKS;
	} else if (iface) {
		set_value(values, base, &iface->ifindex, sizeof(iface->ifindex));
		set_value(values, name, iface->name, strnlen(iface->name, NAME_BYTES));
		set_value(values, type, &iface->type, sizeof(iface->type));
		set_value(values, kind, iface->kind, strnlen(iface->kind, NAME_BYTES));
		if (!iface->kind[0])
			values->at[kind].state = BREAKS;
	}
}

/*
 * nft's iiftype is the type of skb->dev (NFT_META_IFTYPE, Linux 5.16), which after routing is the
 * egress device. Linux 5.15 takes the ingress device there.
 */
static void set_iiftype(struct meta_values *values, enum guard_hook hook,
			const struct guard_iface *in, const struct guard_iface *out)
{
	struct meta_value *iiftype = &values->at[GUARD_META_IIFTYPE];

	if (hook == GUARD_HOOK_EGRESS)
		*iiftype = values->at[GUARD_META_OIFTYPE];
	else if (hook == GUARD_HOOK_OUTPUT ||
		 (hook == GUARD_HOOK_POSTROUTING && (!in || !out || in->type != out->type)))
		iiftype->state = UNKNOWN;
}

void meta_values_init(struct meta_values *values, enum guard_hook hook,
		      const struct guard_iface *in, const struct guard_iface *out)
{
	const uint8_t nfproto = NFPROTO_IPV6;
	const uint16_t protocol = htons(ETH_P_IPV6);
	bool has_in = hook != GUARD_HOOK_OUTPUT && hook != GUARD_HOOK_EGRESS;
	bool has_out = hook != GUARD_HOOK_INGRESS && hook != GUARD_HOOK_PREROUTING;

	set_device(values, GUARD_META_IIF, has_in, in);
	set_device(values, GUARD_META_OIF, has_out, out);
	set_iiftype(values, hook, in, out);
	set_value(values, GUARD_META_NFPROTO, &nfproto, sizeof(nfproto));
	/* At egress a VLAN device may have written its tag already. */
	if (hook != GUARD_HOOK_EGRESS)
		set_value(values, GUARD_META_PROTOCOL, &protocol, sizeof(protocol));
}
