"""Counts, drops or refuses rows of different splits whose texts are equal or nearly equal (leakage)."""

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeVar

from components.dsl.errors import InputError
from components.examples.base import TaskRows
from components.examples.near_texts import Key, NearTexts
from components.examples.splits import fold_key
from components.sources.shared import NearOverlap, Overlap

R = TypeVar("R", bound=tuple[Any, ...])

logger = logging.getLogger(__name__)

# Split -> splits it must share no texts with, because models are trained or selected on them.
EARLIER = {"validation": ("train",), "test": ("train", "validation")}

# Splits that models are chosen and measured on.
HELD_OUT = ("validation", "test")

# The key of the pre-training corpus in counts, like the name of a split.
CORPUS = "corpus"

OverlapCounts = dict[str, dict[str, int]]

# "in": a text is equal to one of another split after `fold`; "near": `NearTexts` finds it near one.
Relation = Literal["in", "near"]

# The setting of `[examples]` that decides about rows with this relation.
SETTINGS: dict[Relation, str] = {"in": "overlap", "near": "near_overlap"}


def resolve_overlap(
    splits: Mapping[str, Sequence[R]], task: TaskRows[R], relation: Relation, treatment: NearOverlap
) -> tuple[dict[str, list[R]], OverlapCounts]:
    """Keeps, drops or refuses rows that share texts with a later split.

    `off` does not look for them, `keep` keeps all rows, `drop` drops rows of the earlier split, `error` refuses rows.
    Returns the kept rows, and the counts of the remaining overlap, see `count_overlap`; no counts if `off`.
    """
    kept = {split: list(rows) for split, rows in splits.items()}
    if treatment == "off":
        return kept, {}
    if treatment == "error":
        return kept, check_overlap(splits, task, relation)
    if treatment == "drop":
        # Rows are dropped from the earlier split: the later split must not change.
        for split in [split for split in ("train", "validation") if split in splits]:
            later = [task.key(row) for name in EARLIER if split in EARLIER[name] for row in splits.get(name, ())]
            is_shared = _matcher(relation, later)
            kept[split] = [row for row in splits[split] if not is_shared(task.key(row))]
            if dropped := len(splits[split]) - len(kept[split]):
                nearly = "nearly " * (relation == "near")
                logger.info(
                    "%d %s rows dropped, as later splits have %stheir %s", dropped, split, nearly, task.plural_name
                )
        if lost := set(map(task.stratum, splits["train"])).difference(map(task.stratum, kept["train"])):
            of = f" of the label {min(lost)!r}" if any(lost) else ""
            raise InputError(
                f"examples.{SETTINGS[relation]} must leave a training row{of}, but the {task.plural_name} of all of "
                "them are in validation or test rows, too; remove these from the validation or test files"
            )
    return kept, count_overlap(kept, task.key, relation)


def check_overlap(splits: Mapping[str, Sequence[R]], task: TaskRows[R], relation: Relation) -> OverlapCounts:
    """Counts the rows that share texts, see `count_overlap`, and raises InputError if there are any."""
    counts = count_overlap(splits, task.key, relation)
    refuse_overlap(relation, describe_overlap(counts, count_rows(splits), task.plural_name, relation))
    return counts


def refuse_overlap(relation: Relation, clauses: Sequence[str], advice: str = "remove them") -> None:
    """Raises InputError with the clauses of `describe_overlap`, if there are any; the setting is `error`."""
    if clauses:
        setting, clause = f"examples.{SETTINGS[relation]}", "; ".join(clauses)
        raise InputError(f"{setting} is 'error', and {clause}; {advice}, or set {setting} to 'drop' or 'keep'")


def count_overlap(
    splits: Mapping[str, Sequence[R]], key: Callable[[R], Key], relation: Relation = "in"
) -> OverlapCounts:
    """Counts the rows whose texts are also in an earlier split, exactly or nearly.

    Texts are equal if `keras_bert.core.folding.fold` makes them equal, as in `split_rows`. Equal texts are not near.
    The result is split -> earlier split -> rows of the split, as `{"test": {"train": 2, "validation": 0}}`.
    """
    keys = {split: list(map(key, rows)) for split, rows in splits.items()}

    def count(split_keys: Sequence[Key], earlier_keys: Sequence[Key]) -> int:
        if relation == "in":
            folded = set(map(fold_key, earlier_keys))
            return sum(fold_key(key) in folded for key in split_keys)
        # There are more earlier rows, so the index holds the later rows.
        texts = NearTexts(split_keys)
        near = {match for key in dict.fromkeys(earlier_keys) for match in texts.find_near(key)}
        equal = set(map(fold_key, earlier_keys)) if near else set()
        return sum(key in near and fold_key(key) not in equal for key in split_keys)

    return {
        split: {earlier: count(keys[split], keys[earlier]) for earlier in EARLIER[split] if earlier in splits}
        for split in splits
        if split in EARLIER
    }


def describe_overlap(
    overlap: Mapping[str, Mapping[str, int]], rows: Mapping[str, int], plural_name: str, relation: Relation = "in"
) -> list[str]:
    """A clause for each two splits with common texts: `3 of 100 test rows have their texts in training rows, too`."""
    names = {"train": "training rows", CORPUS: "the corpus"}
    clause = "have nearly the {} of {}" if relation == "near" else "have their {} in {}, too"
    return [
        f"{count} of {rows[split]} {split} rows {clause.format(plural_name, names.get(earlier, f'{earlier} rows'))}"
        for split, others in overlap.items()
        for earlier, count in others.items()
        if count
    ]


def count_rows(splits: Mapping[str, Sequence[Any]]) -> dict[str, int]:
    """Split -> number of rows."""
    return {split: len(rows) for split, rows in splits.items()}


class HeldOutKeys:
    """Looks up whether texts are in validation or test rows, exactly or nearly; `keys` are those of `TaskRows.key`."""

    def __init__(self, keys: Mapping[str, Iterable[Key]], overlap: NearOverlap, near_overlap: NearOverlap) -> None:
        self._texts = {split: NearTexts(split_keys) for split, split_keys in keys.items()}
        self.treatments: dict[Relation, NearOverlap] = {"in": overlap, "near": near_overlap}

    def find(self, key: Key) -> list[tuple[Relation, str]]:
        """Returns each relation and split with these texts, except relations whose treatment is `off`."""
        return [
            (relation, split)
            for split, texts in self._texts.items()
            for relation in self.treatments
            if self.treatments[relation] != "off" and (texts.has_equal if relation == "in" else texts.has_near)(key)
        ]

    def drops(self, matches: Iterable[tuple[Relation, str]]) -> bool:
        """Whether texts with these matches are to be dropped."""
        return any(self.treatments[relation] == "drop" for relation, _ in matches)


def _matcher(relation: Relation, keys: Sequence[Key]) -> Callable[[Key], bool]:
    if relation == "near":
        return NearTexts(keys).has_near
    folded = set(map(fold_key, keys))
    return lambda key: fold_key(key) in folded


def resolve_leaks(
    texts: Sequence[str],
    splits: Mapping[str, Sequence[Any]],
    task: TaskRows[Any],
    *,
    overlap: Overlap,
    near_overlap: NearOverlap,
) -> tuple[list[str], dict[str, int]]:
    """Keeps, drops or refuses texts that a validation or test row has, too, exactly or nearly.

    A model that learns from the teacher's answers to test texts is no longer measured on new ones.
    Returns the texts that stay, and the counts of others, by names such as `unlabelled_in_test`.
    """
    keys = {split: [(text,) for row in splits.get(split, ()) for text in task.key(row) if text] for split in HELD_OUT}
    held_out = HeldOutKeys(keys, overlap, near_overlap)
    kept, counts = [], Counter[str]()
    for text in texts:
        matches = held_out.find((text,))
        counts.update(f"unlabelled_{relation}_{split}" for relation, split in matches)
        if not held_out.drops(matches):
            kept.append(text)
    for relation, treatment in held_out.treatments.items():
        for split in HELD_OUT:
            count = counts[f"unlabelled_{relation}_{split}"]
            if count:
                nearly = "nearly " * (relation == "near")
                clause = f"{count} of {len(texts)} unlabelled texts are {nearly}those of {split} rows"
                if treatment == "error":
                    refuse_overlap(relation, [clause])
                logger.warning("%s%s", clause, ", and dropped" if treatment == "drop" else "")
    if texts and not kept:
        raise InputError("unlabelled must hold a text that no validation or test row has, got none; add other texts")
    return kept, dict(counts)
