// SPDX-License-Identifier: GPL-2.0-only
/* See bpf_object.h. */
#include "bpf_object.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <sys/utsname.h>

#include "../../bpf/abi/sixlane.h"
#include "error.h"
#include "paths.h"
#include "verifier_log.h"

/* --- the compiler ------------------------------------------------------------------------- */

static void free_btf(struct btf **btf)
{
	btf__free(*btf);
}

bool loader_btf_compiler(const struct btf *btf, char out[LOADER_COMPILER_LEN])
{
	const size_t prefix = strlen(SIXLANE_COMPILER_TAG);

	for (uint32_t id = 1; btf && id < btf__type_cnt(btf); id++) {
		const struct btf_type *type = btf__type_by_id(btf, id);
		const char *text = btf__name_by_offset(btf, type->name_off);

		if (!btf_is_decl_tag(type) || !text || strncmp(text, SIXLANE_COMPILER_TAG, prefix))
			continue;
		snprintf(out, LOADER_COMPILER_LEN, "%s", text + prefix);
		return true;
	}
	return false;
}

static bool object_compiler(const char *path, char out[LOADER_COMPILER_LEN])
{
	_cleanup_(free_btf) struct btf *btf = NULL;

	libbpf_log_init();
	btf = btf__parse(path, NULL);
	return loader_btf_compiler(btf, out);
}

bool loader_prog_compiler(uint32_t prog_id, char out[LOADER_COMPILER_LEN])
{
	_cleanup_(free_btf) struct btf *btf = NULL;
	_cleanup_close_ int fd = bpf_prog_get_fd_by_id(prog_id);
	struct bpf_prog_info info = { 0 };
	uint32_t size = sizeof(info);

	libbpf_log_init();
	if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &size) || !info.btf_id)
		return false;
	btf = btf__load_from_kernel_by_id(info.btf_id);
	return loader_btf_compiler(btf, out);
}

const char *loader_version(const char *object)
{
	static char text[PATH_MAX + LOADER_COMPILER_LEN + 64];
	char compiler[LOADER_COMPILER_LEN];

	if (access(object, R_OK))
		snprintf(text, sizeof(text), "no XDP object at %s", object);
	else
		snprintf(text, sizeof(text), "%s built by %s", object,
			 object_compiler(object, compiler) ? compiler : LOADER_COMPILER_UNKNOWN);
	return text;
}

/* --- refusals ----------------------------------------------------------------------------- */

/* The end of a longer log is kept: the verifier's reason comes last. */
#define LOG_MAX_BYTES (1u << 20)

#define FIELD(name)                                                       \
	{                                                                 \
#name, offsetof(struct loader_refusal, name),             \
			sizeof(((const struct loader_refusal *)0)->name), \
	}

static const struct {
	const char *name;
	size_t offset, size;
} fields[] = {
	FIELD(port), FIELD(object), FIELD(kernel), FIELD(compiler), FIELD(reason), FIELD(advice),
};

/* port "": the program of `sixlane explain`, which is for no port. */
static void name_log(const char *port, char name[RUN_FILE_NAME])
{
	char end[IFNAMSIZ + sizeof(".log")];

	snprintf(end, sizeof(end), "%s%.*s.log", *port ? "." : "", IFNAMSIZ - 1, port);
	run_file_name(*port ? "verifier" : "explain", end, name);
}

/* Sets refusal->log, unless it fails. */
static void save_log(struct loader_refusal *refusal, const char *log)
{
	size_t length = strlen(log);
	char name[RUN_FILE_NAME];
	const char *rest = log;
	FILE *file;

	name_log(refusal->port, name);
	file = run_file_create(name);
	if (!file)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		fprintf(file, "%s: %s\n", fields[i].name, (const char *)refusal + fields[i].offset);
	fprintf(file, "\n");
	if (length > LOG_MAX_BYTES) {
		rest = strchrnul(log + length - LOG_MAX_BYTES, '\n');
		fprintf(file, "(the first %zu bytes are left out)", (size_t)(rest - log));
	}
	fputs(rest, file);
	if (!run_file_commit(file, name))
		snprintf(refusal->log, sizeof(refusal->log), RUN_FILE_DIR "/%s", name);
}

static void read_field(const char *line, struct loader_refusal *out)
{
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		size_t length = strlen(fields[i].name);

		if (!strncmp(line, fields[i].name, length) && !strncmp(line + length, ": ", 2))
			snprintf((char *)out + fields[i].offset, fields[i].size, "%s",
				 line + length + 2);
	}
}

bool loader_refusal_read(const char *port, struct loader_refusal *out)
{
	char name[RUN_FILE_NAME], line[LOADER_ERR];
	_cleanup_fclose_ FILE *file = NULL;

	*out = (struct loader_refusal){ 0 };
	name_log(port, name);
	file = run_file_open(name);
	while (file && fgets(line, sizeof(line), file) && *line != '\n') {
		line[strcspn(line, "\n")] = '\0';
		read_field(line, out);
	}
	snprintf(out->log, sizeof(out->log), RUN_FILE_DIR "/%s", name);
	return *out->port;
}

void loader_refusal_forget(const char *port)
{
	char name[RUN_FILE_NAME];

	name_log(port, name);
	run_file_remove(name);
}

void loader_refusal_text(const struct loader_refusal *refusal, char *out)
{
	snprintf(
		out, LOADER_ERR,
		"%s%sthe kernel's verifier refused the XDP program of %s: \"%s\" (Linux %s, object built by %s); %s%s; %s",
		refusal->port, *refusal->port ? ": " : "", refusal->object, refusal->reason,
		refusal->kernel, refusal->compiler,
		*refusal->log ? "its log is in " : "its log could not be saved in " RUN_FILE_DIR,
		refusal->log, refusal->advice);
}

int loader_fail_refused(char *err, int rc, const char *object, const char *port)
{
	const char *log = libbpf_log_verifier();
	struct loader_refusal refusal = { 0 };
	struct utsname kernel = { 0 };
	char caps[96];

	if (!err)
		return rc;
	uname(&kernel);
	loader_missing_caps(caps, sizeof(caps));
	snprintf(refusal.port, sizeof(refusal.port), "%s", port ? port : "");
	snprintf(refusal.object, sizeof(refusal.object), "%s", object);
	snprintf(refusal.kernel, sizeof(refusal.kernel), "%s", kernel.release);
	if (!object_compiler(object, refusal.compiler))
		snprintf(refusal.compiler, sizeof(refusal.compiler), LOADER_COMPILER_UNKNOWN);
	if (!verifier_log_reason(log, refusal.reason, sizeof(refusal.reason)))
		snprintf(refusal.reason, sizeof(refusal.reason), "no reason given");
	if (*caps)
		snprintf(refusal.advice, sizeof(refusal.advice),
			 "run as root, this process lacks %s", caps);
	else
		snprintf(
			refusal.advice, sizeof(refusal.advice),
			"try an object by another clang ('make clean all CLANG=clang-NN') or another kernel, and report it with the log");
	save_log(&refusal, log);
	loader_refusal_text(&refusal, err);
	return rc;
}

/* --- loading ------------------------------------------------------------------------------ */

int loader_object_open(const char *path, struct bpf_object **out, char *err)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts);
	struct bpf_object *object;

	libbpf_log_reset();
	opts.pin_root_path = loader_pin_dir();
	object = bpf_object__open_file(path, &opts);
	if (!object)
		return loader_fail_errno(err, -errno, "cannot open the XDP object %s", path);
	*out = object;
	return 0;
}

static struct bpf_program *find_prog(struct bpf_object *object)
{
	struct bpf_program *prog;

	bpf_object__for_each_program(prog, object)
	{
		const char *section = bpf_program__section_name(prog);

		if (!strcmp(section, "xdp") || !strcmp(section, "xdp.frags"))
			return prog;
	}
	return NULL;
}

int loader_object_load(struct bpf_object *object, const char *path, const char *port,
		       struct bpf_program **prog, char *err)
{
	struct bpf_program *found = find_prog(object);
	int rc;

	if (!found)
		return loader_fail(err, -EINVAL, "%s has no program in a section 'xdp'", path);
	rc = bpf_object__load(object);
	if (rc && libbpf_log_verifier())
		return loader_fail_refused(err, rc, path, port);
	if (rc)
		return loader_fail_errno(err, rc, "the kernel refused the XDP program of %s", path);
	*prog = found;
	return 0;
}
