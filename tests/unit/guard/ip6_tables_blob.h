/* SPDX-License-Identifier: GPL-2.0-only */
/* Builds legacy tables as the kernel returns them, from a list of entries. */
#ifndef UNIT_GUARD_IP6_TABLES_BLOB_H
#define UNIT_GUARD_IP6_TABLES_BLOB_H

#include <errno.h>
#include <string.h>

#include "../../../user/guard/ip6_tables.h"
#include "../../../user/lib/util.h"

#define BLOB_BYTES 16384
#define BLOB_ENTRIES 32

/* Verdicts in entries. */
#define BLOB_ACCEPT (-NF_ACCEPT - 1)
#define BLOB_DROP (-NF_DROP - 1)
#define BLOB_QUEUE (-NF_QUEUE - 1)
/* A jump to entry n, whose offset is filled in at the end. */
#define BLOB_TO(n) (1000000 + (n))

struct blob_entry {
	const char *in, *out; /* "eth+": by prefix */
	uint8_t flags, invflags;
	uint8_t source_len; /* bytes of a source mask */
	uint8_t odd_mask;   /* bits of the last byte of the mask of in */
	const char *matches[3];
	const char *target; /* NULL: standard */
	int verdict;
	const char *chain;				  /* an ERROR entry with this name */
	enum { BLOB_NOTHING, BLOB_HOOK, BLOB_POLICY } is; /* of hook */
	int hook;
};

struct blob {
	struct ip6t_getinfo info;
	uint8_t bytes[BLOB_BYTES] __attribute__((aligned(8)));
	size_t size;
	uint32_t offsets[BLOB_ENTRIES + 1];
	unsigned int n;
};

static inline void blob_device(char *name, unsigned char *mask, const char *words)
{
	size_t n = words ? strlen(words) : 0;

	if (n == 0)
		return;
	if (words[n - 1] == '+') {
		memcpy(name, words, n);
		memset(mask, 0xff, n - 1);
		return;
	}
	memcpy(name, words, n);
	memset(mask, 0xff, n + 1);
}

static inline size_t blob_matches(uint8_t *at, const struct blob_entry *e)
{
	size_t size = 0, each = XT_ALIGN(sizeof(struct xt_entry_match) + 8);

	for (size_t i = 0; i < ARRAY_SIZE(e->matches) && e->matches[i]; i++, size += each) {
		struct xt_entry_match match = { .u.user.match_size = (uint16_t)each };

		strncpy(match.u.user.name, e->matches[i], sizeof(match.u.user.name) - 1);
		memcpy(at + size, &match, sizeof(match));
	}
	return size;
}

static inline size_t blob_target(uint8_t *at, const struct blob_entry *e)
{
	struct xt_error_target error = { .target.u.user.name = XT_ERROR_TARGET };
	struct xt_standard_target standard = { .verdict = e->verdict };

	if (e->chain) {
		error.target.u.user.target_size = XT_ALIGN(sizeof(error));
		strncpy(error.errorname, e->chain, sizeof(error.errorname) - 1);
		memcpy(at, &error, sizeof(error));
		return XT_ALIGN(sizeof(error));
	}
	standard.target.u.user.target_size = XT_ALIGN(sizeof(standard));
	if (e->target)
		strncpy(standard.target.u.user.name, e->target,
			sizeof(standard.target.u.user.name) - 1);
	memcpy(at, &standard, sizeof(standard));
	return XT_ALIGN(sizeof(standard));
}

static inline void blob_add(struct blob *blob, const struct blob_entry *e)
{
	uint8_t *at = blob->bytes + blob->size;
	struct ip6t_entry header = { .ipv6.flags = e->flags, .ipv6.invflags = e->invflags };

	blob_device(header.ipv6.iniface, header.ipv6.iniface_mask, e->in);
	blob_device(header.ipv6.outiface, header.ipv6.outiface_mask, e->out);
	header.ipv6.iniface_mask[IFNAMSIZ - 1] |= e->odd_mask;
	memset(&header.ipv6.smsk, 0xff, e->source_len);
	header.target_offset = (uint16_t)(sizeof(header) + blob_matches(at + sizeof(header), e));
	header.next_offset =
		(uint16_t)(header.target_offset + blob_target(at + header.target_offset, e));
	memcpy(at, &header, sizeof(header));
	blob->offsets[blob->n++] = (uint32_t)blob->size;
	if (e->is == BLOB_HOOK) {
		blob->info.valid_hooks |= 1u << e->hook;
		blob->info.hook_entry[e->hook] = (unsigned int)blob->size;
	}
	if (e->is == BLOB_POLICY)
		blob->info.underflow[e->hook] = (unsigned int)blob->size;
	blob->size += header.next_offset;
}

static inline int32_t *blob_verdict(struct blob *blob, unsigned int n)
{
	struct ip6t_entry *header = (void *)(blob->bytes + blob->offsets[n]);

	return (void *)((uint8_t *)header + header->target_offset + sizeof(struct xt_entry_target));
}

/* A base chain is from a BLOB_HOOK entry to a BLOB_POLICY entry, or one BLOB_HOOK entry. */
static inline void blob_build(struct blob *blob, const char *table,
			      const struct blob_entry *entries, unsigned int n)
{
	static const struct blob_entry end = { .chain = XT_ERROR_TARGET };

	memset(blob, 0, sizeof(*blob));
	strncpy(blob->info.name, table, sizeof(blob->info.name) - 1);
	for (unsigned int i = 0; i < n; i++) {
		blob_add(blob, &entries[i]);
		/* A chain with only a policy. */
		if (entries[i].is == BLOB_HOOK &&
		    (i + 1 == n || entries[i + 1].chain || entries[i + 1].is == BLOB_HOOK))
			blob->info.underflow[entries[i].hook] = blob->offsets[i];
	}
	blob_add(blob, &end);
	for (unsigned int i = 0; i < n; i++)
		if (!entries[i].target && entries[i].verdict >= BLOB_TO(0))
			*blob_verdict(blob, i) =
				(int32_t)blob->offsets[entries[i].verdict - BLOB_TO(0)];
	blob->info.num_entries = blob->n;
	blob->info.size = (unsigned int)blob->size;
}

#endif
