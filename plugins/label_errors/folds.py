"""Folds of training rows: parts that a model can judge which has learnt from all others."""

import logging
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from components.dsl.errors import InputError
from components.examples.base import TaskRows
from components.examples.near_texts import NearTexts
from components.examples.splits import fold_key, group_keys
from components.sources.shared import stable_hash
from keras_bert.core.folding import fold

R = TypeVar("R", bound=tuple[Any, ...])

logger = logging.getLogger(__name__)


def assign_rows(rows: Sequence[R], task: TaskRows[R], folds: int, seed: int, *, near: bool) -> list[int]:
    """The fold of each row, 0 to `folds - 1`: a function of the rows' texts and labels, not of their order.

    Rows with the same texts, and with `near` those with nearly the same ones, come to one fold, and so do rows that
    share a text, unless these are more than a fold has (`group_keys`). Every fold gets a part of each label (iterative
    stratification, Sechidis et al. 2011, which begins with the rarest label).
    """
    groups = _group_rows(rows, task, folds, near=near)
    labels = {
        group: task.count_labels([rows[row] for row in members]) or Counter[str]() for group, members in groups.items()
    }
    _check_counts(labels.values(), folds, task.plural_name, near=near)
    texts = {group: min(fold_key(task.key(rows[row])) for row in members) for group, members in groups.items()}
    order = sorted(groups, key=lambda group: (stable_hash(str(seed), texts[group]), texts[group]))
    fold_of_group = _deal(order, labels, {group: len(members) for group, members in groups.items()}, folds)
    fold_of_row = {row: fold_of_group[group] for group, members in groups.items() for row in members}
    folds_of_label: dict[str, set[int]] = defaultdict(set)
    for group, counts in labels.items():
        for label in counts:
            folds_of_label[label].add(fold_of_group[group])
    # The model of this fold would not know the label.
    for label in (label for label, numbers in sorted(folds_of_label.items()) if len(numbers) < 2):
        raise InputError(
            f"label_errors.seed must deal the rows of each label to two folds, but all of {label!r} came to one; "
            "choose another seed, or add rows of that label"
        )
    folds_of_text: dict[str, set[int]] = defaultdict(set)
    for row, number in fold_of_row.items():
        for text in set(task.key(rows[row])) - {""}:
            folds_of_text[fold(text)].add(number)
    if parted := sum(len(numbers) > 1 for numbers in folds_of_text.values()):
        logger.warning("%d texts are in rows of several folds, as too many rows share them for one fold", parted)
    return [fold_of_row[row] for row in range(len(rows))]


def check_folds(rows: Sequence[R], task: TaskRows[R], folds: int) -> None:
    """Checks that each label has as many different texts as there are folds; nearly equal texts count as different."""
    groups = _group_rows(rows, task, folds, near=False).values()
    labels = (task.count_labels([rows[row] for row in members]) or Counter[str]() for members in groups)
    _check_counts(labels, folds, task.plural_name, near=False)


def _group_rows(rows: Sequence[R], task: TaskRows[R], folds: int, *, near: bool) -> dict[int, list[int]]:
    """The first row of each group -> all rows of the group."""
    import numpy as np

    from components.text.near_duplicates import find_clusters

    keys = [task.key(row) for row in rows]
    pairs = [(row, group[0]) for group in group_keys(keys, len(rows) / folds) for row in group]
    if near:
        # Rows with equal texts are in one group already.
        row_of_key = {key: row for row, key in enumerate(keys)}
        texts = NearTexts(row_of_key)
        pairs += [(row, row_of_key[other]) for key, row in row_of_key.items() for other in texts.find_near(key)]
    groups: dict[int, list[int]] = defaultdict(list)
    for number, first in enumerate(find_clusters(len(rows), np.array(pairs, np.int64)).tolist()):
        groups[first].append(number)
    return groups


def _check_counts(labels: Iterable[Mapping[str, int]], folds: int, plural_name: str, *, near: bool) -> None:
    """Checks in how many groups each label stands, given the labels of each group."""
    groups = Counter(label for counts in labels for label in counts)
    label = min(groups, key=lambda label: (groups[label], label))
    if groups[label] < folds:
        lower = f"lower folds to {groups[label]}, " if groups[label] > 1 else ""
        counted = ", of which nearly equal ones count once" if near else ""
        raise InputError(
            f"label_errors.folds must be at most the number of different {plural_name} of each label{counted}, got "
            f"{folds} beside {groups[label]} of {label!r}; {lower}add rows of that label or leave it out"
        )


def _deal(
    order: Sequence[int], labels: Mapping[int, Mapping[str, int]], sizes: Mapping[int, int], folds: int
) -> dict[int, int]:
    """Group -> fold: each group goes to the fold with the fewest rows of its rarest label, then of all labels."""
    groups = Counter(label for counts in labels.values() for label in counts)
    fold_labels: list[Counter[str]] = [Counter() for _ in range(folds)]
    fold_sizes = [0] * folds
    fold_of_group: dict[int, int] = {}

    def rarest(group: int) -> tuple[int, str]:
        return min(((groups[label], label) for label in labels[group]), default=(len(sizes) + 1, ""))

    # The sort is stable: groups of one label stay in their order.
    for group in sorted(order, key=rarest):
        _, label = rarest(group)
        fold = min(range(folds), key=lambda number: (fold_labels[number][label], fold_sizes[number], number))
        fold_of_group[group] = fold
        fold_labels[fold].update(labels[group])
        fold_sizes[fold] += sizes[group]
    return fold_of_group
