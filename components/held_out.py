"""Takes validation and test rows of any kind out of training rows."""

from collections.abc import Callable
from typing import Any, TypeVar

from components.base import InputError
from components.splits import HELD_OUT, carve, fold
from components.tables import Row

T = TypeVar("T", bound=tuple[Any, ...])


def hold_out(rows: list[T], missing: list[str], key: Callable[[T], str], what: str) -> dict[str, list[T]]:
    """Splits rows into `train` and each missing split, a tenth of the different keys each, by their hash.

    Rows whose keys are equal, or nearly so, come to the same split; nearly equal are those that differ only in white
    space, letter case, compatibility forms and format characters (`components.splits.fold`). The order of the rows
    does not matter.

    Args:
        rows: of training.
        missing: names of the splits to make.
        key: what rows may not share across splits; of several texts, NUL stands between them.
        what: the name of many keys, for errors.

    Raises:
        InputError: there are too few keys.
    """
    folded = ["\0".join(map(fold, key(row).split("\0"))) for row in rows]
    keys = sorted(set(folded))
    if not round(HELD_OUT * len(keys)):
        raise InputError(
            f"taking a {missing[0]} part out of the training rows needs at least 6 different {what}, got {len(keys)}; "
            f"add rows or give a {missing[0]} file"
        )
    parts = carve([Row(text, "") for text in keys], missing)
    place = {row.text: (split, number) for split, part in parts.items() for number, row in enumerate(part)}
    ordered = sorted(zip(folded, rows, strict=True), key=lambda pair: (place[pair[0]][1], pair[1]))
    return {split: [row for own, row in ordered if place[own][0] == split] for split in parts}
