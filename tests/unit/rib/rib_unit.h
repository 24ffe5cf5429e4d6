/* SPDX-License-Identifier: GPL-2.0-only */
/* What every test of rib/ includes. */
#ifndef UNIT_RIB_RIB_UNIT_H
#define UNIT_RIB_RIB_UNIT_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../../user/lib/util.h"
#include "../unit.h"

#endif
