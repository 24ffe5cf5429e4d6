// SPDX-License-Identifier: GPL-2.0-only
/* See plan.h. */
#include "plan.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>

static FILE *answers;
/* Read at the start: a pinned thread would find one CPU only. */
static unsigned int cpus[CPU_SETSIZE], n_cpus;

/* --- answers -------------------------------------------------------------------------------- */

static void put(json_t *answer)
{
	json_dumpf(answer, answers, JSON_COMPACT);
	fputc('\n', answers);
	fflush(answers);
	json_decref(answer);
}

/* If several threads die, the first one answers. */
void plan_end(json_t *answer)
{
	static pthread_mutex_t dying = PTHREAD_MUTEX_INITIALIZER;

	pthread_mutex_lock(&dying);
	put(answer);
	_exit(1);
}

/* --- serving -------------------------------------------------------------------------------- */

static json_t *run(const struct plan_step *steps, const char *text)
{
	json_error_t error;
	json_t *line = json_loads(text, 0, &error), *answer = NULL;
	const char *name = json_string_value(json_object_get(line, "do")) ?: error.text;

	for (const struct plan_step *step = steps; step->name && !answer; step++)
		if (!strcmp(step->name, name))
			answer = step->run(line);
	answer = answer ?: plan_error("the plan has no step \"%s\"", name);
	json_decref(line);
	return answer;
}

int plan_serve(const struct plan_step *steps)
{
	_cleanup_free_ char *text = NULL;
	size_t size = 0;

	/* Output of libraries must not mix with the answers. */
	answers = fdopen(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 64), "w");
	if (!answers || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		return 1;
	while (getline(&text, &size, stdin) >= 0)
		put(run(steps, text));
	return ferror(stdin) || ferror(answers) ? 1 : 0;
}

/* --- memory --------------------------------------------------------------------------------- */

void *plan_alloc(size_t n, size_t size)
{
	void *memory = calloc(n, size);

	if (!memory)
		plan_die("not enough memory");
	return memory;
}

const void *plan_map(const char *path, size_t size, size_t *n)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat info = { 0 };
	void *at;

	plan_check(fd < 0 || fstat(fd, &info) ? errno : 0, "%s", path);
	at = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_SHARED, fd, 0);
	plan_check(at == MAP_FAILED ? errno : 0, "%s", path);
	*n = (size_t)info.st_size / size;
	return at;
}

/* --- CPUs ----------------------------------------------------------------------------------- */

static __attribute__((constructor)) void find_cpus(void)
{
	cpu_set_t set;

	sched_getaffinity(0, sizeof(set), &set);
	for (unsigned int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &set))
			cpus[n_cpus++] = cpu;
}

unsigned int plan_n_cpus(void)
{
	return n_cpus;
}

unsigned int plan_cpu(unsigned int n)
{
	return cpus[n % n_cpus];
}

void plan_pin(unsigned int n)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(plan_cpu(n), &set);
	plan_check(sched_setaffinity(0, sizeof(set), &set) ? errno : 0, "CPU %u", plan_cpu(n));
}
