"""The user's limits on size, latency and score; which of them cannot be met, and by how much."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

from components.dsl.errors import InputError
from pipeline.settings.schema import Settings

# The least share of the teacher's score where `--min-share` is not given.
LEAST_SHARE = 0.95
_MEASURES = ("megabytes", "download_megabytes", "milliseconds")
_FLAGS = {measure: f"--max-{measure.replace('_', '-')}" for measure in _MEASURES} | {"share": "--min-share"}
_MESSAGES = {
    "megabytes": "the smallest file, {name}, has {value:.3g} MB, {over:.2g} too many",
    "download_megabytes": "the smallest file after deflate, {name}, has {value:.3g} MB, {over:.2g} too many",
    "milliseconds": "the fastest file, {name}, takes {value:.3g} ms, {over:.2g} too many",
    "both": "{name}, the nearest, has {value:.3g} of them, {over:.2g} too many",
    "share": "the best model, {name}, keeps {value:.3f}, {over:.2g} too little",
}


class Miss(NamedTuple):
    """A limit that cannot be met; the kind is the measure, or `both` if each limit can be met, but not all at once."""

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

    min_share: float = LEAST_SHARE
    megabytes: float | None = None
    download_megabytes: float | None = None
    milliseconds: float | None = None

    @classmethod
    def of(cls, min_share: float | None = None, **measures: float | None) -> Self | None:
        """The limits from command line options; None if there are none."""
        limits = cls(LEAST_SHARE if min_share is None else min_share, **measures)
        if not limits.bounds():
            if min_share is not None:
                flags = " or ".join(_FLAGS[measure] for measure in _MEASURES)
                raise InputError(f"{flags} must be given beside --min-share, got none of them")
            return None
        for measure, value in limits.bounds().items():
            if not 0 < value < float("inf"):
                raise InputError(f"{_FLAGS[measure]} must be positive and finite, got {value:g}")
        if not 0 <= limits.min_share <= 1:
            raise InputError(f"--min-share must be from 0 to 1, got {min_share:g}")
        return limits

    def bounds(self) -> dict[str, float]:
        """The upper bounds by measure, without unlimited measures."""
        return {measure: most for measure in _MEASURES if (most := getattr(self, measure)) is not None}

    def allow(self, footprint: Mapping[str, Any]) -> bool:
        """Whether a record of sizes and times is within the limits."""
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
    # Each limit is met by some candidate, but all by none.
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
