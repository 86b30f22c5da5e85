"""What was found, as plain values: each variant, and how far it is from the first one."""

import math
import statistics
from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any

from pipeline.comparison.budget import Budget
from pipeline.comparison.contenders import Contender
from pipeline.comparison.differences import LEVEL, half_width, paired_difference, significant
from pipeline.comparison.runs import Record

# Of several tasks, the mean of their metrics.
AVERAGE = "average"

# Settings that make losses of two variants means of different things.
_OF_LOSS = (
    *("checkpoint", "vocabulary", "masking", "max_length"),
    *("pretraining_rows.objective", "pretraining.objective"),
)
_OF_PIECES = ("checkpoint", "vocabulary")


def make_content(
    name: str, contenders: Sequence[Contender], budget: Budget | None, records: Mapping[str, Record]
) -> dict[str, Any]:
    """The content of `comparison.json`.

    Args:
        name: of the comparison.
        contenders: all variants, the baseline first.
        budget: what each could spend.
        records: of those that are done, at least of the first one.
    """
    first, *_ = contenders
    done = [contender for contender in contenders if contender.name in records]
    scores = {contender.name: _scores(records[contender.name]) for contender in done}
    differences = {
        (contender.name, task): paired_difference(values, scores[first.name][task])
        for contender in done[1:]
        for task, values in scores[contender.name].items()
    }
    # The average tells nothing that the tasks do not, and is no test more.
    holding = significant({key: each.p for key, each in differences.items() if key[1] != AVERAGE})
    variants = {}
    for contender in done:
        record = {**records[contender.name], "tasks": _with_average(records[contender.name]["tasks"])}
        for task, score in record["tasks"].items():
            found = differences.get((contender.name, task))
            if found is not None:
                marks = {"significant": _below(found.p), "holm": (contender.name, task) in holding}
                score["difference"] = {**found._asdict(), **marks}
        if "pretraining" in record:
            record["pretraining"] = _in_bytes(record["pretraining"])
            record["pretraining"]["unlike"] = _unlike(contender, first, records)
        variants[contender.name] = record
    seeds = len(next(iter(scores[first.name].values()), []))
    return {
        "name": name,
        "baseline": first.name,
        "budget": None if budget is None else budget._asdict(),
        "seeds": seeds,
        "half_width": half_width(seeds) if seeds > 1 else None,
        "tests": sum(each.p is not None for key, each in differences.items() if key[1] != AVERAGE),
        "pieces_differ": any(_differs(contender, first, key) for contender in done for key in _OF_PIECES),
        "variants": variants,
    }


def _scores(record: Record) -> dict[str, list[float]]:
    """Task -> the metric of each seed, and of several tasks their average."""
    return {name: score["seeds"] for name, score in _with_average(record["tasks"]).items()}


def _with_average(tasks: Mapping[str, Record]) -> dict[str, Record]:
    found = {name: {**score} for name, score in tasks.items()}
    if len(tasks) > 1:
        seeds = [statistics.fmean(values) for values in zip(*(score["seeds"] for score in tasks.values()), strict=True)]
        sd = statistics.stdev(seeds) if len(seeds) > 1 else None
        found[AVERAGE] = {"metric": "", "mean": statistics.fmean(seeds), "sd": sd, "seeds": seeds}
    return found


def _below(p: float | None) -> bool:
    return p is not None and p <= LEVEL


def _in_bytes(pretraining: Record) -> Record:
    """Losses in bits a byte, too: of a piece's nats, spread over its bytes."""
    scale = math.log(2) * pretraining["bytes_a_piece"]
    curve = [{**entry, "bits_a_byte": entry["loss"] / scale} for entry in pretraining["curve"]]
    return {**pretraining, "curve": curve}


def _unlike(contender: Contender, first: Contender, records: Mapping[str, Record]) -> list[str]:
    """The settings in which a loss is of other things than the baseline's."""
    mine, other = (records[each.name].get("pretraining") for each in (contender, first))
    if mine is None or other is None:
        return []
    named = [] if mine["loss"] == other["loss"] else [mine["loss"]]
    return [*named, *(key for key in _OF_LOSS if _differs(contender, first, key))]


def _differs(contender: Contender, first: Contender, key: str) -> bool:
    return bool(attrgetter(key)(contender.start) != attrgetter(key)(first.start))
