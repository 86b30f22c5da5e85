"""The user's limits on size, latency, score and time; which of them cannot be met, and by how much."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

from components.dsl.errors import InputError
from pipeline.search.runs import seconds_of_minutes
from pipeline.settings.schema import Settings

_FLAGS = {"megabytes": "--max-megabytes", "milliseconds": "--max-milliseconds", "share": "--min-share"}
_MESSAGES = {
    "megabytes": "the smallest file, {name}, has {value:.3g} MB, {over:.2g} too many",
    "milliseconds": "the fastest file, {name}, takes {value:.3g} ms, {over:.2g} too many",
    "both": "{name}, the nearest, has {value:.3g} of them, {over:.2g} too many",
    "share": "the best model, {name}, keeps {value:.3f}, {over:.2g} too little",
}


class Miss(NamedTuple):
    """A limit that cannot be met.

    Attributes:
        measure: what is limited.
        kind: the kind of the message: the measure, or `both` where each limit could be met alone.
        name: the nearest candidate.
        value: what that one measures.
        limit: the limit.
        over: the difference between both.
    """

    measure: str
    kind: str
    name: str
    value: float
    limit: float
    over: float

    def describe(self) -> str:
        """The miss as a sentence."""
        return f"{_FLAGS[self.measure]} {self.limit:g} cannot be met: {_MESSAGES[self.kind].format(**self._asdict())}"


class Limits(NamedTuple):
    """The limits of a search.

    Attributes:
        megabytes: maximum size of the file; None for no limit.
        milliseconds: maximum latency of a text of maximum length on one thread; None for no limit.
        min_share: minimum share of the teacher's validation score, from 0 to 1.
        seconds: maximum time of the search.
    """

    megabytes: float | None
    milliseconds: float | None
    min_share: float
    seconds: float

    @classmethod
    def of(cls, megabytes: float | None, milliseconds: float | None, min_share: float, minutes: float) -> Self:
        """The limits from command line options.

        Raises:
            InputError: there is no limit, or a value is out of range.
        """
        if megabytes is None and milliseconds is None:
            raise InputError("--max-megabytes or --max-milliseconds must be given, got neither")
        for flag, value in (
            ("--max-megabytes", megabytes),
            ("--max-milliseconds", milliseconds),
        ):
            if value is not None and not 0 < value < float("inf"):
                raise InputError(f"{flag} must be positive and finite, got {value:g}")
        seconds = seconds_of_minutes(minutes)
        if not 0 <= min_share <= 1:
            raise InputError(f"--min-share must be from 0 to 1, got {min_share:g}")
        return cls(megabytes, milliseconds, min_share, seconds)

    def bounds(self) -> dict[str, float]:
        """The upper bounds by measure, without unlimited measures."""
        bounds = {"megabytes": self.megabytes, "milliseconds": self.milliseconds}
        return {name: most for name, most in bounds.items() if most is not None}

    def allow(self, footprint: Mapping[str, Any]) -> bool:
        """Whether a record of `megabytes` and `milliseconds` is within the limits."""
        return all(footprint[name] <= most for name, most in self.bounds().items())


def check_job(settings: Settings) -> None:
    """Raises InputError if a job cannot be searched."""
    if settings.examples is None:
        raise InputError("there must be [examples] to shrink a model for")
    if "tflite" not in settings.export.runtimes:
        raise InputError(f"export.runtimes must hold 'tflite' to shrink a model, got {list(settings.export.runtimes)}")
    if settings.student is not None and settings.student.hidden_size is not None:
        size = settings.student.hidden_size
        raise InputError(f"student.hidden_size must be left out: candidates keep the teacher's width, got {size}")
    if settings.general_distillation is not None:
        raise InputError("general_distillation must be left out: every candidate would need a separate one")


def unmet_limits(footprints: Mapping[str, Mapping[str, float]], limits: Limits) -> list[Miss]:
    """The limits that no candidate meets, each with the nearest candidate; empty if a candidate meets all limits.

    Args:
        footprints: the measures of every candidate, by name.
        limits: the limits.
    """
    if any(limits.allow(footprint) for footprint in footprints.values()):
        return []
    misses = []
    for measure, most in limits.bounds().items():
        name = min(footprints, key=lambda candidate: footprints[candidate][measure])
        if footprints[name][measure] > most:
            misses.append(_miss(measure, name, footprints[name][measure], most))
    # Every limit may be met by some candidate, but both by none.
    return misses or _misses_of_nearest(footprints, limits)


def violated_limits(name: str, record: Mapping[str, float], limits: Limits) -> list[Miss]:
    """The limits that a trained model violates."""
    misses = [
        _miss(measure, name, record[measure], most)
        for measure, most in limits.bounds().items()
        if record[measure] > most
    ]
    if record["share"] < limits.min_share:
        misses.append(_miss("share", name, record["share"], limits.min_share))
    return misses


def _misses_of_nearest(footprints: Mapping[str, Mapping[str, float]], limits: Limits) -> list[Miss]:
    bounds = limits.bounds()

    def excess(candidate: str) -> float:
        return max(footprints[candidate][measure] / most for measure, most in bounds.items())

    name = min(footprints, key=excess)
    values = footprints[name]
    return [
        _miss(measure, name, values[measure], most, kind="both")
        for measure, most in bounds.items()
        if values[measure] > most
    ]


def _miss(measure: str, name: str, value: float, limit: float, kind: str = "") -> Miss:
    return Miss(measure, kind or measure, name, value, limit, abs(value - limit))
