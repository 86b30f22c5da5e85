"""Takes validation and test rows out of training rows."""

import hashlib
from collections import defaultdict

from components.dsl.errors import InputError
from components.sources.table import TextRow

HELD_OUT = 0.1


def carve(rows: list[TextRow], missing: list[str]) -> dict[str, list[TextRow]]:
    """Splits rows into `train` and each missing split, a tenth of every label each, by the hash of the text.

    Equal texts come to the same split, whatever their labels, and the order of the rows does not matter.

    Raises:
        InputError: there are too few rows to have one of each split, or none of a label stays in train.
    """
    groups: dict[tuple[str, str | None], list[TextRow]] = defaultdict(list)
    for row in rows:
        groups[row.text, row.second_text].append(row)
    by_label: dict[str, list[tuple[str, str | None]]] = defaultdict(list)
    for key, group in groups.items():
        by_label[min(row.label for row in group)].append(key)
    splits: dict[str, list[TextRow]] = {"train": [], **{split: [] for split in missing}}
    for keys in by_label.values():
        keys.sort(key=_hash)
        held = round(HELD_OUT * len(keys))
        for split in missing:
            splits[split] += [row for key in keys[:held] for row in groups[key]]
            keys = keys[held:]
        splits["train"] += [row for key in keys for row in groups[key]]
    for split in missing:
        if not splits[split]:
            raise InputError(
                f"taking a {split} part out of the training rows needs a label with at least 6 different texts, "
                f"got {len(groups)} texts in all; add rows or give a {split} table"
            )
    lost = {row.label for row in rows}.difference(row.label for row in splits["train"])
    if lost:
        raise InputError(
            f"the label {min(lost)!r} must keep a row for training, but all its texts also bear other labels and were "
            f"taken for {' and '.join(missing)}; add texts of that label alone"
        )
    return {split: sorted(part, key=_order) for split, part in splits.items()}


def _hash(key: tuple[str, str | None]) -> str:
    return hashlib.blake2b("\0".join(part or "" for part in key).encode(), digest_size=8).hexdigest()


def _order(row: TextRow) -> tuple[str, str]:
    return _hash((row.text, row.second_text)), row.label
