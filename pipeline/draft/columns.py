"""The roles of a table's columns: which hold texts and which the label, by their names and their values."""

import itertools
import math
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from components.dsl.errors import InputError, nearest
from components.files.tables import read_records
from components.files.text_files import repair
from components.sources.shared import stable_hash
from components.sources.table import parse_number

# The roles of columns are guessed from at least so many rows, if there are as many.
_ROWS = 5000
# Names of public data sets in lower case, in the order in which they are preferred.
_TEXTS = ("text", "sentence", "review", "content", "body", "message", "comment", "utterance", "query")
_PAIRS = (
    ("text", "second_text"),
    ("sentence1", "sentence2"),
    ("text1", "text2"),
    ("text_a", "text_b"),
    ("premise", "hypothesis"),
    ("question1", "question2"),
    ("query", "passage"),
    ("question", "sentence"),
)
# Names of numbers that say how well a passage answers a query.
RELEVANCE_NAMES = ("score", "relevance")
LABEL_NAMES = (
    *("label", "labels", "category", "class", "target", "intent", "sentiment", "topic", "similarity"),
    *RELEVANCE_NAMES,
)
_TAGGED = (("words", "tags"), ("tokens", "ner_tags"), ("tokens", "tags"), ("tokens", "pos_tags"), ("words", "labels"))
_MISSING = "add a line of column names if there is none, or name the column by"
# Words of a cell, on average, from which on a column whose name says nothing may be one of texts.
_LEAST_WORDS = 2.0


class TableColumn(NamedTuple):
    """A column of a table: its filled values in a sample of rows, and the indices of these rows."""

    name: str
    values: list[Any]
    rows: Sequence[int] = ()

    @property
    def is_numeric(self) -> bool:
        """Whether all values are finite numbers."""
        return bool(self.values) and all(is_number(value) for value in self.values)

    @property
    def holds_lists(self) -> bool:
        """Whether all values are lists."""
        return bool(self.values) and all(isinstance(value, list) for value in self.values)

    @property
    def counts_rows(self) -> bool:
        """Whether all values are numbers that grow by 1 from row to row."""
        return self.is_numeric and len({float(b) - a for a, b in zip(self.rows, self.values, strict=True)}) == 1

    @property
    def has_decimal_commas(self) -> bool:
        """Whether the values are numbers if commas are read as decimal points."""
        cells = [str(value).replace(",", ".") for value in self.values]
        return not self.is_numeric and bool(cells) and all(map(is_number, cells))

    @property
    def holds_texts(self) -> bool:
        """Whether cells have two words or more on average, and most of them differ."""
        return self.mean_words() >= _LEAST_WORDS and self.count_distinct() > len(self.values) / 2

    def count_distinct(self) -> int:
        """The number of different values, as labels are read: without white space around them."""
        return len({str(value).strip() for value in self.values})

    def mean_words(self) -> float:
        """Words of a value on average; 0 for numbers, lists and empty columns."""
        if not self.values or self.is_numeric or self.has_decimal_commas or not isinstance(self.values[0], str):
            return 0.0
        from components.text.near_duplicates import hash_words

        return sum(len(hash_words(str(value))) for value in self.values) / len(self.values)


class Roles(NamedTuple):
    """The columns of a table that a job reads."""

    text: TableColumn
    label: TableColumn
    second_text: TableColumn | None


def read_sample(files: Sequence[str]) -> list[TableColumn]:
    """The columns of a table with the values of about 5,000 to 10,000 rows, by the hash of their index, or of all rows.

    Tables are often sorted by their labels: the first rows would have one of them. So may every n-th row.
    """
    sample, limit = dict[int, Any](), 1 << 64
    records = itertools.chain.from_iterable(read_records(file, (), has_cells=True) for file in files)
    for number, record in enumerate(records):
        if stable_hash(str(number)) < limit:
            sample[number] = record.cells
        if len(sample) == 2 * _ROWS:
            limit //= 2
            sample = {row: cells for row, cells in sample.items() if stable_hash(str(row)) < limit}
    if not sample:
        raise InputError(f"the table {files[0]} must hold at least one row, got none")
    # Others can be read by no job: spreadsheets write empty columns without names.
    first, *others = sample.values()
    columns = []
    for name in (name for name in first if name.strip() and all(name in cells for cells in others)):
        values = {row: _decode(cells[name]) for row, cells in sample.items()}
        filled = {row: value for row, value in values.items() if value is not None and str(value).strip()}
        columns.append(TableColumn(name, list(filled.values()), list(filled)))
    return columns


def find_tagged_columns(columns: Sequence[TableColumn]) -> tuple[str, str] | None:
    """The columns of words and of their tags; None for a table that has none.

    They have usual names, or are the only two that hold lists; the two cells of a row have equally many parts.
    """
    named = {column.name: column for column in columns}
    lists = [column.name for column in columns if column.holds_lists]
    pairs = [*_TAGGED, *([(lists[0], lists[1])] if len(lists) == 2 else [])]
    for words, tags in pairs:
        cells = [named[name].values for name in (words, tags) if name in named]
        if len(cells) == 2 and len(cells[0]) == len(cells[1]):
            counts = [
                [len(value if isinstance(value, list) else str(value).split()) for value in part] for part in cells
            ]
            if counts[0] == counts[1] and 0 not in counts[0]:
                return words, tags
    return None


def find_roles(
    columns: Sequence[TableColumn],
    file: str,
    text: str | None,
    label: str | None,
    second: str | None,
    *,
    numbers: bool = False,
) -> Roles:
    """The roles of a table's columns."""
    for option, name in (("--text", text), ("--label", label), ("--second", second)):
        names = [column.name for column in columns]
        if name is not None and name not in names:
            raise InputError(f"{option} must be the name of one column of {file}, got {name!r}{nearest(name, names)}")
    if len(columns) < 2:
        only = ", ".join(repr(column.name[:40]) for column in columns) or "columns without a name of their own"
        raise InputError(
            f"the table {file} must have a column of texts and one of labels, got only {only}; {_MISSING} --text"
        )
    if label is not None and label in (text, second):
        raise InputError(f"--label must be another column than --text and --second, got {label!r}")
    texts = _find_texts(columns, file, text, label, second)
    rest = [column for column in columns if column not in texts]
    roles = Roles(texts[0], _find_label(rest, file, label, numbers), texts[1] if len(texts) > 1 else None)
    # The name of the label's column is one of its values, or is a number while the name of the text's column is none.
    name = roles.label.name
    is_row = name in map(str, roles.label.values) or (is_number(name) and not is_number(roles.text.name))
    if text is label is None and is_row:
        raise InputError(
            f"the table {file} must begin with a line of column names, got {roles.text.name[:40]!r} and {name!r}, "
            "which look like a row; add the line, or name the columns by --text and --label"
        )
    return roles


def _find_texts(
    columns: Sequence[TableColumn], file: str, text: str | None, label: str | None, second: str | None
) -> list[TableColumn]:
    """The column of texts, and the column of second texts."""
    named = {column.name: column for column in columns}
    if text is not None:
        return [named[name] for name in (text, second) if name is not None]
    free = {name: column for name, column in named.items() if name not in (label, second)}
    wordy = {name: column for name, column in free.items() if column.holds_texts}
    lower = {name.lower(): column for name, column in free.items() if column.mean_words()}
    if second is None:
        # Names that only differ in the number or letter of the text, such as MRPC's "#1 String" and "#2 String".
        numbered = [
            (name, re.sub(r"1|(?<![a-z])a$", lambda match: {"1": "2", "a": "b"}[match[0]], name))
            for name in map(str.lower, wordy)
        ]
        for first, other in (*_PAIRS, *numbered):
            if first != other and first in lower and other in lower:
                return [lower[first], lower[other]]
    first_text = next((lower[name] for name in _TEXTS if name in lower), None)
    if first_text is None and wordy:
        first_text = max(wordy.values(), key=TableColumn.mean_words)
    if first_text is None:
        raise InputError(
            f"the table {file} must have a column of texts, of two words or more in most cells, got "
            f"{', '.join(named)}; name it by --text"
        )
    return [first_text, *([named[second]] if second is not None else [])]


def _find_label(columns: Sequence[TableColumn], file: str, label: str | None, numbers: bool) -> TableColumn:
    """The column of labels: by name, else the one with the fewest different values that occur twice on average."""
    if numbers and label is None:
        columns = [column for column in columns if column.is_numeric and not column.counts_rows] or columns
    named = {column.name: column for column in columns}
    if label is not None:
        return named[label]
    lower = {column.name.lower(): column for column in columns}
    for name in LABEL_NAMES:
        if name in lower:
            return lower[name]
    repeated = [column for column in columns if 2 <= column.count_distinct() <= len(column.values) / 2]
    amounts = [column for column in columns if column.is_numeric or column.has_decimal_commas]
    numeric = [column for column in amounts if column.count_distinct() >= 2]
    if not repeated and not numeric:
        names = ", ".join(named) or "no other column"
        raise InputError(f"the table {file} must have a column of labels, got {names}; {_MISSING} --label")
    return min(repeated or numeric, key=TableColumn.count_distinct)


def is_number(value: Any) -> bool:
    """Whether a value is a finite number, as a table's label may be."""
    return not isinstance(value, bool | list) and math.isfinite(parse_number(str(value)))


def _decode(value: Any) -> Any:
    """A cell with strings instead of bytes; what is not Unicode is refused when all rows are read."""
    if isinstance(value, str | bytes):
        return repair(value)[0]
    return [_decode(part) for part in value] if isinstance(value, list) else value
