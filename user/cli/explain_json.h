/* SPDX-License-Identifier: GPL-2.0-only */
/* An explained packet as JSON. */
#ifndef USER_CLI_EXPLAIN_JSON_H
#define USER_CLI_EXPLAIN_JSON_H

#include "explain_steps.h"

/* Most keys are always there, and null where there is nothing to report. */
json_t *explain_json(const struct explain *explain);

#endif
