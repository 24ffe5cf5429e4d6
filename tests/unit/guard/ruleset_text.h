/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Rulesets as text, for unit tests. Statements end with ";" or a newline:
 *
 *	base forward drop [nat] [at lan*]	a base chain, which becomes the current one
 *	flowtable lan0 [kernel]			only the kernel forwards its packets
 *	chain NAME				another current chain, in the table of the first
 *base set NAME BYTES [unknown] [inexact]
 *	add SET KEY [: VERDICT]			an element; KEY "*" is the catch-all
 *	[handle N] TERM...			a rule of the current chain
 *
 * A rule's terms: "META OP VALUE", "META @SET", "META !@SET", "META vmap SET", "load META",
 * "left VALUE" (compares the first register), "may", "ct", "do EFFECT", a verdict.
 * META: an enum guard_meta in lower case, "port" and "name" (unknown, 2 and 16 bytes), or several
 * with "." between.
 * VALUE: a name ("lan*": a prefix), "#" and a number, or several with "." between.
 */
#ifndef UNIT_GUARD_RULESET_TEXT_H
#define UNIT_GUARD_RULESET_TEXT_H

#include "../../../user/guard/ruleset.h"

/* Devices that rules match. */
extern const struct guard_iface lan;	/* lan0, 2, ARPHRD_ETHER */
extern const struct guard_iface wan;	/* wan0, 3, ARPHRD_ETHER, veth */
extern const struct guard_iface tunnel; /* wg0, 4, ARPHRD_NONE, wireguard */

/* Adds to rules, which may have statements already; names are of one text alone. */
void ruleset_text_add(struct guard_ruleset *rules, const char *text);
/* A new ruleset of a text. */
struct guard_ruleset *ruleset_text_new(const char *text);

#endif
