// SPDX-License-Identifier: GPL-2.0-only
/*
 * Exceptions: where they are looked for, when they hold, and what they put in the place of what the
 * route says. What becomes of a packet over an MTU is rows_answer.c's.
 */
#include "rows_exception.h"

static void no_tokens(struct world *w)
{
	w->meta.answer_ns = 1;
}

const struct row rows_exception[] = {
	{ .name = "exception that the kernel applies",
	  HIT(FOR_DST(FLAG(PUNT))),
	  .verdict = SIXLANE_PUNT_EXCEPTION },
	{ .name = "Path MTU", HIT(MTU(1400)), SIZE(1400) },
	{ .name = "Path MTU + 1",
	  .routes = { TO(NH_GATEWAY), BACK },
	  HIT(MTU(1400)),
	  SIZE(1401),
	  ANSWERED(1400),
	  .answer.decremented = true },
	{ .name = "operator's MTU + 1, no way back",
	  HIT(OPERATOR(1400)),
	  SIZE(1401),
	  ANSWERED(1400),
	  .answer.turned = true },
	{ .name = "drop rate",
	  HIT(OPERATOR(1400)),
	  .arrange = no_tokens,
	  SIZE(1401),
	  .verdict = SIXLANE_DROP_TOO_BIG_RATE },
	{ .name = "drop",
	  HIT(OPERATOR(1400)),
	  SIZE(1401),
	  .patches = { { AT_NEXT_HEADER, "3a" }, { AT_PAYLOAD, "01" } },
	  .verdict = SIXLANE_DROP_TOO_BIG },
};
const size_t rows_exception_n = sizeof(rows_exception) / sizeof(rows_exception[0]);
