"""A running trial: its validations are read while it trains, so that it can be pruned in the middle."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from pipeline.orchestrator.observer import Estimate, Observer, StepState, Watcher
from pipeline.report.trainings import read_running_history

# Seconds between two looks at a training's history.
_LOOK_SECONDS = 1.0

# Called with the values of all validations so far; raises StoppedRunError to end the training.
OnValidations = Callable[[Sequence[float]], None]


def validation_values(history: Iterable[Mapping[str, float]]) -> list[float]:
    """The value of each validation of a training, of which more is better: the accuracy, else the negative loss."""
    values = []
    for entry in history:
        if "validation_accuracy" in entry:
            values.append(entry["validation_accuracy"])
        elif "validation_loss" in entry:
            values.append(-entry["validation_loss"])
    return values


class TrialObserver(Observer):
    """Passes on the progress of a trial without its cached steps, and reads the validations of its training."""

    def __init__(self, observer: Observer, training: str, on_validations: OnValidations) -> None:
        self._observer, self._training, self._on_validations = observer, training, on_validations

    def begin(self, names: Sequence[str]) -> None:
        self._observer.begin(names)

    def estimated(self, estimate: Estimate) -> None:
        """Trials differ in their length, so that the last one's says little."""

    def step(self, name: str, expected: float | None, record: Path) -> Watcher:
        watcher = self._observer.step(name, expected, record)
        return TrialWatcher(watcher, record, self._on_validations) if name == self._training else watcher

    def finished(self, name: str, state: StepState, seconds: float) -> None:
        if state != "cached":
            self._observer.finished(name, state, seconds)

    def say(self, text: str) -> None:
        self._observer.say(text)


class TrialWatcher(Watcher):
    """Passes on the progress of a training, and reads its validations from time to time."""

    def __init__(self, watcher: Watcher, record: Path, on_validations: OnValidations) -> None:
        self._watcher, self._record, self._on_validations = watcher, record, on_validations
        self._next_look = time.monotonic() + _LOOK_SECONDS

    def __exit__(self, *error: object) -> None:
        self._watcher.__exit__(*error)

    def progress(self, done: float, total: float, note: str) -> None:
        self._watcher.progress(done, total, note)

    def tick(self) -> None:
        self._watcher.tick()
        now = time.monotonic()
        if now >= self._next_look:
            self._next_look = now + _LOOK_SECONDS
            self._on_validations(validation_values(read_running_history(self._record)))
