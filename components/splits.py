"""Takes validation and test rows out of training rows."""

import hashlib
import unicodedata
from collections import defaultdict

from components.base import InputError
from components.tables import Row

HELD_OUT = 0.1


def fold(text: str) -> str:
    """What nearly equal texts share: those that differ only in white space, letter case, or Unicode's ways to write it.

    These are compatibility forms, such as ligatures and full-width letters (caseless matching, definition D146 of the
    Unicode Standard, section 3.13), and format characters (category Cf), such as soft hyphens and byte order marks.
    """
    if text.isascii():
        text = text.casefold()
    else:
        # First of all, as one between a letter and its accent keeps the two from being put together.
        text = "".join(character for character in text if unicodedata.category(character) != "Cf")
        text = unicodedata.normalize("NFKC", unicodedata.normalize("NFD", text).casefold())
        text = unicodedata.normalize("NFKC", text.casefold())
    return " ".join(text.split())


def carve(rows: list[Row], missing: list[str]) -> dict[str, list[Row]]:
    """Splits rows into `train` and each missing split, a tenth of every label each, by the hash of the text.

    Texts that are equal, or nearly so (`fold`: in all but white space, letter case, compatibility forms and format
    characters), come to the same split, whatever their labels; the order of the rows does not matter.

    Raises:
        InputError: there are too few rows to have one of each split, or none of a label stays in train.
    """
    groups: dict[tuple[str, str | None], list[Row]] = defaultdict(list)
    for row in rows:
        groups[fold(row.text), row.second_text if row.second_text is None else fold(row.second_text)].append(row)
    by_label: dict[str, list[tuple[str, str | None]]] = defaultdict(list)
    for key, group in groups.items():
        by_label[min(row.label for row in group)].append(key)
    chosen: dict[str, list[tuple[str, str | None]]] = {"train": [], **{split: [] for split in missing}}
    for keys in by_label.values():
        keys.sort(key=_hash)
        held = round(HELD_OUT * len(keys))
        for split in missing:
            chosen[split] += keys[:held]
            keys = keys[held:]
        chosen["train"] += keys
    splits = {
        split: [row for key in sorted(keys, key=_hash) for row in sorted(groups[key], key=_order)]
        for split, keys in chosen.items()
    }
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
    return splits


def _hash(key: tuple[str, str | None]) -> str:
    return hashlib.blake2b("\0".join(part or "" for part in key).encode(), digest_size=8).hexdigest()


def _order(row: Row) -> tuple[str, str, str]:
    return row.label, row.text, row.second_text or ""
