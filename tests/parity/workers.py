# SPDX-License-Identifier: GPL-2.0-only
"""The processes that play scripts: each on a CPU of its own, with routers of its own.

A worker keeps its routers for many configurations, so that the daemon gets a long history. They are reset
and verified in between. If a failure needs that history, it becomes part of the script.
"""

import collections
import math
import multiprocessing
import multiprocessing.connection
import os
import time
import traceback

import play
import scenario
from lab import LabError
from side import HarnessError
from world import World

CONFIGURATIONS_PER_WORLD = 20
REPORT_EVERY_S = 10
# The standard deviation, between configurations, of the share that XDP forwards; in percentage points.
SHARE_SPREAD = 18
# Every second or third configuration with exceptions has a packet that XDP answers: one of so many must.
EXCEPTED, ANSWER = 30, "answer_too_big"
# Every other configuration with a ruleset has packets that pass because of it.
RULED, HELD = 20, "pass_firewall"


class Run(collections.namedtuple("Run", "args here features started")):
    """What all workers have to know. here: the features that this kernel has; features: those that are asked for."""

    def is_over(self):
        seconds = self.args.seconds
        return seconds is not None and time.monotonic() - self.started > seconds


class Totals:
    """Counts that add up."""

    def __init__(self):
        # By name; packets by verdict; configurations by verdict, and by feature if XDP forwarded packets.
        self.counts, self.verdicts, self.meeting, self.features = (collections.Counter() for _ in range(4))

    def add(self, other):
        for name, counter in vars(self).items():
            counter.update(getattr(other, name))

    def share(self):
        return 100 * self.counts["forward"] / max(self.counts["packets"], 1)

    def text(self, seconds, seed):
        counts = self.counts
        return (
            "%d configurations and %d scripts, %d packets: %d differences; %.1f %% forwarded by XDP, "
            "%d by another member than the kernel's; Linux %s, seed %d, %.0f s"
            % (counts["configurations"], counts["replayed"], counts["packets"], counts["differences"], self.share(),
               counts["chosen"], os.uname().release, seed, seconds)
        )  # fmt: skip

    def coverage(self):
        """Lines: what occurred in the run, and what never did."""
        return [
            "configurations with packets forwarded: " + _listed(self.features),
            "packets of each verdict: " + _listed(self.verdicts),
            "configurations with it: " + _listed(self.meeting),
            "configurations played again: %d" % self.counts["again"],
        ]

    def least_share(self, least):
        """The least share with allowance for chance: three standard errors below `least`."""
        return least - 3 * SHARE_SPREAD / math.sqrt(self.counts["configurations"])

    def shortfall(self, args):
        """Why so little was compared that the run says nothing, or None."""
        asked, played = 0 if args.replay else args.configurations, self.counts["configurations"]
        if asked and not played:
            return "no configuration was played"
        if args.replay and not self.counts["replayed"]:
            return "no script was played"
        if args.seconds is None and played < asked:
            return "%d of %d configurations were played" % (played, asked)
        if not played or not args.least:
            return None
        if not self.meeting.get("forward"):
            return "XDP forwarded no packet of any configuration"
        if self.features.get("exceptions", 0) >= EXCEPTED and not self.meeting.get(ANSWER):
            return "XDP answered no packet of any configuration"
        if self.features.get("firewall", 0) >= RULED and not self.meeting.get(HELD):
            return "no ruleset made XDP pass a packet"
        least = self.least_share(args.least)
        return "XDP forwarded less than %.1f %%" % least if self.share() < least else None

    def verdict(self, args):
        """The exit status."""
        if self.counts["differences"]:
            return 1
        why = self.shortfall(args)
        if why:
            print("parity: FAILED: " + why)
        return 1 if why else 0


def _listed(counts):
    """Names with their counts, the largest first; those without any last."""
    by_count = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    never = ", ".join(name for name, count in by_count if not count)
    met = ", ".join("%s %d" % item for item in by_count if item[1])
    return met + ("; never: " + never if never else "")


# --- the parent -----------------------------------------------------------------------------


def run_workers(run, scripts, configurations):
    """Play scripts, then so many configurations, shared out among the workers. Returns the Totals."""
    jobs = max(run.args.jobs, 1)
    totals, workers = Totals(), {}
    for job in range(jobs):
        ours, theirs = multiprocessing.Pipe(duplex=False)
        mine = scripts[job::jobs], range(job, configurations, jobs)
        process = multiprocessing.Process(target=_worker, args=(run, job, *mine, theirs))
        process.start()
        theirs.close()
        workers[ours] = process
    reported, ended = time.monotonic(), False
    while workers:
        for pipe in multiprocessing.connection.wait(list(workers), REPORT_EVERY_S):
            try:
                totals.add(pipe.recv())
            except EOFError:
                process = workers.pop(pipe)
                process.join()
                if process.exitcode and not ended:
                    print("parity: a worker ended with status %s" % process.exitcode)
                    totals.counts["differences"] += 1
        if totals.counts["differences"] >= run.args.failures and not ended:
            ended = True
            for process in workers.values():
                process.terminate()
        if time.monotonic() - reported > REPORT_EVERY_S:
            reported = time.monotonic()
            print("parity: %s" % totals.text(reported - run.started, run.args.seed), flush=True)
    return totals


# --- a worker -------------------------------------------------------------------------------


def _worker(run, job, scripts, numbers, pipe):
    cpus = sorted(os.sched_getaffinity(0))
    # On one CPU what is sent first arrives first, also where the kernel queues by CPU.
    os.sched_setaffinity(0, {cpus[job % len(cpus)]})
    worker = Worker(run, pipe)
    try:
        for path in scripts:
            worker.replay(path)
        for number in numbers:
            if run.is_over():
                break
            worker.configuration(run.args.first + number)
    except BrokenPipeError:
        pass
    finally:
        worker.close()


def _text_of(failure):
    return "\n".join(play.explain(failure)) if isinstance(failure, play.Failure) else str(failure)


class Worker:
    def __init__(self, run, pipe):
        self.run, self.pipe = run, pipe
        self.world, self.history = None, []

    def close(self):
        if self.world:
            self.world.close()
        self.world, self.history = None, []

    # -- what there is to play

    def replay(self, path):
        totals = Totals()
        with open(path, encoding="utf-8") as file:
            lines = file.read().splitlines()
        missing = scenario.signs(lines) - self.run.here
        if missing:
            print("parity: %s: skipped, needs %s" % (path, ", ".join(missing)), flush=True)
        else:
            totals.counts["replayed"] = 1
            self.close()
            with World() as world:
                failure = self._play(world, lines, totals)
            if failure:
                totals.counts["differences"] += 1
                self.say("%s: FAILED" % path, failure)
        self.pipe.send(totals)

    def configuration(self, number):
        args = self.run.args
        made = scenario.Scenario(args.seed, number, args.packets, self.run.features)
        totals = Totals()
        totals.counts["configurations"] = 1
        if not self.world:
            self.world = World()
        failure = self._play(self.world, made.lines, totals)
        if isinstance(failure, HarnessError):
            # Some things happen in another order in each kernel. A fault of sixlane happens again.
            print("parity: configuration %d again, on new routers: %s" % (number, failure), flush=True)
            totals.counts["again"] = 1
            self.close()
            self.world = World()
            failure = self._play(self.world, made.lines, totals)
        totals.meeting.update({name: int(count > 0) for name, count in totals.verdicts.items()})
        if totals.counts["forward"]:
            totals.features.update(feature.name for feature in made.features)
        if failure:
            totals.counts["differences"] += 1
            self.say("configuration %d (%s): FAILED" % (number, made.about()), failure)
            lines = self._cut_down(made.lines) if isinstance(failure, play.Failure) else made.lines
            self._save(number, made, lines, failure)
            self.close()
        else:
            self._clear(made.lines)
        self.pipe.send(totals)

    def _play(self, world, lines, totals):
        """Failure, HarnessError, the text of another trouble, or None."""
        sent, chosen, rise = world.sent, world.chosen, dict(world.rise)
        try:
            return play.play(world, lines)
        except HarnessError as error:
            return error
        except (LabError, TimeoutError, OSError):
            return traceback.format_exc()
        finally:
            totals.counts["packets"] += world.sent - sent
            totals.counts["chosen"] += world.chosen - chosen
            for name, count in world.rise.items():
                totals.verdicts[name] = count - rise.get(name, 0)
            totals.counts["forward"] += totals.verdicts.get("forward", 0)

    def _clear(self, lines):
        """Ready for the next configuration: the same routers as new, or new ones."""
        self.history.append(lines)
        if len(self.history) >= CONFIGURATIONS_PER_WORLD:
            self.close()
            return
        try:
            self.world.reset()
        except HarnessError as error:
            print("parity: routers replaced: %s" % error, flush=True)
            self.close()

    # -- failures

    def say(self, what, failure):
        print("parity: %s\n%s" % (what, _text_of(failure)), flush=True)

    def _cut_down(self, lines):
        """The shortest script that fails, alone or with what came before on these routers."""
        history = [line for earlier in self.history for line in [*earlier, "reset"]]
        self.close()
        for whole in (lines, [*history, *lines]):
            with play.Shrinker(lambda text: print("parity: %s" % text, flush=True)) as shrinker:
                short = shrinker.shrink(whole)
            if short:
                return short
        print("parity: it does not come again; the script is saved as it was", flush=True)
        return lines

    def _save(self, number, made, lines, failure):
        args = self.run.args
        path = os.path.join(args.save, "%d-%d.parity" % (args.seed, number))
        text = _text_of(failure)
        head = "Seed %d, configuration %d (%s), Linux %s" % (args.seed, number, made.about(), os.uname().release)
        with open(path, "w", encoding="utf-8") as file:
            for line in [head, *text.splitlines()]:
                file.write("# %s\n" % line[:400])
            file.writelines(line + "\n" for line in lines)
        print("parity: saved %s (%d lines); 'parity.py --replay' plays it; in tests/parity/regressions/ "
              "every run does" % (path, len(lines)), flush=True)  # fmt: skip
