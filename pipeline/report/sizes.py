"""What each model of an evaluation takes, and what it gives for that."""

from collections.abc import Mapping
from typing import Any, NamedTuple


class Point(NamedTuple):
    """A model: megabytes, milliseconds for one row, and its score with the standard deviation over seeds, 0 to 100."""

    name: str
    megabytes: float
    milliseconds: float
    score: float
    sd: float | None
    is_shipped: bool


def points_of(measured: Mapping[str, Any]) -> list[Point]:
    """A point a model that has a size, in the order of the table."""
    metric, shipped = measured["metric"], measured["shipped"]
    return [
        Point(
            name,
            row["megabytes"],
            row["milliseconds"],
            100 * row["metrics"][metric]["mean"],
            None if row["metrics"][metric]["sd"] is None else 100 * row["metrics"][metric]["sd"],
            name == shipped,
        )
        for name, row in measured["models"].items()
        if "megabytes" in row
    ]
