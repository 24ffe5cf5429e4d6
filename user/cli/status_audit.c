// SPDX-License-Identifier: GPL-2.0-only
/*
 * What `sixlane status` shows of the audit: how often the daemon has compared its routes with the
 * kernel's own tables, and what it had to correct.
 */
#include "../rib/rib.h"
#include "status.h"

/* Kinds that are none of a difference do not count. */
#define FIRST_DIFFERENCE (RIB_RENEWED + 1)

json_t *status_audit_json(const struct sixlane_meta *meta)
{
	json_t *object = json_object(), *corrected = json_object();

	for (size_t i = FIRST_DIFFERENCE; i < RIB_N_DIFFERENCES; i++)
		print_set(corrected, rib_difference_names[i],
			  json_integer((json_int_t)meta->audit_corrected[i]));
	print_set(object, "kernel_reader", json_boolean(meta->audit_reader));
	print_set(object, "passes", json_integer((json_int_t)meta->audit_passes));
	print_set(object, "pass_ms", json_real(print_rounded(meta->audit_pass_ns, 1000, 1000)));
	print_set(object, "corrected", corrected);
	return object;
}

void status_audit_text(const struct cmd_options *options, const struct sixlane_meta *meta)
{
	if (meta->audit_reader)
		printf("audit       %llu passes, the last one in %.3f ms\n",
		       (unsigned long long)meta->audit_passes,
		       print_rounded(meta->audit_pass_ns, 1000, 1000));
	else
		printf("audit       by dumps: the kernel's own tables CANNOT BE READ\n");
	if (!options->statistics)
		return;
	printf("corrected   ");
	for (size_t i = FIRST_DIFFERENCE; i < RIB_N_DIFFERENCES; i++)
		printf("%llu %s%s", (unsigned long long)meta->audit_corrected[i],
		       rib_difference_names[i], i + 1 < RIB_N_DIFFERENCES ? ", " : "\n");
}
