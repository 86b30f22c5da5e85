"""The user's limits on size, latency and score; which of them cannot be met, and by how much."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

from components.dsl.errors import InputError
from pipeline.settings.schema import Settings

# The least share of the teacher's score where `--min-share` is not given.
LEAST_SHARE = 0.95
_FLAGS = {"megabytes": "--max-megabytes", "milliseconds": "--max-milliseconds", "share": "--min-share"}
_MESSAGES = {
    "megabytes": "the smallest file, {name}, has {value:.3g} MB, {over:.2g} too many",
    "milliseconds": "the fastest file, {name}, takes {value:.3g} ms, {over:.2g} too many",
    "both": "{name}, the nearest, has {value:.3g} of them, {over:.2g} too many",
    "share": "the best model, {name}, keeps {value:.3f}, {over:.2g} too little",
}


class Miss(NamedTuple):
    """A limit that cannot be met; the kind is the measure, or `both` if each limit can be met, but not both at once."""

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
    """The limits of a search."""

    megabytes: float | None
    milliseconds: float | None
    min_share: float

    @classmethod
    def of(cls, megabytes: float | None, milliseconds: float | None, min_share: float | None) -> Self | None:
        """The limits from command line options; None if there are none."""
        if megabytes is None and milliseconds is None:
            if min_share is not None:
                raise InputError("--max-megabytes or --max-milliseconds must be given beside --min-share, got neither")
            return None
        for flag, value in (("--max-megabytes", megabytes), ("--max-milliseconds", milliseconds)):
            if value is not None and not 0 < value < float("inf"):
                raise InputError(f"{flag} must be positive and finite, got {value:g}")
        if min_share is not None and not 0 <= min_share <= 1:
            raise InputError(f"--min-share must be from 0 to 1, got {min_share:g}")
        return cls(megabytes, milliseconds, LEAST_SHARE if min_share is None else min_share)

    def bounds(self) -> dict[str, float]:
        """The upper bounds by measure, without unlimited measures."""
        bounds = {"megabytes": self.megabytes, "milliseconds": self.milliseconds}
        return {name: most for name, most in bounds.items() if most is not None}

    def allow(self, footprint: Mapping[str, Any]) -> bool:
        """Whether a record of `megabytes` and `milliseconds` is within the limits."""
        return all(footprint[name] <= most for name, most in self.bounds().items())


def check_limited(settings: Settings) -> None:
    """Raises InputError if no small model can be searched for a job with examples."""
    if "tflite" not in settings.export.runtimes:
        raise InputError(
            "export.runtimes must hold 'tflite' to search for a model within limits, got "
            f"{list(settings.export.runtimes)}"
        )
    if settings.student is not None and settings.student.hidden_size is not None:
        size = settings.student.hidden_size
        raise InputError(f"student.hidden_size must be left out: candidates keep the teacher's width, got {size}")
    if settings.general_distillation is not None:
        raise InputError("general_distillation must be left out: every candidate would need a separate one")


def unmet_limits(footprints: Mapping[str, Mapping[str, float]], limits: Limits) -> list[Miss]:
    """The limits that no candidate meets, each with the nearest candidate; empty if a candidate meets all limits."""
    if any(limits.allow(footprint) for footprint in footprints.values()):
        return []
    misses, bounds = [], limits.bounds()
    for measure, most in bounds.items():
        name = min(footprints, key=lambda candidate: footprints[candidate][measure])
        if footprints[name][measure] > most:
            misses.append(_miss(measure, name, footprints[name][measure], most))
    if misses:
        return misses
    # Each limit is met by some candidate, but both by none.
    excess = {
        name: max(values[measure] / most for measure, most in bounds.items()) for name, values in footprints.items()
    }
    nearest = min(excess, key=lambda name: excess[name])
    values = footprints[nearest]
    return [
        _miss(measure, nearest, values[measure], most, kind="both")
        for measure, most in bounds.items()
        if values[measure] > most
    ]


def violated_limits(name: str, record: Mapping[str, float], limits: Limits) -> list[Miss]:
    """The limits that a trained model violates."""
    bounds = limits.bounds().items()
    misses = [_miss(measure, name, record[measure], most) for measure, most in bounds if record[measure] > most]
    if record["share"] < limits.min_share:
        misses.append(_miss("share", name, record["share"], limits.min_share))
    return misses


def _miss(measure: str, name: str, value: float, limit: float, kind: str = "") -> Miss:
    return Miss(measure, kind or measure, name, value, limit, abs(value - limit))
