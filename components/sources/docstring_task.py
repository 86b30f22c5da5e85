"""The embedded tasks: a question about plain sentences of docstrings, so that every environment holds the rows."""

import dataclasses
import re
from collections.abc import Iterator
from typing import ClassVar, Literal, get_args

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
from components.sources.library_names import library_row
from components.sources.shared import SPLITS, digest, stable_hash
from components.sources.table import TextRow
from components.sources.word_order import order_row
from keras_bert.checks import check

Question = Literal["word_order", "library"]

_FEWEST_WORDS, _MOST_WORDS = 6, 16
_PLAIN = re.compile(r"[A-Za-z][a-z]*(?:['-][a-z]+)*")
_WORD = re.compile(r"\w+")

# Held out come first: of sentences that are nearly the same the first one stays.
_ORDER = ("test", "validation", "train")
# A fourth of the training rows, as long as there are so many: the standard error of a share is then below one point.
_HELD_OUT_SHARE = 0.25

# What is read of each library's share of the training rows: some have less, and duplicates are still to go.
_SPARE = 2.0

# Sentences are short: from a Jaccard similarity of about a half of their runs of three words on they are the same.
_THRESHOLD, _PERMUTATIONS, _SHINGLE = 0.5, 64, 3


@dataclasses.dataclass(frozen=True)
class DocstringTask:
    """A question about sentences of docstrings; splits go by source file.

    Attributes:
        rows: the most training rows; validation and test have at most a fourth as many each.
        question: `word_order` asks whether two neighbouring words changed places, which no count of words can tell;
            `library` whose docstring a sentence is of, which the words tell by themselves.
    """

    task: ClassVar[str] = "classification"

    rows: int = 12_000
    question: Question = "word_order"

    def __post_init__(self) -> None:
        check("DocstringTask", "rows", self.rows >= 40, "be at least 40", self.rows)
        known = get_args(Question)
        check("DocstringTask", "question", self.question in known, f"be one of {known}", self.question)

    def check(self) -> None:
        """Raises InputError unless all libraries of docstrings are installed."""
        self.fingerprint()

    def fingerprint(self) -> str:
        """The digest of the settings and of the libraries' versions.

        Raises:
            InputError: a library is not installed.
        """
        return digest([("settings", repr((self.rows, self.question))), *library_versions().items()])

    def digests(self) -> dict[str, str]:
        """The libraries with their versions; raises as `fingerprint`."""
        return library_versions()

    def splits(self) -> dict[str, list[TextRow]]:
        """Train, validation and test rows."""
        found = harvest_sentences(self.rows)
        most = {split: self.rows if split == "train" else round(_HELD_OUT_SHARE * self.rows) for split in _ORDER}
        ask = {"word_order": order_row, "library": library_row}[self.question]
        rows = {split: [row for each in found[split] if (row := ask(*each))] for split in SPLITS}
        return {split: own[: most[split]] for split, own in rows.items()}


def harvest_sentences(rows: int) -> dict[str, list[tuple[str, str]]]:
    """Split -> (sentence, library) of plain ones in the order of a hash, none nearly the same as one of any split.

    Args:
        rows: how many are wanted for training; parsing takes the time, and most libraries hold more than their share.
    """
    unique: dict[str, dict[str, tuple[str, str]]] = {split: {} for split in _ORDER}
    for number, library in enumerate(LIBRARIES):
        report_progress(number, len(LIBRARIES) + 1, f"reading {library.label}")
        for split, sentence in _read_library(library, round(_SPARE * rows / len(LIBRARIES))):
            unique[split].setdefault(" ".join(_WORD.findall(sentence.lower())), (sentence, library.label))
    report_progress(len(LIBRARIES), len(LIBRARIES) + 1, "removing near duplicates")
    ordered = [(split, each) for split in _ORDER for each in sorted(unique[split].values(), key=_key)]
    kept = set(first_of_each([sentence for _, (sentence, _) in ordered]))
    return {
        split: [each for number, (own, each) in enumerate(ordered) if own == split and number in kept]
        for split in _ORDER
    }


def _read_library(library: Library, most: int) -> Iterator[tuple[str, str]]:
    """(split, sentence) of the plain sentences of a library; `most` of training, to the end of a file."""
    from components.text.sentences import split_sentences

    taken = 0
    for relative, path in find_sources(library):
        split = split_of(library.label, relative)
        if split == "train" and taken >= most:
            continue
        for docstring in read_docstrings(path.read_bytes()):
            for paragraph in clean(docstring):
                for sentence in filter(is_plain, split_sentences(paragraph)):
                    taken += split == "train"
                    yield split, sentence


def is_plain(sentence: str) -> bool:
    """Whether a sentence begins with a capital, ends with a full stop, and has 6 to 16 words of letters only."""
    words = sentence[:-1].split()
    return (
        sentence.endswith(".")
        and sentence[0].isupper()
        and _FEWEST_WORDS <= len(words) <= _MOST_WORDS
        and all(_PLAIN.fullmatch(word.strip(",;:()\"'")) for word in words)
    )


def first_of_each(sentences: list[str]) -> list[int]:
    """The numbers of the sentences that are not nearly the same as one before them."""
    import numpy as np

    from components.text.near_duplicates import Signer, find_clusters, find_pairs

    signer = Signer(_THRESHOLD, _PERMUTATIONS, _SHINGLE)
    bands = np.concatenate([signer.sign(sentence) for sentence in sentences])
    places = np.repeat(np.arange(len(sentences), dtype=np.uint64), signer.bands)
    clusters = find_clusters(len(sentences), find_pairs(bands, places).astype(np.int64))
    return [int(number) for number in np.flatnonzero(clusters == np.arange(len(sentences)))]


def _key(each: tuple[str, str]) -> tuple[int, str]:
    return stable_hash("order", each[0]), each[0]
