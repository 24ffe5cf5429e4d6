# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Talk to the agent that sends and counts packets (generator.py). The user gives its command, here or by ssh. Requests
are lines of JSON on its standard input; answers are lines on its standard output."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import time
from contextlib import AbstractContextManager, suppress
from typing import Any

from common import BenchError, check_interrupt

HELLO_S, END_S = 120, 90  # ssh may connect slowly; a stopped run still counts frames under way


class Agent(AbstractContextManager):
    """The agent's process. A context manager. Its session gets no Ctrl-C from the terminal; `group` is its process
    group. Methods raise BenchError and Interrupted."""

    def __init__(self, command: str) -> None:
        # Without buffers, of which select() knows nothing.
        self._process = subprocess.Popen(["sh", "-c", command], bufsize=0, stdin=subprocess.PIPE,
                                         stdout=subprocess.PIPE, start_new_session=True)  # fmt: skip
        self.group = self._process.pid

    def __exit__(self, *_error: Any) -> None:
        self.close()

    def close(self) -> int:
        """End the agent, and its run, by the end of its input; then kill what is left of its group. Returns its exit
        status."""
        self._process.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(END_S)
        with suppress(ProcessLookupError):
            os.killpg(self.group, signal.SIGKILL)
        return self._process.wait()

    def tell(self, **request: Any) -> None:
        with suppress(BrokenPipeError):  # hear() says so
            self._process.stdin.write(json.dumps(request).encode() + b"\n")

    def wait(self, seconds: float) -> bool:
        """Wait for an answer, or the agent's end. Returns False after this time."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            check_interrupt()
            # The short timeout also notices a signal that came just before.
            if select.select([self._process.stdout], [], [], min(left, 0.2))[0]:
                return True
        return False

    def hear(self, seconds: float) -> dict[str, Any]:
        """The answer to the first request that has none."""
        if not self.wait(seconds):
            raise BenchError(f"generator: no answer within {seconds:.0f} s")
        line = self._process.stdout.readline()
        try:
            answer = json.loads(line)
        except ValueError:
            said = f"answered {line!r}, which is not JSON" if line else f"ended with status {self.close()}"
            raise BenchError(f"the generator {said}; it may say above why, or try its command by hand") from None
        if "error" in answer:
            raise BenchError(f"generator: {answer['error']}")
        return answer

    def stop(self) -> dict[str, Any]:
        """End a run. Returns the answer to the run; the request to stop is answered after it."""
        self.tell(do="stop")
        return [self.hear(END_S) for _ in range(2)][0]

    def hello(self) -> dict[str, Any]:
        """What the agent says of itself. Its "ports" are MACs by "tx" and "rx", at least one each."""
        self.tell(do="hello")
        hello = self.hear(HELLO_S)
        macs = {role: [port["mac"] for port in hello["ports"] if port["role"] == role] for role in ("tx", "rx")}
        if not all(macs.values()):
            raise BenchError("generator: it needs ports that send (--tx) and ports that count what comes back (--rx)")
        return {**hello, "ports": macs}
