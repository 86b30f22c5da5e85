"""Limits that cannot be met, and by how much."""

from collections.abc import Mapping
from typing import Any

from pipeline.shrink.limits import Limits

Record = dict[str, Any]

_FLAGS = {"megabytes": "--max-megabytes", "milliseconds": "--max-milliseconds", "share": "--min-share"}
_MESSAGES = {
    "megabytes": "the smallest file, {name}, has {value:.3g} MB, {over:.2g} too many",
    "milliseconds": "the fastest file, {name}, takes {value:.3g} ms, {over:.2g} too many",
    "both": "{name}, the nearest, has {value:.3g} of them, {over:.2g} too many",
    "share": "the best model, {name}, keeps {value:.3f}, {over:.2g} too little",
}


def unmet_limits(footprints: Mapping[str, Mapping[str, float]], limits: Limits) -> list[Record]:
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


def violated_limits(name: str, record: Mapping[str, float], limits: Limits) -> list[Record]:
    """The limits that a trained model violates."""
    misses = [
        _miss(measure, name, record[measure], most)
        for measure, most in limits.bounds().items()
        if record[measure] > most
    ]
    if record["share"] < limits.min_share:
        misses.append(_miss("share", name, record["share"], limits.min_share))
    return misses


def describe_miss(miss: Record) -> str:
    """A miss as a sentence."""
    return f"{_FLAGS[miss['measure']]} {miss['limit']:g} cannot be met: {_MESSAGES[miss['kind']].format(**miss)}"


def _misses_of_nearest(footprints: Mapping[str, Mapping[str, float]], limits: Limits) -> list[Record]:
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


def _miss(measure: str, name: str, value: float, limit: float, kind: str = "") -> Record:
    return {
        "measure": measure,
        "kind": kind or measure,
        "name": name,
        "value": value,
        "limit": limit,
        "over": abs(value - limit),
    }
