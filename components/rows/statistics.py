"""Statistics of pre-training rows, counted while they are written and added up over shards."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from components.rows.row_layout import Rows
from keras_bert.masking.masks import Masked

STATISTICS_FILE = "statistics.json"

_BARS = 16

Tally = dict[str, Any]
"""Numbers to be added, and `lengths` and `predictions`: how many rows have as many as the place says."""


def tally_rows(
    rows: Rows, candidates: NDArray[np.bool_], masked: Masked | None, *, unknown_id: int, mask_id: int
) -> Tally:
    """What is counted of a batch.

    Args:
        rows: before masking.
        candidates: (rows, width), what may be hidden.
        masked: after masking; None where the reader does that.
        unknown_id: the piece for words that the vocabulary cannot make up.
        mask_id: the piece that hides a token.
    """
    inside = np.arange(rows.token_ids.shape[1]) < rows.lengths[:, None]
    maskable = int(candidates.sum())
    unknown = int(((rows.token_ids == unknown_id) & inside).sum())
    tally: Tally = {
        "rows": len(rows.lengths),
        "tokens": int(rows.lengths.sum()),
        "maskable": maskable,
        "unknown": unknown,
        "lengths": np.bincount(rows.lengths).tolist(),
    }
    if rows.labels is not None:
        tally["labelled_1"] = int(rows.labels.sum())
    return tally if masked is None else tally | _tally_masks(masked, mask_id)


def _tally_masks(masked: Masked, mask_id: int) -> Tally:
    is_used = masked.mask_weights == 1
    hidden = np.take_along_axis(masked.token_ids, masked.mask_positions, axis=1)[is_used]
    kept = hidden == masked.mask_ids[is_used]
    replaced = ~kept & (hidden == mask_id)
    return {
        "chosen": len(hidden),
        "replaced": int(replaced.sum()),
        "kept": int(kept.sum()),
        "predictions": np.bincount(is_used.sum(axis=1)).tolist(),
    }


def add(tallies: Iterable[Tally]) -> Tally:
    """The sum of tallies."""
    total: Tally = {}
    for tally in tallies:
        for key, value in tally.items():
            total[key] = _add_lists(total.get(key, []), value) if isinstance(value, list) else total.get(key, 0) + value
    return total


def _add_lists(first: list[int], second: list[int]) -> list[int]:
    longer, shorter = (first, second) if len(first) > len(second) else (second, first)
    return [number + other for number, other in zip(longer, shorter + [0] * (len(longer) - len(shorter)), strict=True)]


def describe(title: str, tally: Tally, one: str = "") -> dict[str, Any]:
    """Statistics for a person, see `pipeline.views.statistics`: {title: {label: value} or [[label, count], ...]}.

    Args:
        title: of what the tally is.
        tally: of at least one row.
        one: what the label 1 says.
    """
    table = {"rows": tally["rows"], "tokens": tally["tokens"], "tokens that may be hidden": tally["maskable"]}
    # Unknown pieces are special tokens, and never hidden.
    table["share of unknown pieces"] = _share(tally["unknown"], tally["unknown"] + tally["maskable"])
    if "labelled_1" in tally:
        table[one] = _share(tally["labelled_1"], tally["rows"])
    described: dict[str, Any] = {title: table}
    if "chosen" in tally:
        chosen = tally["chosen"]
        others = chosen - tally["replaced"] - tally["kept"]
        table["share of these to predict"] = _share(chosen, tally["maskable"])
        table["share of predictions under [MASK]"] = _share(tally["replaced"], chosen)
        table["share of predictions under another piece"] = _share(others, chosen)
        table["share of predictions left in place"] = _share(tally["kept"], chosen)
        described[f"{title}: predictions a row"] = bars(tally["predictions"])
    described[f"{title}: tokens a row"] = bars(tally["lengths"])
    return described


def bars(counts: list[int]) -> list[list[Any]]:
    """A histogram of at most some 16 bars, [[`from` or `from-to`, count], ...], from a count for each number."""
    used = [number for number, count in enumerate(counts) if count]
    if not used:
        return []
    low, high = used[0], used[-1]
    width = -(-(high - low + 1) // _BARS)
    starts = range(low, high + 1, width)
    ends = [min(start + width - 1, high) for start in starts]
    return [
        [str(start) if start == end else f"{start}-{end}", sum(counts[start : end + 1])]
        for start, end in zip(starts, ends, strict=True)
    ]


def _share(part: int, whole: int) -> float:
    return round(part / max(whole, 1), 6)
