"""Statistics of pre-training rows: counted while rows are written, then added up over shards."""

import itertools
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from components.rows.histogram import bars
from components.rows.row_layout import TokenRows
from keras_bert.masking.masks import Masked

STATISTICS_FILE = "statistics.json"

Tally = dict[str, Any]
"""Counts to add up; `lengths` and `predictions` are histograms: item n is the number of rows with n of them."""


def tally_rows(
    rows: TokenRows, candidates: NDArray[np.bool_], masked: Masked | None, *, unknown_id: int, mask_id: int
) -> Tally:
    """Counts the tokens, masks and lengths of a batch.

    `candidates` (rows, width) says whether a token may be masked; `masked` is None if training masks the rows.
    """
    inside = np.arange(rows.token_ids.shape[1]) < rows.lengths[:, None]
    maskable = int(candidates.sum())
    tally: Tally = {
        "rows": len(rows.lengths),
        "tokens": int(rows.lengths.sum()),
        "maskable": maskable,
        "unknown": int(((rows.token_ids == unknown_id) & inside).sum()),
        "lengths": np.bincount(rows.lengths).tolist(),
    }
    if rows.labels is not None:
        tally["labelled_1"] = int(rows.labels.sum())
    if masked is not None:
        is_used = masked.mask_weights == 1
        hidden = np.take_along_axis(masked.token_ids, masked.mask_positions, axis=1)[is_used]
        kept = hidden == masked.mask_ids[is_used]
        tally["chosen"], tally["replaced"] = len(hidden), int((~kept & (hidden == mask_id)).sum())
        tally["kept"] = int(kept.sum())
        tally["predictions"] = np.bincount(is_used.sum(axis=1)).tolist()
    return tally


def add(tallies: Iterable[Tally]) -> Tally:
    """The sum of tallies."""
    total: Tally = {}
    for tally in tallies:
        for key, value in tally.items():
            if isinstance(value, list):
                sums = itertools.zip_longest(total.get(key, []), value, fillvalue=0)
                total[key] = [number + other for number, other in sums]
            else:
                total[key] = total.get(key, 0) + value
    return total


def describe(title: str, tally: Tally, one: str = "") -> dict[str, Any]:
    """Readable statistics, see `pipeline.views.statistics`: {title: {label: value} or [[label, count], ...]}.

    `one` is the meaning of label 1.
    """
    table = {"rows": tally["rows"], "tokens": tally["tokens"], "tokens that may be masked": tally["maskable"]}
    # [UNK] is a special token and is never masked.
    table["share of unknown tokens"] = _share(tally["unknown"], tally["unknown"] + tally["maskable"])
    if "labelled_1" in tally:
        table[one] = _share(tally["labelled_1"], tally["rows"])
    described: dict[str, Any] = {title: table}
    if "chosen" in tally:
        chosen = tally["chosen"]
        others = chosen - tally["replaced"] - tally["kept"]
        table["share of these to predict"] = _share(chosen, tally["maskable"])
        table["share of predictions under [MASK]"] = _share(tally["replaced"], chosen)
        table["share of predictions under a random token"] = _share(others, chosen)
        table["share of predictions left unchanged"] = _share(tally["kept"], chosen)
        described[f"{title}: predictions a row"] = bars(tally["predictions"])
    described[f"{title}: tokens a row"] = bars(tally["lengths"])
    return described


def _share(part: int, whole: int) -> float:
    return round(part / max(whole, 1), 6)
