// SPDX-License-Identifier: GPL-2.0-only
/*
 * Back-to-back frames (RFC 2544, 26.4, as RFC 9004 has it): the longest burst at the highest rate
 * of which nothing is lost, and the time for which the router's buffers last, less what it forwards
 * meanwhile.
 */
#include <errno.h>

#include "nic.h"

#define PRECISION 100 /* a burst of n frames is known to n divided by this */
#define AGAIN 3	      /* one that was not sent as fast as that */

struct bursts {
	struct nic_bench *bench;
	uint64_t passed, failed; /* frames; failed 0: none has */
	double slow_pps;	 /* the rate of one that was not as fast; 0: all were */
	struct nic_outcome worst;
};

static int try_burst(struct bursts *bursts, uint64_t frames)
{
	const struct nic_trial trial = { .pps = bursts->bench->most_pps, .count = frames };
	struct nic_outcome outcome;
	int ret = nic_trial_run(bursts->bench, &trial, &outcome);

	for (int i = 1; i < AGAIN && !ret && nic_trial_is_slow(&trial, &outcome); i++)
		ret = nic_trial_run(bursts->bench, &trial, &outcome);
	if (ret)
		return ret;
	if (nic_trial_is_slow(&trial, &outcome))
		bursts->slow_pps = outcome.pps;
	if (outcome.sent != frames)
		return bench_bad(-EBADMSG, "burst: the generator has sent %llu of %llu frames",
				 (unsigned long long)outcome.sent, (unsigned long long)frames);
	if (!outcome.is_valid || bursts->worst.is_valid)
		bursts->worst = outcome;
	if (outcome.received < frames)
		bursts->failed = frames;
	else
		bursts->passed = frames;
	return 0;
}

/* A frame of each port that sends. */
static uint64_t least(const struct bursts *bursts)
{
	return bursts->bench->generator.n_tx;
}

static bool is_found(const struct bursts *bursts)
{
	uint64_t gap = bursts->failed - bursts->passed;

	return !bursts->failed || gap <= 1 || gap <= bursts->failed / PRECISION ||
	       bursts->failed <= least(bursts);
}

static uint64_t next(const struct bursts *bursts)
{
	uint64_t half = bursts->passed + (bursts->failed - bursts->passed) / 2;

	return half > least(bursts) ? half : least(bursts);
}

static const char *note_of(const struct bursts *bursts, char text[BENCH_NOTE_LEN])
{
	if (bursts->slow_pps > 0) {
		snprintf(text, BENCH_NOTE_LEN, "sent at %.0f instead of %.0f frames a second",
			 bursts->slow_pps, bursts->bench->most_pps);
		return text;
	}
	return bursts->failed ? NULL : "the longest that was tried";
}

int nic_measure_bursts(struct nic_bench *bench)
{
	struct bursts bursts = { .bench = bench, .worst.is_valid = true };
	double most = bench->most_pps, seconds;
	char text[BENCH_NOTE_LEN];
	int ret = try_burst(&bursts, (uint64_t)(most * bench->options->trial_s) + least(&bursts));

	while (!ret && !is_found(&bursts))
		ret = try_burst(&bursts, next(&bursts));
	ret = ret
		      ?: nic_figure_add(bench, "burst", "frames", (double)bursts.passed,
					&bursts.worst, note_of(&bursts, text));
	if (ret || !bursts.failed || bench->ndr_pps <= 0)
		return ret;
	/* what RFC 9004 calls the corrected DUT buffer time */
	seconds = (double)bursts.passed / most * (1 - bench->ndr_pps / most);
	return nic_figure_add(bench, "buffer", "us", seconds * 1e6, &bursts.worst,
			      note_of(&bursts, text));
}
