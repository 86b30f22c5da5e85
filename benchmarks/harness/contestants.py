"""Processes that hold what is timed, and answer when they are asked: each starts once, and all take turns."""

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

# (contestant, mode) -> seconds on the clock and seconds of all cores, of every round.
Times = dict[tuple[str, str], list[tuple[float, float]]]

# Times inferences of a length one after the other: the seconds of one passage.
Timer = Callable[[int], float]

# Libraries write to standard output, too.
_ANSWER = ">>"


class Contestant:
    """A process that answers, a line of JSON for a line of JSON.

    Args:
        python: its interpreter.
        arguments: of that, after `-m`.
        backend: of Keras.

    Attributes:
        hello: what it said when it was ready.
    """

    def __init__(self, python: str, arguments: Sequence[str], backend: str = "tensorflow") -> None:
        self._process = subprocess.Popen(
            [python, "-m", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "KERAS_BACKEND": backend, "TF_CPP_MIN_LOG_LEVEL": "2"},
        )
        self.hello = self._read()

    def ask(self, question: Any) -> Any:
        """Waits for the answer."""
        assert self._process.stdin is not None
        print(json.dumps(question), file=self._process.stdin, flush=True)
        return self._read()

    def stop(self) -> None:
        """Ends the process."""
        self._process.communicate()

    def _read(self) -> Any:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith(_ANSWER):
                return json.loads(line.removeprefix(_ANSWER))
        raise SystemExit(f"a contestant ended early: {self._process.args!r}")


def take_turns(contestants: Mapping[str, Contestant], entries: Sequence[tuple[str, str]], rounds: int) -> Times:
    """Times all contestants in their modes, one round at a time; a round more goes before, to warm up."""
    times: Times = {entry: [] for entry in entries}
    for number in range(rounds + 1):
        for name, mode in entries:
            wall, cores = contestants[name].ask(mode)
            if number:
                times[name, mode].append((wall, cores))
    return times


def race(contestants: Mapping[str, Timer], length: int, rounds: int) -> dict[str, float]:
    """Median seconds for one passage; the contestants take turns, so that a busy machine hits all alike."""
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for number in range(rounds + 1):
        for name, measure in contestants.items():
            time_of_one = measure(length)
            if number:  # the first round warms up
                seconds[name].append(time_of_one)
    return {name: statistics.median(times) for name, times in seconds.items()}


def answer(value: Any) -> None:
    """Says hello, or answers a question, in such a process."""
    print(_ANSWER + json.dumps(value), flush=True)


def questions() -> Iterator[Any]:
    """What such a process is asked."""
    return map(json.loads, sys.stdin)
