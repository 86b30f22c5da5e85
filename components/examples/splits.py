"""Takes validation and test rows out of training rows."""

import hashlib
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from components.dsl.errors import InputError

R = TypeVar("R", bound=tuple[Any, ...])

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


def split_rows(
    rows: Sequence[R],
    missing: Sequence[str],
    *,
    key: Callable[[R], tuple[str, ...]],
    stratum: Callable[[R], str] = lambda row: "",
    several: str = "texts",
) -> dict[str, list[R]]:
    """Splits rows into `train` and each missing split, a tenth of the keys of every stratum each, by their hash.

    Rows whose keys are equal, or nearly so (`fold`: in all but white space, letter case, compatibility forms and format
    characters), come to the same split, whatever else they differ in; the order of the rows does not matter.

    Args:
        rows: of training.
        missing: names of the splits to make.
        key: the texts that, all together, rows may not share across splits.
        stratum: the group of rows that each split gets its part of, such as a label.
        several: the name of many keys, for errors.

    Raises:
        InputError: there are too few rows to have one of each split, or none of a stratum stays in train.
    """
    groups: dict[str, list[R]] = defaultdict(list)
    for row in rows:
        # Each by itself: white space at the end of the first of two is as good as none.
        groups["\0".join(map(fold, key(row)))].append(row)
    strata: dict[str, list[str]] = defaultdict(list)
    for own, group in groups.items():
        strata[min(map(stratum, group))].append(own)
    chosen: dict[str, list[str]] = {"train": [], **{split: [] for split in missing}}
    for keys in strata.values():
        keys.sort(key=_hash)
        held = round(HELD_OUT * len(keys))
        for split in missing:
            chosen[split] += keys[:held]
            keys = keys[held:]
        chosen["train"] += keys
    for split in missing:
        if not chosen[split]:
            one = "a label with " if any(strata) else ""
            raise InputError(
                f"taking a {split} part out of the training rows needs {one}at least 6 different {several}, got "
                f"{len(groups)} in all; add rows or give a {split} file"
            )
    # Within a key the rows stand in an order of their own, which that of the input has no part in.
    splits = {
        split: [row for own in sorted(keys, key=_hash) for row in sorted(groups[own])] for split, keys in chosen.items()
    }
    lost = set(map(stratum, rows)).difference(map(stratum, splits["train"]))
    if lost:
        raise InputError(
            f"the label {min(lost)!r} must keep a row for training, but all its {several} also bear other labels and "
            f"were taken for {' and '.join(missing)}; add {several} of that label alone"
        )
    return splits


def _hash(key: str) -> str:
    return hashlib.blake2b(key.encode(), digest_size=8).hexdigest()
