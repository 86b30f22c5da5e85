"""The user's limits on size, latency, score and time."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

from components.dsl.errors import InputError
from pipeline.search_runs import seconds_of_minutes
from pipeline.settings.schema import Settings


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
