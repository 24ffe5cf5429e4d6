/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Bounds that the verifier sees whatever the compiler does. A bound in C is only a ICMP event to
 * clang: it may compare the lower half of a register of which it adds all 64 bits, move the
 * comparison, or drop a mask that it can prove to be of no use. Each of these was refused by some
 * kernel. So each offset into a packet or a map's value that is no constant goes through
 * bound_mask() right where it is added.
 */
#ifndef SIXLANE_BOUND_H
#define SIXLANE_BOUND_H

#include <linux/types.h>

/*
 * value & mask as a __u64, by one instruction on all 64 bits that no compiler sees through. mask is
 * a constant below 2^31. Not volatile: without a use it goes, and of two that are alike one does.
 */
#define bound_mask(value, mask)                                             \
	({                                                                  \
		__u64 bounded = (value);                                    \
                                                                            \
		_Static_assert((mask) < 1ull << 31, "it is sign-extended"); \
		asm("%0 &= %1" : "+r"(bounded) : "i"(mask));                \
		bounded;                                                    \
	})

/* The index itself if it is below size, a power of two, and another one below size if not. */
#define bound_index(index, size)                                                   \
	({                                                                         \
		_Static_assert((size) && !((size) & ((size)-1)), "one mask does"); \
		bound_mask(index, (size)-1);                                       \
	})

#endif
