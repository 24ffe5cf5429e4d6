# SPDX-License-Identifier: GPL-2.0-only
"""A machine of its own for one command: a stock Debian kernel under qemu, on this system's files.

The guest's root is the host's, read-only by 9p, under a tmpfs for changes. So it has the host's programs,
libraries and build directory; only the directory `share` keeps changes. A machine of another architecture has
a folder with its programs as root. Knows nothing of tests. Standard library only.

A machine may have an even number of NICs, the first half cabled to the second (cables.sh): of eight, eth0 to eth4,
eth1 to eth5 and so on. They are multi-queue virtio ones, or of chosen models, which need Debian 13's qemu.
"""

import lzma
import pathlib
import re
import shlex
import shutil
import subprocess
import time
from typing import NamedTuple

from debian import Archive, DebianError, cached, debian_call, debian_root

HERE = pathlib.Path(__file__).resolve().parent
BUSYBOX = "bin/busybox"
SHARE = "/run/sixlane-vm"
# Modules to mount the host's root; all others are loaded from there.
EARLY_MODULES = ["virtio_pci", "9pnet_virtio", "9p", "overlay"]
# A guest must end at an oops; with -no-reboot the panic's reboot ends qemu.
COMMAND_LINE = (
    "loglevel=4 panic=-1 oops=panic mitigations=off"
    # qemu caches translated code by virtual address. With random addresses it would translate ld.so and libc
    # again for each command of a test.
    " norandmaps"
    # Hardening and lazy work of the kernel only cost time here.
    " init_on_alloc=0 apparmor=0 transparent_hugepage=always rcupdate.rcu_expedited=1"
)


class Source(NamedTuple):
    """Where a kernel comes from. The cloud flavour is smaller but lacks 9p."""

    suite: str
    arch: str = "amd64"
    flavour: str = "amd64"


# Named by version if a release keeps it, otherwise by the suite of the newest.
KERNELS = {
    "6.1": Source("bookworm"),
    "6.12": Source("trixie"),
    "backports": Source("trixie-backports"),
    "sid": Source("sid"),
    "arm64": Source("trixie", "arm64", "arm64"),
    "arm64-16k": Source("trixie", "arm64", "arm64-16k"),
}
# A kernel may have several packages: its image, its modules, and lists of built-in ones.
PART = re.compile(r"^\s+(?:Pre)?Depends: (linux-(?:image|base|binary|modules)-[0-9]\S*)$", re.MULTILINE)


class Kernel:
    """An unpacked kernel of the cache."""

    def __init__(self, name, root):
        self.name = name
        self.arch = KERNELS[name].arch
        self.modules = next((root / "lib" / "modules").iterdir())
        self.release = self.modules.name
        # since Debian's 7.2 beside the modules
        images = (root / "boot" / f"vmlinuz-{self.release}", self.modules / "vmlinuz")
        self.image = next((image for image in images if image.exists()), None)
        self.root = root


def kernel_get(name):
    """The kernel of that name, from the cache or else from Debian. DebianError if there is none."""
    if name not in KERNELS:
        raise DebianError(f"no kernel {name!r}; there are {', '.join(KERNELS)}")
    source = KERNELS[name]

    def make(work, made):
        _unpack(name, made, _download(Archive(work, source.suite, source.arch), source.flavour))

    return Kernel(name, cached(f"linux-{name}", source.suite, make))


def _download(archive, flavour):
    package = f"linux-image-{flavour}"
    wanted, todo = [], [package]
    while todo:
        found = PART.findall(archive.depends(todo.pop()))
        todo += [package for package in found if package not in wanted]
        wanted += [package for package in found if package not in wanted]
    if not wanted:
        raise DebianError(f"{package} of Debian {archive.suite} names no kernel")
    return archive.download(wanted)


def _unpack(name, root, packages):
    for package in packages:
        debian_call(["dpkg-deb", "-x", package, root])
    if not (root / "lib").exists():  # since Debian 13 all is below /usr
        (root / "lib").symlink_to("usr/lib")
    kernel = Kernel(name, root)
    if not kernel.image:
        raise DebianError(f"the packages hold no image of {kernel.release}")
    debian_call(["depmod", "-b", root, kernel.release])


# --- the machine ----------------------------------------------------------------------------


class Arch(NamedTuple):
    """What is emulated for kernels of an architecture."""

    qemu: str
    machine: str
    cpu: str
    command_line: str


ARCHES = {
    # On a busy host emulated timers are late when the kernel calibrates the TSC: its clock then ran up to five
    # times too fast. So the clock is the HPET, and the timer interrupt is not checked.
    # Five levels of page tables are slower.
    "amd64": Arch("qemu-system-x86_64", "q35", "max,la57=off", "console=ttyS0 tsc=unstable no_timer_check"),
    # Emulating Arm's own algorithm for pointer authentication takes most of the time.
    "arm64": Arch("qemu-system-aarch64", "virt", "max,pauth-impdef=on", "console=ttyAMA0"),
}


# One CPU at a time. In parallel, a CPU that sends through an XDP program while the kernel patches code for another
# program may hit the breakpoint of a patch that is already complete: the kernel panics.
ACCELERATOR = "tcg,thread=single"
# What `models` may name; those of one queue have one tap of one queue.
MODELS = ("virtio-1", "virtio-4", "igb", "vmxnet3", "e1000e")
MAC = "52:54:00:00:00:{:02x}"  # of each NIC, by its number
# Offloads of the receiving side with which virtio_net takes no XDP program.
NIC_OFFLOADS = "guest_csum=off,guest_tso4=off,guest_tso6=off,guest_ecn=off,guest_ufo=off"


class MachineError(Exception):
    """The machine did not finish its command; the message has its last output."""


class Machine:
    """The parts of one machine; run() boots it."""

    def __init__(self, kernel, share, cpus=2, memory_mb=1024, nics=0, queues=4, models=(), root="/", binds=()):
        """queues: of a NIC, for packets. It has one more for each CPU, as virtio_net otherwise takes a lock to send
        redirected frames. models: of all NICs, out of MODELS, instead of `nics` virtio ones. binds: folders of the
        host that a root other than the host's has, too."""
        self.kernel, self.share = kernel, pathlib.Path(share)
        self.arch, self.root, self.binds = ARCHES[kernel.arch], pathlib.Path(root), binds
        self.cpus, self.memory_mb = cpus, memory_mb
        self.models = list(models) or [f"virtio-{queues}"] * nics
        self.qemu = _newer_qemu() if models else [self.arch.qemu]

    def run(self, command, timeout):
        """Run a shell command as root; returns its exit status. Output: share/output.

        MachineError if it did not end within `timeout` seconds, boot included.
        """
        shutil.rmtree(self.share, ignore_errors=True)
        self.share.mkdir(parents=True)
        (self.share / "command").write_text(command + "\n")
        initramfs = self.share / "initramfs"
        initramfs.write_bytes(self._initramfs())
        console = self.share / "console"
        started = time.monotonic()
        try:
            done = subprocess.run(
                self._qemu(initramfs, console), stdin=subprocess.DEVNULL, capture_output=True,
                text=True, timeout=timeout, check=False,
            )  # fmt: skip
            how = f"qemu ended with {done.returncode}: {done.stderr.strip()}"
        except subprocess.TimeoutExpired:
            how = f"not done after {timeout} s"
        finally:
            initramfs.unlink()
        try:
            return int((self.share / "status").read_text())
        except (OSError, ValueError):
            took = time.monotonic() - started
            raise MachineError(f"{how} (ran for {took:.0f} s)\n{self._last_words()}") from None

    def _last_words(self):
        words = []
        for name in ("output", "console"):
            path = self.share / name
            lines = path.read_text(errors="replace").splitlines() if path.exists() else []
            words += [f"--- the end of the {name}:", *lines[-20:]]
        return "\n".join(words)

    def _qemu(self, initramfs, console):
        queues = " ".join(str(self._queues(model)) for model in self.models)
        cables = ["unshare", "--net", "--", str(HERE / "cables.sh"), queues]
        return [
            *("setpriv", "--pdeathsig", "KILL", "--"),
            *(cables if self.models else []),
            *self.qemu,
            *("-machine", self.arch.machine, "-accel", ACCELERATOR, "-cpu", self.arch.cpu),
            *("-smp", str(self.cpus), "-m", str(self.memory_mb)),
            *("-nodefaults", "-no-user-config", "-no-reboot"),
            *("-display", "none", "-monitor", "none"),
            *("-serial", f"file:{console}"),
            *("-kernel", str(self.kernel.image), "-initrd", str(initramfs)),
            *("-append", f"{COMMAND_LINE} {self.arch.command_line}"),
            *("-virtfs", "local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap"),
            *("-virtfs", f"local,path={self.share},mount_tag=share,security_model=none"),
            *(word for number, model in enumerate(self.models) for word in self._nic(number, model)),
        ]

    def _queues(self, model):
        """Queues of a NIC's tap. A NIC that is not virtio has its own queues behind one."""
        count = int(model.removeprefix("virtio-")) if model.startswith("virtio-") else 1
        return count + self.cpus if count > 1 else 1

    def _nic(self, number, model):
        queues = self._queues(model)
        device = model
        if model.startswith("virtio-"):
            device = f"virtio-net-pci,rx_queue_size=1024,{NIC_OFFLOADS}"
        if queues > 1:
            device += f",mq=on,vectors={2 * queues + 2}"
        port = []
        if model == "igb":  # its virtual functions take a bus of their own
            port = ["-device", f"pcie-root-port,id=port{number},chassis={number}"]
            device += f",bus=port{number}"
        return [
            *port,
            *("-netdev", f"tap,id=net{number},ifname=cable{number},script=no,downscript=no"
              f",vhost=off,queues={queues}"),
            *("-device", f"{device},netdev=net{number},mac={MAC.format(number)}"),
        ]  # fmt: skip

    def _initramfs(self):
        settings = {
            "ROOT": str(self.root).rstrip("/"),
            "BINDS": " ".join(map(str, self.binds)),
            "SHARE": SHARE,
            "MODULES": str(self.kernel.modules),
        }
        lines = [f"{name}={shlex.quote(value)}\n" for name, value in settings.items()]
        files = [
            ("bin", 0o040755, b""),
            ("sbin", 0o040755, b""),
            ("bin/busybox", 0o100755, (self.root / BUSYBOX).read_bytes()),
            ("init", 0o100755, (HERE / "init.sh").read_bytes()),
            ("settings", 0o100644, "".join(lines).encode()),
            ("modules", 0o040755, b""),
        ]
        for number, path in enumerate(_early_modules(self.kernel)):
            files.append((f"modules/{number:02}-{path.name}", 0o100644, _decompressed(path)))
        return _cpio(files)


def _newer_qemu():
    """Debian 13's, with its own libraries, on this system's files."""
    root = debian_root("qemu", "trixie", ["qemu-system-x86"]).path / "usr"
    libraries = root / "lib/x86_64-linux-gnu"
    return [
        *(str(libraries / "ld-linux-x86-64.so.2"), "--library-path", str(libraries)),
        *(str(root / "bin/qemu-system-x86_64"), "-L", str(root / "share/qemu")),
        *("-L", str(root / "share/seabios"), "-L", str(root / "lib/ipxe/qemu")),
    ]


# --- the initial RAM file system ------------------------------------------------------------


def _early_modules(kernel):
    """Paths in the order in which they can be loaded."""
    paths = []
    for name in EARLY_MODULES:
        shown = subprocess.run(
            ["modprobe", "-d", kernel.root, "-S", kernel.release, "--show-depends", name],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        for line in shown.stdout.splitlines():
            verb, _, path = line.strip().partition(" ")
            if verb == "insmod" and path not in paths:
                paths.append(path)
    return [pathlib.Path(path) for path in paths]


def _decompressed(path):
    data = path.read_bytes()
    return lzma.decompress(data) if path.suffix == ".xz" else data


def _cpio(files):
    """The archive that the kernel unpacks ("newc"), of (name, mode, content)."""
    out = bytearray()
    for inode, (name, mode, content) in enumerate([*files, ("TRAILER!!!", 0, b"")], 1):
        # inode, mode, uid, gid, links, mtime, size, four device numbers, name's size, checksum
        fields = [inode, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name) + 1, 0]
        out += b"070701" + b"".join(b"%08x" % field for field in fields)
        out += name.encode() + b"\0"
        out += bytes(-len(out) % 4) + content
        out += bytes(-len(out) % 4)
    return bytes(out)
