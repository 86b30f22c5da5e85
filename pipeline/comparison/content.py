"""The result of a comparison as plain values: each variant, and its difference from the first one."""

import math
import statistics
from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any

from pipeline.comparison.budget import Budget
from pipeline.comparison.differences import LEVEL, half_width, paired_difference, significant
from pipeline.comparison.runs import Record
from pipeline.comparison.variants import ComparedVariant

# The name of the mean over several tasks.
AVERAGE = "average"

# Settings that change what a loss measures: losses of variants that differ in one cannot be compared.
_LOSS_KEYS = (
    *("checkpoint", "vocabulary", "masking", "max_length"),
    *("pretraining_rows.objective", "pretraining.objective"),
)
_VOCABULARY_KEYS = ("checkpoint", "vocabulary")


def make_content(
    name: str, variants: Sequence[ComparedVariant], budget: Budget | None, records: Mapping[str, Record]
) -> dict[str, Any]:
    """The content of `comparison.json`.

    Args:
        name: the name of the comparison.
        variants: all variants, the baseline first.
        budget: the pre-training budget of each variant.
        records: variant name -> its record, of those that are done, at least of the first one.
    """
    first, *_ = variants
    done = [variant for variant in variants if variant.name in records]
    scores = {variant.name: _scores(records[variant.name]) for variant in done}
    differences = {
        (variant.name, task): paired_difference(values, scores[first.name][task])
        for variant in done[1:]
        for task, values in scores[variant.name].items()
    }
    # The average depends on the tasks, and so is no further test.
    tests = {key: difference.p for key, difference in differences.items() if key[1] != AVERAGE}
    significant_tests = significant(tests)
    content = {}
    for variant in done:
        record = {**records[variant.name], "tasks": _with_average(records[variant.name]["tasks"])}
        for task, score in record["tasks"].items():
            difference = differences.get((variant.name, task))
            if difference is not None:
                is_below = difference.p is not None and difference.p <= LEVEL
                marks = {"significant": is_below, "holm": (variant.name, task) in significant_tests}
                score["difference"] = {**difference._asdict(), **marks}
        if "pretraining" in record:
            record["pretraining"] = _in_bytes(record["pretraining"])
            record["pretraining"]["unlike"] = _unlike(variant, first, records)
        content[variant.name] = record
    seeds = len(next(iter(scores[first.name].values()), []))
    return {
        "name": name,
        "baseline": first.name,
        "budget": None if budget is None else budget._asdict(),
        "seeds": seeds,
        "half_width": half_width(seeds) if seeds > 1 else None,
        "tests": sum(p is not None for p in tests.values()),
        "pieces_differ": any(_differs(variant, first, key) for variant in done for key in _VOCABULARY_KEYS),
        "variants": content,
    }


def _scores(record: Record) -> dict[str, list[float]]:
    """Task -> the metric of each seed, with the average if there are several tasks."""
    return {name: score["seeds"] for name, score in _with_average(record["tasks"]).items()}


def _with_average(tasks: Mapping[str, Record]) -> dict[str, Record]:
    scores = {name: {**score} for name, score in tasks.items()}
    if len(tasks) > 1:
        seeds = [statistics.fmean(values) for values in zip(*(score["seeds"] for score in tasks.values()), strict=True)]
        sd = statistics.stdev(seeds) if len(seeds) > 1 else None
        scores[AVERAGE] = {"metric": "", "mean": statistics.fmean(seeds), "sd": sd, "seeds": seeds}
    return scores


def _in_bytes(pretraining: Record) -> Record:
    """Adds the losses in bits per byte: the nats of a token, divided by its bytes."""
    scale = math.log(2) * pretraining["bytes_an_entry"]
    curve = [{**entry, "bits_a_byte": entry["loss"] / scale} for entry in pretraining["curve"]]
    return {**pretraining, "curve": curve}


def _unlike(variant: ComparedVariant, first: ComparedVariant, records: Mapping[str, Record]) -> list[str]:
    """The settings that keep the losses of a variant from being compared with those of the baseline."""
    pretraining, baseline = records[variant.name].get("pretraining"), records[first.name].get("pretraining")
    if pretraining is None or baseline is None:
        return []
    losses = [] if pretraining["loss"] == baseline["loss"] else [pretraining["loss"]]
    return [*losses, *(key for key in _LOSS_KEYS if _differs(variant, first, key))]


def _differs(variant: ComparedVariant, first: ComparedVariant, key: str) -> bool:
    return bool(attrgetter(key)(variant.start) != attrgetter(key)(first.start))
