#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Run make targets in a fresh root of another Debian release, with its compilers and libraries, on this kernel,
as a new user of that release would. The root is made once; changes are discarded."""

import argparse
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE))

from debian import DebianError, debian_call, debian_root, environment_outside  # noqa: E402

# The README requires these packages.
ASKED = ["git", "make", "ca-certificates"]
# Where the project is in the root.
PLACE = "/root/sixlane"


def release_root(suite):
    """With the packages that the project's own script installs there."""

    script = (ROOT / "tests/deps.sh").read_text()

    def install(root):
        # below /tmp, which is gone when the command ends
        words = ["/bin/bash", "-c", 'cat >/tmp/deps.sh && bash /tmp/deps.sh "$@"', "deps"]
        debian_call(root.argv([*words, "build", "demo", "test"]), input=script)

    return debian_root(f"release-{suite}", suite, ASKED, install, script)


def copy_project(target):
    """The files that git knows, as they are in the working tree."""
    listed = debian_call(["git", "-C", ROOT, "ls-files", "-z"])
    for name in listed.split("\0"):
        source = ROOT / name
        if name and source.exists():
            place = target / name
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, place, follow_symlinks=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("suite", help="the release's name: bookworm, trixie")
    parser.add_argument("target", nargs="+", help="of make")
    args = parser.parse_args()
    try:
        root = release_root(args.suite)
    except DebianError as error:
        print(f"release: {error}", file=sys.stderr)
        return 125
    with tempfile.TemporaryDirectory(prefix="sixlane-release-") as scratch:
        project = pathlib.Path(scratch) / "project"
        copy_project(project)
        make = f"cp -rT {project} {PLACE} && make -C {PLACE} {' '.join(args.target)}"
        inside = pathlib.Path(scratch) / "root"
        inside.mkdir()
        argv = root.argv(["sh", "-c", make], inside, [project])
        return subprocess.run(argv, env=environment_outside(), check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
