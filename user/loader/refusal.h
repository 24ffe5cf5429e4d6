/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The last program for a port that the kernel's verifier refused: one line for people, and a file
 * with the verifier's log. `sixlane status` shows it until the port is served or detached, or
 * sixlaned sees the port go. There is one file for each port and pin directory.
 */
#ifndef USER_LOADER_REFUSAL_H
#define USER_LOADER_REFUSAL_H

#include <net/if.h>
#include <stdbool.h>

#include "compiler.h"
#include "run_file.h"

struct loader_refusal {
	char port[IFNAMSIZ];
	char object[256];
	char kernel[65];
	char compiler[LOADER_COMPILER_LEN];
	char reason[256]; /* the verifier's last line before its statistics */
	char advice[128];
	char log[RUN_FILE_NAME + 16]; /* path of the file; "": it could not be written */
};

/*
 * After libbpf_log_verifier(): loader_fail() with all that is known. Writes the file, unless err
 * is NULL. port NULL: the program was for none.
 */
int loader_fail_refused(char *err, int rc, const char *object, const char *port);

/* False: there is none. */
bool loader_refusal_read(const char *port, struct loader_refusal *out);

/* All of it in one line of at most LOADER_ERR bytes. */
void loader_refusal_text(const struct loader_refusal *refusal, char *out);

/* Removes the file: the port is served now, is detached, or is gone. */
void loader_refusal_forget(const char *port);

#endif
