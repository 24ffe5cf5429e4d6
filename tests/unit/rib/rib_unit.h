/* SPDX-License-Identifier: GPL-2.0-only */
/* What every test of rib/ includes. */
#ifndef UNIT_RIB_RIB_UNIT_H
#define UNIT_RIB_RIB_UNIT_H

#include "../unit.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../../../user/lib/util.h"

#endif
