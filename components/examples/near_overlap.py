"""Rows of different splits with nearly the same texts: found by MinHash, then counted, dropped or refused."""

import logging
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from components.dsl.errors import InputError
from components.examples.base import TaskRows
from components.examples.overlap import EARLIER, OverlapCounts, check_labels_left, count_rows, name_texts
from components.examples.splits import fold_key
from components.sources.shared import NearOverlap

if TYPE_CHECKING:
    import numpy as np

    from components.text.near_duplicates import Hashes

    Shingles = tuple[np.ndarray[Any, Any], ...]

R = TypeVar("R", bound=tuple[Any, ...])

logger = logging.getLogger(__name__)

# Two texts are compared by their pairs of adjacent words: of longer runs short texts have too few.
_SHINGLE = 2
# The Jaccard similarity of near duplicates: one word of nine is another (6 of 10 pairs are shared).
SIMILARITY = 0.6
# Candidates have half of it, so that hashes miss one pair in 8,000 at the similarity itself (37 bands of 3); all
# candidates are compared exactly.
_CANDIDATE_SIMILARITY, _PERMUTATIONS = SIMILARITY / 2, 128

Key = tuple[str, ...]


class NearTexts:
    """The texts of rows, to look up which other rows have nearly the same ones.

    Args:
        keys: the texts of each row, see `TaskRows.key`.
    """

    def __init__(self, keys: Iterable[Key]) -> None:
        from components.text.near_duplicates import Signer

        self._signer = Signer(_CANDIDATE_SIMILARITY, _PERMUTATIONS, _SHINGLE)
        self._keys = list(dict.fromkeys(keys))
        self._folded = {fold_key(key) for key in self._keys}
        self._shingles: dict[int, Shingles] = {}
        self._bands: list[dict[int, list[int]]] = [defaultdict(list) for _ in range(self._signer.bands)]
        for number, key in enumerate(self._keys):
            for band, value in zip(self._bands, self._sign(key), strict=True):
                band[value].append(number)

    def _sign(self, key: Key) -> list[int]:
        hashes: Hashes = self._signer.sign("\n".join(key))
        return hashes.tolist()

    def has_equal(self, key: Key) -> bool:
        """Whether a row has exactly these texts (see `fold`)."""
        return fold_key(key) in self._folded

    def has_near(self, key: Key) -> bool:
        """Whether a row has nearly the same texts, one by one, and none has exactly these (see `fold`)."""
        return not self.has_equal(key) and next(self.find_near(key), None) is not None

    def find_near(self, key: Key) -> Iterator[Key]:
        """The different texts of rows that are nearly or exactly these."""
        numbers = {
            number for band, value in zip(self._bands, self._sign(key), strict=True) for number in band.get(value, ())
        }
        shingles = _make_shingles(key) if numbers else ()
        return (self._keys[number] for number in sorted(numbers) if _are_near(shingles, self._find_shingles(number)))

    def _find_shingles(self, number: int) -> "Shingles":
        if number not in self._shingles:
            self._shingles[number] = _make_shingles(self._keys[number])
        return self._shingles[number]


def _make_shingles(key: Key) -> "Shingles":
    import numpy as np

    from components.text.near_duplicates import make_shingles

    return tuple(np.unique(make_shingles(text, _SHINGLE)) for text in key if text)


def _are_near(first: "Shingles", second: "Shingles") -> bool:
    """Whether the Jaccard similarity of each text with its counterpart is high enough."""
    import numpy as np

    if len(first) != len(second):
        return False
    for one, other in zip(first, second, strict=True):
        shared = len(np.intersect1d(one, other, assume_unique=True))
        if shared < SIMILARITY * (len(one) + len(other) - shared) or not shared:
            return False
    return True


def resolve_near_overlap(
    splits: Mapping[str, Sequence[R]], task: TaskRows[R], near_overlap: NearOverlap
) -> tuple[dict[str, list[R]], OverlapCounts]:
    """Keeps, drops or refuses rows that have nearly the texts of a row of a later split.

    Args:
        splits: train, validation and test.
        task: the task's rows.
        near_overlap: `off` looks for none, `keep` keeps all rows, `drop` drops those of the earlier split, `error`
            refuses them.

    Returns:
        The rows, and split -> earlier split -> how many of its rows have nearly the texts of a row that is left there.

    Raises:
        InputError: there are such rows and `near_overlap` is `error`; or a label loses its last training row.
    """
    kept = {split: list(rows) for split, rows in splits.items()}
    if near_overlap == "off":
        return kept, {}
    if near_overlap == "drop":
        # The earlier split is the larger one, but the later one is what must stay as it is.
        for split in ("train", "validation"):
            later = [task.key(row) for name in EARLIER if split in EARLIER[name] for row in splits.get(name, ())]
            near = NearTexts(later)
            kept[split] = [row for row in splits[split] if not near.has_near(task.key(row))]
            dropped = len(splits[split]) - len(kept[split])
            if dropped:
                logger.info("%d %s rows dropped, as later splits have nearly their %s", dropped, split, task.several)
        check_labels_left(splits["train"], kept["train"], task, "near_overlap")
    counts = _count_near(kept, task)
    clauses = list(describe_near_overlap(counts, count_rows(kept), task.several))
    if clauses and near_overlap == "error":
        advice = "remove them, or set examples.near_overlap to 'drop' or 'keep'"
        raise InputError(f"examples.near_overlap is 'error', and {'; '.join(clauses)}; {advice}")
    return kept, counts


def _count_near(splits: Mapping[str, Sequence[R]], task: TaskRows[R]) -> OverlapCounts:
    keys = {split: list(map(task.key, rows)) for split, rows in splits.items()}
    return {
        split: {earlier: _count_pairs(keys[split], keys[earlier]) for earlier in EARLIER[split] if earlier in splits}
        for split in splits
        if split in EARLIER
    }


def _count_pairs(keys: Sequence[Key], earlier: Sequence[Key]) -> int:
    """How many rows have nearly, but not exactly, the texts of an earlier row.

    The earlier rows are the many: they are looked up one by one, and stand in no index.
    """
    texts = NearTexts(keys)
    near = {match for key in dict.fromkeys(earlier) for match in texts.find_near(key)}
    equal = set(map(fold_key, earlier)) if near else set()
    return sum(key in near and fold_key(key) not in equal for key in keys)


def describe_near_overlap(
    overlap: Mapping[str, Mapping[str, int]], rows: Mapping[str, int], several: str
) -> Iterator[str]:
    """One clause for each two splits with near duplicates, as `3 of 100 test rows have nearly the texts of ...`.

    Args:
        overlap: the counts of `resolve_near_overlap`.
        rows: number of rows of each split.
        several: the plural name of the rows' keys, see `TaskRows.several`.
    """
    for split, others in overlap.items():
        for earlier, count in others.items():
            if count:
                yield f"{count} of {rows[split]} {split} rows have nearly the {several} of {name_texts(earlier)}"
