"""Chunks of rows that can be answered: the units of work of a table."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from components.answers.part_files import read_arrow
from components.answers.row_blocks import column_values, texts_of
from components.answers.work_folder import CHUNKS

if TYPE_CHECKING:
    import pyarrow as pa


@dataclasses.dataclass(frozen=True)
class CutTable:
    """A table that was cut into chunks.

    Attributes:
        chunks: the number of chunks.
        rows: the number of rows that can be answered.
        bad: the number of rows in the side file.
        characters: of all texts.
        names: the names of the columns; of JSON lines, of all fields.
        json_types: the types of the fields of JSON lines, see `JsonTypes`; empty for other tables.
    """

    chunks: int
    rows: int
    bad: int
    characters: int
    names: list[str]
    json_types: dict[str, str]


def chunk_file(folder: Path, number: int) -> Path:
    """The file of a chunk in a work folder."""
    return folder / CHUNKS / f"{number:06d}.arrow"


def read_chunk(folder: Path, number: int) -> "pa.Table":
    """The rows of a chunk, as `RowBlock` has them."""
    return read_arrow(chunk_file(folder, number))


def read_texts(rows: "pa.Table", columns: Sequence[str], *, words: bool = False) -> tuple[list[Any], list[str] | None]:
    """The texts of rows that can be answered, see `texts_of`, and the second ones if there are two columns."""
    texts, *seconds = (
        [text for text, _ in texts_of(column_values(rows, column), column, words=words)] for column in columns
    )
    return texts, seconds[0] if seconds else None
