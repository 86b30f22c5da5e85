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
        tokens: number of tokens in a batch, padding included, instead of `batch_size`: short buckets get more rows.
        shuffle: whether every epoch has a new random order.
        seed: seed of the order.
        drop_remainder: whether batches that are not full are left out.
        mixed: whether rows of all lengths share batches, each padded to the boundary of its longest row, as where the
            rows of a batch are compared: rows of one bucket are more alike than others.
        lists: (total,) the list of each row; rows that follow one another with equal numbers are one list, and share
            batches. A batch then has as many lists as have `batch_size` rows on average. None for single rows.

    Attributes:
        batch_size: number of rows in the largest batch.
        per_epoch: number of batches in an epoch.
        is_even: whether all batches have the same number of rows.
    """

    def __init__(
        self,
        total: int,
        batch_size: int,
        *,
        longest: int,
        lengths: Indices | None = None,
        boundaries: Sequence[int] = (),
        tokens: int | None = None,
        shuffle: bool = False,
        seed: int = 0,
        drop_remainder: bool = False,
        mixed: bool = False,
        lists: Indices | None = None,
    ) -> None:
        check("BatchPlan", "batch_size", batch_size >= 1, "be at least 1", batch_size)
        rising = list(boundaries) == sorted({boundary for boundary in boundaries if boundary > 0})
        check("BatchPlan", "bucket_boundaries", rising, "be positive and rise", list(boundaries))
        self._widths = np.array([boundary for boundary in boundaries if boundary < longest] + [longest])
        self._sizes = np.full(len(self._widths), batch_size)
        if tokens is not None:
            check("BatchPlan", "tokens", tokens >= longest, f"hold the longest row, of {longest} tokens", tokens)
            self._sizes = tokens // self._widths
        self._starts: Indices | None = None
        if lists is not None:
            firsts = np.flatnonzero(np.diff(lists, prepend=lists[:1] - 1))
            lengths = None if lengths is None else np.maximum.reduceat(lengths, firsts)
            self._sizes = np.maximum(1, np.rint(self._sizes * len(firsts) / total).astype(int))
            self._starts, total = np.append(firsts, total), len(firsts)
        check("BatchPlan", "mixed", not mixed or tokens is None, "come with batch_size, not with tokens", mixed)
        self.batch_size = int(self._sizes.max())
        self._total = total
        self._buckets = np.zeros(total, np.int64) if lengths is None else np.searchsorted(self._widths, lengths)
        if lengths is None:
            check("BatchPlan", "bucket_boundaries", len(self._widths) == 1, "come with lengths", list(boundaries))
        self._shuffle, self._seed, self._drop_remainder, self._mixed = shuffle, seed, drop_remainder, mixed
        # One reader may be at the end of an epoch while another one has begun the next epoch.
        self._plan_epoch = functools.lru_cache(maxsize=2)(self._group)
        self.per_epoch = len(self._plan_epoch(0))
        self.is_even = drop_remainder and len(set(self._sizes.tolist())) == 1 and lists is None
        check("BatchPlan", "batch_size", self.per_epoch >= 1, f"leave a batch of {total} rows", batch_size)

    def identity(self) -> dict[str, Any]:
        """The plain values that batches of the same rows depend on."""
        return {
            "batch_sizes": self._sizes.tolist(),
            "widths": self._widths.tolist(),
            "shuffle": self._shuffle,
            "seed": self._seed,
            "drop_remainder": self._drop_remainder,
            "mixed": self._mixed,
        }

    def batch(self, number: int) -> PlannedBatch:
        """The batch with this number, counted from 0 over all epochs."""
        return self.part(number, 0, 1)

    def part(self, number: int, share: int, of: int) -> PlannedBatch:
        """One of several parts of a batch: each has every `of`-th row, or list, from row `share` on."""
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
        for bucket, (width, size) in enumerate(zip(self._widths, self._sizes, strict=True)):
            places = np.flatnonzero(buckets == bucket)
            full = len(places) - len(places) % size
            for start in range(0, full, size):
                batches.append((order[places[start : start + size]], int(width)))
                ends.append(int(places[start + size - 1]))
            remainders.append(places[full:])
        batches = [batches[place] for place in np.argsort(ends, kind="stable")]
        batches += self._merge_remainders(order, np.concatenate(remainders[::-1]), buckets)
        if not self._shuffle or len(self._widths) == 1:
            return batches
        return [
            batches[place] for place in np.argsort(row_keys(self._seed ^ _BATCH_ORDER, epoch, np.arange(len(batches))))
        ]

    def _cut(self, order: Indices, buckets: Indices) -> list[tuple[Indices, int]]:
        """Cuts the rows, in their order, into batches as wide as their longest row."""
        end = self._total - (self._total % self.batch_size if self._drop_remainder else 0)
        parts = (slice(start, start + self.batch_size) for start in range(0, end, self.batch_size))
        return [(order[part], int(self._widths[buckets[part].max()])) for part in parts]

    def _merge_remainders(self, order: Indices, places: Indices, buckets: Indices) -> list[tuple[Indices, int]]:
        """Batches of the remaining rows of all buckets, longest first; their number is the same in every epoch."""
        batches = []
        while len(places):
            bucket = int(buckets[places[0]])
            size = int(self._sizes[bucket])
            if not (self._drop_remainder and len(places) < size):
                batches.append((order[places[:size]], int(self._widths[bucket])))
            places = places[size:]
        return batches
