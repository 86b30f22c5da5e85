"""Where the user's data comes from: plain settings that can read, check and fingerprint what they stand for."""

import dataclasses
import hashlib
import math
import re
from collections.abc import Iterator
from pathlib import Path

from components.base import InputError, nearest
from components.tables import Row, read_table
from components.text_files import decode, parse_json_lines, read_bytes


@dataclasses.dataclass(frozen=True)
class TextSource:
    """A text file or a folder of them: `.txt` (a blank line ends a document) or `.jsonl` (field `text`).

    Attributes:
        path: the file or folder; folders are searched to any depth.
    """

    path: str

    def __post_init__(self) -> None:
        _require("TextSource.path", self.path)

    def check(self) -> None:
        """Raises InputError unless the source is there, is UTF-8 and holds a document; reads all of it."""
        # Not any(): it stops at the first document, and the file that cannot be read may be the last.
        if not sum(1 for _ in self.documents()):
            raise InputError(f"the corpus {self.path} must hold at least one document, got only blank text")

    def fingerprint(self) -> str:
        """The digest of the names and bytes of all files.

        Raises:
            InputError: the folder or file is missing, or holds no text file.
        """
        return _digest((name, read_bytes(file)) for name, file in self._files())

    def documents(self) -> Iterator[tuple[str, str]]:
        """(name, text) of every document, in the order of the files' names; the name says file and number.

        Raises:
            InputError: a file is missing or not UTF-8, or a JSON line has no field `text`.
        """
        for name, file in self._files():
            text = decode(read_bytes(file), file)
            if file.suffix == ".jsonl":
                parts = [record["text"] for record in parse_json_lines(text, file, ("text",))]
            else:
                parts = re.split(r"\n[^\S\n]*\n\s*", text)
            for number, part in enumerate(parts):
                if part.strip():
                    yield f"{name}#{number}", part.strip()

    def _files(self) -> list[tuple[str, Path]]:
        path = Path(self.path)
        if path.is_file():
            return [(path.name, path)]
        if not path.is_dir():
            raise InputError(f"the corpus must be a file or a folder that exists, got {self.path}")
        found = {file.relative_to(path).as_posix(): file for kind in ("*.txt", "*.jsonl") for file in path.rglob(kind)}
        if not found:
            raise InputError(f"the corpus folder {self.path} must hold .txt or .jsonl files, got none")
        return sorted(found.items())


@dataclasses.dataclass(frozen=True)
class TableSource:
    """Labelled rows in a table with named columns: `.tsv`, `.csv` or `.jsonl`.

    Attributes:
        train: the table of training rows.
        validation: another table, or None to take a tenth of the training rows.
        test: likewise.
        text: the column of the text.
        label: the column of the label; labels are strings.
        second_text: the column of a second text, for pairs.
    """

    train: str
    validation: str | None = None
    test: str | None = None
    text: str = "text"
    label: str = "label"
    second_text: str | None = None

    def __post_init__(self) -> None:
        for field in ("train", "text", "label"):
            _require(f"TableSource.{field}", getattr(self, field))
        columns = self._columns()
        if len(set(columns)) < len(columns):
            raise ValueError(f"TableSource.text, label and second_text must be different columns, got {columns}")

    def check(self) -> None:
        """Raises InputError unless the tables can be read, have their columns and agree on the labels."""
        self.splits()

    def fingerprint(self) -> str:
        """The digest of the columns' names and of the bytes of the tables.

        Raises:
            InputError: a table is missing.
        """
        names = "|".join(f"{column!r}" for column in self._columns()).encode()
        return _digest([("columns", names), *((split, read_bytes(file)) for split, file in self._files())])

    def splits(self) -> dict[str, list[Row]]:
        """The rows of each table that is given, by split.

        Raises:
            InputError: a table is missing, empty, not UTF-8 or without a named column, has fewer than two
                labels, or a validation or test label that training never saw.
        """
        tables = {split: read_table(file, self.text, self.label, self.second_text) for split, file in self._files()}
        known = sorted({row.label for row in tables["train"]})
        if len(known) < 2:
            raise InputError(f"column {self.label!r} of {self.train} must hold at least 2 labels, got only {known}")
        for split, rows in tables.items():
            for label in sorted({row.label for row in rows}.difference(known)):
                hint = nearest(label, known[:20])
                raise InputError(f"{split} has the label {label!r}, which training never saw{hint}")
        return tables

    def _columns(self) -> list[str]:
        return [column for column in (self.text, self.label, self.second_text) if column is not None]

    def _files(self) -> list[tuple[str, Path]]:
        tables = {"train": self.train, "validation": self.validation, "test": self.test}
        return [(split, Path(table)) for split, table in tables.items() if table is not None]


@dataclasses.dataclass(frozen=True)
class DocstringCorpus:
    """The docstrings of numpy, scipy, tensorflow, keras, apache_beam and the standard library, as installed here.

    Attributes:
        megabytes: the most text.
    """

    megabytes: float = 6.0

    def __post_init__(self) -> None:
        if not 0 < self.megabytes < math.inf:
            raise ValueError(f"DocstringCorpus.megabytes must be positive and finite, got {self.megabytes!r}")

    def check(self) -> None:
        """Raises InputError unless all six libraries are installed."""
        self.fingerprint()

    def fingerprint(self) -> str:
        """The digest of the size and of the libraries' versions.

        Raises:
            InputError: a library is not installed.
        """
        return _digest([("megabytes", str(self.megabytes).encode()), *_library_versions()])

    def documents(self) -> Iterator[tuple[str, str]]:
        """(name, text) documents, one a source file; only files of the training split of `DocstringTask`."""
        from components.docstrings import harvest_documents

        yield from harvest_documents(self.megabytes)


@dataclasses.dataclass(frozen=True)
class DocstringTask:
    """Which of the six libraries of `DocstringCorpus` is a passage of a docstring about?

    Attributes:
        rows_per_label: the most training rows of a label.
    """

    rows_per_label: int = 4500

    def __post_init__(self) -> None:
        if self.rows_per_label < 8:
            raise ValueError(f"DocstringTask.rows_per_label must be at least 8, got {self.rows_per_label!r}")

    def check(self) -> None:
        """Raises InputError unless all six libraries are installed."""
        self.fingerprint()

    def fingerprint(self) -> str:
        """The digest of the number of rows and of the libraries' versions.

        Raises:
            InputError: a library is not installed.
        """
        return _digest([("rows_per_label", str(self.rows_per_label).encode()), *_library_versions()])

    def splits(self) -> dict[str, list[Row]]:
        """Train, validation and test rows: a passage without the libraries' names, and whose it is."""
        from components.passages import harvest_rows

        splits = harvest_rows(self.rows_per_label)
        return {split: [Row(text, label) for text, label in rows] for split, rows in splits.items()}


def _library_versions() -> list[tuple[str, bytes]]:
    from components.docstrings import LIBRARIES

    return [(library.label, library.version().encode()) for library in LIBRARIES]


def _require(field: str, value: str) -> None:
    if not value:
        raise ValueError(f"{field} must not be empty, got {value!r}")


def _digest(parts: Iterator[tuple[str, bytes]] | list[tuple[str, bytes]]) -> str:
    digest = hashlib.sha256()
    for name, content in parts:
        digest.update(f"\0{name}\0{hashlib.sha256(content).hexdigest()}".encode())
    return digest.hexdigest()
