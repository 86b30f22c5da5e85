"""What a user allows a model to weigh and to take, and what it must keep."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

from components.dsl.errors import InputError
from pipeline.settings.schema import Settings


class Limits(NamedTuple):
    """All that a search must keep to.

    Attributes:
        megabytes: of the file, at most; None for any.
        milliseconds: for a full text on one thread, at most; None for any.
        min_share: of the teacher's validation score, at least.
        seconds: for the search.
    """

    megabytes: float | None
    milliseconds: float | None
    min_share: float
    seconds: float

    @classmethod
    def of(cls, megabytes: float | None, milliseconds: float | None, min_share: float, minutes: float) -> Self:
        """What the command line says.

        Raises:
            InputError: there is no limit, or a number cannot be one.
        """
        if megabytes is None and milliseconds is None:
            raise InputError("--max-megabytes or --max-milliseconds must be given, got neither")
        for flag, value in (
            ("--max-megabytes", megabytes),
            ("--max-milliseconds", milliseconds),
            ("--minutes", minutes),
        ):
            if value is not None and not 0 < value < float("inf"):
                raise InputError(f"{flag} must be positive and finite, got {value:g}")
        if not 0 <= min_share <= 1:
            raise InputError(f"--min-share must be from 0 to 1, got {min_share:g}")
        return cls(megabytes, milliseconds, min_share, 60 * minutes)

    def bounds(self) -> dict[str, float]:
        """Measure -> the most of it, of those that are limited."""
        given = {"megabytes": self.megabytes, "milliseconds": self.milliseconds}
        return {name: most for name, most in given.items() if most is not None}

    def allow(self, weighed: Mapping[str, Any]) -> bool:
        """Whether a record of `megabytes` and `milliseconds` is within the limits."""
        return all(weighed[name] <= most for name, most in self.bounds().items())


def check_job(settings: Settings) -> None:
    """Raises InputError where a job has nothing that a search could train or measure."""
    if settings.examples is None:
        raise InputError("there must be [examples] to shrink a model for")
    if "tflite" not in settings.export.runtimes:
        raise InputError(f"export.runtimes must hold 'tflite' to shrink a model, got {list(settings.export.runtimes)}")
    if settings.student is not None and settings.student.hidden_size is not None:
        given = settings.student.hidden_size
        raise InputError(f"student.hidden_size must be left out: candidates keep the teacher's width, got {given}")
    if settings.general_distillation is not None:
        raise InputError("general_distillation must be left out: each candidate would need one of its own")
