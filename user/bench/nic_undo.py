# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Undo changes however this process ends.

Before each change, the command that undoes it goes to a guardian: a process in a session of its own that waits for the
end of its standard input. That ends with close(), or with this process, also by SIGKILL. Then the guardian runs the
commands, the last one first. Only a SIGKILL of the guardian itself prevents that.
"""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import shlex
import signal
import subprocess
import sys
from typing import NoReturn, Sequence

from common import BenchError, check_interrupt
from netns import command

Words = Sequence[str]  # a command, or ("echo", TEXT, FILE): one write to a file of /proc or /sys
GONE = ("Cannot find device", "No such device", "No such process", "No such file")


def text_of(words: Words) -> str:
    """The command for a shell."""
    return "echo {} >{}".format(*words[1:]) if words[0] == "echo" else shlex.join(words)


def execute(words: Words) -> str:
    """Run a command. Returns why it failed, or ""."""
    if words[0] != "echo":
        try:
            done = command(words, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"{words[0]} cannot be run, or does not end: {type(error).__name__}"
        said = (done.stderr.strip() or f"exit status {done.returncode}").splitlines()
        return said[-1].removeprefix("RTNETLINK answers: ") if done.returncode else ""
    path = pathlib.Path(words[2])
    try:
        if path.read_text(encoding="utf-8").strip() != words[1]:  # some files refuse even what they have
            path.write_text(words[1], encoding="utf-8")
    except OSError as error:
        return error.strerror
    return ""


class Undo:
    """The guardian of this process. netns: the path of the network namespace in which later commands are to be undone;
    "" for that of the guardian, whose process id is `pid`."""

    def __init__(self) -> None:
        self.netns = ""
        self._guardian = subprocess.Popen(
            [sys.executable, "-P", "-c", "import nic_undo; nic_undo.guard()"], text=True, bufsize=1,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})  # fmt: skip
        self.pid = self._guardian.pid
        self._guardian.stdout.readline()  # ready

    def keep(self, dev: str, words: Words) -> None:
        """Run this command at the end, whatever happens. dev: the device that it is for, or ""."""
        try:
            self._guardian.stdin.write(json.dumps([dev, self.netns, words]) + "\n")
        except BrokenPipeError:
            raise BenchError("the process that restores the devices has ended: nothing is changed without it") from None

    def make(self, dev: str, words: Words, undo: Words | None = None) -> str:
        """Keep the undoing of a command, then run it. Returns why it failed, or ""."""
        check_interrupt()
        if undo:
            self.keep(dev, undo)
        if error := execute(words):
            check_interrupt()  # which ends commands as well
        return error

    def close(self) -> bool:
        """Restore. Returns False if something is left, which the guardian has reported."""
        with contextlib.suppress(BrokenPipeError):
            self._guardian.stdin.close()
        return self._guardian.wait() == 0


def guard() -> NoReturn:
    """The guardian's work. Its exit status is 1 if something is left."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    print("ready", flush=True)
    kept = [json.loads(line) for line in sys.stdin]
    lost, status = set(), 0  # devices that could not be moved back: another one has their name
    for dev, netns, words in reversed(kept):
        if dev in lost:
            continue
        error = execute(["nsenter", f"--net={netns}", "--", *words] if netns and words[0] != "echo" else words)
        by_hand = f"restore it by hand: {text_of(words)}"
        if error and "netns" in words:
            lost.add(dev)
            by_hand = f"{dev} will be where process 1 is, without its addresses and settings"
        if error and not any(gone in error for gone in GONE):
            status = 1
            with contextlib.suppress(OSError):  # whoever read that is gone, as a terminal after SIGHUP
                print(f"sixlane: error: cannot restore what was changed ({error}); {by_hand}", file=sys.stderr)
    sys.exit(status)
