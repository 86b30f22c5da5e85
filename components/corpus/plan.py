"""Decides which documents stay in a corpus and which shard holds them; one process plans on 67 bytes a document."""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from components.corpus.cleaning import EXACT_DUPLICATE, NEAR_DUPLICATE, REASONS
from components.corpus.index import IndexedTexts, IndexRows
from components.text.near_duplicates import find_clusters

# A shard is the unit of work of later steps, which read it whole. There are enough shards for many cores, but no more
# files than that, as long as a shard stays small in memory.
_MANY_SHARDS = 64
_GROWTH = 4
NOBODY = -1


@dataclasses.dataclass(frozen=True)
class CorpusPlan:
    """All documents in the order of the corpus.

    Attributes:
        files: the files of texts.
        numbers: (documents,) the position of the document's file in `files`.
        rows: (documents,) index rows of type `ROW`, with the final reasons.
        kept: (documents,) the position of the document that a duplicate repeats, or NOBODY.
    """

    files: list[str]
    numbers: NDArray[np.int64]
    rows: IndexRows
    kept: NDArray[np.int64]

    def clashes(self) -> NDArray[np.int64]:
        """Positions (clashes, 2) of documents with the same id in the source and different texts."""
        same = (self.rows["key"][1:] == self.rows["key"][:-1]) & self.rows["named"][1:] & self.rows["named"][:-1]
        differ = same & (self.rows["whole"][1:] != self.rows["whole"][:-1])
        later = np.flatnonzero(differ) + 1
        return np.stack([later - 1, later], axis=1)


def make_plan(texts: Sequence[IndexedTexts], pairs: Sequence[NDArray[np.uint64]], *, exact: bool) -> CorpusPlan:
    """Sorts documents into the order of the corpus and marks duplicates; the order of the arguments does not matter.

    The first of several equal texts stays, and the first of several near duplicates that pairs connect. Documents are
    ordered by the hash of the id, then by the place in the source.

    Args:
        texts: the texts of all chunks.
        pairs: (pairs, 2) places of documents that are near duplicates.
        exact: whether exact duplicates are dropped.
    """
    texts = sorted((part for part in texts if len(part.rows)), key=lambda part: int(part.rows["place"][0]))
    rows = np.concatenate([part.rows for part in texts])
    numbers = np.repeat(np.arange(len(texts)), [len(part.rows) for part in texts])
    order = np.lexsort((rows["place"], rows["key"]))
    rows, numbers = rows[order], numbers[order]
    kept = np.full(len(rows), NOBODY)
    if pairs:
        _drop(rows, kept, _near_duplicates(rows, np.concatenate(pairs)), NEAR_DUPLICATE)
    if exact:
        _drop(rows, kept, _exact_duplicates(rows), EXACT_DUPLICATE)
    return CorpusPlan([part.file for part in texts], numbers, rows, kept)


def _drop(rows: IndexRows, kept: NDArray[np.int64], first: NDArray[np.int64], reason: str) -> None:
    """Marks all duplicates; the last call wins, so that the stronger reason comes last."""
    duplicate = first != np.arange(len(rows))
    rows["reason"][duplicate] = REASONS.index(reason)
    kept[duplicate] = first[duplicate]


def _exact_duplicates(rows: IndexRows) -> NDArray[np.int64]:
    """For every document the position of the first one with the same text, among those that no rule dropped."""
    first = np.arange(len(rows))
    candidates = np.flatnonzero((rows["reason"] == 0) | (rows["reason"] == REASONS.index(NEAR_DUPLICATE)))
    texts = np.stack([rows["high"][candidates], rows["low"][candidates]], axis=1)
    _, earliest, which = np.unique(texts, axis=0, return_index=True, return_inverse=True)
    first[candidates] = candidates[earliest[which.reshape(-1)]]
    return first


def _near_duplicates(rows: IndexRows, pairs: NDArray[np.uint64]) -> NDArray[np.int64]:
    """For every document the position of the first one that pairs connect it with."""
    by_place = np.argsort(rows["place"])
    return find_clusters(len(rows), by_place[np.searchsorted(rows["place"][by_place], pairs)])


def pack(sizes: Sequence[int], most: int) -> Iterator[range]:
    """Splits consecutive documents into shards of about equal size, at most about `most` bytes.

    A shard holds at least two documents, because a random next sentence comes from another document.

    Args:
        sizes: sizes of the documents in bytes.
        most: target size of a shard in bytes.
    """
    total = sum(sizes)
    count = min(max(1, round(total / most)), max(1, len(sizes) // 2))
    start = done = made = 0
    for position, size in enumerate(sizes):
        done += size
        enough = done * count >= total * (made + 1)
        if position - start >= 1 and enough and made + 1 < count and len(sizes) - position > 2:
            yield range(start, position + 1)
            start, made = position + 1, made + 1
    yield range(start, len(sizes))


def shard_size(total: int, least: int) -> int:
    """The size of a shard in bytes: `least`; for a corpus of more than 64 such shards up to four times that.

    Args:
        total: size of the corpus in bytes.
        least: size of a shard of a small corpus in bytes.
    """
    return min(max(least, total // _MANY_SHARDS), _GROWTH * least)


def count_parts(plan: CorpusPlan) -> dict[str, int]:
    """Number of parts that stay in the corpus, by the hexadecimal hash of the text of the cut document."""
    kept = plan.rows[plan.rows["reason"] == 0]
    wholes, counts = np.unique(kept["whole"][kept["whole"] != kept["high"]], return_counts=True)
    return {f"{whole:016x}": count for whole, count in zip(wholes.tolist(), counts.tolist(), strict=True)}


def describe(plan: CorpusPlan, shards: int) -> dict[str, dict[str, Any]]:
    """The statistics of a corpus, {title: {label: value}}; they depend on the data alone."""
    kept = plan.rows[plan.rows["reason"] == 0]
    counts = np.bincount(plan.rows["reason"], minlength=len(REASONS)).tolist()
    sizes = kept["bytes"]
    return {
        "documents": {
            "in the source": int(plan.rows["first"].sum()),
            "after long ones were cut": len(plan.rows),
            "dropped": len(plan.rows) - len(kept),
            "kept": len(kept),
        },
        "dropped": {reason: count for reason, count in zip(REASONS, counts, strict=True) if reason},
        "text": {
            "bytes": int(sizes.sum()),
            "bytes dropped": int(plan.rows["bytes"].sum()) - int(sizes.sum()),
            "sentences": int(kept["sentences"].sum()),
            "shards": shards,
        },
        "bytes a document": {
            label: int(np.quantile(sizes, share)) if len(sizes) else 0
            for label, share in (("smallest", 0), ("10 %", 0.1), ("median", 0.5), ("90 %", 0.9), ("largest", 1))
        },
    }
