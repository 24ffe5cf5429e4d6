/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the loader's own files share; nobody else includes it. loader.c: paths, lock, messages;
 * pin.c: the pinned maps; query.c: what runs on a port; attach.c: putting
 * it there; link.c: what holds it; driver.c: why a
 * driver will not; compiler.c: who built it; refusal.c: what the verifier said;
 * file.c: where that is kept; names.c: what ports sixlaned was given;
 * flows.c: the extension for flowtables; dispatch.c: the only caller of libxdp.
 *
 * Knows neither rib/link.h nor loader.h: libxdp's header uses some of the same names.
 */
#ifndef USER_LOADER_LOADER_INTERNAL_H
#define USER_LOADER_LOADER_INTERNAL_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "../lib/util.h"

struct bpf_object;
struct btf;
struct bpf_program;

/* Write a message to err (LOADER_ERR bytes, or NULL) and return rc. */
int loader_fail(char *err, int rc, const char *fmt, ...) _printf_(3, 4);

/*
 * The same for an errno that a library or the kernel gave for what was tried: adds the reason, the
 * kernel's own words where there are some, and for EPERM the capabilities that are missing.
 */
int loader_fail_errno(char *err, int rc, const char *fmt, ...) _printf_(3, 4);

/* Silence libbpf (its lines go to the debug level) and forget what the kernel said last. */
void loader_quiet(void);

/* Lines of a library: to the debug log; the kernel's own words in them are remembered. Cuts text
 * up. */
void loader_note(const char *library, char *text);

/* The kernel's own words since loader_quiet(), "" for none. */
const char *loader_kernel_said(void);

/* A line of /proc/locks about a whole file that is locked for writing. False: it is of others. */
struct loader_lock_line {
	int pid;
	unsigned int major, minor;
	unsigned long long inode;
};
bool loader_parse_lock(const char *line, struct loader_lock_line *out);

/* The pin directory exists afterwards. 0 or -errno. */
int loader_make_pin_dir(char *err);

/* Path of the xdp.frags flavour beside an object. False: the object has no usual name. */
bool loader_frags_path(const char *object, char path[PATH_MAX]);

/* The same of the extension for flowtables. */
bool loader_flows_path(const char *object, char path[PATH_MAX]);

/* The same of the flavour that records what its steps decide. */
bool loader_trace_path(const char *object, char path[PATH_MAX]);

/* The same of the flavour that reads the compiled FIB in an arena. False also: the object is that.
 */
bool loader_arena_path(const char *object, char path[PATH_MAX]);

/* Open the object file with its pins under the pin directory; not loaded. 0 or -errno. */
int loader_object_open(const char *path, struct bpf_object **out, char *err);

/* Load the object that was opened from path, for a port, or for none (NULL). 0 and its program of
 * section "xdp" or "xdp.frags", or -errno. */
int loader_object_load(struct bpf_object *object, const char *path, const char *port,
		       struct bpf_program **prog, char *err);

/* driver.c: loader_fail_errno() for a port that takes no program in native mode, with what
 * is known of its driver. */
int loader_fail_native(int rc, const char *port, char *err);

/* --- file.c: files below LOADER_RUN_DIR ----------------------------------------------- */

#define LOADER_RUN_DIR "/run/sixlane"
/* KIND.DEV.INODE and end: of this pin directory alone. */
void loader_file_name(const char *kind, const char *end, char *name, size_t size);
/* As a whole, in place of the one that is there. 0 or -errno. */
int loader_file_write(const char *name, void (*write_to)(FILE *file, const void *ctx),
		      const void *ctx);
/* NULL: there is none. */
FILE *loader_file_open(const char *name);
void loader_file_remove(const char *name);

/* --- refusal.c: what the verifier said since loader_quiet() ------------------------- */

void loader_refusal_reset(void);
/* Text of libbpf's, which may hold the verifier's log. */
void loader_refusal_note(const char *text);
/* The verifier refused a program. */
bool loader_refused(void);
/* After loader_refused(): the same as loader_fail(), with all that there is to say. The log is kept
 * in a file, unless err is NULL. */
int loader_fail_refused(char *err, int rc, const char *object, const char *port);

/* compiler.c: what the tag in an object's BTF (or NULL) says, into LOADER_COMPILER_LEN
 * bytes. False: there is none. */
bool loader_btf_compiler(const struct btf *btf, char *out);

/* --- dispatch.c ------------------------------------------------------------------- */

#define DISPATCH_MAX_PROGS 16
/* The name of the program that libxdp attaches in front of all others. */
#define DISPATCH_PROG_NAME "xdp_dispatcher"

/* What an errno, or an error number of libbpf's or libxdp's own, means. */
void dispatch_strerror(int rc, char *buf, size_t size);

/* Ids of the programs that run under the dispatcher on a port. Their number or -errno. */
int dispatch_progs(int ifindex, uint32_t ids[DISPATCH_MAX_PROGS]);

/* Load the object's program under the dispatcher of a port (port: its name, for err). 0 or -errno.
 */
int dispatch_attach(const char *object, const char *pin_dir, int ifindex, const char *port,
		    char *err);

/* Take one program out of the dispatcher; the last one takes it along. 0 or -errno. */
int dispatch_detach(int ifindex, uint32_t prog_id, const char *port, char *err);

#endif
