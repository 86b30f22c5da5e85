"""Kills runs of a job, harms their roots in between, and holds each result against a whole run."""

import random
import shutil
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from benchmarks.killed.content import digests_of, unlike
from benchmarks.killed.disk import Disk
from benchmarks.killed.harms import HARMS
from benchmarks.killed.jobs import Job
from benchmarks.killed.process import End, run
from benchmarks.killed.trace import Trace, look
from pipeline.orchestrator.root import ARTIFACTS

FULL_DISK = "disk full"
# What may stop a start that nobody kills, by what befell its root, and a word of what it then says. A full disk has
# room again after that start, and a training whose only checkpoint is damaged begins anew with the next; a store that
# has lost what it had written cannot be used any more.
_MAY_STOP = {FULL_DISK: "space", "checkpoint cut": "damaged"}
_CUT_LOG, _LOST_STORE = "log cut", "root must hold a database that can be used"
# Of the starts after a kill, how many find their root harmed; of the kills, how many come right after the start, and
# right as a step is published.
_HARMED, _EARLY, _PUBLISHING = 0.25, 0.1, 0.25
_EARLY_SECONDS = 1.0
# Of the time that is likely left: some runs come to their end first.
_LATEST = 1.2
_MOST_BYTES_LEFT = 1 << 17


class Tally:
    """What a siege came to.

    Attributes:
        kills: the step that was running -> how often.
        harms: what befell a root -> how often.
        finished: runs that came to their end.
        refused: roots that no run takes any more, as their store lost what it had written.
        lost: artifacts that were published and are gone, though nobody harmed them.
        half_written: artifacts that are recorded or left over, and not whole, though nobody harmed them.
        different: files that are not as in a whole run.
        odd: starts that ended as they should not.
    """

    def __init__(self) -> None:
        self.kills: Counter[str] = Counter()
        self.harms: Counter[str] = Counter()
        self.finished = 0
        self.refused = 0
        self.lost: list[str] = []
        self.half_written: list[str] = []
        self.different: list[str] = []
        self.odd: list[str] = []

    @property
    def is_clean(self) -> bool:
        """Whether nothing went wrong."""
        return not (self.lost or self.half_written or self.different or self.odd)


class Siege:
    """Kills a job, first run twice undisturbed: what is unlike in the two tells times, or where it lies.

    Args:
        job: what to kill.
        disk: where roots go, one after the other.
        log: takes what runs write.
        seed: of all moments and harms.

    Attributes:
        tally: so far.
        volatile: files that nothing is said of.
    """

    def __init__(self, job: Job, disk: Disk, log: Path, seed: int) -> None:
        self._job, self._disk, self._log = job, disk, log
        self._root = disk.folder / "root"
        self._chance = random.Random(seed)
        self.tally = Tally()
        self._reference = self._whole_run()
        began = time.monotonic()
        self.volatile = unlike(self._reference, self._whole_run())
        self._seconds = time.monotonic() - began

    def until(self, kills: int, tell: Callable[[Tally], object]) -> Tally:
        """Kills so often, lets the last run come to its end, and stops early where something is wrong.

        Args:
            kills: how often.
            tell: takes the tally after each run.
        """
        while self.tally.kills.total() < kills and self.tally.is_clean:
            self._besiege_one_run(kills)
            tell(self.tally)
        return self.tally

    def _whole_run(self) -> dict[str, str]:
        shutil.rmtree(self._root, ignore_errors=True)
        end = run(self._job.command(self._root), self._log)
        if end.status != 0:
            raise RuntimeError(f"the job must come to its end when nobody disturbs it, got {end}")
        return digests_of(self._root)

    def _besiege_one_run(self, kills: int) -> None:
        """One root, from nothing to the end."""
        shutil.rmtree(self._root, ignore_errors=True)
        trace, harmed, harm, befallen = Trace("", {}), set[str](), "", set[str]()
        own = 0
        while True:
            may_kill = harm != FULL_DISK and own < self._job.most_kills and self.tally.kills.total() < kills
            end = self._start(harm, self._moment(trace) if may_kill else None)
            before, trace = trace, look(self._root)
            judge(self.tally, before, trace, harmed)
            if end.status == 0:
                break
            if end.status is None:
                own += 1
                self.tally.kills[trace.step] += 1
            elif _CUT_LOG in befallen and _LOST_STORE in end.said:
                self.tally.refused += 1
                return
            elif not any(_MAY_STOP[name] in end.said for name in befallen & _MAY_STOP.keys()):
                self.tally.odd.append(f"status {end.status} after {harm or 'no harm'}: {end.said}")
            if not self.tally.is_clean:
                return
            befallen.discard(FULL_DISK)
            harm, trace = self._harm(trace, harmed) if end.status is None else ("", trace)
            befallen.add(harm)
        self.tally.finished += 1
        found = {name: digest for name, digest in digests_of(self._root).items() if name not in self.volatile}
        wanted = {name: digest for name, digest in self._reference.items() if name not in self.volatile}
        self.tally.different += unlike(found, wanted)

    def _start(self, harm: str, is_time: Callable[[float], bool] | None) -> End:
        command = self._job.command(self._root)
        if harm != FULL_DISK:
            return run(command, self._log, is_time)
        with self._disk.filled(self._chance.randint(0, _MOST_BYTES_LEFT)):
            return run(command, self._log)

    def _moment(self, trace: Trace) -> Callable[[float], bool]:
        """When to kill: soon, as a step is published, or at any time."""
        draw = self._chance.random()
        if draw < _PUBLISHING:
            there, more = self._folders(), self._chance.randint(1, 3)
            return lambda seconds: self._folders() >= there + more
        left = self._seconds * (1 - len(trace.published) / max(1, self._outputs()))
        last = _EARLY_SECONDS if draw < _PUBLISHING + _EARLY else max(_EARLY_SECONDS, left * _LATEST)
        moment = self._chance.uniform(0, last)
        return lambda seconds: seconds >= moment

    def _folders(self) -> int:
        return sum(1 for _ in (self._root / ARTIFACTS).glob("*/*"))

    def _outputs(self) -> int:
        return len({name.rpartition("/")[0] for name in self._reference})

    def _harm(self, trace: Trace, harmed: set[str]) -> tuple[str, Trace]:
        """Harms the root now and then; what is known of it afterwards."""
        if self._chance.random() >= _HARMED:
            return "", trace
        name = self._chance.choice([*HARMS, *([FULL_DISK] if self._disk.can_fill else [])])
        if name != FULL_DISK:
            touched = HARMS[name](self._root, self._chance)
            if touched is None:
                return "", trace
            harmed |= touched
        self.tally.harms[name] += 1
        # Without its log the store knows less than it did, and what it does not know is swept.
        return name, trace._replace(published={}) if name == _CUT_LOG else trace


def judge(tally: Tally, before: Trace, after: Trace, harmed: set[str]) -> None:
    """Holds what a root has against what it had.

    Args:
        tally: takes what is lost or half-written.
        before: what was there.
        after: what is there.
        harmed: artifacts that may be gone or broken; those that were made again are taken out.
    """
    tally.lost += sorted(before.published.keys() - after.published.keys() - harmed)
    broken = {path for path, whole in after.published.items() if not whole}
    tally.half_written += sorted(broken - harmed)
    harmed &= broken
