# SPDX-License-Identifier: GPL-2.0-only
"""Say what is going on while something takes more than a second.

A terminal gets one line that is written over, anything else a line every few seconds. Knows
nothing of what is waited for.
"""

import sys
import time

QUIET_S = 1.0
LINE_EVERY_S = 0.25
PLAIN_LINE_EVERY_S = 5.0


class Progress:
    """Progress("BIRD fills the kernel's table"): call tick(detail) as often as you like."""

    def __init__(self, what, stream=sys.stderr):
        self.what, self.stream = what, stream
        self.start = time.monotonic()
        self.terminal = stream.isatty()
        self.next_line, self.shown = self.start + QUIET_S, False

    def __enter__(self):
        return self

    def __exit__(self, *_exc):
        if self.shown and self.terminal:
            self.stream.write("\r\033[K")
            self.stream.flush()

    def elapsed(self):
        return time.monotonic() - self.start

    def tick(self, detail=""):
        now = time.monotonic()
        if now < self.next_line:
            return
        self.shown = True
        self.next_line = now + (LINE_EVERY_S if self.terminal else PLAIN_LINE_EVERY_S)
        text = "  … %s, %.0f s%s" % (self.what, self.elapsed(), detail and ": " + detail)
        self.stream.write("\r\033[K" + text if self.terminal else text + "\n")
        self.stream.flush()


def wait(what, fn, timeout, detail=lambda: "", interval=0.02):
    """Poll fn until it returns something true, which is returned; TimeoutError after timeout s."""
    with Progress(what) as progress:
        while True:
            value = fn()
            if value:
                return value
            if progress.elapsed() > timeout:
                raise TimeoutError("%s: not within %g s; %s" % (what, timeout, detail()))
            progress.tick(detail())
            time.sleep(interval)
