# SPDX-License-Identifier: GPL-2.0-only
"""Scripts: played on a world, and shortened to the lines that make them fail.

A script is lines of text: what World.apply() does, "frame" lines in rounds, comments.
"""

import collections
import contextlib
import time

import packets
from lab import LabError
from world import World

# What cutting down may take, until it has to do with what it has.
SHRINK_S = 240


class Failure(collections.namedtuple("Failure", "line frames differences")):
    """The round of a script in which the routers differed. line: the place of its first frame in the script."""

    def culprits(self):
        """The lines of the frames that differed; all of them if that is not known."""
        numbers = [difference.number for difference in self.differences]
        return self.frames if None in numbers else [self.frames[number] for number in numbers]


def play(world, lines):
    """Run a script; returns the first Failure or None."""
    at = 0
    while at < len(lines):
        start = at
        while at < len(lines) and not _is_frame(lines[at]):
            at += 1
        world.apply([line for line in lines[start:at] if line and line[0] != "#"])
        first = at
        while at < len(lines) and _is_frame(lines[at]):
            at += 1
        if first == at:
            break
        frames = lines[first:at]
        differences = world.round([packets.parse(line) for line in frames])
        if differences:
            return Failure(first, frames, differences)
    return None


def play_anew(lines):
    """The same on routers that have seen nothing yet."""
    with World() as world:
        return play(world, lines)


def _is_frame(line):
    return line.startswith("frame ")


# --- cutting down ---------------------------------------------------------------------------


class Shrinker(contextlib.AbstractContextManager):
    """Drops lines as long as the rest still fails."""

    def __init__(self, say):
        self.say, self.world, self.deadline = say, None, time.monotonic() + SHRINK_S

    def __exit__(self, *_exc):
        if self.world:
            self.world.close()
        self.world = None

    def play(self, lines):
        """On the routers of the last script, made as good as new, as long as that works."""
        try:
            if self.world:
                self.world.renew()
            self.world = self.world or World()
            self.world.hurry()
            return play(self.world, lines)
        except (LabError, TimeoutError):
            self.__exit__()  # not the failure that is looked for
            return None

    def is_over(self):
        return time.monotonic() > self.deadline

    def fails(self, lines):
        """False if the time is over, though it may fail."""
        return not self.is_over() and self.play(lines) is not None

    def shrink(self, lines):
        """The shortest script found, which fails on new routers, or None."""
        failure = self.play(lines)
        if failure is None:
            return None
        lines = self.fewer_frames(lines, failure)
        self.say("%d lines still fail" % len(lines))
        for _ in range(3):
            before = len(lines)
            lines = self.fewer_lines(lines)
            if len(lines) == before:
                break
        return lines if play_anew(lines) else None

    def fewer_frames(self, lines, failure):
        """Try without the frames of earlier rounds, then with them; each time one culprit alone, then all frames."""
        head, frames = lines[: failure.line], failure.frames
        for earlier in ([line for line in head if not _is_frame(line)], head):
            for culprit in failure.culprits()[:3]:
                if self.fails([*earlier, culprit]):
                    return [*earlier, culprit]
            if self.fails([*earlier, *frames]):
                return [*earlier, *frames]
        return [*head, *frames]

    def fewer_lines(self, lines):
        """Halves, quarters and so on down to single lines."""
        size = max(len(lines) // 2, 1)
        while True:
            at = 0
            while at < len(lines):
                fewer = lines[:at] + lines[at + size :]
                if len(fewer) < len(lines) and self.fails(fewer):
                    lines = fewer
                else:
                    at += size
            if size == 1 or self.is_over():
                return lines
            self.say("%d lines still fail" % len(lines))
            size = max(size // 2, 1)


# --- for people ---------------------------------------------------------------------------


def explain(failure):
    """What differed, a few frames of it."""
    lines = []
    for difference in failure.differences[:5]:
        number = difference.number
        lines.append(failure.frames[number] if number is not None else "frames of nobody")
        for name, outcome in (("kernel", difference.kernel), ("sixlane", difference.fast)):
            lines.append("  %s: %s" % (name, "; ".join(map(_brief, outcome)) or "nothing"))
    if len(failure.differences) > 5:
        lines.append("and %d more" % (len(failure.differences) - 5))
    return lines


def _brief(out):
    port, frame = out
    body = frame.hex()
    return "%s %s" % (port, body if len(body) <= 240 else body[:240] + "… (%d)" % len(frame))
