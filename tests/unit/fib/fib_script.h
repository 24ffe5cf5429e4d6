/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Scripts for a fib on simulated maps. A script is steps separated by ';', a step is words:
 *
 *	set DST TARGET, del DST		a route; DST is [TABLE|]PREFIX
 *	object ID TARGET|none		a next-hop object
 *	port DEV FLAGS, vlan DEV LOWER VID (LOWER 0: the device is gone)
 *	neigh DEV ADDR up|down
 *	exception ADDR [none]		with the flag of its route; flags: no route has a flag
 *	sync, end			fib_sync_begin(), fib_sync_end()
 *	restart				a new fib adopts the maps
 *	fail set|del|index|exceptions|replace|grace 0|1
 *	limit routes|sources|max_routes|ports|ids|tables|buckets N	room in maps, and numbers
 *	retry N				fib_retry() returns N
 *	is DST[<SRC] TARGET|VERDICT|none	what packets meet; an object: object ID as TARGET
 *	flag DST 0|1			whether the route has the flag of exceptions
 *	tag LOWER VID DEV		the port of a tag, 0: none
 *	mac DEV ADDR up|down, gateway DST up|down
 *	same DST DST, differ DST DST	the ids of their next hops
 *	count NAME N ...		see figures in fib_script.c
 *	mark, wrote NAME N ...		writes or grace periods since the mark; NAME all: each kind
 *
 * TARGET: hops N@DEV (by gateway fe80::N) or @DEV (on link) or 0 (discards), each with *WEIGHT,
 * joined by '+' (hashed) or '>' (in order). Then /0,1,... (buckets of an object), :mtu=N and
 * :expires=N. Or object=ID, {SRC=LEN=TARGET ...} by source, or a VERDICT.
 */
#ifndef TEST_FIB_SCRIPT_H
#define TEST_FIB_SCRIPT_H

#include "fib_world.h"

void fib_script_run(struct world *world, const char *script);

/* --- fib_script_text.c: words and targets ----------------------------------------------------- */

/* The verdict of this name; NULL: text is none. */
const uint32_t *script_verdict(const char *text);
/* Take the next word, or number, from a text. NULL: there is no word. */
char *script_word(char **text);
uint32_t script_number(char **text);
/* These change text. Their results are valid until script_reset(). */
struct fib_target script_target(char *text);
/* The object that has these hops and buckets; NULL: text is "none". */
const struct fib_object *script_object(char *text, struct fib_object *object);
void script_reset(void);

#endif
