"""The result of a comparison as plain values: each variant, and its difference from the first one."""

import math
import statistics
from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any

from plugins.compare.budget import Budget
from plugins.compare.differences import LEVEL, half_width, paired_difference, significant
from plugins.compare.runs import Record
from plugins.compare.variants import ComparedVariant

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
    """The content of `comparison.json`."""
    first, *_ = variants
    done = [variant for variant in variants if variant.name in records]
    tasks = {
        variant.name: {name: {**score} for name, score in records[variant.name]["tasks"].items()} for variant in done
    }
    for of_tasks in (of_tasks for of_tasks in tasks.values() if len(of_tasks) > 1):
        means = [*map(statistics.fmean, zip(*(score["seeds"] for score in of_tasks.values()), strict=True))]
        sd = statistics.stdev(means) if len(means) > 1 else None
        of_tasks[AVERAGE] = {"metric": "", "mean": statistics.fmean(means), "sd": sd, "seeds": means}
    scores = {name: {task: score["seeds"] for task, score in of_tasks.items()} for name, of_tasks in tasks.items()}
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
        record = {**records[variant.name], "tasks": tasks[variant.name]}
        for task, score in record["tasks"].items():
            difference = differences.get((variant.name, task))
            if difference is not None:
                is_below = difference.p is not None and difference.p <= LEVEL
                marks = {"significant": is_below, "holm": (variant.name, task) in significant_tests}
                score["difference"] = {**difference._asdict(), **marks}
        if "pretraining" in record:
            # The losses in bits per byte, too: the nats of a token, divided by its bytes.
            pretraining, baseline = record["pretraining"], records[first.name].get("pretraining")
            scale = math.log(2) * pretraining["bytes_an_entry"]
            curve = [{**entry, "bits_a_byte": entry["loss"] / scale} for entry in pretraining["curve"]]
            # The settings because of which the losses cannot be compared with the baseline's losses.
            unlike = []
            if baseline is not None:
                unlike = [] if pretraining["loss"] == baseline["loss"] else [pretraining["loss"]]
                unlike += [key for key in _LOSS_KEYS if _differs(variant, first, key)]
            record["pretraining"] = {**pretraining, "curve": curve, "unlike": unlike}
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


def _differs(variant: ComparedVariant, first: ComparedVariant, key: str) -> bool:
    return bool(attrgetter(key)(variant.start) != attrgetter(key)(first.start))
