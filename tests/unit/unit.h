/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a file of unit tests is to the program that it is linked into. The files of a folder make
 * one program. A file in a folder alone/ replaces functions of sixlane, or builds the code under
 * test into itself. The Makefile makes all names of it and of what it calls local, so that the
 * other files of the program keep the real functions.
 *
 *	UNIT_TESTS()
 *	{
 *		const struct CMUnitTest tests[] = { … };
 *
 *		return cmocka_run_group_tests(tests, NULL, NULL);
 *	}
 */
#ifndef UNIT_UNIT_H
#define UNIT_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h> /* needs the types of the above */

struct unit_file {
	const char *path;
	int (*run)(void); /* 0, or how many tests failed */
	struct unit_file *next;
};

/* Make it known, before main(). */
void unit_add(struct unit_file *file);

#define UNIT_TESTS()                                                               \
	static int unit_run(void);                                                 \
	static struct unit_file unit_file = { .path = __FILE__, .run = unit_run }; \
	__attribute__((constructor)) static void unit_register(void)               \
	{                                                                          \
		unit_add(&unit_file);                                              \
	}                                                                          \
	static int unit_run(void)

#endif
