# SPDX-License-Identifier: GPL-2.0-only
"""One network namespace, and what it takes to run commands and open sockets in it.

Standard library only. Knows iproute2 and ethtool, nothing of sixlane. The calling thread enters a namespace to
run commands and open sockets in it: nsenter takes as long as `ip` itself, and `ip netns exec` would hide the
bpffs. Namespaces are made and deleted without commands, since every test does that four times or more.
"""

import contextlib
import ctypes
import fcntl
import json
import os
import socket
import struct
import subprocess
import time

NETNS_DIR = "/run/netns"
CLONE_NEWNET = 0x40000000
MS_BIND, MNT_DETACH = 0x1000, 2
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP, IFF_RUNNING = 0x8913, 0x8914, 0x1, 0x40
IFREQ = struct.Struct("16sH14x")

# os.unshare and os.setns came with Python 3.12; Debian 12 has 3.11.
libc = ctypes.CDLL(None, use_errno=True)


class LabError(Exception):
    """Something the lab needs did not work."""


class CommandError(LabError):
    """A command ended with another status than 0."""

    def __init__(self, argv, code, out, err):
        super().__init__("%s: exit status %s\n%s%s" % (" ".join(map(str, argv)), code, out or "", err or ""))
        self.argv, self.code, self.out, self.err = argv, code, out, err


# Deadlines are for an idle machine; on emulated ones they are multiplied by this.
PATIENCE = float(os.environ.get("SIXLANE_PATIENCE", "1"))


def wait_until(fn, timeout=10.0, what="condition", interval=0.005):
    """Poll fn until it returns something true, which is returned. TimeoutError after timeout s.

    `what` may be a function: it is called at the deadline, and may return what was seen last.
    """
    # Polling takes CPU time from what is waited for, much of it under emulation.
    timeout, interval, longest = timeout * PATIENCE, interval * PATIENCE, 0.1 * PATIENCE
    deadline = time.monotonic() + timeout
    while True:
        value = fn()
        if value:
            return value
        if time.monotonic() > deadline:
            text = what() if callable(what) else what
            raise TimeoutError("not within %g s: %s" % (timeout, text))
        time.sleep(interval)
        interval = min(interval * 1.5, longest)


def wait_for(look, is_right, timeout=10.0, what="the right value", **kwargs):
    """Poll look() until is_right() accepts its value, which is returned. The error names the last value."""
    seen = [None]

    def right():
        seen[0] = look()
        return is_right(seen[0])

    wait_until(right, timeout, lambda: "%s: %s" % (what, seen[0]), **kwargs)
    return seen[0]


def command(argv, check=True, stdin=None, timeout=60, **kwargs):
    """Run a command with its output captured as text. CommandError unless it ends with 0."""
    done = subprocess.run(
        [str(arg) for arg in argv],
        input=stdin,
        stdin=subprocess.DEVNULL if stdin is None else None,
        capture_output=True,
        text=True,
        timeout=timeout * PATIENCE,
        check=False,
        **kwargs,
    )
    if check and done.returncode != 0:
        raise CommandError(argv, done.returncode, done.stdout, done.stderr)
    return done


def libc_call(name, *args):
    if getattr(libc, name)(*args) != 0:
        number = ctypes.get_errno()
        raise LabError("%s: %s" % (name, os.strerror(number)))


def cpu_seconds(pid):
    """CPU time a process has used so far."""
    with open("/proc/%d/stat" % pid, encoding="ascii") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Namespace:
    """One network namespace: a host or a router."""

    def __init__(self, lab, role):
        self.lab, self.role = lab, role
        self.name = "%s-%s" % (role, lab.suffix)
        self.path = os.path.join(NETNS_DIR, self.name)
        self._make()
        self.fd = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        self.inode = os.fstat(self.fd).st_ino
        # Addresses are usable at once. There are only those of the test and the link-local one, without which
        # the kernel sends neither solicitations nor redirects.
        for scope in ("all", "default"):
            for key in ("accept_dad", "accept_ra", "autoconf", "router_solicitations"):
                self.sysctl("net.ipv6.conf.%s.%s" % (scope, key), 0)
            self.sysctl("net.ipv6.conf.%s.dad_transmits" % scope, 0)
        self.sysctl("net.ipv6.conf.default.addr_gen_mode", 0)
        if not lab.limits_answers:
            # No rate limit of ICMPv6 errors. Since Linux 6.13 the global limit is set here.
            self.sysctl("net.ipv6.icmp.ratelimit", 0)
            for key in ("icmp_msgs_per_sec", "icmp_msgs_burst"):
                if self.has_sysctl("net.ipv4." + key):
                    self.sysctl("net.ipv4." + key, 1_000_000)
        with self.entered(), socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as sock:
            fcntl.ioctl(sock, SIOCSIFFLAGS, IFREQ.pack(b"lo", IFF_UP))

    def _make(self):
        """Make it as `ip netns add` does, with a name that commands find it by."""
        os.close(os.open(self.path, os.O_RDONLY | os.O_CREAT | os.O_EXCL, 0))
        with open("/proc/thread-self/ns/net", "rb") as home:
            libc_call("unshare", CLONE_NEWNET)
            try:
                libc_call("mount", b"/proc/thread-self/ns/net", self.path.encode(), b"", MS_BIND, None)
            finally:
                libc_call("setns", home.fileno(), CLONE_NEWNET)

    def __repr__(self):
        return "<Namespace %s>" % self.name

    # -- running things

    def run(self, *cmd, **kwargs):
        """Run a command in here and wait for it (see command())."""
        with self.entered():
            return command(cmd, **kwargs)

    def popen(self, *cmd, **kwargs):
        """Start a command in here; the lab ends it at the latest."""
        with self.entered():
            return self.lab.popen(*cmd, **kwargs)

    @contextlib.contextmanager
    def entered(self):
        """Within the block this thread is in the namespace, with all that it starts and opens."""
        with open("/proc/thread-self/ns/net", "rb") as home:
            libc_call("setns", self.fd, CLONE_NEWNET)
            try:
                yield self
            finally:
                libc_call("setns", home.fileno(), CLONE_NEWNET)

    def socket(self, *args):
        """A socket of this namespace. The lab closes it, as it would keep the namespace alive."""
        with self.entered():
            sock = socket.socket(*args)
        self.lab.own_socket(sock)
        return sock

    # -- settings

    def sysctl(self, key, value=None):
        """Set net.ipv6.… (value given) or read it. Dots within a device's name: use slashes."""
        path = _proc_path(key)
        with self.entered():
            if value is None:
                with open(path, encoding="ascii") as file:
                    return file.read().strip()
            with open(path, "w", encoding="ascii") as file:
                file.write(str(value))
        return None

    def has_sysctl(self, key):
        with self.entered():
            return os.path.exists(_proc_path(key))

    def ip(self, *args, **kwargs):
        """`ip -6 …` for routes, rules, neighbours and addresses; `ip …` for links."""
        return self.run("ip", *_family(args), *split_words(args), **kwargs)

    def ipj(self, *args, **kwargs):
        """The same, as parsed JSON."""
        out = self.run("ip", "-j", "-d", *_family(args), *split_words(args), **kwargs).stdout
        return json.loads(out) if out.strip() else []

    def batch(self, lines, force=False):
        """`ip -6 -batch` of an iterable of lines. With force, errors are skipped."""
        argv = ["ip", "-6"] + (["-force"] if force else []) + ["-batch", "-"]
        return self.run(*argv, stdin="".join(line + "\n" for line in lines), check=not force)

    def addr(self, dev, *addresses):
        """Give a device addresses with their prefix lengths, and bring it up."""
        self.batch(
            ["addr add %s dev %s nodad" % (address, dev) for address in addresses]
            + ["link set dev %s up" % dev]
        )

    def route(self, *args):
        """route("add 2001:db8::/32 via …") or in words."""
        return self.ip("route", *args)

    def link(self, dev):
        """`ip -j -d link show` of one device."""
        return self.ipj("link", "show", "dev", dev)[0]

    def is_running(self, dev):
        """Whether it is up and the kernel has noticed its carrier: a work queue does that (linkwatch), which changes
        flags, queues and routes."""
        with self.entered(), socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as sock:
            flags = IFREQ.unpack(fcntl.ioctl(sock, SIOCGIFFLAGS, IFREQ.pack(dev.encode(), 0)))[1]
        return bool(flags & IFF_RUNNING)

    def mac(self, dev):
        return self.link(dev)["address"]

    def link_local(self, dev):
        """The device's link-local address."""
        for address in self.ipj("addr", "show", "dev", dev, "scope", "link")[0]["addr_info"]:
            if "local" in address:
                return address["local"]
        raise LabError("%s has no link-local address" % dev)

    def neighbour(self, dev, address):
        """The kernel's entry as a dict ("state": ["REACHABLE"], "lladdr": …), or None."""
        found = self.ipj("neigh", "show", "dev", dev, "to", address)
        return found[0] if found else None

    def offload_as_host(self, dev):
        """Set up the far end of a port with XDP.

        It needs GRO, or veth drops redirected frames; and no checksum offload, since XDP loses the information
        that a frame's checksum is still to be filled in.
        """
        self.run("ethtool", "-K", dev, "gro", "on", "tx", "off")

    def delete(self):
        if self.fd < 0:
            return
        os.close(self.fd)
        self.fd = -1
        libc_call("umount2", self.path.encode(), MNT_DETACH)
        os.unlink(self.path)


def _proc_path(key):
    return "/proc/sys/" + (key if "/" in key else key.replace(".", "/"))


def split_words(args):
    return [word for arg in args for word in str(arg).split()]


def _family(args):
    words = [word for word in split_words(args) if not word.startswith("-")]
    return [] if words[0] in ("link", "netns", "monitor") else ["-6"]
