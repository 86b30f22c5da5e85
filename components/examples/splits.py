"""Splits validation and test rows off training rows."""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from components.dsl.errors import InputError
from components.sources.shared import stable_hash
from components.sources.table import parse_number
from keras_bert.core.folding import fold

R = TypeVar("R", bound=tuple[Any, ...])

HELD_OUT = 0.1
# Rows from which on the standard error of a share is at most 5 points.
FEWEST = 100


def fold_key(key: Iterable[str]) -> str:
    """The texts of a row as one string, equal for rows whose texts are nearly equal one by one, see `fold`."""
    # One by one, so that white space at the end of the first text is ignored, too.
    return "\0".join(map(fold, key))


def group_keys(keys: Sequence[tuple[str, ...]], most_rows: float) -> list[list[int]]:
    """The indices of the rows of each group: rows with equal keys (see `fold_key`), and rows that share a text.

    Texts join the groups of their rows, the rarest text first. A text that would make a group of more than `most_rows`
    rows, such as a question that is asked about most passages, joins nothing. The order of the rows does not matter.
    """
    rows_of_key, rows_of_text = defaultdict[tuple[str, ...], list[int]](list), defaultdict[str, list[int]](list)
    for row, key in enumerate(keys):
        texts = tuple(map(fold, key))
        rows_of_key[texts].append(row)
        for text in set(texts) - {""}:
            rows_of_text[text].append(row)
    groups = dict(enumerate(rows_of_key.values()))
    group_of_row = {row: group for group, rows in groups.items() for row in rows}
    for _, rows in sorted(rows_of_text.items(), key=lambda item: (len(item[1]), item[0])):
        joined = sorted({group_of_row[row] for row in rows}, key=lambda group: -len(groups[group]))
        if sum(len(groups[group]) for group in joined) <= most_rows:
            for group in joined[1:]:
                group_of_row.update(dict.fromkeys(groups[group], joined[0]))
                groups[joined[0]] += groups.pop(group)
    return list(groups.values())


def describe_shared_texts(splits: Mapping[str, Sequence[R]], key: Callable[[R], tuple[str, ...]]) -> list[str]:
    """A remark for each held-out split with rows that share one of their texts, but not all, with training rows."""
    keys = {split: [frozenset(map(fold, key(row))) - {""} for row in rows] for split, rows in splits.items()}
    equal, texts = set(keys["train"]), frozenset[str]().union(*keys["train"])
    counts = {split: sum(row not in equal and bool(row & texts) for row in rows) for split, rows in keys.items()}
    return [
        f"{count} of {len(splits[split])} {split} rows share one of their texts with training rows: the model has seen "
        "it with another second text"
        for split, count in counts.items()
        if count
    ]


def split_rows(
    rows: Sequence[R],
    missing: Sequence[str],
    *,
    key: Callable[[R], tuple[str, ...]],
    stratum: Callable[[R], str] = lambda row: "",
    plural_name: str = "texts",
) -> dict[str, list[R]]:
    """Splits rows into `train` and each missing split, a tenth of the keys of every stratum each, by their hash.

    Rows whose keys are equal, or nearly so (`fold`: in all but white space, letter case and their representation in
    Unicode), come to the same split, whatever else they differ in; so do rows that share a text, unless too many rows
    do, see `group_keys`. The order of the rows does not matter.

    `key` gives the texts of a row, `stratum` its group, such as its label. `plural_name` names the keys in errors.
    """
    keys_of_rows = list(map(key, rows))
    groups = {
        min(fold_key(keys_of_rows[row]) for row in group): [rows[row] for row in group]
        for group in group_keys(keys_of_rows, HELD_OUT * len(rows))
    }
    counts = Counter(map(stratum, rows))
    strata: dict[str, list[str]] = defaultdict(list)
    for group_key, group in groups.items():
        # The rarest: of a group with several labels, a tenth of the rows of each is held out.
        strata[min(map(stratum, group), key=lambda label: (counts[label], label))].append(group_key)
    chosen: dict[str, list[str]] = {"train": [], **{split: [] for split in missing}}
    for keys in strata.values():
        keys.sort(key=stable_hash)
        held = round(HELD_OUT * len(keys))
        for split in missing:
            chosen[split] += keys[:held]
            keys = keys[held:]
        chosen["train"] += keys
    for split in missing:
        if not chosen[split]:
            one = "a label with " if any(strata) else ""
            raise InputError(
                f"taking a {split} part out of the training rows needs {one}at least 6 different {plural_name}, got "
                f"{len(groups)} in all; add rows or give a {split} file"
            )
    # The rows of a key are sorted, so that the order of the input does not matter.
    splits = {
        split: [row for group_key in sorted(keys, key=stable_hash) for row in sorted(groups[group_key])]
        for split, keys in chosen.items()
    }
    lost = set(map(stratum, rows)).difference(map(stratum, splits["train"]))
    if lost:
        raise InputError(
            f"the label {min(lost)!r} must keep a row for training, but all its {plural_name} also bear other labels "
            f"and were taken for {' and '.join(missing)}; add {plural_name} of that label alone"
        )
    return splits


def describe_similar_labels(counts: Mapping[str, int]) -> list[str]:
    """A line for each label that looks like an earlier one, see `fold`, or is the same number; `counts` are rows."""
    first, lines = dict[str, str](), list[str]()
    for label in sorted(counts):
        number = parse_number(label.strip())
        look = fold(label) if math.isnan(number) else str(number)
        if (twin := first.setdefault(look, label)) != label:
            # ASCII, as the difference may not be visible.
            pair = f"{twin!a} ({counts[twin]} times) and {label!a} ({counts[label]} times)"
            lines.append(f"the labels {pair} look alike and are two classes; write them in one way if they are one")
    return lines


def describe_few_rows(splits: Mapping[str, Sequence[Any]]) -> list[str]:
    """A warning for each split to measure on that has, or gets out of training, too few rows to tell models apart.

    The standard error of a share p of n rows is sqrt(p (1 - p) / n), at most half of 1 / sqrt(n).
    """
    warnings = []
    for split in ("validation", "test"):
        rows = len(splits[split]) if split in splits else round(HELD_OUT * len(splits["train"]))
        if 0 < rows < FEWEST:
            # Each label gives a tenth of its different texts, rounded, which are counted when they are taken.
            about, taken = ("", "") if split in splits else ("about ", ", a tenth of the training rows")
            points = f"{50 / math.sqrt(rows):.0f} points"
            warnings.append(f"{about}{rows} {split} rows{taken}: chance moves a share by about {points}; add rows")
    return warnings
