# SPDX-License-Identifier: GPL-2.0-only
"""Stock Debian kernels for the test machine, downloaded once (debian.py). Standard library only."""

import re
from typing import NamedTuple

from debian import Archive, DebianError, cached, debian_call


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
