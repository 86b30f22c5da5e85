"""The embedded tasks: a question about plain sentences of docstrings, so that every environment holds the rows."""

import re
from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

import numpy as np
import pydantic

from components.dsl.step_folders import report_progress
from components.sources.docstrings import (
    LIBRARIES,
    Library,
    clean,
    find_sources,
    library_versions,
    read_docstrings,
    split_of,
)
from components.sources.shared import SPLITS, NearOverlap, Overlap, digest, stable_hash
from components.sources.table import TextRow
from keras_bert.core.validation import validated_dataclass

Question = Literal["word_order", "library"]

_FEWEST_WORDS, _MOST_WORDS = 6, 16
_PLAIN = re.compile(r"[A-Za-z][a-z]*(?:['-][a-z]+)*")
_WORD = re.compile(r"\w+")

# Held-out splits come first: of near duplicates the first sentence stays.
_ORDER = ("test", "validation", "train")
# A quarter of the training rows: enough for a standard error below one point at the default size.
_HELD_OUT_SHARE = 0.25

# Rows read of each library, as a multiple of its share of the training rows; duplicates are dropped.
_SPARE = 2.0

# Sentences are short: a Jaccard similarity of about 0.5 over runs of three words counts as a duplicate.
_THRESHOLD, _PERMUTATIONS, _SHINGLE = 0.5, 64, 3

NEUTRAL = "library"

# Anywhere in a word, as in "KerasTensor"; then what is a name only as a word of its own.
_NAMES = re.compile(r"tensor[ -]?flow|keras|numpy|scipy|(?:c|i|jy)?python", re.IGNORECASE)
_ALIASES = re.compile(r"\b(?:apache beam|apache|beam|np|tf|sp|py)\b", re.IGNORECASE)

INTACT, SWAPPED = "intact", "swapped"

# Punctuation around a word stays in its place when the word moves.
_EDGES = re.compile(r"^([\"'(]*)(.*?)([,;:)\"']*)$")


@validated_dataclass(kw_only=False)
class DocstringTask:
    """A question about sentences of docstrings; splits go by source file.

    Attributes:
        rows: maximum number of training rows, at least 40; validation and test have at most a fourth as many each.
        question: `word_order` asks whether two neighbouring words were swapped, which word counts cannot answer;
            `library` asks which library's docstring a sentence comes from, which word counts can answer.
    """

    task: ClassVar[str] = "classification"
    overlap: ClassVar[Overlap] = "keep"
    # A sentence with swapped words stands beside the sentence itself, and templates abound in docstrings.
    near_overlap: ClassVar[NearOverlap] = "off"

    rows: Annotated[int, pydantic.Field(ge=40)] = 12_000
    question: Question = "word_order"

    def check(self) -> None:
        """Raises InputError unless all libraries of docstrings are installed."""
        self.fingerprint()

    def fingerprint(self) -> str:
        """The digest of the settings and of the libraries' versions."""
        return digest([("settings", repr((self.rows, self.question))), *library_versions().items()])

    def digests(self) -> dict[str, str]:
        """The libraries with their versions."""
        return library_versions()

    def labels(self) -> list[str]:
        """The labels of the rows, sorted; known without reading any docstring."""
        by_question = {"word_order": (INTACT, SWAPPED), "library": tuple(library.label for library in LIBRARIES)}
        return sorted(by_question[self.question])

    def splits(self) -> dict[str, list[TextRow]]:
        """Train, validation and test rows."""
        sentences = harvest_sentences(self.rows)
        most = {split: self.rows if split == "train" else round(_HELD_OUT_SHARE * self.rows) for split in _ORDER}
        ask = {"word_order": order_row, "library": library_row}[self.question]
        rows = {split: [row for sentence in sentences[split] if (row := ask(*sentence))] for split in SPLITS}
        return {split: split_rows[: most[split]] for split, split_rows in rows.items()}


def harvest_sentences(rows: int) -> dict[str, list[tuple[str, str]]]:
    """Split -> (sentence, library) of plain ones in the order of a hash, none nearly the same as one of any split.

    Parsing is slow, so each library is read only until it has given its share of the training rows.
    """
    unique: dict[str, dict[str, tuple[str, str]]] = {split: {} for split in _ORDER}
    for number, library in enumerate(LIBRARIES):
        report_progress(number, len(LIBRARIES) + 1, f"reading {library.label}")
        for split, sentence in _read_library(library, round(_SPARE * rows / len(LIBRARIES))):
            unique[split].setdefault(" ".join(_WORD.findall(sentence.lower())), (sentence, library.label))
    report_progress(len(LIBRARIES), len(LIBRARIES) + 1, "removing near duplicates")
    ordered = [
        (split, pair)
        for split in _ORDER
        for pair in sorted(unique[split].values(), key=lambda pair: (stable_hash("order", pair[0]), pair[0]))
    ]
    kept = set(first_of_each([sentence for _, (sentence, _) in ordered]))
    return {
        split: [sentence for number, (assigned, sentence) in enumerate(ordered) if assigned == split and number in kept]
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
    from components.text.near_duplicates import Signer, find_clusters, find_repeats

    signer = Signer(_THRESHOLD, _PERMUTATIONS, _SHINGLE)
    bands = np.concatenate([signer.sign(sentence) for sentence in sentences])
    places = np.repeat(np.arange(len(sentences), dtype=np.uint64), signer.bands)
    repeats, firsts = find_repeats(bands[:, None], places, np.zeros_like(places))
    clusters = find_clusters(len(sentences), np.stack([places[repeats], places[firsts]], axis=1).astype(np.int64))
    return [int(number) for number in np.flatnonzero(clusters == np.arange(len(sentences)))]


def library_row(sentence: str, library: str) -> TextRow:
    """Returns a sentence without the libraries' names, labelled with the library it comes from."""
    return TextRow(blank_names(sentence), library)


def blank_names(text: str) -> str:
    """Replaces every name and import alias of the libraries with a neutral word."""
    return _ALIASES.sub(NEUTRAL, _NAMES.sub(NEUTRAL, text))


def order_row(sentence: str, _: str) -> TextRow | None:
    """The row of a sentence; its hash decides whether words are swapped. None if no words can be swapped."""
    swapped = swap_words(sentence)
    if swapped is None:
        return None
    return TextRow(swapped, SWAPPED) if stable_hash("side", sentence) % 2 else TextRow(sentence, INTACT)


def swap_words(sentence: str) -> str | None:
    """Swaps two neighbouring words that a hash of the sentence chooses; None if all neighbours are equal.

    The first word stays, as its capital letter would reveal the swap; the last one stays before the full stop.
    """
    # The pattern matches every word.
    parts = [match.groups() for word in sentence[:-1].split() if (match := _EDGES.match(word))]
    words = [word for _, word, _ in parts]
    places = [place for place in range(1, len(words) - 2) if words[place].lower() != words[place + 1].lower()]
    if not places:
        return None
    place = places[stable_hash("place", sentence) % len(places)]
    words[place : place + 2] = words[place + 1], words[place]
    return " ".join(f"{left}{word}{right}" for (left, _, right), word in zip(parts, words, strict=True)) + "."
