// SPDX-License-Identifier: GPL-2.0-only
/* See machine.h. */
#include "machine.h"

#include <string.h>
#include <sys/utsname.h>

#ifdef __x86_64__
#include <cpuid.h>
#endif

#include "bench.h"

/* The first line of a file; out stays as it is if there is none. */
static void read_line(const char *path, char *out, int size)
{
	FILE *file = fopen(path, "re");

	if (!file)
		return;
	if (fgets(out, size, file))
		out[strcspn(out, "\n")] = '\0';
	fclose(file);
}

/* x86 says "model name", Arm on some kernels "Model", RISC-V "uarch". */
static bool is_model(const char *line)
{
	return !strncmp(line, "model name", 10) || !strncmp(line, "Model", 5) ||
	       !strncmp(line, "uarch", 5);
}

static void read_cpu(char *out, size_t size)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/cpuinfo", "re");
	char line[256];

	*out = '\0';
	while (file && !*out && fgets(line, sizeof(line), file)) {
		const char *value = strchr(line, ':');

		if (!value || !is_model(line))
			continue;
		value++;
		value += strspn(value, " ");
		snprintf(out, size, "%.*s", (int)strcspn(value, "\n"), value);
	}
}

/* Of the kernel's words for each the first few: the others are of system calls and of threads. */
static void read_mitigations(char *out, size_t size)
{
	static const char *const of_calls[] = { "spectre_v2", "retbleed", "spec_rstack_overflow",
						"indirect_target_selection" };
	static const char is[] = "Mitigation: ";
	size_t used = 0;

	*out = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(of_calls) && used < size; i++) {
		char path[96], line[256] = "";
		const char *what = line + strlen(is);

		snprintf(path, sizeof(path), "/sys/devices/system/cpu/vulnerabilities/%s",
			 of_calls[i]);
		read_line(path, line, sizeof(line));
		if (!strncmp(line, is, strlen(is)))
			used += (size_t)snprintf(out + used, size - used, "%s%.*s",
						 used ? ", " : "", (int)strcspn(what, ";"), what);
	}
}

#ifdef __x86_64__
/* The name of the hypervisor: leaf 0x40000000, where the CPU says that there is one. */
static bool is_named_tcg(void)
{
	unsigned int eax, ebx, ecx, edx;
	char name[13] = "";

	if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !(ecx & 1u << 31))
		return false;
	__cpuid(0x40000000, eax, ebx, ecx, edx);
	memcpy(name, &ebx, 4);
	memcpy(name + 4, &ecx, 4);
	memcpy(name + 8, &edx, 4);
	return !strcmp(name, "TCGTCGTCGTCG");
}
#else
static bool is_named_tcg(void)
{
	return false;
}
#endif

/* By QEMU's TCG; a CPU that a hypervisor only lends has the name of its host's. */
static bool is_emulated(const char *cpu)
{
	return strstr(cpu, "TCG") || is_named_tcg();
}

void bench_machine_read(struct bench_machine *out)
{
	char vendor[64] = "", product[64] = "";
	struct utsname name = { 0 };

	*out = (struct bench_machine){ .cpus = bench_n_cpus() };
	uname(&name);
	snprintf(out->kernel, sizeof(out->kernel), "%s", name.release);
	read_line("/sys/class/dmi/id/sys_vendor", vendor, sizeof(vendor));
	read_line("/sys/class/dmi/id/product_name", product, sizeof(product));
	snprintf(out->machine, sizeof(out->machine), "%.20s%s%s%s%s", name.machine,
		 *vendor ? ", " : "", vendor, *product ? ", " : "", product);
	read_cpu(out->cpu, sizeof(out->cpu));
	read_mitigations(out->mitigations, sizeof(out->mitigations));
	out->is_emulated = is_emulated(out->cpu);
}

void bench_machine_text(const struct bench_machine *machine, char *buf, size_t size)
{
	snprintf(buf, size, "%s%s%s; Linux %s; %s, %u CPUs%s%s",
		 machine->is_emulated ? BENCH_EMULATED : "", machine->is_emulated ? "; " : "",
		 machine->machine, machine->kernel, machine->cpu, machine->cpus,
		 *machine->mitigations ? ", mitigations " : "", machine->mitigations);
}
