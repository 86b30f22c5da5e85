"""Takes validation and test rows of any kind out of training rows."""

from collections.abc import Callable
from typing import Any, TypeVar

from components.dsl.errors import InputError
from components.examples.splits import HELD_OUT, carve
from components.sources.table import TextRow

T = TypeVar("T", bound=tuple[Any, ...])


def hold_out(rows: list[T], missing: list[str], key: Callable[[T], str], what: str) -> dict[str, list[T]]:
    """Splits rows into `train` and each missing split, a tenth of the different keys each, by their hash.

    Rows of one key come to the same split, and the order of the rows does not matter.

    Args:
        rows: of training.
        missing: names of the splits to make.
        key: what rows may not share across splits.
        what: the name of many keys, for errors.

    Raises:
        InputError: there are too few keys.
    """
    keys = sorted({key(row) for row in rows})
    if not round(HELD_OUT * len(keys)):
        raise InputError(
            f"taking a {missing[0]} part out of the training rows needs at least 6 different {what}, got {len(keys)}; "
            f"add rows or give a {missing[0]} file"
        )
    parts = carve([TextRow(text, "") for text in keys], missing)
    place = {row.text: (split, number) for split, part in parts.items() for number, row in enumerate(part)}
    ordered = sorted(rows, key=lambda row: (place[key(row)][1], row))
    return {split: [row for row in ordered if place[key(row)][0] == split] for split in parts}
