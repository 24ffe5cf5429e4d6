/* SPDX-License-Identifier: GPL-2.0-only */
/* bench-lookup measures sides. A side is an engine that is filled with a table. Sides are never
 * freed, and every error ends the program. */
#ifndef BENCH_ENGINE_LOOKUP_H
#define BENCH_ENGINE_LOOKUP_H

#include <bpf/libbpf.h>

#include "../../rib/radix.h"
#include "peer.h"
#include "plan.h"
#include "walk.h"

/* A route in the radix tree. Its value is its place in the file, from 1 on; 0: it is removed. */
struct lookup_entry {
	struct radix_node node;
	uint32_t value;
};

struct lookup_side {
	const struct lookup_engine *engine;
	const char *name;		     /* of the engine, or of the peer */
	const char *object;		     /* of a peer; NULL: it is none */
	const struct bench_prefix *prefixes; /* the table */
	size_t n;
	bool is_ipv4;			    /* an address is the first 4 bytes */
	struct radix radix;		    /* the same table, of struct lookup_entry */
	const struct walk_addresses *lists; /* one a thread */
	unsigned int threads;		    /* that look up at once, at most */
	int netns;			    /* fd of the kernel's tables' namespace; -1: any */
	/* Of an engine whose lookup is a BPF program (walk.bpf.h). dry: without lookups. */
	struct {
		struct bpf_object *object;
		int run[3], dry[3];	   /* programs: independent, dependent, answers */
		struct walk_packet packet; /* what each run begins with */
	} bpf;
	void *state;	    /* the engine's */
	uint64_t insert_ns; /* the time to fill it with all routes */
	uint64_t bytes;	    /* that it takes for them; 0: not known */
};

struct lookup_engine {
	const char *name;
	void (*open)(struct lookup_side *side); /* fill it */
	/* Remove or restore the route at a place, during lookups. NULL: not supported. */
	void (*change)(struct lookup_side *side, size_t i, bool back);
	/* Nodes of the deepest lookup. NULL: unknown. */
	uint32_t (*depth)(struct lookup_side *side);
};

static inline struct prefix lookup_prefix(const struct lookup_side *side, size_t i)
{
	struct prefix prefix = { .len = (uint8_t)side->prefixes[i].len };

	memcpy(&prefix.addr, side->prefixes[i].addr, sizeof(prefix.addr));
	return prefix;
}

/* --- engines -------------------------------------------------------------------------------- */

/* Open an object file beside the program; then load the programs of an engine. */
void bpf_open(struct lookup_side *side, const char *file);
void bpf_load(struct lookup_side *side, const char *engine);
int bpf_map_of(const struct lookup_side *side, const char *name);
/* The answer of step_measure(), but for changes. */
json_t *bpf_measure(struct lookup_side *side, bool dependent, unsigned int threads,
		    uint64_t lookups);
json_t *peer_measure(struct lookup_side *side, bool dependent, uint64_t lookups);
/* WALK_ADDRESSES values, of the first list. */
void bpf_answers(struct lookup_side *side, uint32_t *out);
void peer_answers(struct lookup_side *side, uint32_t *out);

/* Of struct lookup_engine. */
void compiled_open(struct lookup_side *side);
void compiled_put(struct lookup_side *side, size_t i, bool back);
uint32_t compiled_deepest(struct lookup_side *side);
void trie_open(struct lookup_side *side);
void trie_put(struct lookup_side *side, size_t i, bool back);
uint32_t trie_deepest(struct lookup_side *side);
void kernel_open(struct lookup_side *side);
void kernel_put(struct lookup_side *side, size_t i, bool back);
uint32_t kernel6_deepest(struct lookup_side *side);
void peer_open(struct lookup_side *side);

#endif
