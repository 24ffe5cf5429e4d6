// SPDX-License-Identifier: GPL-2.0-only
/* See wakeup.h. The socket is abstract, so that its name disappears with the daemon. */
#include "wakeup.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "util.h"

/* More than a socket's queue holds by default (net.unix.max_dgram_qlen is 10 or 512). Datagrams
 * beyond that make the descriptor readable again. */
#define DRAIN_MAX 64

/* The address of the daemon of a directory. Returns its length or -errno. */
static int get_address(const char *path, struct sockaddr_un *addr)
{
	struct stat dir;
	int n;

	if (stat(path, &dir))
		return -errno;
	*addr = (struct sockaddr_un){ .sun_family = AF_UNIX };
	/* sun_path[0] stays 0: abstract */
	n = snprintf(addr->sun_path + 1, sizeof(addr->sun_path) - 1, "sixlane/%llx:%llx",
		     (unsigned long long)dir.st_dev, (unsigned long long)dir.st_ino);
	return (int)offsetof(struct sockaddr_un, sun_path) + 1 + n;
}

static int open_socket(void)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	return fd < 0 ? -errno : fd;
}

int wakeup_open(const char *dir)
{
	_cleanup_close_ int fd = open_socket();
	struct sockaddr_un addr;
	int len = get_address(dir, &addr);

	if (fd < 0 || len < 0)
		return fd < 0 ? fd : len;
	if (bind(fd, (const struct sockaddr *)&addr, (socklen_t)len))
		return -errno;
	return util_take_fd(&fd);
}

void wakeup_drain(int fd)
{
	char byte;

	for (int i = 0; i < DRAIN_MAX && recv(fd, &byte, sizeof(byte), MSG_DONTWAIT) >= 0; i++)
		;
}

int wakeup_send(const char *dir)
{
	_cleanup_close_ int fd = open_socket();
	struct sockaddr_un addr;
	int len = get_address(dir, &addr);

	if (fd < 0 || len < 0)
		return fd < 0 ? fd : len;
	/* A full queue wakes the daemon as well. */
	if (sendto(fd, NULL, 0, 0, (const struct sockaddr *)&addr, (socklen_t)len) < 0 &&
	    errno != EAGAIN)
		return -errno;
	return 0;
}
