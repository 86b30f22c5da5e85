"""Which rows stand in which batch: the seed and the batch's number decide, so that reading can start anywhere."""

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from keras_bert.checks import check
from keras_bert.masking.row_random import row_keys

Indices = NDArray[np.int64]

# Keeps the order of the rows apart from what else is drawn from the same seed, epoch and row.
_ORDER, _BATCH_ORDER = 0x6F72646572, 0x6261746368


class PlannedBatch(NamedTuple):
    """One batch.

    Attributes:
        epoch: the pass over the rows that it belongs to, from 0.
        rows: (batch,), their numbers.
        width: tokens to pad to.
    """

    epoch: int
    rows: Indices
    width: int


class BatchPlan:
    """Batches without end; each epoch has every row once, and as many batches as any other.

    Args:
        total: rows.
        batch_size: rows of a batch.
        longest: tokens of the longest row there may be.
        lengths: (total,), tokens of each row; needed for buckets alone.
        boundaries: tokens, rising; a row stands beside others that fit under the same one and is padded to it. What
            fills no batch of its own at the end of an epoch shares batches with shorter rows.
        tokens: of a batch, padding included, in place of `batch_size`: the shorter the bucket, the more rows.
        shuffle: each epoch in an order of its own.
        seed: of the order.
        drop_remainder: without batches that are not full.

    Attributes:
        batch_size: rows of the largest batch.
        per_epoch: batches of an epoch.
        is_even: whether all batches have that many rows.

    Raises:
        ValueError: an argument is out of range.
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
    ) -> None:
        check("BatchPlan", "batch_size", batch_size >= 1, "be at least 1", batch_size)
        rising = list(boundaries) == sorted({boundary for boundary in boundaries if boundary > 0})
        check("BatchPlan", "bucket_boundaries", rising, "be positive and rise", list(boundaries))
        self._widths = np.array([boundary for boundary in boundaries if boundary < longest] + [longest])
        self._sizes = np.full(len(self._widths), batch_size)
        if tokens is not None:
            check("BatchPlan", "tokens", tokens >= longest, f"hold the longest row, of {longest} tokens", tokens)
            self._sizes = tokens // self._widths
        self.batch_size = int(self._sizes.max())
        self._total = total
        self._buckets = np.zeros(total, np.int64) if lengths is None else np.searchsorted(self._widths, lengths)
        if lengths is None:
            check("BatchPlan", "bucket_boundaries", len(self._widths) == 1, "come with lengths", list(boundaries))
        self._shuffle, self._seed, self._drop_remainder = shuffle, seed, drop_remainder
        # One reader stands at the end of an epoch while another has begun the next.
        self._plan_epoch = functools.lru_cache(maxsize=2)(self._group)
        self.per_epoch = len(self._plan_epoch(0))
        self.is_even = drop_remainder and len(set(self._sizes.tolist())) == 1
        check("BatchPlan", "batch_size", self.per_epoch >= 1, f"leave a batch of {total} rows", batch_size)

    def identity(self) -> dict[str, Any]:
        """What batches of the same rows depend on, as plain values."""
        return {
            "batch_sizes": self._sizes.tolist(),
            "widths": self._widths.tolist(),
            "shuffle": self._shuffle,
            "seed": self._seed,
            "drop_remainder": self._drop_remainder,
        }

    def batch(self, number: int) -> PlannedBatch:
        """The batch with a number, counted from 0 over all epochs."""
        epoch, place = divmod(number, self.per_epoch)
        rows, width = self._plan_epoch(epoch)[place]
        return PlannedBatch(epoch, rows, width)

    def _group(self, epoch: int) -> list[tuple[Indices, int]]:
        """The batches of an epoch: rows and width."""
        order = np.arange(self._total)
        if self._shuffle:
            order = np.argsort(row_keys(self._seed ^ _ORDER, epoch, order), kind="stable")
        buckets = self._buckets[order]
        batches: list[tuple[Indices, int]] = []
        ends: list[int] = []
        left: list[Indices] = []
        for bucket, (width, size) in enumerate(zip(self._widths, self._sizes, strict=True)):
            places = np.flatnonzero(buckets == bucket)
            full = len(places) - len(places) % size
            for start in range(0, full, size):
                batches.append((order[places[start : start + size]], int(width)))
                ends.append(int(places[start + size - 1]))
            left.append(places[full:])
        batches = [batches[place] for place in np.argsort(ends, kind="stable")]
        batches += self._gather(order, np.concatenate(left[::-1]), buckets)
        if not self._shuffle or len(self._widths) == 1:
            return batches
        return [
            batches[place] for place in np.argsort(row_keys(self._seed ^ _BATCH_ORDER, epoch, np.arange(len(batches))))
        ]

    def _gather(self, order: Indices, places: Indices, buckets: Indices) -> list[tuple[Indices, int]]:
        """What filled no batch, the longest first; as many batches whichever rows are left of each bucket."""
        batches = []
        while len(places):
            bucket = int(buckets[places[0]])
            size = int(self._sizes[bucket])
            if not (self._drop_remainder and len(places) < size):
                batches.append((order[places[:size]], int(self._widths[bucket])))
            places = places[size:]
        return batches
