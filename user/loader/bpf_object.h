/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Object files: which compiler built one, opening and loading, and the last program for a port that
 * the kernel's verifier refused. Knows nothing of single maps.
 *
 * The compiler, "Debian Clang 14.0.6", is a tag in the object's BTF. libbpf leaves the tag out on
 * kernels that do not know tags (before Linux 5.16).
 */
#ifndef USER_LOADER_BPF_OBJECT_H
#define USER_LOADER_BPF_OBJECT_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#include "run_file.h"

struct bpf_object;
struct bpf_program;
struct btf;

#define LOADER_COMPILER_LEN 80
#define LOADER_COMPILER_UNKNOWN "an unknown compiler"

/* False, and out untouched: there is no tag. btf may be NULL. */
bool loader_btf_compiler(const struct btf *btf, char out[LOADER_COMPILER_LEN]);
bool loader_prog_compiler(uint32_t prog_id, char out[LOADER_COMPILER_LEN]);

/* "PATH built by COMPILER", for --version. Static storage. */
const char *loader_version(const char *object);

/* Opens it, with its pins in the pin directory, and loads nothing. 0 or -errno. */
int loader_object_open(const char *path, struct bpf_object **out, char *err);

/* Loads the object that was opened from path. port: for the message, or NULL. 0 and the program of
 * section "xdp" or "xdp.frags", or -errno. */
int loader_object_load(struct bpf_object *object, const char *path, const char *port,
		       struct bpf_program **prog, char *err);

/* A refusal is one line for people, and a file with the verifier's log, one for each port and pin
 * directory. `sixlane status` shows it until the port is served or detached, or sixlaned sees the
 * port go. */
struct loader_refusal {
	char port[IFNAMSIZ];
	char object[256];
	char kernel[65];
	char compiler[LOADER_COMPILER_LEN];
	char reason[256]; /* the verifier's last line before its statistics */
	char advice[128];
	char log[RUN_FILE_NAME + 16]; /* path of the file; "": it could not be written */
};

/* After libbpf_log_verifier(): loader_fail() with all that is known. Writes the file, unless err
 * is NULL. port NULL: the program was for none. */
int loader_fail_refused(char *err, int rc, const char *object, const char *port);

/* False: there is none. */
bool loader_refusal_read(const char *port, struct loader_refusal *out);

/* All of it in one line of at most LOADER_ERR bytes. */
void loader_refusal_text(const struct loader_refusal *refusal, char *out);

/* Removes the file: the port is served now, is detached, or is gone. */
void loader_refusal_forget(const char *port);

#endif
