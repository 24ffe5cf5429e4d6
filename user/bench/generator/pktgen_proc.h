/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The files of the kernel's pktgen in /proc/net/pktgen, which are of this network namespace: a
 * thread a CPU, "kpktgend_N", to which entries are added, each a file of its own, and "pgctrl" for
 * all of them. Knows nothing of what is sent.
 *
 * Functions return 0, or -errno after having said what failed.
 */
#ifndef BENCH_PKTGEN_PROC_H
#define BENCH_PKTGEN_PROC_H

#include <stdbool.h>

#include "../../lib/util.h"

#define PKTGEN_DIR "/proc/net/pktgen"
/* Of a thread or an entry, of which pktgen takes 31 characters. */
#define PKTGEN_NAME 40u

/* There is a pktgen, and nobody uses it. */
int pktgen_check(void);

/* One order to a file. Quietly: 0 or -errno. */
int pktgen_write(const char *file, const char *order);
/* A file's text, or its beginning. Quietly. */
int pktgen_read(const char *file, char *buf, size_t size);
/* What is behind the word in such a text, "" if it is not there. */
const char *pktgen_behind(const char *text, const char *word);

/* The same, said. An order that an entry refuses, with its reason. */
int pktgen_order(const char *entry, const char *fmt, ...) _printf_(2, 3);
int pktgen_order_flag(const char *entry, const char *flag);
int pktgen_refused(int ret, const char *entry, const char *order);

/* That of the n-th CPU that this process may run on. */
void pktgen_thread_name(unsigned int n, char name[PKTGEN_NAME]);
/* An entry of any thread behind this word of its file: "Running:" or "Stopped:". False: none. */
bool pktgen_find_entry(const char *word, char entry[PKTGEN_NAME]);
/* Of all threads; comes back when they are gone. */
void pktgen_remove_entries(void);

#endif
