# SPDX-License-Identifier: GPL-2.0-only
"""Stock Debian kernels for the test machine, downloaded once. Standard library only.

The mirror, proxies and the like are those of this system's own apt; what is downloaded is checked
by apt against the keys of Debian's archive. Nothing of the system is changed or installed.

Invariants
- A kernel is in the cache whole or not at all: it is unpacked beside its place and then renamed.
- What is in the cache is never looked for again: with a full cache no network is needed.
"""

import contextlib
import fcntl
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

# Debian's releases by the kernel they came with. The cloud flavour is smaller but lacks 9p.
SUITES = {"6.1": "bookworm", "6.12": "trixie"}
PACKAGE = "linux-image-amd64"
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
# The kernel may come in several packages: the image, and its modules by themselves.
PART = re.compile(r"^\s+(?:Pre)?Depends: (linux-(?:image|binary|modules)-[0-9]\S*)$", re.MULTILINE)


class KernelError(Exception):
    """Why there is no kernel, in one line."""


class Kernel:
    """An unpacked kernel of the cache."""

    def __init__(self, version, root):
        self.version = version
        self.modules = next((root / "lib" / "modules").iterdir())
        self.release = self.modules.name
        self.image = root / "boot" / f"vmlinuz-{self.release}"
        self.root = root


def cache_directory():
    chosen = os.environ.get("SIXLANE_VM_CACHE")
    if chosen:
        return pathlib.Path(chosen).absolute()
    base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(base) / "sixlane" / "vm"


def kernel_get(version):
    """The kernel of that version, from the cache or else from Debian."""
    if version not in SUITES:
        raise KernelError(f"no kernel {version!r}; there are {', '.join(SUITES)}")
    cache = cache_directory()
    cache.mkdir(parents=True, exist_ok=True)
    place = cache / f"linux-{version}"
    with _locked(cache):
        if not place.exists():
            _download(version, cache, place)
    return Kernel(version, place)


@contextlib.contextmanager
def _locked(cache):
    """One at a time; a second one then finds what the first has brought."""
    with open(cache / "lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for rest in cache.glob("new-*"):  # of one that was killed
            shutil.rmtree(rest)
        yield


def _download(version, cache, place):
    suite, mirror = SUITES[version], _debian_mirror()
    print(f"vm: downloading Linux {version} of Debian {suite} into {place}", flush=True)
    with tempfile.TemporaryDirectory(prefix="new-", dir=cache) as work:
        work = pathlib.Path(work)
        try:
            packages = _download_packages(work, suite, mirror)
            root = _unpack(work, packages)
        except KernelError as error:
            raise KernelError(f"Linux {version} of Debian {suite}, {mirror}: {error}") from None
        root.rename(place)


def _debian_mirror():
    """Where this system gets Debian's packages from."""
    chosen = os.environ.get("SIXLANE_VM_MIRROR")
    if chosen:
        return chosen
    known = _run(["apt-get", "indextargets", "--format", "$(ORIGIN)|$(LABEL)|$(REPO_URI)"])
    for line in known.splitlines():
        origin, label, uri = line.split("|", 2)
        if (origin, label) == ("Debian", "Debian"):
            return uri
    raise KernelError(
        "this system's apt knows no Debian mirror (or 'apt-get update' never ran);"
        " name one in SIXLANE_VM_MIRROR"
    )


def _apt_environment(work, suite, mirror):
    """apt as the system has it set up, but for its sources and for everything it writes."""
    if not os.path.exists(KEYRING):
        raise KernelError(f"no {KEYRING}: install debian-archive-keyring")
    for name in ("lists/partial", "cache/archives/partial", "debs"):
        (work / name).mkdir(parents=True)
    (work / "status").touch()
    (work / "sources.list").write_text(
        f"deb [arch=amd64 signed-by={KEYRING}] {mirror} {suite} main\n"
    )
    # Hooks of other packages are for changes of this system's own lists.
    dump = _run(["apt-config", "dump"]).splitlines()
    settings = [line for line in dump if "-invoke" not in line.partition(" ")[0].lower()]
    settings += [
        'Dir::Etc::main "/dev/null";',
        'Dir::Etc::parts "/dev/null";',
        f'Dir::Etc::sourcelist "{work}/sources.list";',
        'Dir::Etc::sourceparts "/dev/null";',
        'Dir::Etc::preferences "/dev/null";',
        'Dir::Etc::preferencesparts "/dev/null";',
        f'Dir::State "{work}";',
        f'Dir::State::lists "{work}/lists";',
        f'Dir::State::status "{work}/status";',
        f'Dir::Cache "{work}/cache";',
        'APT::Architecture "amd64";',
        'APT::Sandbox::User "root";',  # its own user may not write to the cache
        'Acquire::Languages "none";',
    ]
    (work / "apt.conf").write_text("\n".join(settings) + "\n")
    return dict(os.environ, APT_CONFIG=str(work / "apt.conf"))


def _download_packages(work, suite, mirror):
    environment = _apt_environment(work, suite, mirror)
    _run(["apt-get", "-q", "--error-on=any", "update"], env=environment)
    wanted, todo = [], [PACKAGE]
    while todo:
        found = PART.findall(_run(["apt-cache", "depends", todo.pop()], env=environment))
        todo += [package for package in found if package not in wanted]
        wanted += [package for package in found if package not in wanted]
    if not wanted:
        raise KernelError(f"{PACKAGE} names no kernel")
    _run(["apt-get", "-q", "download", *wanted], env=environment, cwd=work / "debs")
    return sorted((work / "debs").glob("*.deb"))


def _unpack(work, packages):
    root = work / "root"
    for package in packages:
        _run(["dpkg-deb", "-x", package, root])
    if not (root / "lib").exists():  # Debian 13 has merged /lib into /usr/lib
        (root / "lib").symlink_to("usr/lib")
    kernel = Kernel("", root)
    if not kernel.image.exists():
        raise KernelError(f"the packages hold no {kernel.image.name}")
    _run(["depmod", "-b", root, kernel.release])
    return root


def _run(argv, **kwargs):
    """What the command says. KernelError with its last words about an error if it fails."""
    try:
        done = subprocess.run(argv, capture_output=True, text=True, check=False, **kwargs)
    except OSError as error:
        raise KernelError(f"{argv[0]}: {error.strerror}") from None
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        errors = [line for line in lines if line.startswith("E: ")] or lines[-1:]
        raise KernelError(f"{argv[0]} {argv[-1]}: {errors[0].removeprefix('E: ')}")
    return done.stdout
