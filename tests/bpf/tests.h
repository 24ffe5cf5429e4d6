/* SPDX-License-Identifier: GPL-2.0-only */
/* cmocka, the harness, and how files add what they test to the list that main.c runs. */
#ifndef TESTS_BPF_TESTS_H
#define TESTS_BPF_TESTS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "harness.h"
#include "rows.h"

/* A test function with its title, as in the kernel's kselftest_harness.h. */
#define TEST(function, title)                                         \
	static void function(void **state);                           \
	__attribute__((constructor)) static void add_##function(void) \
	{                                                             \
		tests_add(title, function, NULL);                     \
	}                                                             \
	static void function(__attribute__((unused)) void **state)
void tests_add(const char *title, CMUnitTestFunction function, const struct row *row);

/* A table of rows, each of which is a test by either engine. */
#define ROWS(table)                                                        \
	__attribute__((constructor)) static void add_##table(void)         \
	{                                                                  \
		tests_add_rows(table, sizeof(table) / sizeof((table)[0])); \
	}
void tests_add_rows(const struct row *rows, size_t n);

/* Chance, in fuzz.c: the same seed gives the same run. A number may come from the environment. */
uint64_t fuzz_env_number(const char *name, uint64_t otherwise);
void fuzz_seed(uint64_t seed);
uint32_t fuzz_below(uint32_t n);
bool fuzz_one_in(uint32_t n);
#define FUZZ_PICK(array) ((array)[fuzz_below(sizeof(array) / sizeof((array)[0]))])
void fuzz_bytes(uint8_t *to, size_t n);

/* An address that shares prefixes of many lengths with others. */
void fuzz_addr(uint8_t addr[16]);

/* A random world. The caller installs it. */
void fuzz_world(struct world *world);

/* A frame that comes in by a device of a world. */
void fuzz_frame(const struct world *world, enum device dev, struct frame *frame);

/* groups.c, for hash_bits.c too */
#define GROUP_NOBODY (-1)
/* Install a default route to NH_GROUP, of all members with one bucket each. */
void group_install(void);
/* The member whom a frame by DEV_IN is sent to, GROUP_NOBODY if it is passed. */
int group_member_of(enum harness_prog prog, const struct frame *in);

#endif
