"""Processes that hold what is timed, and answer when they are asked: each starts once, and all take turns."""

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

# (contestant, mode) -> seconds on the clock and seconds of all cores, of every round.
Times = dict[tuple[str, str], list[tuple[float, float]]]

# Times inferences of a length one after the other: the seconds of one passage.
Timer = Callable[[int], float]

_Name = TypeVar("_Name")
_Result = TypeVar("_Result")

# Libraries write to standard output, too.
_ANSWER = ">>"


class Contestant:
    """A module in a process of its own that says hello when it is ready, and answers a line of JSON by another one."""

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


def turns(calls: Mapping[_Name, Callable[[], _Result]], rounds: int, warm_up: int = 1) -> dict[_Name, list[_Result]]:
    """What each call returns, round by round: all take turns, so that a busy machine hits all alike."""
    results: dict[_Name, list[_Result]] = {name: [] for name in calls}
    for number in range(rounds + warm_up):
        for name, call in calls.items():
            result = call()
            if number >= warm_up:
                results[name].append(result)
    return results


def take_turns(contestants: Mapping[str, Contestant], entries: Sequence[tuple[str, str]], rounds: int) -> Times:
    """Times all contestants in their modes."""
    return turns({(name, mode): partial(contestants[name].ask, mode) for name, mode in entries}, rounds)


def race(contestants: Mapping[str, Timer], length: int, rounds: int) -> dict[str, float]:
    """Median seconds for one passage."""
    seconds = turns({name: partial(measure, length) for name, measure in contestants.items()}, rounds)
    return {name: statistics.median(times) for name, times in seconds.items()}


def answer(value: Any) -> None:
    """Says hello, or answers a question, in such a process."""
    print(_ANSWER + json.dumps(value), flush=True)


def questions() -> Iterator[Any]:
    """What such a process is asked."""
    return map(json.loads, sys.stdin)
