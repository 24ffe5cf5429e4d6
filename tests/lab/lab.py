# SPDX-License-Identifier: GPL-2.0-only
"""A lab for tests, demo and benchmarks: hosts, links, and sixlane on a router.

Standard library only. Knows the command lines of sixlane, and makes no assertions.

Invariants
- Everything lives in a mount namespace of this process, with its own bpffs and its own /run/netns.
  The machine is not changed, and the kernel cleans up if this process is killed.
- A Lab leaves nothing behind, however it ends; leftovers() lists what it did leave.
"""

import atexit
import contextlib
import itertools
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

from netns import NETNS_DIR, PATIENCE, LabError, Namespace, command, libc_call, split_words, wait_for, wait_until

REPO = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("SIXLANE_BUILD", os.path.join(REPO, "build"))


def _beside_the_command(name):
    """The file that belongs to the command $SIXLANE, installed or built; else that in BUILD."""
    folder = os.path.dirname(os.environ.get("SIXLANE", "")) or BUILD
    paths = [os.path.join(folder, *steps, name) for steps in ((), ("..", "lib", "sixlane"), ("..", "sbin"))]
    return next((path for path in paths if os.path.exists(path)), paths[0])


OBJECT, SIXLANE, SIXLANED = map(_beside_the_command, ("sixlane.bpf.o", "sixlane", "sixlaned"))
FIRST_INDEX = 11  # of veth devices; below it the kernel numbers devices that are made without an index

BPFFS = "/sys/fs/bpf"
RUN_DIR = "/run/sixlane"  # where the loader keeps the verifier's log
PINS = BPFFS + "/tc/globals"

CLONE_NEWNS = 0x00020000


# --- the mount namespace of this process ----------------------------------------------------

_private_pid = None
_open_labs = []


def enter_private_mounts():
    """Give this process mounts of its own, once. Before the first thread: unshare is per thread."""
    global _private_pid
    if _private_pid == os.getpid():
        return
    if os.geteuid() != 0:
        raise LabError("network namespaces need root")
    libc_call("unshare", CLONE_NEWNS)
    if command(["mount", "--make-rprivate", "/"], check=False).returncode:
        # iproute2 fails there as well, and a bind mount on / could propagate to the host
        raise LabError("/ is not a mount point, so network namespaces cannot be used in this chroot:"
                       " before chroot, 'mount --bind DIR DIR' makes its folder one")  # fmt: skip
    # /run/netns may not exist yet. The directory stays, as iproute2 never removes it either; so does sixlane's.
    for folder, mode in ((NETNS_DIR, 0o755), (RUN_DIR, 0o700)):
        os.makedirs(folder, mode, exist_ok=True)
        command(["mount", "-t", "tmpfs", "-o", "mode=%o" % mode, "sixlane-lab", folder])
    # A name that is removed must disappear from the mount namespaces of commands, too.
    command(["mount", "--make-shared", NETNS_DIR])
    _private_pid = os.getpid()
    atexit.register(_close_all)
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, _on_signal)


def _on_signal(number, _frame):
    # The exception unwinds `with` blocks; atexit closes all other labs.
    sys.exit(128 + number)


def _close_all():
    if _private_pid != os.getpid():
        return
    for lab in list(reversed(_open_labs)):
        lab.close()


# --- the lab --------------------------------------------------------------------------------


class Lab:
    """A set of namespaces with a bpffs of its own. A context manager."""

    def __init__(self, limits_answers=False):
        """limits_answers: namespaces keep the kernel's default rate limit of ICMPv6 errors, for measurements."""
        self.suffix, self.limits_answers = secrets.token_hex(4), limits_answers
        self.namespaces, self.processes, self._sockets = [], [], []
        self._left_over, self._closed, self.tmp, self._bpffs_device = [], False, None, None
        self._indexes = itertools.count(FIRST_INDEX)
        enter_private_mounts()
        _open_labs.append(self)
        try:
            # In the private mount, so that it is gone even after a SIGKILL.
            self.tmp = tempfile.mkdtemp(prefix=".lab-", dir=NETNS_DIR)
            command(["mount", "-t", "bpf", "sixlane-lab", BPFFS])
        except BaseException:
            self.close()
            raise
        self._bpffs_device = os.stat(BPFFS).st_dev

    def __enter__(self):
        return self

    def __exit__(self, *_exc):
        self.close()

    def ns(self, role):
        """A new namespace. The role is the first part of its name: "r" gives r-1a2b3c4d."""
        namespace = Namespace(self, role)
        self.namespaces.append(namespace)
        return namespace

    def link(self, ns_a, name_a, ns_b, name_b, mac=None, peer_mac=None, queues=None, mtu=None):
        """A veth pair, both ends down. queues: of each kind at each end.

        The ends get different numbers: otherwise the kernel takes them for devices without a lower one, and
        notices a carrier only once a second (linkwatch).
        """
        ends = []
        for name, namespace, address in ((name_a, ns_a, mac), (name_b, ns_b, peer_mac)):
            end = ["name", name, "netns", namespace.name, "index", next(self._indexes)]
            end += ["address", address] if address else []
            end += ["mtu", mtu] if mtu else []
            end += ["numtxqueues", queues, "numrxqueues", queues] if queues else []
            ends.append(end)
        command(["ip", "link", "add"] + ends[0] + ["type", "veth", "peer"] + ends[1])

    def popen(self, *argv, **kwargs):
        """Start a process that ends with this one and, at the latest, with the lab.

        From the main thread only: the kernel ties it to the thread.
        """
        kwargs.setdefault("stdin", subprocess.DEVNULL)
        process = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", "--"] + [str(arg) for arg in argv], **kwargs)
        self.processes.append(process)
        return process

    def end(self, process, timeout=5):
        """SIGTERM, then SIGKILL. Returns the exit status."""
        if process.poll() is None:
            process.send_signal(signal.SIGCONT)
            process.terminate()
            try:
                process.wait(timeout * PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        if process in self.processes:
            self.processes.remove(process)
        return process.returncode

    def own_socket(self, sock):
        self._sockets.append(sock)

    def path(self, name):
        """A name in the lab's own directory."""
        return os.path.join(self.tmp, name)

    def write(self, name, content):
        """A file of that name in the lab's own directory, text or bytes. Returns its path."""
        with open(self.path(name), "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
        return self.path(name)

    def close(self):
        """End processes, delete namespaces (and with them their links), unmount. Idempotent."""
        if self._closed:
            return
        self._closed = True
        steps = [lambda p=process: self.end(p, 2) for process in list(self.processes)]
        steps += [self._close_sockets]
        steps += [lambda: self._left_over.extend(self._processes_inside())]
        steps += [namespace.delete for namespace in self.namespaces]
        steps += [self._unmount, lambda: self.tmp and shutil.rmtree(self.tmp, ignore_errors=True)]
        with _signals_held():
            for step in steps:
                try:
                    step()
                except Exception as error:  # the rest must still be cleared up
                    print("lab: %s" % error, file=sys.stderr)
            _open_labs.remove(self)

    def _close_sockets(self):
        """Close them in parallel: for each the kernel waits 20 ms or longer, until no CPU reads from it."""
        threads = [threading.Thread(target=sock.close) for sock in self._sockets]
        with contextlib.suppress(RuntimeError):  # no threads at the end of the interpreter
            for thread in threads:
                thread.start()
        for thread in threads:
            if thread.ident:
                thread.join()
        for sock in self._sockets:
            sock.close()

    def _unmount(self):
        if self._bpffs_device is not None:
            command(["umount", "-l", BPFFS], check=False)

    def leftovers(self):
        """What is left after close(): a list of lines, which should be empty."""
        left = ["namespace file " + ns.path for ns in self.namespaces if os.path.exists(ns.path)]
        left += ["process %d" % p.pid for p in self.processes if p.poll() is None]
        if self.tmp and os.path.exists(self.tmp):
            left.append("directory " + self.tmp)
        with open("/proc/self/mountinfo", encoding="utf-8") as mounts:
            number = "%d:%d" % (os.major(self._bpffs_device or 0), os.minor(self._bpffs_device or 0))
            left += ["mount " + line for line in mounts if line.split()[2] == number]
        return left + (self._left_over if self._closed else self._processes_inside())

    def _processes_inside(self):
        """Only while the namespaces exist: later ones may have their inode numbers."""
        pids = processes_inside(*(namespace.inode for namespace in self.namespaces))
        return ["process %s in a namespace" % pid for pid in pids]


def processes_inside(*inodes):
    """Process ids, as text, in the network namespaces of these numbers."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if os.stat("/proc/%s/ns/net" % pid).st_ino in inodes:
                found.append(pid)
    return found


@contextlib.contextmanager
def _signals_held():
    """A second Ctrl-C must not interrupt the cleanup."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


# --- sixlane on a router --------------------------------------------------------------------

# Commands that attach the program to a port. The daemon attaches it to ports that are named on its command line.
ATTACH = {
    "ip": ["ip", "link", "set", "dev", "{port}", "xdp", "obj", OBJECT, "sec", "xdp"],
    "ip-generic": ["ip", "link", "set", "dev", "{port}", "xdpgeneric", "obj", OBJECT, "sec", "xdp"],
    "ip-native": ["ip", "link", "set", "dev", "{port}", "xdpdrv", "obj", OBJECT, "sec", "xdp"],
    "sixlane": [SIXLANE, "attach", "{port}"],
    "sixlane-generic": [SIXLANE, "attach", "{port}", "generic"],
    "sixlane-dispatcher": [SIXLANE, "attach", "{port}", "dispatcher"],
    "xdp-loader": ["xdp-loader", "load", "-m", "native", "-s", "xdp", "{port}", OBJECT],
    "xdp-loader-pin": ["xdp-loader", "load", "-m", "native", "-p", PINS, "-s", "xdp", "{port}", OBJECT],
}  # fmt: skip


def kernel_version():
    return tuple(int(part) for part in os.uname().release.split(".")[:2])


def assume_ndo_xmit(ports):
    """The daemon's options for veth ports on kernels that do not report XDP features (before 6.3)."""
    return [] if kernel_version() >= (6, 3) else ["--assume-ndo-xmit=%s" % port for port in ports]


class Router:
    """sixlane in one namespace: its ports, its daemon, its counters."""

    def __init__(self, ns, ports):
        self.ns, self.ports, self.lab = ns, list(ports), ns.lab
        self.daemon, self._log_path, self._runs, self._barriers = None, None, 0, 0

    # -- program

    def object_without_arena(self):
        """A copy of the object without the one for arenas beside it."""
        folder = self.lab.path("no-arena")
        if not os.path.exists(folder):
            os.mkdir(folder)
            for name in ("sixlane.bpf.o", "sixlane.frags.bpf.o"):
                shutil.copy(os.path.join(BUILD, name), folder)
        return os.path.join(folder, "sixlane.bpf.o")

    def attach(self, method="ip", ports=None, check=True):
        """Put the program onto the ports (all of them by default). Returns the last command."""
        done = None
        if method == "xdp-loader-pin":
            os.makedirs(PINS, exist_ok=True)  # xdp-loader makes the last directory only
        for port in self.ports if ports is None else ports:
            done = self.ns.run(*[arg.format(port=port) for arg in ATTACH[method]], check=check)
        return done

    def attach_one(self, ports=None):
        """Put one program onto the ports (all of them by default), that of `sixlane attach`.

        It saves tests the time of the verifier, which otherwise checks the program for each port, and again when
        the daemon starts if it uses an arena.
        """
        first, *others = self.ports if ports is None else ports
        self.attach("sixlane", [first])
        program = self.ns.link(first)["xdp"]["prog"]["id"]
        for port in others:
            self.ns.run("bpftool", "net", "attach", "xdp", "id", program, "dev", port)

    def detach(self, ports=None):
        for port in self.ports if ports is None else ports:
            self.ns.ip("link set dev", port, "xdp off")

    # -- daemon

    def start(self, *options, ports=(), sync=True, timeout=30, under=(), passes=None):
        """Start the daemon and wait until the maps are in step with the kernel.

        under: a command that runs the one that follows its own arguments. passes: of wait_in_sync().
        """
        # At first the maps of an earlier daemon say that they are in sync.
        after = (self.status(check=False) or {}).get("generation") if sync and self._runs else None
        self._runs += 1
        self._log_path = self.lab.path("sixlaned-%s-%d.log" % (self.ns.role, self._runs))
        with open(self._log_path, "wb") as log:
            self.daemon = self.ns.popen(
                *under, SIXLANED, *assume_ndo_xmit(self.ports), *options, *ports, stderr=log, stdout=log
            )
        if sync:
            self.wait_in_sync(timeout, after, passes)
        return self.daemon

    def stop(self, number=signal.SIGTERM, timeout=10):
        """End the daemon by a signal; returns its exit status."""
        daemon, self.daemon = self.daemon, None
        daemon.send_signal(number)
        try:
            return daemon.wait(timeout * PATIENCE)
        except subprocess.TimeoutExpired:
            raise TimeoutError("sixlaned did not end by signal %d\n%s" % (number, self.log()))
        finally:
            self.lab.end(daemon)

    def restart(self, *options, number=signal.SIGTERM, **kwargs):
        self.stop(number)
        self.start(*options, **kwargs)

    def log(self):
        """The log of the last daemon so far."""
        if not self._log_path:
            return ""
        with open(self._log_path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def wait_log(self, text, timeout=10):
        """Until the daemon has logged it."""
        wait_until(lambda: text in self.log(), timeout, lambda: "%s\n%s" % (text, self.log()))

    def wait_in_sync(self, timeout=30, after=None, passes=None):
        """Until status shows in_sync, of a later generation than `after` if that is given.

        passes: wait until the daemon has completed more passes over the kernel's exceptions than that. Until then
        packets may pass to the kernel, and `lookup` and `routes` show that there may be exceptions.
        """
        def look():
            self.assert_daemon_runs()
            return self.status(check=False)

        def in_sync(status):
            return (
                status
                and status.get("in_sync")
                and (after is None or status["generation"] > after)
                and (passes is None or status["exception_passes"] > passes)
            )

        # It takes at least 50 ms, and each look takes 3 ms of CPU time from the daemon.
        try:
            return wait_for(look, in_sync, timeout, "sixlaned in sync", interval=0.02)
        except TimeoutError as error:
            raise TimeoutError("%s\n%s" % (error, self.log())) from None

    def assert_daemon_runs(self):
        if self.daemon and self.daemon.poll() is not None:
            raise LabError("sixlaned ended with %s\n%s" % (self.daemon.returncode, self.log()))

    # -- the CLI

    def sixlane(self, *args, **kwargs):
        return self.ns.run(SIXLANE, *split_words(args), **kwargs)

    def sixlane_json(self, *args, check=True, **kwargs):
        return self._parse(self.ns.run(SIXLANE, "-j", *split_words(args), check=check, **kwargs), check)

    @staticmethod
    def _parse(done, check):
        try:
            return json.loads(done.stdout)
        except ValueError:
            if check:
                raise LabError("no JSON: %s" % done) from None
            return None

    def status(self, check=True):
        """`sixlane status`, whose exit status is 1 also if there are warnings."""
        return self._parse(self.ns.run(SIXLANE, "-j", "status", check=False), check)

    def status_text(self, *args):
        return self.ns.run(SIXLANE, "status", *split_words(args), check=False).stdout

    def port_status(self, port):
        return next((entry for entry in self.status()["ports"] if entry["name"] == port), None)

    def stats(self):
        """Packets by verdict, over all ports, since the maps were made."""
        return {
            name: value if isinstance(value, int) else value["packets"]
            for name, value in self.sixlane_json("stats")["verdicts"].items()
        }

    def lookup(self, address):
        return self.sixlane_json("lookup", address)

    def lookup_main(self, address):
        """Look the address up in table main, regardless of rules."""
        return self.sixlane_json("lookup", address, "table", "254")

    def lookup_many(self, addresses, timeout=60):
        """One answer for each address, in order."""
        text = "".join("%s\n" % address for address in addresses)
        return self.sixlane_json("lookup", "-", stdin=text, timeout=timeout)

    def routes(self, *args):
        return self.sixlane_json("routes", *args)

    def barrier(self, timeout=10):
        """Return when the daemon has applied every change the kernel announced before the call.

        Notifications come in order, so once a route of ours is in the maps, all earlier changes are.
        """
        self._barriers += 1
        address = "fdff:5133::%x" % self._barriers
        for verb, wanted in (("add", True), ("delete", False)):
            self.ns.ip("route", verb, "blackhole", address)
            wait_until(lambda: (self.lookup_main(address).get("prefix") == address + "/128") == wanted, timeout,
                       lambda: "barrier %s: %s\n%s" % (verb, self.lookup_main(address), self.log()))  # fmt: skip
        # Rules and next-hop objects are announced as changed and then read.
        wait_until(lambda: self.status()["in_sync"], timeout, "in sync: " + self.log())
