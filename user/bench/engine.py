# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Programs that answer lines of JSON by lines of JSON, in order: those of engine/, and the agent of `bench nic`. They
get no Ctrl-C from the terminal. They end when their standard input is closed, so also when this process dies."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import time
from typing import Any

from common import BenchError, check_interrupt, find

ANSWER_S, END_S = 180, 90  # ssh may connect slowly; a stopped run still counts frames under way


class Engine(contextlib.AbstractContextManager):
    """bench-lookup or bench-packets, for one thread at a time. `pid` is also its process group."""

    def __init__(self, name: str, *command: str) -> None:
        self.name = name
        # Unbuffered, for select().
        self._process = subprocess.Popen(command or [find(name)], bufsize=0, stdin=subprocess.PIPE,
                                         stdout=subprocess.PIPE, start_new_session=True)  # fmt: skip
        self.pid = self._process.pid

    def fileno(self) -> int:
        """For select(): readable if there is an answer."""
        return self._process.stdout.fileno()

    def __exit__(self, *_error: object) -> None:
        self.close(0)  # a step may take minutes

    def close(self, seconds: float = END_S) -> int:
        """End it by closing its input; after so many seconds kill its process group. Returns its exit status."""
        if self._process.returncode is not None:  # its number may be another process's by now
            return self._process.returncode
        self._process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        return self._process.wait()

    def do(self, what: str, **arguments: Any) -> dict[str, Any]:
        """Do a step and return its answer. Raises BenchError with the program's text if it fails."""
        self.ask(what, **arguments)
        return self.answer()

    def ask(self, what: str, **arguments: Any) -> None:
        """Send a step; answer() returns its answer later."""
        with contextlib.suppress(BrokenPipeError):  # answer() says why
            self._process.stdin.write(json.dumps({"do": what, **arguments}).encode() + b"\n")

    def answer(self) -> dict[str, Any]:
        """The answer to the earliest open step. Raises BenchError."""
        line = self._process.stdout.readline()
        try:
            answer = json.loads(line)
        except ValueError:
            problem = f"answered {line!r}, which is not JSON" if line else f"ended with status {self.close()}"
            raise BenchError(f"{self.name} {problem}" + ": not enough memory?" * problem.endswith("-9")) from None
        if "error" in answer:
            raise BenchError(f"{self.name}: {answer['error']}")
        return answer


class Agent(Engine):
    """The generator of packets (generator.py), started by a command of the user. Raises BenchError and Interrupted."""

    def __init__(self, command: str) -> None:
        super().__init__("generator", "sh", "-c", command)

    def wait(self, seconds: float) -> bool:
        """Whether an answer comes, or the agent ends, within this time."""
        deadline = time.monotonic() + seconds
        while not select.select([self], [], [], min(seconds, 0.2))[0]:  # seldom enough, and Ctrl-C is noticed
            check_interrupt()
            if time.monotonic() >= deadline:
                return False
        return True

    def answer(self, after_s: float = 0) -> dict[str, Any]:
        """The same, which is to come after so many seconds."""
        if not self.wait(after_s + ANSWER_S):
            raise BenchError(f"generator: no answer within {after_s + ANSWER_S:.0f} s")
        return super().answer()

    def hello(self) -> dict[str, Any]:
        """The agent's capabilities. "ports": the MACs by "tx" and "rx", at least one each."""
        hello = self.do("hello")
        macs = {role: [port["mac"] for port in hello["ports"] if port["role"] == role] for role in ("tx", "rx")}
        if not all(macs.values()):
            raise BenchError("generator: it needs ports that send (--tx) and ports that count what comes back (--rx)")
        return {**hello, "ports": macs}
