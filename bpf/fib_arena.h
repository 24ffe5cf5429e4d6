/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memory of the compiled FIB in a BPF arena (Linux 6.9): one region that a program reads by 32-bit
 * addresses, without map lookups or bounds. The kernel keeps each address within the arena; a
 * missing page reads as 0. fib_chunks.h has the same functions for any kernel.
 */
#ifndef SIXLANE_FIB_ARENA_H
#define SIXLANE_FIB_ARENA_H

#include "maps.h"

/* Register numbers for fib_at(): clang 14 cannot cast an address to the arena, so it is encoded. */
asm(".set r0, 0\n.set r1, 1\n.set r2, 2\n.set r3, 3\n.set r4, 4\n"
    ".set r5, 5\n.set r6, 6\n.set r7, 7\n.set r8, 8\n.set r9, 9\n");

static __always_inline const void *fib_at(__u64 address)
{
	/* BPF_MOV64_REG(r, r), off BPF_ADDR_SPACE_CAST, imm from address space 1 to 0 */
	asm volatile(".byte 0xbf, 0x11 * %0\n.short 1\n.long 1" : "+r"(address));
	return (const void *)address;
}

struct fib_memory {
	const void *head;
};

/* The program must reference the arena's map, or the verifier rejects loads from it. */
static __always_inline void fib_name_arena(void)
{
	asm volatile("" ::"r"(&sl_fib_arena));
}

static __always_inline struct fib_memory fib_open(void)
{
	fib_name_arena();
	return (struct fib_memory){ fib_at(SIXLANE_FIB_ARENA) };
}

/* A union sixlane_fib. */
static __always_inline __u64 fib_roots(const struct fib_memory *memory)
{
	const struct sixlane_fib_head *head = memory->head;

	return READ_ONCE(head->fib.word);
}

static __always_inline __u32 fib_engine(const struct fib_memory *memory)
{
	const struct sixlane_fib_head *head = memory->head;

	return READ_ONCE(head->engine);
}

/* Nothing to keep: an entry contains the whole address. */
struct fib_place {
};

static __always_inline int fib_enter(struct fib_place *place, __u32 root)
{
	(void)place;
	(void)root;
	fib_name_arena();
	return 1;
}

static __always_inline int fib_enter_from(struct fib_place *place, const struct fib_memory *memory,
					  __u32 root)
{
	(void)place;
	(void)memory;
	(void)root;
	return 1;
}

static __always_inline int fib_follow(struct fib_place *place, __u32 entry)
{
	(void)place;
	(void)entry;
	return 1;
}

/* Address of a node, for fib_load() and fib_load_wide(). */
static __always_inline __u32 fib_offset(__u32 entry)
{
	return SIXLANE_FIB_ARENA | (entry & SIXLANE_FIB_UNIT_MASK & -SIXLANE_FIB_UNIT_BYTES);
}

static __always_inline __u32 fib_load(const struct fib_place *place, __u32 offset)
{
	(void)place;
	return READ_ONCE(*(const __u32 *)fib_at(offset));
}

static __always_inline __u64 fib_load_wide(const struct fib_place *place, __u32 offset)
{
	(void)place;
	return READ_ONCE(*(const __u64 *)fib_at(offset));
}

#endif
