"""Which limit cannot be met, and by how much."""

from collections.abc import Mapping
from typing import Any

from pipeline.shrink.limits import Limits

Record = dict[str, Any]

_FLAGS = {"megabytes": "--max-megabytes", "milliseconds": "--max-milliseconds", "share": "--min-share"}
_TOLD = {
    "megabytes": "the smallest file, {name}, has {value:.3g} MB, {over:.2g} too many",
    "milliseconds": "the fastest file, {name}, takes {value:.3g} ms, {over:.2g} too many",
    "both": "{name}, the nearest, has {value:.3g} of them, {over:.2g} too many",
    "share": "the best model, {name}, keeps {value:.3f}, {over:.2g} too little",
}


def unmet(weights: Mapping[str, Mapping[str, float]], limits: Limits) -> list[Record]:
    """What no candidate keeps to: for each such limit the candidate that comes nearest; empty where one keeps to all.

    Args:
        weights: name -> its measures.
        limits: to keep to.
    """
    if any(limits.allow(weight) for weight in weights.values()):
        return []
    found = []
    for measure, most in limits.bounds().items():
        name = min(weights, key=lambda each: weights[each][measure])
        if weights[name][measure] > most:
            found.append(_miss(measure, name, weights[name][measure], most))
    # Each limit is kept by some, both by none.
    return found or _of_nearest(weights, limits)


def unkept(name: str, record: Mapping[str, float], limits: Limits) -> list[Record]:
    """The limits that one trained model breaks."""
    found = [
        _miss(measure, name, record[measure], most)
        for measure, most in limits.bounds().items()
        if record[measure] > most
    ]
    if record["share"] < limits.min_share:
        found.append(_miss("share", name, record["share"], limits.min_share))
    return found


def tell(miss: Record) -> str:
    """A miss as a sentence."""
    told = _TOLD[miss["kind"]].format(**miss)
    return f"{_FLAGS[miss['measure']]} {miss['limit']:g} cannot be met: {told}"


def _of_nearest(weights: Mapping[str, Mapping[str, float]], limits: Limits) -> list[Record]:
    bounds = limits.bounds()
    name = min(weights, key=lambda each: max(weights[each][measure] / most for measure, most in bounds.items()))
    own = weights[name]
    return [_miss(each, name, own[each], most, kind="both") for each, most in bounds.items() if own[each] > most]


def _miss(measure: str, name: str, value: float, limit: float, kind: str = "") -> Record:
    return {
        "measure": measure,
        "kind": kind or measure,
        "name": name,
        "value": value,
        "limit": limit,
        "over": abs(value - limit),
    }
