/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Bounds that the verifier sees whatever the compiler does. Clang takes a bound in C as advice: it
 * may compare only the lower half of a register, move the comparison, or drop a mask that it proves
 * useless. Some kernel's verifier refused each of these. So every variable offset into a packet or
 * a map's value goes through bound_mask() right where it is added.
 */
#ifndef SIXLANE_BOUND_H
#define SIXLANE_BOUND_H

#include <linux/types.h>

/*
 * value & mask as a __u64, by one instruction on all 64 bits, which is opaque to the compiler. mask
 * is a constant below 2^31. Not volatile: the compiler may drop an unused one and merge equal ones.
 */
#define bound_mask(value, mask)                                             \
	({                                                                  \
		__u64 bounded = (value);                                    \
                                                                            \
		_Static_assert((mask) < 1ull << 31, "it is sign-extended"); \
		asm("%0 &= %1" : "+r"(bounded) : "i"(mask));                \
		bounded;                                                    \
	})

/* index modulo size, which is a power of two. */
#define bound_index(index, size)                                                   \
	({                                                                         \
		_Static_assert((size) && !((size) & ((size)-1)), "one mask does"); \
		bound_mask(index, (size)-1);                                       \
	})

#endif
