# SPDX-License-Identifier: GPL-2.0-only
"""Packages of other Debian releases and architectures, and whole roots of them to run a command in.

The mirror and proxies are those of this system's apt; downloads are verified by the keys of Debian's archive.
The system itself is not changed. Standard library only.

Invariants
- An entry of the cache is complete: it is made beside its place and then renamed.
- One process at a time changes the cache.
"""

import contextlib
import fcntl
import hashlib
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
# These get new versions every few days; their entries in the cache are renewed after a week.
MOVING_SUITES = ("trixie-backports", "sid")
WEEK_S = 7 * 24 * 3600
# Runs a command in ROOT. SCRATCH, if any: an empty folder for a tmpfs that takes all changes of ROOT. BINDS: folders
# of this system that ROOT has, too. pivot_root, as nsenter --mount enters the root of the mounts, not that of chroot.
ENTER = """
set -e
root=$1 scratch=$2 binds=$3
shift 3
mount --make-rprivate /
if [ -z "$scratch" ]; then
	mount --bind "$root" "$root"
else
	mount -t tmpfs scratch "$scratch"
	mkdir "$scratch/upper" "$scratch/work" "$scratch/merged"
	mount -t overlay -o "lowerdir=$root,upperdir=$scratch/upper,workdir=$scratch/work" \
		root "$scratch/merged"
	root=$scratch/merged
fi
mount -t proc proc "$root/proc"
mount -t sysfs sys "$root/sys"
mount -t bpf -o mode=700 bpf "$root/sys/fs/bpf"
mount --rbind /sys/fs/cgroup "$root/sys/fs/cgroup"
mount --rbind /dev "$root/dev"
mount -t tmpfs run "$root/run"
mount -t tmpfs tmp "$root/tmp"
cp /etc/resolv.conf "$root/etc/resolv.conf"
for folder in $binds; do
	mkdir -p "$root$folder"
	mount --bind "$folder" "$root$folder"
done
cd "$root"
pivot_root . .
umount --lazy .
exec chroot . "$@"
"""


# With mounts and processes of its own, which end with this process.
APART = ["setpriv", "--pdeathsig", "KILL", "--", "unshare", "--mount", "--pid", "--fork", "--kill-child"]


class DebianError(Exception):
    """Why something is not available from Debian, in one line."""


# --- the cache ------------------------------------------------------------------------------


def cache_directory():
    chosen = os.environ.get("SIXLANE_VM_CACHE")
    if chosen:
        return pathlib.Path(chosen).absolute()
    base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(base) / "sixlane" / "vm"


def cached(name, suite, make, key=()):
    """The path of that name in the cache. If it is not there, make(folder, path) makes it.

    key: what it depends on beside the suite; entries of another key are removed."""
    cache = cache_directory()
    cache.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256(repr((suite, *key)).encode()).hexdigest()[:8]
    place = cache / (f"{name}-{digest}" if key else name)
    # before the lock, which another process may hold for minutes
    if _is_good(place, suite):
        return place
    with _locked(cache), tempfile.TemporaryDirectory(prefix="new-", dir=cache) as work:
        if not _is_good(place, suite):
            print(f"debian: making {place} from Debian {suite}", flush=True)
            made = pathlib.Path(work) / "made"
            made.mkdir()
            make(pathlib.Path(work), made)
            os.utime(made)  # packages bring times of their own
            for number, old in enumerate([place, *cache.glob(f"{name}-????????")] if key else [place]):
                if old.exists():
                    old.rename(pathlib.Path(work) / f"old{number}")
            made.rename(place)
    return place


@contextlib.contextmanager
def _locked(cache):
    """One process at a time; a second one then finds the entry of the first."""
    with open(cache / "lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            for rest in cache.glob("new-*"):  # of one that was killed
                shutil.rmtree(rest)
        except OSError as error:
            raise DebianError(f"cannot remove what a killed run has left: {error}") from None
        yield


def _is_good(place, suite):
    """Whether it is there, and new enough."""
    if not place.exists():
        return False
    return suite not in MOVING_SUITES or time.time() - place.stat().st_mtime <= WEEK_S


# --- packages -------------------------------------------------------------------------------


def debian_mirror():
    """The mirror of this system's apt."""
    chosen = os.environ.get("SIXLANE_VM_MIRROR")
    if chosen:
        return chosen
    known = debian_call(["apt-get", "indextargets", "--format", "$(ORIGIN)|$(LABEL)|$(REPO_URI)"])
    for line in known.splitlines():
        origin, label, uri = line.split("|", 2)
        if (origin, label) == ("Debian", "Debian"):
            return uri
    raise DebianError(
        "this system's apt knows no Debian mirror (or 'apt-get update' never ran);"
        " name one in SIXLANE_VM_MIRROR"
    )


class Archive:
    """The packages of one suite and architecture, by an apt whose files are all below `work`."""

    def __init__(self, work, suite, arch="amd64"):
        if not os.path.exists(KEYRING):
            raise DebianError(f"no {KEYRING}: install debian-archive-keyring")
        self.work, self.suite, self.arch, self.mirror = work, suite, arch, debian_mirror()
        for name in ("lists/partial", "cache/archives/partial", "debs"):
            (work / name).mkdir(parents=True)
        (work / "status").touch()
        (work / "sources.list").write_text(f"deb [arch={arch} signed-by={KEYRING}] {self.mirror} {suite} main\n")
        (work / "apt.conf").write_text(self._settings())
        self.environment = dict(os.environ, APT_CONFIG=str(work / "apt.conf"))
        self._call("apt-get", "-q", "--error-on=any", "update")

    def _settings(self):
        """Those of the system, except its sources, its hooks and everything that apt writes."""
        dump = debian_call(["apt-config", "dump"]).splitlines()
        settings = [line for line in dump if "-invoke" not in line.partition(" ")[0].lower()]
        settings += [
            'Dir::Etc::main "/dev/null";',
            'Dir::Etc::parts "/dev/null";',
            f'Dir::Etc::sourcelist "{self.work}/sources.list";',
            'Dir::Etc::sourceparts "/dev/null";',
            'Dir::Etc::preferences "/dev/null";',
            'Dir::Etc::preferencesparts "/dev/null";',
            f'Dir::State "{self.work}";',
            f'Dir::State::lists "{self.work}/lists";',
            f'Dir::State::status "{self.work}/status";',
            f'Dir::Cache "{self.work}/cache";',
            f'APT::Architecture "{self.arch}";',
            'APT::Sandbox::User "root";',  # its own user may not write to the cache
            'Acquire::Languages "none";',
        ]
        return "\n".join(settings) + "\n"

    def depends(self, package):
        """The output of `apt-cache depends`."""
        return self._call("apt-cache", "depends", package)

    def download(self, packages):
        """The paths of their .deb files."""
        self._call("apt-get", "-q", "download", *packages, cwd=self.work / "debs")
        return sorted((self.work / "debs").glob("*.deb"))

    def download_all(self, packages):
        """The same, and of all that they depend on."""
        self._call("apt-get", "-q", "-y", "--no-install-recommends", "--download-only", "install", *packages)
        return sorted((self.work / "cache/archives").glob("*.deb"))

    def _call(self, *argv, **kwargs):
        try:
            return debian_call(argv, env=self.environment, **kwargs)
        except DebianError as error:
            raise DebianError(f"Debian {self.suite}, {self.mirror}: {error}") from None


def environment_outside():
    """This environment without the settings of make and of the tests."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "SIXLANE_"))}


def debian_call(argv, **kwargs):
    """The command's output. DebianError with its error message if it fails."""
    try:
        done = subprocess.run(argv, capture_output=True, text=True, check=False, **kwargs)
    except OSError as error:
        raise DebianError(f"{argv[0]}: {error.strerror}") from None
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines()
        lines = lines or [f"exit status {done.returncode}"]
        # of apt, or of a compiler, after whose message make prints another
        errors = [line for line in lines if line.startswith("E: ") or " error: " in line] or lines[-1:]
        raise DebianError(f"{argv[0]} {argv[-1]}: {errors[0].removeprefix('E: ')}")
    return done.stdout


# --- roots ----------------------------------------------------------------------------------


class Root:
    """A Debian release in a folder, of this machine's architecture."""

    def __init__(self, path):
        self.path = path

    def argv(self, command, scratch="", binds=()):
        """The arguments that run the command in it.

        scratch: an empty folder that takes all changes; without one they stay in the root.
        binds: folders of this system that are there, too, by the same names."""
        return [
            *APART,
            *("sh", "-c", ENTER, "enter", str(self.path), str(scratch), " ".join(map(str, binds))),
            *command,
        ]


def debian_root(name, suite, packages=(), install=None, key=""):
    """The Root of that name in the cache: a minimal system of the suite, and the packages.

    install(root) may do more to it when it is made; key: what that depends on."""

    def make(_, made):
        debian_call([*APART, "debootstrap", "--variant=minbase", f"--keyring={KEYRING}", suite, made, debian_mirror()])
        policy = made / "usr/sbin/policy-rc.d"
        policy.write_text("#!/bin/sh\nexit 101\n")  # no package starts its service
        policy.chmod(0o755)
        root = Root(made)
        if packages:
            apt = ["apt-get", "-q", "-y", "install", "--no-install-recommends", *packages]
            debian_call(root.argv(["env", "DEBIAN_FRONTEND=noninteractive", *apt]))
        if install:
            install(root)
        debian_call(root.argv(["apt-get", "clean"]))

    return Root(cached(f"root-{name}", suite, make, (*packages, key)))


def debian_files(name, suite, arch, packages):
    """The folder of that name in the cache: the packages' files and those of all that they depend on.

    No package is configured, so nothing of that architecture has to run here."""

    def make(work, made):
        for package in Archive(work, suite, arch).download_all(packages):
            debian_call(["dpkg-deb", "-x", package, made])

    return cached(f"files-{name}", suite, make, (arch, *packages))
