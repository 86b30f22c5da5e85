"""Rows of different splits that have the same texts: counted, dropped or refused."""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from components.dsl.errors import InputError
from components.examples.base import TaskRows
from components.examples.splits import fold_key
from components.sources.shared import Overlap

R = TypeVar("R", bound=tuple[Any, ...])

logger = logging.getLogger(__name__)

# Split -> the splits that it must share no texts with, as models that are trained or chosen on them know the answers.
EARLIER = {"validation": ("train",), "test": ("train", "validation")}

# Splits that models are chosen and measured on.
HELD_OUT = ("validation", "test")

# The name of the text of the pre-training in counts, beside the splits.
CORPUS = "corpus"

OverlapCounts = dict[str, dict[str, int]]


def count_overlap(splits: Mapping[str, Sequence[R]], key: Callable[[R], tuple[str, ...]]) -> OverlapCounts:
    """Counts the rows whose texts also stand in an earlier split.

    Texts are the same that `split_rows` keeps together, see `components.text.folding.fold`.

    Args:
        splits: some of train, validation and test.
        key: the texts of a row that, all together, no two splits should share.

    Returns:
        Split -> earlier split -> rows of the split, as `{"test": {"train": 2, "validation": 0}}`.
    """
    keys = {split: [fold_key(key(row)) for row in rows] for split, rows in splits.items()}
    distinct = {split: set(split_keys) for split, split_keys in keys.items()}
    return {
        split: {
            earlier: sum(row_key in distinct[earlier] for row_key in keys[split])
            for earlier in EARLIER[split]
            if earlier in splits
        }
        for split in keys
        if split in EARLIER
    }


def describe_overlap(overlap: Mapping[str, Mapping[str, int]], rows: Mapping[str, int], several: str) -> list[str]:
    """One clause for each two splits that share texts, as `3 of 100 test rows have their texts in training rows`.

    Args:
        overlap: the result of `count_overlap`.
        rows: number of rows of each split.
        several: the plural name of the rows' keys, see `TaskRows.several`.
    """
    return [
        f"{count} of {rows[split]} {split} rows have their {several} in {name_texts(earlier)}, too"
        for split, others in overlap.items()
        for earlier, count in others.items()
        if count
    ]


def name_texts(place: str) -> str:
    """The texts of a split, or of the corpus, in a sentence."""
    return {"train": "training rows", CORPUS: "the corpus"}.get(place, f"{place} rows")


def resolve_overlap(splits: Mapping[str, Sequence[R]], task: TaskRows[R], overlap: Overlap) -> dict[str, list[R]]:
    """Keeps, drops or refuses rows that share texts with a later split.

    Args:
        splits: the splits of the source, training rows among them.
        task: the task's rows.
        overlap: `keep` keeps all rows, `drop` drops rows of the earlier split, `error` refuses them.

    Raises:
        InputError: splits share texts and `overlap` is `error`; or a label loses its last training row.
    """
    if overlap == "error":
        check_overlap(splits, task)
    kept = {split: list(rows) for split, rows in splits.items()}
    if overlap == "drop":
        kept |= {split: _without_later(split, splits, task) for split in ("train", "validation") if split in splits}
        check_labels_left(splits["train"], kept["train"], task, "overlap")
    return kept


def check_labels_left(before: Sequence[R], after: Sequence[R], task: TaskRows[R], setting: str) -> None:
    """Checks that dropping training rows left one of each label.

    Args:
        before: the training rows.
        after: those that are left.
        task: the task's rows.
        setting: the setting of `[examples]` that dropped rows.

    Raises:
        InputError: a label lost its last row.
    """
    lost = set(map(task.stratum, before)).difference(map(task.stratum, after))
    if lost:
        of = f" of the label {min(lost)!r}" if any(lost) else ""
        raise InputError(
            f"examples.{setting} must leave a training row{of}, but the {task.several} of all of them are in "
            "validation or test rows, too; remove these from the validation or test files"
        )


def check_overlap(splits: Mapping[str, Sequence[R]], task: TaskRows[R]) -> None:
    """Raises InputError where a validation or test row has the texts of a row of an earlier split."""
    clauses = describe_overlap(count_overlap(splits, task.key), count_rows(splits), task.several)
    if clauses:
        advice = "remove them, or set examples.overlap to 'drop' or 'keep'"
        raise InputError(f"examples.overlap is 'error', and {'; '.join(clauses)}; {advice}")


def count_rows(splits: Mapping[str, Sequence[Any]]) -> dict[str, int]:
    """Split -> rows."""
    return {split: len(rows) for split, rows in splits.items()}


def _without_later(split: str, splits: Mapping[str, Sequence[R]], task: TaskRows[R]) -> list[R]:
    """The rows of a split whose texts are in no later split."""
    later = {fold_key(task.key(row)) for name, rows in splits.items() if split in EARLIER.get(name, ()) for row in rows}
    kept = [row for row in splits[split] if fold_key(task.key(row)) not in later]
    dropped = len(splits[split]) - len(kept)
    if dropped:
        logger.info("%d %s rows dropped, as their %s stand in later splits", dropped, split, task.several)
    return kept
