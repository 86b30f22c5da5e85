"""Kills runs of a job at random moments, injects faults between starts, and compares the results."""

import random
import shutil
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from pipeline.orchestrator.records import ARTIFACTS
from tests.robustness.crash.disk import Disk
from tests.robustness.crash.faults import FAULTS
from tests.robustness.crash.jobs import Job
from tests.robustness.crash.process import RunEnd, run
from tests.robustness.crash.root_digests import differing_files, digest_root
from tests.robustness.crash.root_state import RootState, read_root_state

FULL_DISK = "disk full"
# Faults after which a start may fail, and a word of its error. A full disk has room again after that start, and a
# training whose only checkpoint is damaged starts over at the next; a store whose journal was cut may be corrupted.
_EXPECTED_ERRORS = {FULL_DISK: "space", "checkpoint cut": "damaged"}
_CUT_JOURNAL, _LOST_STORE = "journal cut", "root must hold a database that can be used"
# The share of starts with a fault; the shares of kills soon after the start, and while a step is published.
_FAULT_SHARE, _EARLY_SHARE, _PUBLISHING_SHARE = 0.25, 0.1, 0.25
_EARLY_SECONDS = 1.0
# Kills are drawn from the time that a run probably still needs, and a little more: then some runs end first.
_TIME_FACTOR = 1.2
_MAX_BYTES_LEFT = 1 << 17


class Results:
    """Results of a crash campaign.

    Attributes:
        kills: step that was running -> kills.
        faults: injected fault -> times.
        finished: runs that ended.
        refused: roots that no run accepts any more, as the journal of their store was cut.
        lost: published artifacts that are missing, though no fault touched them.
        half_written: artifacts that are not intact, though no fault touched them.
        different: files that differ from those of the undisturbed run.
        unexpected: starts that failed without a fault that explains it.
    """

    def __init__(self) -> None:
        self.kills: Counter[str] = Counter()
        self.faults: Counter[str] = Counter()
        self.finished = 0
        self.refused = 0
        self.lost: list[str] = []
        self.half_written: list[str] = []
        self.different: list[str] = []
        self.unexpected: list[str] = []

    @property
    def is_clean(self) -> bool:
        """True where nothing went wrong."""
        return not (self.lost or self.half_written or self.different or self.unexpected)


class CrashCampaign:
    """Kills a job, after two undisturbed runs: files that differ between those contain timestamps or paths.

    Args:
        job: the job to kill.
        disk: where the roots go, one after the other.
        log: the file that takes the output of the runs.
        seed: of all moments and faults.

    Attributes:
        results: the results so far.
        volatile: files that are not compared.

    Raises:
        RuntimeError: an undisturbed run fails.
    """

    def __init__(self, job: Job, disk: Disk, log: Path, seed: int) -> None:
        self._job, self._disk, self._log = job, disk, log
        self._root = disk.folder / "root"
        self._generator = random.Random(seed)
        self.results = Results()
        self._reference = self._run_undisturbed()
        start_time = time.monotonic()
        self.volatile = differing_files(self._reference, self._run_undisturbed())
        self._seconds = time.monotonic() - start_time

    def run(self, kills: int, report: Callable[[Results], object]) -> Results:
        """Runs until so many kills are done and the last run has ended, or until something goes wrong.

        Args:
            kills: number of kills.
            report: called with the results after each root.
        """
        while self.results.kills.total() < kills and self.results.is_clean:
            self._crash_one_root(kills)
            report(self.results)
        return self.results

    def _run_undisturbed(self) -> dict[str, str]:
        shutil.rmtree(self._root, ignore_errors=True)
        end = run(self._job.command(self._root), self._log)
        if end.status != 0:
            raise RuntimeError(f"an undisturbed run of the job must exit with 0, got {end}")
        return digest_root(self._root)

    def _crash_one_root(self, kills: int) -> None:
        """Runs the job in a new root, with kills and faults, until it is done."""
        shutil.rmtree(self._root, ignore_errors=True)
        state, damaged, fault, active_faults = RootState("", {}), set[str](), "", set[str]()
        root_kills = 0
        results = self.results
        while True:
            may_kill = fault != FULL_DISK and root_kills < self._job.max_kills and results.kills.total() < kills
            end = self._start(fault, self._draw_moment(state) if may_kill else None)
            before, state = state, read_root_state(self._root)
            compare_states(results, before, state, damaged)
            if end.status == 0:
                break
            if end.status is None:
                root_kills += 1
                results.kills[state.step] += 1
            elif _CUT_JOURNAL in active_faults and _LOST_STORE in end.output:
                results.refused += 1
                return
            elif not any(_EXPECTED_ERRORS[name] in end.output for name in active_faults & _EXPECTED_ERRORS.keys()):
                results.unexpected.append(f"status {end.status} after {fault or 'no fault'}: {end.output}")
            if not results.is_clean:
                return
            active_faults.discard(FULL_DISK)
            fault, state = self._inject_fault(state, damaged) if end.status is None else ("", state)
            active_faults.add(fault)
        results.finished += 1
        differences = differing_files(self._reference, digest_root(self._root))
        results.different += [name for name in differences if name not in self.volatile]

    def _start(self, fault: str, should_kill: Callable[[float], bool] | None) -> RunEnd:
        command = self._job.command(self._root)
        if fault != FULL_DISK:
            return run(command, self._log, should_kill)
        with self._disk.filled(self._generator.randint(0, _MAX_BYTES_LEFT)):
            return run(command, self._log)

    def _draw_moment(self, state: RootState) -> Callable[[float], bool]:
        """Draws the moment of a kill: soon, while a step is published, or at any time."""
        draw = self._generator.random()
        if draw < _PUBLISHING_SHARE:
            folders = self._count_folders() + self._generator.randint(1, 3)
            return lambda seconds: self._count_folders() >= folders
        outputs = len({name.rpartition("/")[0] for name in self._reference})
        seconds_left = self._seconds * (1 - len(state.intact) / max(1, outputs))
        is_early = draw < _PUBLISHING_SHARE + _EARLY_SHARE
        moment = self._generator.uniform(
            0, _EARLY_SECONDS if is_early else max(_EARLY_SECONDS, seconds_left * _TIME_FACTOR)
        )
        return lambda seconds: seconds >= moment

    def _count_folders(self) -> int:
        return sum(1 for _ in (self._root / ARTIFACTS).glob("*/*"))

    def _inject_fault(self, state: RootState, damaged: set[str]) -> tuple[str, RootState]:
        """Injects a fault, or none; returns its name and the state that a following run has to keep."""
        if self._generator.random() >= _FAULT_SHARE:
            return "", state
        name = self._generator.choice([*FAULTS, *([FULL_DISK] if self._disk.can_fill else [])])
        if name != FULL_DISK:
            artifacts = FAULTS[name](self._root, self._generator)
            if artifacts is None:
                return "", state
            damaged |= artifacts
        self.results.faults[name] += 1
        # What a cut journal no longer restores may be artifacts, whose folders the next run removes.
        return name, state._replace(intact={}) if name == _CUT_JOURNAL else state


def compare_states(results: Results, before: RootState, after: RootState, damaged: set[str]) -> None:
    """Records artifacts that were lost or half-written between two states of a root.

    Args:
        results: takes the artifacts.
        before: the state before a start.
        after: the state after it.
        damaged: artifacts that a fault has touched, which may be missing or broken; those that are not broken any more
            are removed from the set.
    """
    results.lost += sorted(before.intact.keys() - after.intact.keys() - damaged)
    broken = {path for path, intact in after.intact.items() if not intact}
    results.half_written += sorted(broken - damaged)
    damaged &= broken
