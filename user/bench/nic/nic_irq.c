// SPDX-License-Identifier: GPL-2.0-only
/* See nic_irq.h. */
#include "nic_irq.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/util.h"

/* --- names ---------------------------------------------------------------------------------- */

static bool ends_with(const char *text, size_t n, const char *end)
{
	size_t length = strlen(end);

	return n >= length && !strncmp(text + n - length, end, length);
}

/*
 * "eth0-TxRx-3", "virtio2-input.0", "mlx5_comp3@pci:0000:03:00.0", "gve-ntfy-blk3@…", "mana_q3@…";
 * not "eth0", nor "mlx5_async0@…", nor i40e's "…:fdir-TxRx-0", which tells of filters.
 */
int nic_irq_queue(const char *name)
{
	static const char *const before[] = { "-", ".", "comp", "blk", "_q" };
	size_t end = strcspn(name, "@"), start = end;

	while (start && isdigit((unsigned char)name[start - 1]))
		start--;
	if (start == end || end - start > 5 || strstr(name, "fdir"))
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(before); i++)
		if (ends_with(name, start, before[i]))
			return (int)strtol(name + start, NULL, 10);
	return -1;
}

bool nic_irq_parse(const char *line, struct nic_irq *out)
{
	char *rest;
	unsigned long number = strtoul(line, &rest, 10);
	size_t end = strlen(line), start;

	/* the rows of letters are no devices' */
	if (rest == line || *rest != ':' || number > UINT_MAX)
		return false;
	while (end && isspace((unsigned char)line[end - 1]))
		end--;
	start = end;
	while (start && !isspace((unsigned char)line[start - 1]))
		start--;
	/* one that nobody has asked for ends with a number's column, or with how it is raised */
	if (line + start <= rest || strspn(line + start, "0123456789") >= end - start)
		return false;
	out->number = (unsigned int)number;
	snprintf(out->name, sizeof(out->name), "%.*s", (int)(end - start), line + start);
	out->queue = nic_irq_queue(out->name);
	return true;
}

/* --- this machine --------------------------------------------------------------------------- */

/* A virtio device is one on a PCI device, which has the vectors. */
static DIR *open_vectors(const char *dev)
{
	static const char *const places[] = { "device", "device/.." };
	char path[PATH_MAX];
	DIR *dir = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(places) && !dir; i++) {
		snprintf(path, sizeof(path), "/sys/class/net/%s/%s/msi_irqs", dev, places[i]);
		dir = opendir(path);
	}
	return dir;
}

static size_t read_numbers(const char *dev, unsigned int numbers[NIC_MAX_IRQS])
{
	DIR *dir = open_vectors(dev);
	const struct dirent *entry;
	size_t n = 0;

	while (dir && n < NIC_MAX_IRQS && (entry = readdir(dir)))
		if (isdigit((unsigned char)entry->d_name[0]))
			numbers[n++] = (unsigned int)strtoul(entry->d_name, NULL, 10);
	if (dir)
		closedir(dir);
	return n;
}

static bool is_among(const unsigned int *numbers, size_t n, unsigned int number)
{
	for (size_t i = 0; i < n; i++)
		if (numbers[i] == number)
			return true;
	return false;
}

int nic_irq_read(const char *dev, struct nic_irq irqs[NIC_MAX_IRQS], size_t *n)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/interrupts", "re");
	_cleanup_free_ char *line = NULL;
	unsigned int numbers[NIC_MAX_IRQS];
	size_t n_numbers = read_numbers(dev, numbers), found = 0, size = 0;

	if (!file)
		return -errno;
	while (found < NIC_MAX_IRQS && getline(&line, &size, file) > 0)
		if (nic_irq_parse(line, &irqs[found]) &&
		    is_among(numbers, n_numbers, irqs[found].number))
			found++;
	*n = found;
	return 0;
}

static bool is_irqbalance(const char *pid)
{
	char path[PATH_MAX], comm[32] = "";
	_cleanup_fclose_ FILE *file = NULL;

	snprintf(path, sizeof(path), "/proc/%s/comm", pid);
	file = fopen(path, "re");
	return file && fgets(comm, sizeof(comm), file) && !strcmp(comm, "irqbalance\n");
}

bool nic_irq_is_balanced(void)
{
	DIR *dir = opendir("/proc");
	const struct dirent *entry;
	bool found = false;

	while (dir && !found && (entry = readdir(dir)))
		found = isdigit((unsigned char)entry->d_name[0]) && is_irqbalance(entry->d_name);
	if (dir)
		closedir(dir);
	return found;
}
