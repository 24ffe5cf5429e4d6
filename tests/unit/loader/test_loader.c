// SPDX-License-Identifier: GPL-2.0-only
/* What the loader knows of drivers, and how it reads who holds the lock of the pin directory. */
#include "../unit.h"

#include <errno.h>
#include <string.h>

#include "../../../user/loader/driver.h"
#include "../../../user/loader/loader.h"

/* The advice depends on the driver and the kernel's message. */
static void drivers_refuse_with_advice(void **state)
{
	static const struct {
		const char *name, *message, *words;
		uint32_t mtu;
		int rc;
		size_t page_bytes;
		bool never; /* "has no native XDP" */
	} rows[] = {
		{ "e1000e", "Underlying driver does not support XDP in native mode",
		  "'sixlane attach eth0 generic'", 1500, -EOPNOTSUPP, 4096, true },
		{ "vmxnet3", "vmxnet3: MTU 9000 too large for XDP",
		  "its MTU is 9000, and vmxnet3 supports native XDP up to MTU 3494", 9000,
		  -EOPNOTSUPP, 4096, false },
		{ "igb", "igb: The RX buffer size is too small for the frame size",
		  "its MTU is 9000, and igb supports native XDP up to MTU 3046", 9000, -EINVAL,
		  4096, false },
		{ "igb", "", "up to MTU 2022", 2500, -EINVAL, 16384, false },
		{ "igb", "igb: no memory", "igb: no memory", 1500, -EINVAL, 4096, false },
		{ "other", "other: MTU too big", "its MTU is 9000, and a smaller one may work",
		  9000, -EINVAL, 4096, false },
		{ "other", "", "Cannot allocate memory", 9000, -ENOMEM, 4096, false },
		{ "other", "other: too few queues", "other: too few queues", 9000, -ENOSPC, 4096,
		  false },
		{ "virtio_net", "virtio_net: Can't set XDP while host is implementing GRO_HW/CSUM",
		  "in its present configuration (virtio_net: Can't", 1500, -EOPNOTSUPP, 4096,
		  false },
		{ "", "", "in its present configuration, or never (Operation not supported)", 1500,
		  -EOPNOTSUPP, 4096, false },
	};
	char text[LOADER_ERR];
	int error;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct loader_driver driver = { "eth0", "", rows[i].mtu, rows[i].page_bytes };

		strcpy(driver.name, rows[i].name);
		loader_driver_refusal(rows[i].rc, &driver, rows[i].message, text);
		error = loader_driver_attach_error(rows[i].rc, &driver, rows[i].message);
		assert_int_equal(error == -EMSGSIZE, !!strstr(rows[i].words, "MTU"));
		assert_int_equal(error == -EOPNOTSUPP,
				 rows[i].never || (rows[i].rc == -EOPNOTSUPP && !*rows[i].message));
		assert_non_null(strstr(text, "eth0"));
		assert_non_null(strstr(text, rows[i].message));
		assert_non_null(strstr(text, rows[i].words));
		assert_int_equal(!!strstr(text, "has no native XDP"), rows[i].never);
		if (!strstr(rows[i].words, "MTU"))
			assert_null(strstr(text, "its MTU"));
	}
}

static void queues_may_be_shared(void **state)
{
	assert_true(loader_driver_locks_queues("virtio_net", 1, 2));
	assert_true(loader_driver_locks_queues("virtio_net", 4, 4));
	assert_false(loader_driver_locks_queues("virtio_net", 5, 4));
	assert_false(loader_driver_locks_queues("virtio_net", 0, 4)); /* unknown */
	assert_false(loader_driver_locks_queues("igb", 1, 4));
}

static void locks_of_whole_files_for_writing(void **state)
{
	static const char *const others[] = {
		"1: FLOCK  ADVISORY  READ  812 00:2f:13 0 EOF\n",
		"2: POSIX  ADVISORY  WRITE 812 00:2f:13 0 EOF\n",
		"3: -> FLOCK  ADVISORY  WRITE 812 00:2f:13 0 EOF\n",
		"4: FLOCK  ADVISORY  WRITE 812 <none>:0 0 EOF\n",
		"",
	};
	struct loader_lock_line lock = { .pid = 7 };

	assert_true(loader_parse_lock("12: FLOCK  ADVISORY  WRITE 812 fd:2f:4711 0 EOF\n", &lock));
	assert_int_equal(lock.pid, 812);
	assert_int_equal(lock.major, 0xfd);
	assert_int_equal(lock.minor, 0x2f);
	assert_int_equal(lock.inode, 4711);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		assert_false(loader_parse_lock(others[i], &lock));
	assert_int_equal(lock.pid, 812);
}

static void limits_of_drivers(void **state)
{
	assert_int_equal(loader_driver_max_mtu("igb", 4096), 3046);
	assert_int_equal(loader_driver_max_mtu("virtio_net", 4096), 0);
	assert_true(loader_driver_opens_checksums("virtio_net"));
	assert_false(loader_driver_opens_checksums("igb"));
	assert_true(loader_mtu_is_jumbo(loader_max_plain_mtu() + 1));
	assert_false(loader_mtu_is_jumbo(loader_max_plain_mtu()));
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(drivers_refuse_with_advice),
		cmocka_unit_test(queues_may_be_shared),
		cmocka_unit_test(limits_of_drivers),
		cmocka_unit_test(locks_of_whole_files_for_writing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
