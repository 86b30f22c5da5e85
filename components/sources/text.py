"""Where the user's data comes from: plain settings that can read, check and fingerprint what they stand for."""

import dataclasses
import itertools
import math
from collections.abc import Iterator
from typing import ClassVar, Literal, get_args

from components.dsl.errors import InputError
from components.files.paths import file_digest, short_name
from components.files.record_files import RECORD_KINDS
from components.sources.documents import Document, match_files, read_documents
from components.sources.shared import check_labels, check_numbers, digest, fingerprint_splits, given_splits, require
from components.sources.table import Row, read_table
from keras_bert.config import check

# How much of a file is read before a run starts.
_CHECKED_CHARACTERS = 64_000_000


@dataclasses.dataclass(frozen=True)
class TextSource:
    """Text without labels: `.txt`, `.jsonl`, `.csv`, `.tsv`, `.parquet`, and folders that `datasets` saved.

    Text formats may be compressed: `.gz`, `.bz2`, `.zst`.

    Attributes:
        path: a file; a folder, searched to any depth; a pattern, as `texts/**/*.txt`; or any of them on a file
            system of Apache Beam, as `gs://bucket/texts`.
        text: the field or column of the text; a `.txt` file has none.
        id: that of an identifier that goes along with the document; none if empty.
        document_end: what ends a document of a `.txt` file, `blank line` or the `file`.
        split: the one to take where `path` is what `DatasetDict.save_to_disk` wrote.
        undecodable: what becomes of text that is not valid Unicode: `error` stops the run, `drop` leaves out the
            document.
    """

    path: str
    text: str = "text"
    id: str = ""
    document_end: Literal["blank line", "file"] = "blank line"
    split: str = ""
    undecodable: Literal["error", "drop"] = "error"

    def __post_init__(self) -> None:
        for field in ("path", "text"):
            require(f"TextSource.{field}", getattr(self, field))
        for field in ("document_end", "undecodable"):
            known = get_args(self.__annotations__[field])
            check("TextSource", field, getattr(self, field) in known, f"be one of {known}", getattr(self, field))
        check("TextSource", "id", self.id != self.text, "be another field than text", self.id)

    def check(self) -> None:
        """Looks at every file, and reads the first 64 million characters of each.

        What is wrong further on stops the run in its first step, with the same message.

        Raises:
            InputError: there is no document; or see `files` and `read_documents`.
        """
        # Not any(): it stops at the first file, and the one that cannot be read may be the last.
        if not sum([self._check_file(file) for file in self.files()]):
            raise InputError(f"the corpus {self.path} must hold at least one document, got only blank text")

    def fingerprint(self) -> str:
        """The digest of the settings, and of the names and contents of all files.

        Remote files are not read, see `file_digest`.

        Raises:
            InputError: see `files`; or one cannot be read.
        """
        settings = {field: value for field, value in dataclasses.asdict(self).items() if field != "path"}
        digests = ((short_name(file, self.path), file_digest(file).encode()) for file in self.files())
        return digest(itertools.chain([("settings", repr(sorted(settings.items())).encode())], digests))

    def files(self) -> list[str]:
        """The files, sorted by name.

        Raises:
            InputError: there is none, or no such split.
        """
        return match_files(self.path, self.split)

    def documents(self) -> Iterator[tuple[str, str]]:
        """(source, text) of every document, in the order of the files' names; see `Document`.

        Raises:
            InputError: see `files` and `read_documents`.
        """
        for file in self.files():
            for document in read_documents(file, self):
                if isinstance(document, Document):
                    yield document.source, document.text

    def _check_file(self, file: str) -> bool:
        """Whether the part of a file that `check` reads holds a document."""
        found, size = False, 0
        for document in read_documents(file, self):
            found = found or isinstance(document, Document)
            size += len(document.text)
            if found and size > _CHECKED_CHARACTERS:
                break
        return found


@dataclasses.dataclass(frozen=True)
class TableSource:
    """Rows with a label or a number, in tables with named columns: `.tsv`, `.csv`, `.jsonl`, `.parquet` or `.arrow`.

    Text formats may be compressed: `.gz`, `.bz2`, `.zst`.

    Attributes:
        train: the table of training rows; a folder or a pattern stands for several, see `TextSource.path`.
        validation: another table, or None to take a tenth of the training rows.
        test: likewise.
        text: the column of the text.
        label: the column of the label; labels are strings, those of a regression finite numbers.
        second_text: the column of a second text, for pairs.
        task: what the labels are, names of classes or numbers.
    """

    train: str
    validation: str | None = None
    test: str | None = None
    text: str = "text"
    label: str = "label"
    second_text: str | None = None
    task: Literal["classification", "regression"] = "classification"

    def __post_init__(self) -> None:
        for field in ("train", "text", "label"):
            require(f"TableSource.{field}", getattr(self, field))
        columns = self._columns()
        if len(set(columns)) < len(columns):
            raise ValueError(f"TableSource.text, label and second_text must be different columns, got {columns}")
        known = get_args(self.__annotations__["task"])
        check("TableSource", "task", self.task in known, f"be one of {known}", self.task)

    def check(self) -> None:
        """Raises InputError unless the tables can be read, have their columns and fit together, see `splits`."""
        self.splits()

    def fingerprint(self) -> str:
        """The digest of the task, of the columns' names and of the tables.

        Raises:
            InputError: a table is missing.
        """
        names = "|".join(map(repr, [self.task, *self._columns()]))
        return fingerprint_splits(names, self._paths(), RECORD_KINDS)

    def splits(self) -> dict[str, list[Row]]:
        """The rows of each table that is given, by split.

        Raises:
            InputError: a table is missing, empty, not UTF-8 or without a named column; has fewer than two labels,
                or a validation or test label that training never saw; or, for a regression, what is no number, or
                only one number in validation or test.
        """
        numbers = self.task == "regression"
        tables = {
            split: read_table(path, self.text, self.label, self.second_text, numbers=numbers)
            for split, path in self._paths().items()
        }
        labels = {split: {row.label for row in rows} for split, rows in tables.items()}
        if numbers:
            check_numbers({split: own for split, own in labels.items() if split != "train"})
        else:
            check_labels(labels, f"column {self.label!r} of {self.train}")
        return tables

    def _columns(self) -> list[str]:
        return [column for column in (self.text, self.label, self.second_text) if column is not None]

    def _paths(self) -> dict[str, str]:
        return given_splits(self.train, self.validation, self.test)


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
        return digest([("megabytes", str(self.megabytes).encode()), *_library_versions()])

    def documents(self) -> Iterator[tuple[str, str]]:
        """(name, text) documents, one a source file; only files of the training split of `DocstringTask`."""
        from components.sources.docstrings import harvest_documents

        yield from harvest_documents(self.megabytes)


@dataclasses.dataclass(frozen=True)
class DocstringTask:
    """Which of the six libraries of `DocstringCorpus` is a passage of a docstring about?

    Attributes:
        rows_per_label: the most training rows of a label.
    """

    task: ClassVar[str] = "classification"

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
        return digest([("rows_per_label", str(self.rows_per_label).encode()), *_library_versions()])

    def splits(self) -> dict[str, list[Row]]:
        """Train, validation and test rows: a passage without the libraries' names, and whose it is."""
        from components.sources.passages import harvest_rows

        splits = harvest_rows(self.rows_per_label)
        return {split: [Row(text, label) for text, label in rows] for split, rows in splits.items()}


def _library_versions() -> list[tuple[str, bytes]]:
    from components.sources.docstrings import LIBRARIES

    return [(library.label, library.version().encode()) for library in LIBRARIES]
