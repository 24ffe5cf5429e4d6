# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A program of engine/ at work: it is given a plan, a line of JSON a step, and answers each by a line."""

from __future__ import annotations

import contextlib
import json
import subprocess
from typing import Any

from common import BenchError, find


class Engine(contextlib.AbstractContextManager):
    """One of the programs bench-lookup and bench-packets. A context manager; a thread at a time.

    It gets no Ctrl-C of the terminal's and ends with its standard input, so also when this process dies.
    """

    def __init__(self, program: str) -> None:
        self._process = subprocess.Popen([find(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                         text=True, bufsize=1, start_new_session=True)  # fmt: skip
        self.pid = self._process.pid

    def fileno(self) -> int:
        """For select(): an answer is there."""
        return self._process.stdout.fileno()

    def __exit__(self, *_error: object) -> None:
        """End it, and with it all that it made."""
        with contextlib.suppress(BrokenPipeError), self._process:  # of a step that it did not take any more
            self._process.kill()

    def do(self, what: str, **arguments: Any) -> dict[str, Any]:
        """A step of the plan: its answer. Raises BenchError, in the program's words, if it fails."""
        self.ask(what, **arguments)
        return self.answer()

    def ask(self, what: str, **arguments: Any) -> None:
        """A step of which the answer is to be fetched later. Steps are answered in order."""
        with contextlib.suppress(BrokenPipeError):  # answer() says why
            self._process.stdin.write(json.dumps({"do": what, **arguments}) + "\n")

    def answer(self) -> dict[str, Any]:
        """Of the first step that has not got its answer. Raises BenchError."""
        line = self._process.stdout.readline()
        if not line:
            status = self._process.wait()
            raise BenchError(f"{self._process.args[0].name} ended with status {status}"
                             + (": not enough memory?" if status == -9 else ""))  # fmt: skip
        answer = json.loads(line)
        if "error" in answer:
            raise BenchError(answer["error"])
        return answer
