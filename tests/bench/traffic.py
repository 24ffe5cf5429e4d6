# SPDX-License-Identifier: GPL-2.0-only
"""Traffic that goes on while other things happen beside it."""

import argparse
import json
import os
import threading
import time

from measure import BenchError, forward_process
from progress import wait


class Traffic:
    """Sample after sample of options.count packets on the first CPU, until it is ended. A context
    manager. side: see bench-forward."""

    def __init__(self, flow, path, options, side="sixlane"):
        self.flow = flow
        self.process = forward_process(
            flow, path, 1, argparse.Namespace(**{**vars(options), "rounds": 2**31 - 1}),
            "--sides", side, "--cpu", min(os.sched_getaffinity(0)),
        )  # fmt: skip
        self._samples = []  # with the times of their begin
        self._thread = threading.Thread(target=self._read)
        self._thread.start()
        wait("traffic begins", lambda: self._since(0), 20)

    def __enter__(self):
        return self

    def __exit__(self, *_exc):
        self.flow.lab.end(self.process)
        self._thread.join()

    def _read(self):
        begin = time.monotonic()
        for line in self.process.stdout:
            self._samples.append((begin, json.loads(line)))
            begin = time.monotonic()

    def _since(self, begin):
        if self.process.poll() is not None:
            raise BenchError("traffic ended: %s" % self.process.stderr.read())
        return [sample for at, sample in list(self._samples) if at >= begin]

    def samples(self, count):
        """So many of those that begin from now on."""
        begin = time.monotonic()
        wait("traffic is measured", lambda: len(self._since(begin)) >= count, 60, interval=0.2)
        return self._since(begin)[:count]
