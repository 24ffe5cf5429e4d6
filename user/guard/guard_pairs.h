/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which pairs of an ingress and an egress device the rules punt. A device that a rule names, or
 * that has a flowtable, is a class of its own. All others are one class. Pairs of classes get the
 * same answers, and each is evaluated when it is first asked for.
 */
#ifndef GUARD_GUARD_PAIRS_H
#define GUARD_GUARD_PAIRS_H

#include "guard_sources.h"

struct guard_class {
	uint32_t ifindex;
	char name[IFNAMSIZ]; /* the name when the classes were made */
	bool flows;	     /* packets that come in may belong to a flowtable */
};

struct guard_pairs {
	struct guard_class *classes; /* by ascending ifindex; the first is all others, with 0 */
	size_t n;
	bool flows; /* some port's program looks up flows */
	struct pair_cache *cache;
};

void guard_pairs_free(struct guard_pairs *pairs);
/*
 * Makes classes anew, and forgets all answers: 1. 0 without either, if forget is false and the
 * devices make the same classes as before. -ENOMEM: there are no classes then.
 */
int guard_pairs_update(struct guard_pairs *pairs, const struct guard_sources *sources,
		       const struct links *links, bool forget);
/* Rules leave alone whatever comes in by one device and leaves by the other. */
bool guard_pairs_is_free(const struct guard_pairs *pairs, const struct guard_sources *sources,
			 const struct links *links, const struct device *in,
			 const struct device *out);
/* Rules punt at least one pair with this ingress device. */
bool guard_pairs_any_punted(const struct guard_pairs *pairs, const struct guard_sources *sources,
			    const struct links *links, const struct device *in);

#endif
