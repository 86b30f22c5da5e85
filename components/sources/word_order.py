"""The embedded task: is a sentence intact, or did two neighbouring words of it change places?

No count of words can tell, as both versions have the same ones; what follows what decides. Sentences are those of the
docstrings, so that every environment holds the rows.
"""

import dataclasses
import hashlib
import re
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
from keras_bert.checks import check

INTACT, SWAPPED = "intact", "swapped"

_FEWEST_WORDS, _MOST_WORDS = 6, 16
_PLAIN = re.compile(r"[A-Za-z][a-z]*(?:['-][a-z]+)*")
# What stands around a word stays in its place when the word moves.
_EDGES = re.compile(r"^([\"'(]*)(.*?)([,;:)\"']*)$")
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
    """Sentences of docstrings, half of them with two neighbouring words swapped; splits go by source file.

    Attributes:
        rows: the most training rows; validation and test have at most a fourth as many each.
    """

    task: ClassVar[str] = "classification"

    rows: int = 12_000

    def __post_init__(self) -> None:
        check("DocstringTask", "rows", self.rows >= 40, "be at least 40", self.rows)

    def check(self) -> None:
        """Raises InputError unless all libraries of docstrings are installed."""
        self.fingerprint()

    def fingerprint(self) -> str:
        """The digest of the number of rows and of the libraries' versions.

        Raises:
            InputError: a library is not installed.
        """
        return digest([("rows", str(self.rows).encode()), *library_versions()])

    def splits(self) -> dict[str, list[TextRow]]:
        """Train, validation and test rows."""
        found = harvest_sentences(self.rows)
        most = {split: self.rows if split == "train" else round(_HELD_OUT_SHARE * self.rows) for split in _ORDER}
        rows = {split: list(make_rows(found[split]))[: most[split]] for split in ("train", "validation", "test")}
        return {split: [TextRow(text, label) for text, label in own] for split, own in rows.items()}


def harvest_sentences(rows: int) -> dict[str, list[str]]:
    """Split -> plain sentences in the order of a hash, none nearly the same as another one of any split.

    Args:
        rows: how many are wanted for training; parsing takes the time, and most libraries hold more than their share.
    """
    unique: dict[str, dict[str, str]] = {split: {} for split in _ORDER}
    for number, library in enumerate(LIBRARIES):
        report_progress(number, len(LIBRARIES) + 1, f"reading {library.label}")
        for split, sentence in _read_library(library, round(_SPARE * rows / len(LIBRARIES))):
            unique[split].setdefault(" ".join(_WORD.findall(sentence.lower())), sentence)
    report_progress(len(LIBRARIES), len(LIBRARIES) + 1, "removing near duplicates")
    ordered = [(split, text) for split in _ORDER for text in sorted(unique[split].values(), key=_key)]
    kept = set(first_of_each([text for _, text in ordered]))
    return {
        split: [text for number, (own, text) in enumerate(ordered) if own == split and number in kept]
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


def make_rows(sentences: Iterable[str]) -> Iterator[tuple[str, str]]:
    """(text, label) of each sentence in which two words can be swapped: a hash of it decides whether they are."""
    for sentence in sentences:
        swapped = swap_words(sentence)
        if swapped is not None:
            yield (swapped, SWAPPED) if _hash("side", sentence) % 2 else (sentence, INTACT)


def swap_words(sentence: str) -> str | None:
    """The sentence with two neighbouring words swapped, which a hash of it chooses; None if all neighbours are alike.

    The first word, whose capital would tell, and the last one, behind which the full stop stands, keep their places.
    """
    parts = [_split_word(word) for word in sentence[:-1].split()]
    words = [word for _, word, _ in parts]
    places = [place for place in range(1, len(words) - 2) if words[place].lower() != words[place + 1].lower()]
    if not places:
        return None
    place = places[_hash("place", sentence) % len(places)]
    words[place : place + 2] = words[place + 1], words[place]
    return " ".join(f"{left}{word}{right}" for (left, _, right), word in zip(parts, words, strict=True)) + "."


def _split_word(word: str) -> tuple[str, str, str]:
    match = _EDGES.match(word)
    assert match is not None
    return match[1], match[2], match[3]


def _key(sentence: str) -> tuple[int, str]:
    return _hash("order", sentence), sentence


def _hash(*parts: str) -> int:
    return int.from_bytes(hashlib.blake2b("/".join(parts).encode(), digest_size=8).digest(), "big")
