// SPDX-License-Identifier: GPL-2.0-only
/* See nic_check.h. */
#include "nic_check.h"

#include <errno.h>
#include <string.h>

#include "../../lib/log.h"
#include "../bench.h"

/* --- native XDP ----------------------------------------------------------------------------- */

int nic_try_xdp(const char *dev, bool is_ready)
{
	char err[LOADER_ERR];
	int ret = loader_try_native(dev, err);

	if (!ret)
		return 0;
	if (ret == -EOPNOTSUPP)
		return bench_bad(ret, "%s: measure another device", err);
	if (ret == -EPERM || ret == -ENODEV || is_ready)
		return bench_bad(
			ret,
			"%s; another number of queues (--queues) or a smaller MTU (--mtu) may help",
			err);
	log_warning("%s; tried again once it has its queues and its MTU", err);
	return 0;
}

/* --- all of it ------------------------------------------------------------------------------ */

/* Says them; the first error, or 0. */
static int say(const struct nic_problem *problems, size_t n)
{
	int ret = 0;

	for (size_t i = 0; i < n; i++) {
		if (!problems[i].error) {
			log_warning("%s", problems[i].text);
			continue;
		}
		bench_bad(problems[i].error, "%s", problems[i].text);
		ret = ret ?: problems[i].error;
	}
	return ret;
}

static int check_device(const struct ports *ports, const char *dev, const struct nic_login *logins,
			size_t n_logins, const struct nic_check_want *want)
{
	struct nic_problem problems[NIC_MAX_PROBLEMS];
	struct nic_facts facts;
	int ret = nic_facts_read(ports, dev, logins, n_logins, &facts);

	if (ret == -ENODEV)
		return bench_bad(ret, "cannot find device \"%s\": 'ip link' lists the devices",
				 dev);
	if (ret)
		return bench_fail(ret, "cannot see what %s is there for", dev);
	return say(problems, nic_judge(&facts, want, problems));
}

static int check_twice(const char *const *devs, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < i; k++)
			if (!strcmp(devs[i], devs[k]))
				return bench_bad(-EINVAL, "%s is named twice", devs[i]);
	return 0;
}

int nic_check(const char *const *devs, size_t n, const struct nic_check_want *want)
{
	struct nic_login logins[NIC_MAX_LOGINS];
	struct ports ports;
	size_t n_logins = 0;
	int ret = check_twice(devs, n);

	if (ret)
		return ret;
	ret = ports_read(&ports);
	if (ret)
		return bench_fail(ret, "cannot read which devices there are");
	ret = nic_login_find(logins, &n_logins);
	if (ret)
		bench_fail(ret, "cannot see by which device this login comes in");
	for (size_t i = 0; i < n; i++) {
		int one = check_device(&ports, devs[i], logins, n_logins, want);

		ret = ret ?: one;
	}
	/* a driver may interrupt the link for it, so not on one that is refused in any case */
	for (size_t i = 0; i < n && !ret; i++)
		ret = nic_try_xdp(devs[i], false);
	ports_free(&ports);
	return ret;
}
