"""The embedded task: which library is this passage about? The libraries' own names are blanked out."""

import dataclasses
import hashlib
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import ClassVar

from components.dsl.workplace import report_progress
from components.sources.docstrings import (
    LIBRARIES,
    Library,
    clean,
    find_sources,
    library_versions,
    read_docstrings,
    split_of,
)
from components.sources.shared import digest
from components.sources.table import TextRow

SHARES = {"train": 1.0, "validation": 0.125, "test": 0.125}
NEUTRAL = "library"

_FEWEST_WORDS = 12
_ENOUGH_WORDS = 25
_MOST_WORDS = 100
_SENTENCE_END = re.compile(r"(?<=[.!?]) ")

# Names anywhere in a word (KerasTensor, SciPy's), then aliases as words of their own; TF also opens product names.
_NAMES = re.compile(r"tensor[ _-]?flow|keras|numpy|scipy|(?:c|i|jy)?python|apache[ _-]*beam|apache|py_?torch", re.I)
_ALIASES = re.compile(r"(?<![A-Za-z0-9])(?:np|tf|sp|beam|beams|py|tfp|tfds|tfx)(?![A-Za-z])", re.I)
_PRODUCTS = re.compile(r"(?<![A-Za-z])(?:TF|Np|Tf)(?=[A-Z0-9])")
_REPEATED = re.compile(rf"\b{NEUTRAL}(?:[._ -]+{NEUTRAL})+\b")


def blank_names(text: str) -> str:
    """Puts a neutral word for every name and import alias of the libraries."""
    for pattern in (_NAMES, _ALIASES, _PRODUCTS):
        text = pattern.sub(NEUTRAL, text)
    return _REPEATED.sub(NEUTRAL, text)


def make_passages(paragraphs: Iterable[str]) -> Iterator[str]:
    """Neighbouring paragraphs of one docstring joined until there is enough to judge by; long ones are cut."""
    waiting: list[str] = []
    for paragraph in paragraphs:
        waiting += paragraph.split()
        if len(waiting) >= _ENOUGH_WORDS:
            yield _cut(waiting)
            waiting = []
    if len(waiting) >= _FEWEST_WORDS:
        yield _cut(waiting)


def _cut(words: list[str]) -> str:
    """At most `_MOST_WORDS` words, up to the end of a sentence where there is one."""
    if len(words) <= _MOST_WORDS:
        return " ".join(words)
    sentences = _SENTENCE_END.split(" ".join(words[:_MOST_WORDS]))
    return " ".join(sentences[:-1] or sentences)


def harvest_rows(rows_per_label: int) -> dict[str, list[tuple[str, str]]]:
    """Split -> (passage, label) rows, at most `rows_per_label` a label in train.

    A label has at most an eighth of its train rows in each other split, so that all have about the same shares.
    Splits go by source file; exact and near duplicates are removed over all splits and labels.
    """
    rows: list[tuple[str, str, str]] = []
    for index, library in enumerate(LIBRARIES):
        report_progress(index, 2 * len(LIBRARIES), f"reading {library.label}")
        rows += _read_library(library, rows_per_label)
    kept = drop_duplicates(rows)
    found = Counter(label for split, label, _ in kept if split == "train")
    counts: Counter[tuple[str, str]] = Counter()
    splits: dict[str, list[tuple[str, str]]] = {split: [] for split in SHARES}
    for split, label, passage in sorted(kept, key=lambda row: _key(row[2])):
        if counts[split, label] < SHARES[split] * min(found[label], rows_per_label):
            counts[split, label] += 1
            splits[split].append((passage, label))
    return splits


def _read_library(library: Library, rows_per_label: int) -> list[tuple[str, str, str]]:
    """(split, label, passage) of one library, half as many again as wanted, as duplicates are still to go."""
    limits = {split: int(1.5 * rows_per_label * share) for split, share in SHARES.items()}
    counts: Counter[str] = Counter()
    rows: dict[str, str] = {}
    for relative, path in find_sources(library):
        split = split_of(library.label, relative)
        if counts[split] >= limits[split]:
            continue
        for docstring in read_docstrings(path.read_bytes()):
            for passage in make_passages(clean(docstring)):
                blanked = blank_names(passage)
                if blanked not in rows:
                    rows[blanked] = split
                    counts[split] += 1
    return [(split, library.label, passage) for passage, split in rows.items()]


# MinHash with 64 values in 16 bands of 4 rows finds pairs from a Jaccard similarity of about (1/16)^(1/4) = 0.5 on.
_PERMUTATIONS = 64
_BANDS = (16, 4)
_SHINGLE = 3


def drop_duplicates(rows: list[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    """Keeps the first of each group of exact or near duplicates, and none of a group that bears two labels.

    Args:
        rows: (split, label, passage).
    """
    from datasketch import MinHash, MinHashLSH

    index = MinHashLSH(num_perm=_PERMUTATIONS, params=_BANDS)
    kept: dict[int, tuple[str, str, str]] = {}
    ambiguous: set[int] = set()
    shingles = [_shingles(passage) for _, _, passage in rows]
    hashes = MinHash.generator(shingles, num_perm=_PERMUTATIONS, seed=1, hashfunc=zlib.crc32)
    for number, (row, signature) in enumerate(zip(rows, hashes, strict=True)):
        if number % 2000 == 0:
            report_progress(len(rows) + number, 2 * len(rows), "removing near duplicates")
        found = index.query(signature)
        if not found:
            index.insert(number, signature, check_duplication=False)
            kept[number] = row
        ambiguous.update(other for other in found if kept[other][1] != row[1])
    return [row for number, row in kept.items() if number not in ambiguous]


def _shingles(passage: str) -> list[bytes]:
    words = re.findall(r"\w+", passage.lower())
    return [" ".join(words[start : start + _SHINGLE]).encode() for start in range(max(1, len(words) - _SHINGLE + 1))]


def _key(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


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
        return digest([("rows_per_label", str(self.rows_per_label).encode()), *library_versions()])

    def splits(self) -> dict[str, list[TextRow]]:
        """Train, validation and test rows: a passage without the libraries' names, and whose it is."""
        splits = harvest_rows(self.rows_per_label)
        return {split: [TextRow(text, label) for text, label in rows] for split, rows in splits.items()}
