"""Plans batches: the seed and the number of a batch decide its rows, so that reading can resume at any batch."""

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from keras_bert.core.checks import check
from keras_bert.masking.row_random import row_keys

Indices = NDArray[np.int64]

# Makes the order of the rows independent of other draws with the same seed, epoch and row.
_ORDER, _BATCH_ORDER = 0x6F72646572, 0x6261746368


class PlannedBatch(NamedTuple):
    """A planned batch: its epoch, from 0, the numbers of its rows (batch,), and the length that these are padded to."""

    epoch: int
    rows: Indices
    width: int


class BatchPlan:
    """An endless sequence of batches; every epoch has every row once, and all epochs have equally many batches.

    Args:
        total: number of rows.
        batch_size: number of rows in a batch.
        longest: maximum length of a row in tokens.
        lengths: (total,) lengths of the rows in tokens; needed for buckets only.
        boundaries: ascending bucket boundaries in tokens. Rows of one bucket form batches and are padded to its
            boundary. At the end of an epoch, rows that do not fill a batch share batches with shorter rows.
        shuffle: whether every epoch has a new random order.
        seed: seed of the order.
        mixed: whether batches have rows of all lengths, padded to the boundary of the longest one. A loss that compares
            the rows of a batch needs this, because the rows of one bucket resemble each other more than other rows.
        lists: (total,) the number of the list of each row. Consecutive rows with equal numbers are a list, which is
            never split between batches; a batch has `batch_size` rows on average. None for single rows.

    Attributes:
        batch_size: number of rows, or of lists, in a batch that is full.
        per_epoch: number of batches in an epoch.
    """

    def __init__(
        self,
        total: int,
        batch_size: int,
        *,
        longest: int,
        lengths: Indices | None = None,
        boundaries: Sequence[int] = (),
        shuffle: bool = False,
        seed: int = 0,
        mixed: bool = False,
        lists: Indices | None = None,
    ) -> None:
        check("BatchPlan", "batch_size", batch_size >= 1, "be at least 1", batch_size)
        rising = list(boundaries) == sorted({boundary for boundary in boundaries if boundary > 0})
        check("BatchPlan", "bucket_boundaries", rising, "be positive and rise", list(boundaries))
        self._widths = np.array([boundary for boundary in boundaries if boundary < longest] + [longest])
        self.batch_size = batch_size
        self._starts: Indices | None = None
        if lists is not None:
            firsts = np.flatnonzero(np.diff(lists, prepend=lists[:1] - 1))
            lengths = None if lengths is None else np.maximum.reduceat(lengths, firsts)
            self.batch_size = max(1, round(batch_size * len(firsts) / total))
            self._starts, total = np.append(firsts, total), len(firsts)
        self._total = total
        self._buckets = np.zeros(total, np.int64) if lengths is None else np.searchsorted(self._widths, lengths)
        if lengths is None:
            check("BatchPlan", "bucket_boundaries", len(self._widths) == 1, "come with lengths", list(boundaries))
        self._shuffle, self._seed, self._mixed = shuffle, seed, mixed
        # One reader may be at the end of an epoch while another one has begun the next epoch.
        self._plan_epoch = functools.lru_cache(maxsize=2)(self._group)
        self.per_epoch = len(self._plan_epoch(0))
        check("BatchPlan", "batch_size", self.per_epoch >= 1, f"leave a batch of {total} rows", batch_size)

    def identity(self) -> dict[str, Any]:
        """The plain values that batches of the same rows depend on."""
        return {
            "batch_size": self.batch_size,
            "widths": self._widths.tolist(),
            "shuffle": self._shuffle,
            "seed": self._seed,
            "mixed": self._mixed,
        }

    def batch(self, number: int) -> PlannedBatch:
        """The batch with this number, counted from 0 over all epochs."""
        return self.part(number, 0, 1)

    def part(self, number: int, share: int, of: int) -> PlannedBatch:
        """One of `of` parts of a batch: every `of`-th row, or list, from the index `share` on."""
        epoch, place = divmod(number, self.per_epoch)
        rows, width = self._plan_epoch(epoch)[place]
        rows = rows[share::of]
        if self._starts is not None:
            spans = [np.arange(self._starts[list_], self._starts[list_ + 1]) for list_ in rows]
            rows = np.concatenate([rows[:0], *spans])
        return PlannedBatch(epoch, rows, width)

    def _group(self, epoch: int) -> list[tuple[Indices, int]]:
        """The rows and the width of all batches of an epoch."""
        order = np.arange(self._total)
        if self._shuffle:
            order = np.argsort(row_keys(self._seed ^ _ORDER, epoch, order), kind="stable")
        buckets = self._buckets[order]
        if self._mixed:
            return self._cut(order, buckets)
        batches: list[tuple[Indices, int]] = []
        ends: list[int] = []
        remainders: list[Indices] = []
        size = self.batch_size
        for bucket, width in enumerate(self._widths):
            places = np.flatnonzero(buckets == bucket)
            full = len(places) - len(places) % size
            for start in range(0, full, size):
                batches.append((order[places[start : start + size]], int(width)))
                ends.append(int(places[start + size - 1]))
            remainders.append(places[full:])
        batches = [batches[place] for place in np.argsort(ends, kind="stable")]
        # The remaining rows of all buckets, longest first; their number is the same in every epoch.
        places = np.concatenate(remainders[::-1])
        starts = range(0, len(places), self.batch_size)
        parts = (places[start : start + self.batch_size] for start in starts)
        batches += [(order[part], int(self._widths[buckets[part[0]]])) for part in parts]
        if not self._shuffle or len(self._widths) == 1:
            return batches
        return [
            batches[place] for place in np.argsort(row_keys(self._seed ^ _BATCH_ORDER, epoch, np.arange(len(batches))))
        ]

    def _cut(self, order: Indices, buckets: Indices) -> list[tuple[Indices, int]]:
        """Cuts the rows, in their order, into batches as wide as their longest row."""
        parts = (slice(start, start + self.batch_size) for start in range(0, self._total, self.batch_size))
        return [(order[part], int(self._widths[buckets[part].max()])) for part in parts]
