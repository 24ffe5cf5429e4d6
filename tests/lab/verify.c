// SPDX-License-Identifier: GPL-2.0-only
/*
 * verify OBJECT...: load BPF objects and print the verifier's result, one line of JSON for each
 * program: the instructions that it processed and the stack bytes of the worst chain of calls, or
 * why it refused. A last line for each object says how many lines precede it. Attaches nothing.
 * Needs a bpffs of its own, as maps are pinned by name. An object with an extension must be beside
 * sixlane.bpf.o, which is loaded as its target.
 */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <string.h>

#include "../../user/loader/verifier_log.h"

#define LOG_BYTES (16u << 20)
#define LOG_STATISTICS 4u /* BPF_LOG_STATS of include/linux/bpf_verifier.h */
#define MAX_FUNCTIONS 64u
/* Kernels before 6.8 round the stack of each function up to this (round_up_stack_depth()). */
#define STACK_UNIT 32u

struct function {
	size_t start; /* its first instruction */
	unsigned int stack;
	char name[64];
};

struct program {
	struct function functions[MAX_FUNCTIONS]; /* in the verifier's order: by start */
	size_t n;
	const struct bpf_insn *insns;
	size_t n_insns;
};

static bool is_call(const struct bpf_insn *insn)
{
	return (insn->code == (BPF_JMP | BPF_CALL) && insn->src_reg == BPF_PSEUDO_CALL) ||
	       (insn->code == (BPF_LD | BPF_IMM | BPF_DW) && insn->src_reg == BPF_PSEUDO_FUNC);
}

static size_t find_function(const struct program *program, size_t start)
{
	size_t i = 0;

	while (i < program->n && program->functions[i].start < start)
		i++;
	return i;
}

static void add_function(struct program *program, size_t start)
{
	size_t i = find_function(program, start);

	if (i < program->n && program->functions[i].start == start)
		return;
	if (program->n == MAX_FUNCTIONS) {
		fprintf(stderr, "verify: more than %u functions\n", MAX_FUNCTIONS);
		exit(2);
	}
	memmove(&program->functions[i + 1], &program->functions[i],
		(program->n - i) * sizeof(program->functions[0]));
	program->functions[i] = (struct function){ .start = start };
	program->n++;
}

static void find_functions(struct program *program, const struct bpf_program *loaded)
{
	program->insns = bpf_program__insns(loaded);
	program->n_insns = bpf_program__insn_cnt(loaded);
	add_function(program, 0);
	for (size_t i = 0; i < program->n_insns; i++) {
		if (is_call(&program->insns[i]))
			add_function(program, (size_t)((long)i + 1 + program->insns[i].imm));
	}
}

/*
 * Reads "stack depth 248+40+72", in the order of functions. Since Linux 7.3 each function has its
 * line, which ends in "stack 248". Returns false if the log has neither.
 */
static bool read_stacks(struct program *program, const char *log)
{
	const char *at = strstr(log, "stack depth "), *line = log;
	char *end;

	if (!at)
		return false;
	at += strlen("stack depth ");
	for (size_t i = 0; i < program->n; i++) {
		if (strncmp(at, "max ", 4)) {
			program->functions[i].stack = (unsigned int)strtoul(at, &end, 10);
			if (end == at)
				return false;
			at = *end == '+' ? end + 1 : end;
			continue;
		}
		line = strstr(line, "\nsubprog ");
		line = line ? strstr(line, " stack ") : NULL;
		if (!line)
			return false;
		program->functions[i].stack =
			(unsigned int)strtoul(line + strlen(" stack "), NULL, 10);
	}
	return true;
}

/* The kernel's records of functions have the same order. Without them functions have no names. */
static void read_names(struct program *program, int fd, const struct btf *btf)
{
	struct bpf_func_info records[MAX_FUNCTIONS] = { 0 };
	struct bpf_prog_info info = {
		.func_info = (uintptr_t)records,
		.nr_func_info = MAX_FUNCTIONS,
		.func_info_rec_size = sizeof(records[0]),
	};
	const struct btf_type *type;
	__u32 size = sizeof(info);

	if (bpf_obj_get_info_by_fd(fd, &info, &size))
		return;
	for (size_t i = 0; i < program->n && i < info.nr_func_info; i++) {
		type = btf__type_by_id(btf, records[i].type_id);
		snprintf(program->functions[i].name, sizeof(program->functions[i].name), "%s",
			 type ? btf__name_by_offset(btf, type->name_off) : "");
	}
}

/* Writes the names of the chain's functions. Ends, as the verifier allows no recursion. */
static unsigned int worst_chain(const struct program *program, size_t at, char *chain, size_t size)
{
	const struct function *function = &program->functions[at];
	size_t end = at + 1 < program->n ? program->functions[at + 1].start : program->n_insns;
	unsigned int own = (function->stack + STACK_UNIT - 1) / STACK_UNIT * STACK_UNIT, worst = 0;
	char below[512] = "", best[512] = "";
	unsigned int called;
	size_t callee;

	own = own ?: STACK_UNIT;
	for (size_t i = function->start; i < end; i++) {
		if (!is_call(&program->insns[i]))
			continue;
		callee = find_function(program, (size_t)((long)i + 1 + program->insns[i].imm));
		called = worst_chain(program, callee, below, sizeof(below));
		if (called > worst) {
			worst = called;
			memcpy(best, below, sizeof(best));
		}
	}
	snprintf(chain, size, "%s %u%s%.400s", *function->name ? function->name : "?", own,
		 *best ? ", " : "", best);
	return own + worst;
}

static long read_processed(const char *log)
{
	const char *at = strstr(log, "\nprocessed ");

	return at ? atol(at + strlen("\nprocessed ")) : -1;
}

static void print_line(json_t *line)
{
	json_dumpf(line, stdout, 0);
	putchar('\n');
	json_decref(line);
}

static void print_refusal(const char *path, const char *program, int rc, const char *words)
{
	print_line(json_pack("{ss,ss,ss,ss}", "object", path, "program", program, "error",
			     strerror(-rc), "verifier", words));
}

/* Returns 0, or -EBADMSG if the log has no statistics. */
static int print_program(const char *path, const struct bpf_program *loaded, const struct btf *btf,
			 const char *log)
{
	struct program program = { 0 };
	char chain[512];
	unsigned int stack;

	find_functions(&program, loaded);
	if (read_processed(log) < 0 || !read_stacks(&program, log)) {
		print_refusal(path, bpf_program__name(loaded), -EBADMSG,
			      "no statistics that are understood");
		return -EBADMSG;
	}
	read_names(&program, bpf_program__fd(loaded), btf);
	stack = worst_chain(&program, 0, chain, sizeof(chain));
	print_line(json_pack("{ss,ss,sI,si,ss}", "object", path, "program",
			     bpf_program__name(loaded), "instructions",
			     (json_int_t)read_processed(log), "stack", stack, "chain", chain));
	return 0;
}

static void print_end(const char *path, size_t lines)
{
	print_line(json_pack("{ss,sI}", "object", path, "programs", (json_int_t)lines));
}

static int print_loaded(const char *path, struct bpf_object *object, char *const *logs)
{
	struct bpf_program *program;
	int rc = 0;

	bpf_object__for_each_program(program, object)
	{
		if (print_program(path, program, bpf_object__btf(object), *logs++))
			rc = -EBADMSG;
	}
	return rc;
}

/* Prints the first program that was refused; libbpf tries none after it. */
static int print_refused(const char *path, struct bpf_object *object, char *const *logs, int rc)
{
	struct bpf_program *program;
	char words[256];

	bpf_object__for_each_program(program, object)
	{
		if (verifier_log_reason(*logs++, words, sizeof(words))) {
			print_refusal(path, bpf_program__name(program), rc, words);
			return rc;
		}
	}
	print_refusal(path, "", rc, "not even asked");
	return rc;
}

/* libbpf's messages are not needed: the verifier's log has all of it. */
static int quiet(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	return 0;
}

/* Loads the target of an extension; NULL if that fails. */
static struct bpf_object *load_target(const char *path)
{
	const char *slash = strrchr(path, '/');
	char beside[PATH_MAX];
	struct bpf_object *object;

	snprintf(beside, sizeof(beside), "%.*ssixlane.bpf.o", slash ? (int)(slash - path) + 1 : 0,
		 path);
	object = bpf_object__open_file(beside, NULL);
	if (object && bpf_object__load(object)) {
		bpf_object__close(object);
		return NULL;
	}
	return object;
}

/* *target: NULL for all but an extension; to be closed by the caller. 0 or -errno. */
static int set_target(const char *path, struct bpf_program *program, struct bpf_object **target)
{
	static const char section[] = "freplace/";

	if (bpf_program__type(program) != BPF_PROG_TYPE_EXT)
		return 0;
	*target = load_target(path);
	if (!*target)
		return -ENOENT;
	return bpf_program__set_attach_target(
		program, bpf_program__fd(bpf_object__next_program(*target, NULL)),
		bpf_program__section_name(program) + strlen(section));
}

/* 0 if all of the object's programs are loaded. */
static int verify(const char *path)
{
	struct bpf_object *object = bpf_object__open_file(path, NULL), *target = NULL;
	char *logs[16] = { 0 };
	struct bpf_program *program;
	size_t n = 0;
	int rc, failed;

	if (!object) {
		rc = -errno;
		print_refusal(path, "", rc, "cannot be opened");
		print_end(path, 1);
		return rc;
	}
	bpf_object__for_each_program(program, object)
	{
		if (n == ARRAY_SIZE(logs) || !(logs[n] = calloc(1, LOG_BYTES))) {
			fprintf(stderr, "verify: %s has too many programs\n", path);
			exit(2);
		}
		bpf_program__set_log_level(program, LOG_STATISTICS);
		bpf_program__set_log_buf(program, logs[n++], LOG_BYTES);
	}
	rc = set_target(path, bpf_object__next_program(object, NULL), &target);
	rc = rc ? rc : bpf_object__load(object);
	failed = rc ? print_refused(path, object, logs, rc) : print_loaded(path, object, logs);
	print_end(path, rc ? 1 : n);
	while (n)
		free(logs[--n]);
	bpf_object__close(target);
	bpf_object__close(object);
	return failed;
}

int main(int argc, char **argv)
{
	int status = 0;

	libbpf_set_print(quiet);
	for (int i = 1; i < argc; i++) {
		if (verify(argv[i]))
			status = 1;
		fflush(stdout);
	}
	return status;
}
