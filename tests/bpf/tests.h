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

/* groups.c, for hash_bits.c too */
#define GROUP_NOBODY (-1)
/* Install a default route to NH_GROUP, of all members with one bucket each. */
void group_install(void);
/* The member whom a frame by DEV_IN is sent to, GROUP_NOBODY if it is passed. */
int group_member_of(enum harness_prog prog, const struct frame *in);

#endif
